"""Reading archive files that are only in the store: the blocks that are asked for, in sparse files, at their own places.

Whole files would cost a gigabyte for one page; a request for each page would cost a round trip each, and a view reads them all,
mostly in order. So a block is fetched once for the pages in it, and the readers of archives find ordinary files. At most
`BYTES_MAX` lie on the disk; past it, the files that were used longest ago are let go. Everything goes with the reader.
"""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from pathlib import Path

from nephila.errors import Damaged
from nephila.store.objects import Objects, Trouble

BLOCK = 4 << 20
BYTES_MAX = 2 << 30
AHEAD_MAX = 8
"""Neighbouring blocks that are missing are fetched as one request, so many at most."""


class Cache:
    """The blocks of many files. A path stays good until the next call but one (a record and the one that it repeats)."""

    def __init__(self, key: str = "", bytes_max: int = BYTES_MAX) -> None:
        self._key, self._bytes_max = key, bytes_max
        self._folder = tempfile.TemporaryDirectory(prefix="nephila-store-", ignore_cleanup_errors=True)
        self._stores: dict[str, Objects] = {}
        self._files: OrderedDict[tuple[str, str], set[int]] = OrderedDict()

    def close(self) -> None:
        self._folder.cleanup()

    def path(self, address: str, file: str, size: int, offset: int, length: int) -> Path:
        """A file that holds bytes `offset` … `offset + length` of `file` in the store at `address`. Raises Damaged."""
        have = self._files.setdefault((address, file), set())
        self._files.move_to_end((address, file))
        place = Path(self._folder.name) / f"{abs(hash(address)):x}-{file}"
        wanted = [n for n in range(offset // BLOCK, (min(offset + length, size) + BLOCK - 1) // BLOCK) if n not in have]
        for first, last in _runs(wanted):
            self._fetch(address, file, place, first * BLOCK, min((last + 1) * BLOCK, size))
            have.update(range(first, last + 1))
        self._let_go()
        return place

    def _fetch(self, address: str, file: str, place: Path, start: int, end: int) -> None:
        try:
            if address not in self._stores:
                self._stores[address] = Objects(address, self._key)
            data = self._stores[address].range(file, start, end)
        except Trouble as error:
            raise Damaged(f"{file} is only in {address}, and cannot be read there ({error})") from error
        if len(data) != end - start:
            raise Damaged(f"{file} is shorter in {address} than it was")
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(fd, data, start)
        finally:
            os.close(fd)

    def _let_go(self) -> None:
        while len(self._files) > 2 and sum(map(len, self._files.values())) * BLOCK > self._bytes_max:
            (address, file), _ = self._files.popitem(last=False)
            (Path(self._folder.name) / f"{abs(hash(address)):x}-{file}").unlink(missing_ok=True)


def _runs(blocks: list[int]) -> list[tuple[int, int]]:
    """[4, 5, 6, 9] → [(4, 6), (9, 9)], none longer than `AHEAD_MAX`."""
    runs: list[tuple[int, int]] = []
    for n in blocks:
        if runs and runs[-1][1] == n - 1 and n - runs[-1][0] < AHEAD_MAX:
            runs[-1] = (runs[-1][0], n)
        else:
            runs.append((n, n))
    return runs
