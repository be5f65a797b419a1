"""`bloom`: a Bloom filter, 3 to 7 bytes a URL, which takes some new URLs for known ones: those pages are lost.

A plain filter looks at one far-off bit per hash function. Here a fingerprint has one block of 512 bits, a cache line, and in
each of its sixteen words one bit: one place in memory per look-up, and numpy's speed, for a fifth to a third more memory
(Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007). Blocks fill unevenly, which is reckoned
with. A full filter is followed by one twice as large and stricter, so that the rates of all of them together stay below the
one asked for (Almeida et al.: Scalable Bloom Filters, 2007). It cannot forget.
"""

from __future__ import annotations

import math
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from nephila.frontier.seen.ascending import Ascending
from nephila.frontier.seen.door import Fingerprints, Keys, Mask

RATE = 1e-4
"""Of new URLs, at most this share is taken for known."""
FIRST = 1 << 20
"""URLs that the first filter has room for."""
WORDS = 16
"""A block, in words of 32 bits."""
CHUNK = 1 << 14
"""Fingerprints looked up at a time: 1 MiB of words, which a cache holds."""
_ODD = np.random.default_rng(2007).integers(0, 1 << 32, WORDS, np.uint32) | np.uint32(1)

Bits: TypeAlias = npt.NDArray[np.uint32]


class BloomSeen(Ascending):
    """A series of filters; a URL is known when one of them says so."""

    exact: ClassVar[bool] = False

    def __init__(self, rate: float = RATE, room: int = FIRST) -> None:
        super().__init__()
        self._rate = rate
        self._filters = [_Filter(room, self._share(0))]

    def discard_many(self, keys: Keys) -> None:
        """Nothing: a bit may belong to others."""

    def close(self) -> None:
        self._filters.clear()

    def _share(self, n: int) -> float:
        """What the n-th filter may add to the rate: the sum over 1/n² is π²/6, without end."""
        return self._rate * 6 / math.pi**2 / (n + 1) ** 2

    def add(self, fps: Fingerprints) -> Mask:
        new = np.empty(len(fps), np.bool_)
        for at in range(0, len(fps), CHUNK):
            part = fps[at : at + CHUNK]
            bits = _bits(part)
            new[at : at + CHUNK] = mask = ~self._look_up(part, bits)
            self._with_room(int(np.count_nonzero(mask))).add(part[mask], bits[mask])
        return new

    def has(self, fps: Fingerprints) -> Mask:
        known = np.empty(len(fps), np.bool_)
        for at in range(0, len(fps), CHUNK):
            part = fps[at : at + CHUNK]
            known[at : at + CHUNK] = self._look_up(part, _bits(part))
        return known

    def discard(self, fps: Fingerprints) -> int:
        return 0

    def _look_up(self, fps: Fingerprints, bits: Bits) -> Mask:
        known = self._filters[-1].has(fps, bits)
        for one in self._filters[-2::-1]:
            known |= one.has(fps, bits)
        return known

    def _with_room(self, n: int) -> _Filter:
        last = self._filters[-1]
        if last.count + n > last.room:
            last = _Filter(2 * last.room, self._share(len(self._filters)))
            self._filters.append(last)
        return last


class _Filter:
    """One filter of fixed size, with room for `room` fingerprints at false-positive rate `rate`."""

    def __init__(self, room: int, rate: float) -> None:
        self.room, self.count = room, 0
        self._blocks = np.zeros((math.ceil(room / load(rate)), WORDS), np.uint32)

    def has(self, fps: Fingerprints, bits: Bits) -> Mask:
        missing = np.take(self._blocks, self._places(fps), axis=0)
        np.bitwise_and(np.invert(missing, out=missing), bits, out=missing)
        known: Mask = missing.view(np.uint64).max(axis=1) == 0
        return known

    def add(self, fps: Fingerprints, bits: Bits) -> None:
        """A block that several share is written once for each: an assignment by index keeps but one of them."""
        places = self._places(fps)
        self.count += len(fps)
        while len(places):
            now = np.diff(places, prepend=-1) != 0  # ascending, so the same block stands together
            self._blocks[places[now]] |= bits[now]
            places, bits = places[~now], bits[~now]

    def _places(self, fps: Fingerprints) -> npt.NDArray[np.intp]:
        """The upper 32 bits, scaled to the number of blocks."""
        scaled = (fps >> np.uint64(32)) * np.uint64(len(self._blocks)) >> np.uint64(32)
        return scaled.astype(np.intp)


def load(rate: float) -> float:
    """The most fingerprints a block may hold on average for a false-positive rate."""
    low, high = 0.0, 32.0 * WORDS
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if expected_rate(middle) <= rate else (low, middle)
    return low


def expected_rate(mean: float) -> float:
    """The false-positive rate of blocks that hold `mean` fingerprints on average: Poisson over how many one holds, each of
    which has set one of 32 bits in each of the sixteen words."""
    held = np.arange(int(mean + 12 * math.sqrt(mean) + 12))
    logs = held * math.log(max(mean, 1e-9)) - mean - np.array([math.lgamma(n + 1) for n in held])
    return float(np.sum(np.exp(logs) * (1 - (31 / 32) ** held) ** WORDS))


def _bits(fps: Fingerprints) -> Bits:
    """(n, 16): one bit in each word, chosen by the upper five bits of the lower half's product with the word's odd number."""
    numbers = fps.astype(np.uint32)[:, None] * _ODD >> np.uint32(27)
    bits: Bits = np.uint32(1) << numbers
    return bits
