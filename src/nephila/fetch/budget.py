"""What all transfers of a client share: memory for bodies, and bytes per second.

A transfer that may not take more data now is paused by libcurl and its peer feels it; it goes on when a visit gives its
body back or time has passed. Bodies that pass the spool size wait in files without a name, which vanish with the process.
When memory is full and nobody holds a finished body that could be given back, waiting would be for ever: then the running
bodies go to files too.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, Any

from nephila.clock import Clock
from nephila.types import Body

BURST_S = 0.1
"""Unused rate is saved for this long."""


class Budget:
    """`memory_max` bytes of bodies in memory, a body above `spool_bytes` in a file in `folder` (None: the system's),
    `rate` bytes per second (0: no limit)."""

    def __init__(self, memory_max: int, spool_bytes: int, rate: float, folder: Path | None, clock: Clock) -> None:
        self._memory_max, self.spool_bytes, self.rate, self._folder, self._clock = (
            memory_max,
            spool_bytes,
            rate,
            folder,
            clock,
        )
        self.used = 0
        """Bytes of bodies in memory, running transfers included."""
        self.paused: set[Any] = set()
        """Transfers that wait for memory or rate."""
        self._held: dict[int, int] = {}
        self._tokens, self._filled = rate * BURST_S, clock.monotonic()

    def must_wait(self, size: int) -> bool:
        """Whether `size` more bytes must wait: the rate is used up, or memory is full and a visit will give some back."""
        if self.rate and self._refilled() <= 0:
            return True
        return self.full(size) and bool(self._held)

    def full(self, size: int) -> bool:
        """No room for `size` more bytes in memory."""
        return self.used + size > self._memory_max

    def came(self, size: int) -> None:
        """Bytes were taken from the wire. A debt is paid off by waiting."""
        self._tokens -= size

    def hold(self, owner: object, size: int) -> None:
        """`size` bytes in memory belong to `owner` until it gives them back."""
        self.give_back(owner)
        if size:
            self._held[id(owner)] = size

    def give_back(self, owner: object) -> None:
        """Harmless when repeated."""
        self.used -= self._held.pop(id(owner), 0)

    def file(self) -> IO[bytes]:
        """A file without a name. Raises OSError."""
        if self._folder is not None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=self._folder, buffering=0)

    def _refilled(self) -> float:
        now = self._clock.monotonic()
        self._tokens = min(self.rate * BURST_S, self._tokens + (now - self._filled) * self.rate)
        self._filled = now
        return self._tokens


class Store:
    """One body being collected: blocks in memory at first, a file once they are too many."""

    __slots__ = ("_blocks", "_budget", "_file", "size")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._blocks: list[bytes] = []
        self._file: IO[bytes] | None = None
        self.size = 0

    @property
    def memory(self) -> int:
        """Bytes of memory it takes."""
        return 0 if self._file else self.size

    def add(self, data: bytes) -> None:
        """Raises OSError when the disk does."""
        if self._file is None and (self.size + len(data) > self._budget.spool_bytes or self._budget.full(len(data))):
            self._spool()
        self.size += len(data)
        if self._file is None:
            self._blocks.append(data)
            self._budget.used += len(data)
        else:
            _write(self._file, data)

    def body(self) -> Body:
        if self._file is not None:
            return Body(file=self._file, size=self.size)
        return Body(self._blocks[0] if len(self._blocks) == 1 else b"".join(self._blocks))

    def drop(self) -> None:
        """Nobody wants it."""
        self._budget.used -= self.memory
        if self._file is not None:
            self._file.close()
        self._blocks, self._file, self.size = [], None, 0

    def _spool(self) -> None:
        file = self._budget.file()
        _write(file, b"".join(self._blocks))
        self._budget.used -= self.size
        self._blocks, self._file = [], file


def _write(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
