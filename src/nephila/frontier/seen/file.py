"""`file`: fingerprints one after another in a file that is read from start to end for every batch.

The baseline that nobody should use: a look-up costs as much as there are URLs. It needs no memory and no library.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nephila.frontier.seen.ascending import Ascending
from nephila.frontier.seen.door import Fingerprints, Mask

CHUNK = 1 << 17
"""Fingerprints read at a time: 1 MiB."""


class FileSeen(Ascending):
    """8 bytes of disk a URL, in a nameless file that is gone with the process, however that ends."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (closed in `close`)

    def close(self) -> None:
        self._file.close()

    @property
    def disk_bytes(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def add(self, fps: Fingerprints) -> Mask:
        new = ~self.has(fps)
        self._file.seek(0, os.SEEK_END)
        _write(self._file.fileno(), fps[new])
        return new

    def has(self, fps: Fingerprints) -> Mask:
        known = np.zeros(len(fps), np.bool_)
        for chunk in self._chunks():
            known[_places(fps, chunk)] = True
        return known

    def discard(self, fps: Fingerprints) -> int:
        """The rest moves up, so that the file holds nothing that is not known."""
        kept = 0
        for chunk in self._chunks():
            rest = chunk[~np.isin(chunk, fps)]
            self._file.seek(8 * kept)
            _write(self._file.fileno(), rest)
            kept += len(rest)
        self._file.truncate(8 * kept)
        return self._count - kept

    def _chunks(self) -> Iterator[Fingerprints]:
        """The file from start to end; it may be written before the place that is read."""
        at = 0
        while data := os.pread(self._file.fileno(), 8 * CHUNK, at):
            yield np.frombuffer(data, np.uint64)
            at += len(data)


def _places(fps: Fingerprints, chunk: Fingerprints) -> npt.NDArray[np.intp]:
    """Where in `fps` (ascending) the numbers of `chunk` stand that are there."""
    if not len(fps):
        return np.zeros(0, np.intp)
    places = np.searchsorted(fps, chunk)
    places[places == len(fps)] = 0
    found: npt.NDArray[np.intp] = places[fps[places] == chunk]
    return found


def _write(file: int, fps: Fingerprints) -> None:
    data = memoryview(fps.tobytes())
    while data:
        data = data[os.write(file, data) :]
