"""Anonymous memory that becomes longer without a copy, of which only what is touched counts."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import sys

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


class Map:
    """Zeroed memory of at least `size` bytes. Grows by moving its pages where the system can do that (Linux). Elsewhere it is
    mapped as long as the machine's memory from the start, which costs nothing until it is used."""

    def __init__(self, size: int) -> None:
        self.size = size if sys.platform == "linux" else max(size, _physical())
        try:
            self.map = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as e:
            raise MemoryError("no memory for more keys") from e
        self._advise()

    @property
    def address(self) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(self.map))

    def grow(self, size: int) -> None:
        """To `size` at least; to twice the size where that much can be had, to be asked seldom."""
        if size <= self.size:
            return
        for wanted in (max(size, 2 * self.size), size):
            with contextlib.suppress(OSError, SystemError):
                self.map.resize(wanted)
                self.size = wanted
                self._advise()
                return
        raise MemoryError("no memory for more keys")

    def untouch(self, start: int, end: int) -> None:
        """Whole pages between two places are given back; what they held is lost."""
        start = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        end = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
        if start < end:
            self.map.madvise(mmap.MADV_DONTNEED, start, end - start)

    def close(self) -> None:
        self.map.close()

    def _advise(self) -> None:
        """No huge pages: of one that is touched all counts, and what they save in time is within the noise."""
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without them
                self.map.madvise(mmap.MADV_NOHUGEPAGE)


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
