"""Writing the files of a mirror: some in this process, or shares of them in processes of their own.

A process is a program (`python -m nephila.views.copyist`) that is told what to write by lines of JSON on its standard input and
answers each with one; the end of its input is its end. It has nothing that the next run could miss: a share that was not
answered is written again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import msgspec

from nephila import errors
from nephila.archive.reader import Decode
from nephila.errors import Damaged, NephilaError
from nephila.page.listing import MEDIA_TYPE
from nephila.views import folders, rewrite, style
from nephila.views.folder import Folder
from nephila.views.ledger import Written
from nephila.views.plan import Place, Plan
from nephila.views.source import FILE_MAX, Kept, Source

SHARE = 100
"""Files per share: what is written again after a kill, at most, per process."""
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_SCRIPTS = frozenset({"text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript"})


class Share(msgspec.Struct, frozen=True, tag=True):
    """What became of one share: the files that are as they should be, how many had to change for that, and what was unreadable."""

    files: list[Written]
    changed: int
    unreadable: list[str]


class Trouble(msgspec.Struct, frozen=True, tag=True):
    """What ended a process's work: an error of `nephila.errors`."""

    kind: str
    text: str


class Order(msgspec.Struct, frozen=True):
    """What a process needs to know before its first share. `decode` is named `module:function`."""

    folder: str
    access: list[str]
    files: dict[str, str]
    decode: str
    plan: str
    target: str
    fresh: bool


def shares(
    source: Source, plan: Path, target: Path, numbers: Iterable[int], workers: int, *, fresh: bool = False
) -> Iterator[Share]:
    """Write the files of these numbers of the plan, with so many processes beside this one, or in this one (0). `fresh`: none of them
    is there yet."""
    todo = _parts(iter(numbers))
    decode = _named(source.decode)
    if not workers or not decode:
        with Copyist(source, plan, target, fresh=fresh) as copyist:
            yield from map(copyist.copy, todo)
        return
    files = {name: str(path) for name, path in source.files.items()}
    order = Order(str(source.folder), sorted(source.access), files, decode, str(plan), str(target), fresh)
    with ExitStack() as opened:
        idle: SimpleQueue[Hand] = SimpleQueue()
        for _ in range(workers):
            idle.put(opened.enter_context(Hand(order)))

        def ask(numbers: list[int]) -> Share:
            hand = idle.get()
            try:
                return hand.ask(numbers)
            finally:
                idle.put(hand)

        pool = opened.enter_context(ThreadPoolExecutor(workers))
        asked = deque(pool.submit(ask, part) for part in islice(todo, 2 * workers))
        while asked:
            yield asked.popleft().result()
            asked.extend(pool.submit(ask, part) for part in islice(todo, 1))


def _parts(numbers: Iterator[int]) -> Iterator[list[int]]:
    while part := list(islice(numbers, SHARE)):
        yield part


def _named(function: Decode) -> str:
    """How another process finds it; "" when it cannot."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    found = getattr(sys.modules.get(module), name, None)
    return f"{module}:{name}" if found is function and module != "__main__" else ""


class Copyist:
    """Writes files of a mirror, one after the other, each whole or not at all."""

    def __init__(self, source: Source, plan: Path, target: Path, *, fresh: bool) -> None:
        self._source, self._plan, self._out, self._fresh = source, Plan(plan), Folder(target), fresh
        self._memories = rewrite.Memories()

    def __enter__(self) -> Copyist:
        return self

    def __exit__(self, *error: object) -> None:
        self._out.close()
        self._plan.close()

    def copy(self, numbers: list[int]) -> Share:
        places = list(self._plan.places(numbers))
        visits = {kept.id: kept for kept in self._source.those([place.visit for place in places])}
        files, changed, unreadable = [], 0, []
        for place in places:
            kept = visits.get(place.visit)
            if kept is None:
                continue  # taken down meanwhile
            to = self._addresses(kept, place)
            try:
                put = self._out.write(place.path, self._content(kept, to), fresh=self._fresh)
            except Damaged as error:
                unreadable.append(f"{kept.url}: {error}")
                continue
            changed += put.changed
            files.append(Written(place.path, place.stamp, put.size, put.modified_ns, to.missing))
        return Share(files, changed, unreadable)

    def _addresses(self, kept: Kept, place: Place) -> rewrite.Addresses:
        charset = kept.charset or "utf-8"
        memory = self._memories.of(kept.url, place.path, charset)
        return rewrite.Addresses(kept.url, place.path, charset, self._plan.lookup, memory)

    def _content(self, kept: Kept, to: rewrite.Addresses) -> Iterator[bytes]:
        if kept.media_type in _PAGES:
            yield rewrite.html(self._utf8(kept), to)
        elif kept.media_type == MEDIA_TYPE:
            yield folders.page(self._decoded(kept), kept, to).encode("utf-8", "replace")
        elif kept.media_type == "text/css":
            yield style.stylesheet(self._utf8(kept).decode("utf-8", "replace"), to).encode("utf-8", "replace")
        elif kept.media_type == "image/svg+xml":
            yield rewrite.svg(self._utf8(kept), to)
        elif kept.media_type in _SCRIPTS:
            yield self._utf8(kept)  # a page that is UTF-8 now takes its scripts for UTF-8, too
        else:
            yield from self._copied(kept)

    def _utf8(self, kept: Kept) -> bytes:
        return rewrite.utf8(self._decoded(kept), kept.charset)

    def _decoded(self, kept: Kept) -> bytes:
        return self._source.decoded(kept, FILE_MAX).content

    def _copied(self, kept: Kept) -> Iterator[bytes]:
        with self._source.stored(kept) as found:
            if not found.encoding:
                yield from found.blocks()
                return
        yield self._decoded(kept)


class Hand:
    """A process that writes shares. A context manager; it ends with its input."""

    def __init__(self, order: Order) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nephila.views.copyist"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._say(order)

    def __enter__(self) -> Hand:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, numbers: list[int]) -> Share:
        """Have a share written. Raises what went wrong there."""
        self._say(numbers)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process that writes the mirror has ended (exit code {self._process.wait()})")
        answer = msgspec.json.decode(line, type=Share | Trouble)
        if isinstance(answer, Trouble):
            raise getattr(errors, answer.kind)(answer.text)
        return answer

    def _say(self, what: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(what) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer that does not come tells


def main(told: IO[bytes], answers: IO[bytes]) -> None:
    """The life of such a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end of its input tells it
    order = msgspec.json.decode(told.readline(), type=Order)
    module, _, name = order.decode.partition(":")
    decode = getattr(import_module(module), name)
    files = {file: Path(path) for file, path in order.files.items()}
    with (
        Source(Path(order.folder), decode, frozenset(order.access), files) as source,
        Copyist(source, Path(order.plan), Path(order.target), fresh=order.fresh) as copyist,
    ):
        for line in told:
            try:
                answer: Share | Trouble = copyist.copy(msgspec.json.decode(line, type=list[int]))
            except NephilaError as error:
                answer = Trouble(type(error).__name__, str(error))
            answers.write(msgspec.json.encode(answer) + b"\n")
            answers.flush()


if __name__ == "__main__":
    try:
        main(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        os._exit(0)  # who asked is gone
