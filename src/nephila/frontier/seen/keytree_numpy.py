"""The key tree in numpy alone: for where the kernel was not compiled, and what the kernel is held against.

Two levels, because numpy pays per call and not per key. New keys go to `young`, one sorted array of at most 1/64 of all. Behind
it lie runs of up to 16,384 sorted keys, each with its own range: a run keeps what a key is above the first of its range, in whole
bytes (7 up to some 10⁸ keys). When `young` is full, the runs with the largest share of it take theirs in; a run that is
too long is halved. Each run has a place of its own in one mapping, of which only the pages in use take memory.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

from nephila.frontier.seen.door import Fingerprints
from nephila.frontier.seen.maps import Bytes, Map

Numbers = npt.NDArray[np.int64]

RUN = 16_384
LOADED = 12_288
"""Keys in a run that is loaded: some may come before it has to be halved."""
PLACE = RUN * 9 // mmap.PAGESIZE * mmap.PAGESIZE + mmap.PAGESIZE
"""Bytes from one run to the next: 8 of a key at most and one of payload, and some that are read beyond."""
YOUNG_MIN, YOUNG_SHARE = 16_384, 64
UNKNOWN = 256


class NumpyTree:
    """See `keytree.Tree`."""

    def __init__(self, payload: bool) -> None:
        self._payload = int(payload)
        self._empty()

    def _empty(self) -> None:
        self._map = Map(PLACE)
        self._low = np.zeros(1, np.uint64)
        self._place, self._size, self._rest = np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, 8)
        self._young, self._young_depths = np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        self._count = 0
        self._aside = self._young, self._young_depths

    def __len__(self) -> int:
        return self._count + len(self._young) + len(self._aside[0])

    def add(self, fps: Fingerprints, depths: Bytes, out: Bytes) -> None:
        self._settle(len(fps))
        order = np.argsort(fps, kind="stable")
        keys = fps[order]
        first = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=first[1:])
        unique = keys[first]
        in_young, in_runs, at = self._look_up(unique)
        known = in_young | in_runs
        answers = np.zeros(len(keys), np.uint8)
        lowest = np.zeros(len(unique), np.uint8)
        if self._payload:
            before = np.where(known, self._depths_at(in_young, in_runs, at), UNKNOWN)
            lowest = _lower(
                before, np.broadcast_to(depths, len(keys))[order if len(depths) > 1 else slice(None)], first, answers
            )
        answers[np.flatnonzero(first)[~known]] = 1
        self._put(unique[~known], lowest[~known])
        if self._payload:
            self._lower_known(unique[in_young], lowest[in_young], at[in_runs], lowest[in_runs])
        out[order] = answers

    def find(self, fps: Fingerprints, out: Bytes, depths: Bytes | None) -> None:
        in_young, in_runs, at = self._look_up(fps)
        np.logical_or(in_young, in_runs, out=out.view(np.bool_))
        if depths is not None:
            known = out.view(np.bool_)
            depths[known] = self._depths_at(in_young, in_runs, at)[known]

    def discard(self, fps: Fingerprints) -> None:
        unique = np.unique(fps)
        in_young, in_runs, _ = self._look_up(unique)
        gone = np.searchsorted(self._young, unique[in_young])
        self._young, self._young_depths = np.delete(self._young, gone), np.delete(self._young_depths, gone)
        old = unique[in_runs]
        runs = self._run_of(old)
        for run in np.unique(runs).tolist():
            keys, depths = self._read(run)
            gone = np.searchsorted(keys, old[runs == run])
            self._write(run, np.delete(keys, gone), np.delete(depths, gone))

    def expect(self, total: int) -> None:
        """Nothing here depends on it."""

    def load(self, fps: Fingerprints, depths: Bytes, last: bool = False) -> None:
        """A run is written when the first key of the next is known."""
        keys = np.concatenate((self._aside[0], fps))
        depths = np.concatenate((self._aside[1], depths)) if self._payload else np.zeros(len(keys), np.uint8)
        while len(keys) > LOADED or (last and len(keys)):
            self._open_run(len(self._low) - 1, [int(k) for k in keys[LOADED : LOADED + 1]])
            self._write(len(self._low) - 1 - (len(keys) > LOADED), keys[:LOADED], depths[:LOADED])
            keys, depths = keys[LOADED:], depths[LOADED:]
        self._aside = keys, depths

    def load_end(self) -> None:
        self.load(self._young[:0], self._young_depths[:0], last=True)

    def close(self) -> None:
        self._empty()

    # -- looking up --

    def _look_up(self, keys: Fingerprints) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], Numbers]:
        """In `young`? In a run? Where: the index in `young`, or the byte where the item begins."""
        at = np.searchsorted(self._young, keys)
        in_young = np.zeros(len(keys), np.bool_)
        inside = at < len(self._young)
        in_young[inside] = self._young[at[inside]] == keys[inside]
        run = self._run_of(keys)
        rest = keys - self._low[run]
        start, stride, low, high = (
            self._place[run],
            self._rest[run] + self._payload,
            np.zeros(len(keys), np.int64),
            self._size[run],
        )
        mask = ~np.uint64(0) >> (64 - 8 * self._rest[run]).astype(np.uint64)
        words = self._words()
        for _ in range(int(self._size.max()).bit_length()):
            middle = (low + high) >> 1
            smaller = ((words[start + middle * stride] & mask) < rest) & (low < high)
            low, high = np.where(smaller, middle + 1, low), np.where(smaller, high, middle)
        byte = start + low * stride
        in_runs = (low < self._size[run]) & ((words[byte] & mask) == rest)
        return in_young, in_runs, np.where(in_runs, byte + self._rest[run], at)

    def _depths_at(self, in_young: npt.NDArray[np.bool_], in_runs: npt.NDArray[np.bool_], at: Numbers) -> Numbers:
        depths = np.zeros(len(at), np.int64)
        depths[in_young] = self._young_depths[at[in_young]]
        depths[in_runs] = self._bytes()[at[in_runs]]
        return depths

    def _run_of(self, keys: Fingerprints) -> Numbers:
        return np.searchsorted(self._low, keys, side="right") - 1

    # -- changing --

    def _put(self, keys: Fingerprints, depths: Bytes) -> None:
        """New keys, ascending, into `young`."""
        at = np.searchsorted(self._young, keys)
        self._young, self._young_depths = np.insert(self._young, at, keys), np.insert(self._young_depths, at, depths)

    def _lower_known(self, young: Fingerprints, young_depths: Bytes, at: Numbers, depths: Bytes) -> None:
        self._young_depths[np.searchsorted(self._young, young)] = young_depths
        self._bytes()[at] = depths

    def _settle(self, n: int) -> None:
        """Before `n` keys more: the runs with the largest share take theirs out of a `young` that will be too long."""
        excess = len(self._young) + n - max(YOUNG_MIN, self._count // YOUNG_SHARE)
        if excess <= 0 or not len(self._young):
            return
        cuts = np.append(np.searchsorted(self._young, self._low), len(self._young))
        shares = np.diff(cuts)
        largest = np.argsort(-shares)
        enough = int(np.searchsorted(np.cumsum(shares[largest]), min(max(excess, 4 * n), len(self._young)))) + 1
        kept = np.ones(len(self._young), np.bool_)
        try:
            for run in np.sort(largest[:enough])[::-1].tolist():  # from the end: a halved run moves only those after it
                part = slice(cuts[run], cuts[run + 1])
                self._take_in(run, self._young[part], self._young_depths[part])
                kept[part] = False
        finally:
            self._young, self._young_depths = self._young[kept], self._young_depths[kept]

    def _take_in(self, run: int, keys: Fingerprints, depths: Bytes) -> None:
        old, old_depths = self._read(run)
        at = np.searchsorted(old, keys)
        old, old_depths = np.insert(old, at, keys), np.insert(old_depths, at, depths)
        parts = -(-len(old) // RUN)
        cuts = [len(old) * i // parts for i in range(1, parts)]
        self._open_run(run, [int(old[cut]) for cut in cuts])
        for i, (k, d) in enumerate(zip(np.split(old, cuts), np.split(old_depths, cuts), strict=True)):
            self._write(run + i, k, d)

    def _open_run(self, run: int, lows: list[int]) -> None:
        """New empty runs after `run`, whose range then ends at the first of `lows`."""
        if not lows:
            return
        number, more = len(self._low), len(lows)
        self._map.grow((number + more) * PLACE)
        self._low, self._place, self._size, self._rest = (
            np.insert(self._low, run + 1, np.array(lows, np.uint64)),
            np.insert(self._place, run + 1, np.arange(number, number + more) * PLACE),
            np.insert(self._size, run + 1, np.zeros(more, np.int64)),
            np.insert(self._rest, run + 1, np.full(more, 8)),
        )

    # -- a run's bytes --

    def _read(self, run: int) -> tuple[Fingerprints, Bytes]:
        place, size, rest = int(self._place[run]), int(self._size[run]), int(self._rest[run])
        stride = rest + self._payload
        items = self._bytes()[place : place + size * stride].reshape(size, stride)
        wide = np.zeros((size, 8), np.uint8)
        wide[:, :rest] = items[:, :rest]
        depths = items[:, rest].copy() if self._payload else np.zeros(size, np.uint8)
        return wide.view("<u8").reshape(size) + self._low[run], depths

    def _write(self, run: int, keys: Fingerprints, depths: Bytes) -> None:
        """In as many bytes a key as the range of the run needs now."""
        low, end = int(self._low[run]), int(self._low[run + 1]) if run + 1 < len(self._low) else 1 << 64
        place, size, rest = int(self._place[run]), len(keys), max(1, -(-(end - low - 1).bit_length() // 8))
        stride, before = rest + self._payload, int(self._size[run]) * (int(self._rest[run]) + self._payload)
        items = self._bytes()[place : place + size * stride].reshape(size, stride)
        items[:, :rest] = (keys - self._low[run]).astype("<u8").view(np.uint8).reshape(size, 8)[:, :rest]
        if self._payload:
            items[:, rest] = depths
        self._count += size - int(self._size[run])
        self._size[run], self._rest[run] = size, rest
        self._map.untouch(place + size * stride, place + before)

    def _bytes(self) -> Bytes:
        whole: Bytes = np.frombuffer(self._map.map, np.uint8)
        return whole

    def _words(self) -> Fingerprints:
        """The eight bytes that begin at each byte."""
        return np.ndarray((self._map.size - 7,), "<u8", self._map.map, strides=(1,))


def _lower(before: Numbers, depths: Bytes, first: npt.NDArray[np.bool_], answers: Bytes) -> Bytes:
    """The lowest depth of each key, from the depth it was known with and those of the sorted batch; 2 into `answers` of what
    lowered it. A running minimum over all keys is one for each of them, once each key's depths lie below those of the key before.
    """
    group = np.cumsum(first) - 1
    running = np.minimum.accumulate(depths - UNKNOWN * group) + UNKNOWN * group
    earlier = before[group]
    earlier[1:] = np.where(first[1:], earlier[1:], np.minimum(earlier[1:], running[:-1]))
    answers[depths < earlier] = 2
    last = np.append(first[1:], np.True_)[: len(first)]
    lowest: Bytes = np.minimum(before, running[last]).astype(np.uint8)
    return lowest
