"""Kept pages are read again, the front's side: a process of its own does it, and what it finds comes in part by part.

Reading pages takes a processor: in the front it would hold up everybody. The process (`rereader`) is told how far its
predecessor came, reads the database and the archive, and writes parts to its standard output; it is as disposable as a
worker. The next part is taken when the one before is committed, so that a crawl settles its own visits in between, and the
pipe holds the reader back. When it dies, the next one hands over each page by itself, and the one after that leaves out
the page of which two have died.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Callable

import msgspec

from nephila.config import Config
from nephila.frontier.rereading import Part, Reread
from nephila.frontier.scheduler import Scheduler
from nephila.plan import Step
from nephila.url.scope import ScopeSpec

SAID_BYTES = 2_000
DEATHS_MAX = 5
"""In a row and without a step ahead: then it is given up."""
_PART = msgspec.msgpack.Decoder(Part)


class Order(msgspec.Struct, frozen=True, array_like=True):
    """What to read: the visits of a job behind `after`, up to `until`. `careful`: each page is a part; `skip`: without the
    first. `front`: the process that wants it."""

    folder: str
    config: Config
    scope: ScopeSpec
    fingerprint_seed: int
    after: int
    until: int
    careful: bool
    skip: bool
    front: int


class Rereads:
    """Waits until pages are to be read again, and sees to it. `order(state, careful, skip)` says what; `note` hears of the end."""

    def __init__(
        self,
        scheduler: Scheduler,
        order: Callable[[Reread, bool, bool], Order],
        note: Callable[..., None],
        step: Step = lambda name: None,
    ) -> None:
        self._scheduler, self._order, self._note, self._step = scheduler, order, note, step
        self._said = b""
        """The end of what the last reader wrote to standard error."""
        self._wanted = asyncio.Event()
        if scheduler.rereading is not None:
            self._wanted.set()
        scheduler.on_reread(self._wanted.set)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._all()
            except Exception:
                self._scheduler.end_reread()  # the crawl need not wait for it
                raise

    async def _all(self) -> None:
        scheduler, careful, skip, deaths = self._scheduler, False, False, 0
        while (state := scheduler.rereading) is not None and scheduler.error is None:
            await scheduler.flush()  # what was visited so far can be read
            before = state.after
            await self._read(state, careful, skip)
            if scheduler.rereading is not state:
                careful, skip, deaths = False, False, 0
            elif state.after >= state.until:
                self._over("")
            else:
                stuck = state.after == before
                deaths = deaths + 1 if stuck else 0
                careful, skip = True, careful and stuck
                if deaths >= DEATHS_MAX:
                    self._over(f"; given up after visit {state.after} of {state.until}, because the reader keeps dying")

    def _over(self, why: str) -> None:
        told = self._scheduler.end_reread()
        assert told is not None
        lost = f", {told.unread} more could not be read" if told.unread else ""
        text = f"{told.pages} kept pages were read again{lost}: {told.back} URLs that were only counted are queued now"
        self._note(
            "archive.reread",
            count=told.pages,
            back=told.back,
            text=text + why,
            said=self._said.decode("utf-8", "replace") if why else "",
        )

    async def _read(self, state: Reread, careful: bool, skip: bool) -> None:
        """One reader, to its end or until something else is wanted."""
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        said = tempfile.TemporaryFile()  # noqa: SIM115
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "nephila.rereader"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=said,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
                process.stdin.write(msgspec.msgpack.encode(self._order(state, careful, skip)))
                process.stdin.write_eof()
                while state.after < state.until:
                    size = int.from_bytes(await process.stdout.readexactly(4))
                    part = _PART.decode(await process.stdout.readexactly(size))
                    if self._scheduler.rereading is not state or self._scheduler.error is not None:
                        return
                    self._step("reread.before")
                    self._scheduler.reread(part)
                    await self._scheduler.flush()
                    self._step("reread.after")
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            self._said = os.pread(said.fileno(), SAID_BYTES, max(os.fstat(said.fileno()).st_size - SAID_BYTES, 0))
            said.close()
