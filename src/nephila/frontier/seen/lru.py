"""`lru`: a bounded cache of fingerprints in memory before the store on disk (`kv`): exact, for sets larger than memory.

Most links of a page lead to what was linked a moment ago. The cache holds only what the store holds, so it may forget
anything: what is not in it is looked up there and comes in. Like a processor's cache it is divided into sets of eight, and
the least recently used of its set makes room: two arrays and no object per entry, a few numpy calls per batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from nephila.frontier.seen.ascending import Ascending
from nephila.frontier.seen.door import Fingerprints, Mask
from nephila.frontier.seen.kv import KvSeen

ENTRIES = 1 << 20
"""Fingerprints in memory, 16 bytes each."""
WAYS = 8


class LruSeen(Ascending):
    """`kv` with its most recently met fingerprints in memory."""

    def __init__(self, folder: Path, expected: int = 0, entries: int = ENTRIES) -> None:
        super().__init__()
        self._store, self._cache = KvSeen(folder, expected), _Cache(entries)

    def close(self) -> None:
        self._store.close()

    @property
    def disk_bytes(self) -> int:
        return self._store.disk_bytes

    def add(self, fps: Fingerprints) -> Mask:
        new = np.zeros(len(fps), np.bool_)
        asked = np.flatnonzero(~self._cache.has(fps))
        new[asked] = self._store.add(fps[asked])
        self._cache.put(fps[asked])
        return new

    def has(self, fps: Fingerprints) -> Mask:
        known = self._cache.has(fps)
        asked = np.flatnonzero(~known)
        known[asked] = found = self._store.has(fps[asked])
        self._cache.put(fps[asked[found]])
        return known

    def discard(self, fps: Fingerprints) -> int:
        self._cache.discard(fps)
        return self._store.discard(fps)


class _Cache:
    """Fingerprints in sets of eight, each with the number of the call that used it last (-1: the place is empty)."""

    def __init__(self, entries: int) -> None:
        sets = max(1, entries // WAYS)
        self._fps = np.zeros((sets, WAYS), np.uint64)
        self._used = np.full((sets, WAYS), -1, np.int64)
        self._now = 0

    def has(self, fps: Fingerprints) -> Mask:
        """True where a fingerprint is here; it is used by that."""
        self._now += 1
        sets = self._sets(fps)
        here = self._here(sets, fps)
        hit: Mask = np.any(here, axis=1)
        self._used[sets[hit], here[hit].argmax(axis=1)] = self._now
        return hit

    def put(self, fps: Fingerprints) -> None:
        """These are not here. Of several for one set the last one stays."""
        sets = self._sets(fps)
        oldest = self._used[sets].argmin(axis=1)
        self._fps[sets, oldest], self._used[sets, oldest] = fps, self._now

    def discard(self, fps: Fingerprints) -> None:
        sets = self._sets(fps)
        here = self._here(sets, fps)
        hit = here.any(axis=1)
        self._used[sets[hit], here[hit].argmax(axis=1)] = -1

    def _here(self, sets: npt.NDArray[np.intp], fps: Fingerprints) -> npt.NDArray[np.bool_]:
        here: npt.NDArray[np.bool_] = np.equal(self._fps[sets], fps[:, None])
        here &= self._used[sets] >= 0
        return here

    def _sets(self, fps: Fingerprints) -> npt.NDArray[np.intp]:
        return (fps % np.uint64(len(self._fps))).astype(np.intp)
