"""Archive files on their way into the store, while the crawl runs: threads of their own, few at a time, never waited for.

A file is sent, then looked for: its size and digest must be the store's, too. Before a local file may go, the object is read
back whole and its digest is compared: a promise of the store is not enough for the only copy. Whoever records what happened is
told through `done` and `failed`, on these threads.
"""

from __future__ import annotations

import contextlib
import queue
import random
import threading
from collections.abc import Callable
from pathlib import Path

from nephila.store.objects import Objects, Trouble, sha256_of

WAIT_S, WAIT_MAX_S = 2.0, 60.0
"""First and longest wait before a file is tried again; it doubles, with jitter."""


def send(objects: Objects, path: Path, reread: bool, known: str = "") -> str:
    """One file into the store, under its name. Returns its SHA-256. One that is there already is not sent again. `known`: what
    its digest was. Raises Trouble; then no torn object is there, and what was there under the name is as it was."""
    sha256, size = sha256_of(path), path.stat().st_size
    if known and known != sha256:
        raise Trouble(f"{path.name} changed on the disk since it was first read: it is not sent")
    if not objects.holds(path.name, size, sha256):
        objects.put_file(path.name, path, sha256)
        if not objects.holds(path.name, size, sha256):
            raise Trouble(f"{path.name} is not in the store as it was sent (size or digest differ)")
    if reread and objects.digest(path.name) != sha256:
        objects.delete(path.name)
        raise Trouble(f"{path.name} does not read back from the store as it was sent")
    return sha256


class Uploader:
    """`at_once` threads that send what is offered. `done(file, sha256)`: it is in the store; `failed(file, why, final)`: it is
    not, and is tried again unless `final`, `tries` times in all."""

    def __init__(
        self,
        objects: Objects,
        folder: Path,
        *,
        at_once: int,
        tries: int,
        reread: bool,
        done: Callable[[str, str], None],
        failed: Callable[[str, str, bool], None],
    ) -> None:
        self._objects, self._folder, self._tries, self._reread = objects, folder, tries, reread
        self._done, self._failed = done, failed
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, name="store", daemon=True) for _ in range(at_once)]
        for thread in self._threads:
            thread.start()

    def offer(self, file: str) -> None:
        self._waiting.put(file)

    def stop(self) -> None:
        """Nothing more is begun. What is under way goes on as long as the process does; the next start looks after the rest."""
        self._stop.set()
        for _ in self._threads:
            self._waiting.put(None)

    def _work(self) -> None:
        while (file := self._waiting.get()) is not None and not self._stop.is_set():
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._send(file)

    def _send(self, file: str) -> None:
        for n in range(1, self._tries + 1):
            try:
                self._done(file, send(self._objects, self._folder / file, self._reread))
                return
            except (Trouble, OSError) as error:
                self._failed(file, str(error), n == self._tries)
            wait_s = min(WAIT_S * 2 ** (n - 1), WAIT_MAX_S) * random.uniform(0.5, 1.0)
            if n < self._tries and self._stop.wait(wait_s):
                return
