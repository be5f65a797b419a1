"""`kv`: fingerprints in an embedded key-value store on disk, LMDB: exact, and memory is what the system's file cache can spare.

All fingerprints are the sorted values of one key, 8 bytes each in full pages without heads (LMDB's DUPFIXED), which takes
half the space of a key each. The file is nameless once open: it is gone with the process, however that ends, as it has to
be, because the database alone knows which URLs were committed. Other stores that were measured: docs/decisions/0022.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from mmap import PAGESIZE
from pathlib import Path
from typing import TypeVar

import numpy as np

from nephila.errors import ConfigError, DiskFull
from nephila.frontier.seen.ascending import Ascending
from nephila.frontier.seen.door import Fingerprints, Mask

try:
    import lmdb
except ImportError as missing:
    raise ConfigError("seen = kv and lru need the package lmdb: pip install 'nephila[seen]'") from missing

MAP_BYTES = 1 << 24
"""The file begins so large, and grows by a half whenever it is full."""
KEY = b"k"
ALLOCATE = getattr(os, "posix_fallocate", None)
"""With it the file's space is taken before it is mapped, so a full disk is an error here and not a signal there. Without it
(macOS) pages are not written through the map."""

T = TypeVar("T")


class KvSeen(Ascending):
    """12 to 20 bytes of disk a URL, more while it is small; one transaction a batch."""

    def __init__(self, folder: Path, expected: int = 0) -> None:
        super().__init__()
        folder.mkdir(parents=True, exist_ok=True)
        self._file, path = tempfile.mkstemp(prefix="seen-", dir=folder)
        self._size = max(MAP_BYTES, 16 * expected) // PAGESIZE * PAGESIZE
        try:
            self._env = lmdb.open(
                path,
                subdir=False,
                map_size=self._size,
                max_dbs=1,
                lock=False,  # one process, one thread
                sync=False,
                metasync=False,
                writemap=ALLOCATE is not None,
                map_async=True,
                readahead=False,
            )
        finally:
            os.unlink(path)
        self._allocate()
        self._table = self._env.open_db(b"seen", dupsort=True, dupfixed=True, integerdup=True)

    def close(self) -> None:
        self._env.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    @property
    def disk_bytes(self) -> int:
        """What the file takes, room to grow included."""
        return os.fstat(self._file).st_blocks * 512

    def add(self, fps: Fingerprints) -> Mask:
        values = _values(fps)

        def put() -> list[bool]:
            with self._env.begin(write=True, db=self._table) as transaction:
                one = transaction.put
                return [one(KEY, value, dupdata=False) for value in values]

        return np.array(self._growing(put), np.bool_)

    def has(self, fps: Fingerprints) -> Mask:
        with self._env.begin(db=self._table) as transaction, transaction.cursor() as cursor:
            find = cursor.set_key_dup
            return np.fromiter((find(KEY, value) for value in _values(fps)), np.bool_, len(fps))

    def discard(self, fps: Fingerprints) -> int:
        def delete() -> int:
            with self._env.begin(write=True, db=self._table) as transaction:
                return sum(transaction.delete(KEY, value) for value in _values(fps))

        return self._growing(delete)

    def _growing(self, work: Callable[[], T]) -> T:
        """A transaction that finds the file full is undone; it is done again in a larger one."""
        while True:
            try:
                return work()
            except lmdb.MapFullError:
                self._size += self._size // 2 // PAGESIZE * PAGESIZE
                self._allocate()
                self._env.set_mapsize(self._size)
            except lmdb.DiskError as error:
                raise DiskFull(f"no room for the set of known URLs: {error}") from error

    def _allocate(self) -> None:
        if ALLOCATE is None:
            return
        try:
            ALLOCATE(self._file, 0, self._size)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DiskFull(f"no room for the set of known URLs: {error.strerror}") from error


def _values(fps: Fingerprints) -> list[bytes]:
    """Eight bytes each, as this machine writes them: the file never leaves it."""
    found: list[bytes] = fps.view("V8").tolist()
    return found
