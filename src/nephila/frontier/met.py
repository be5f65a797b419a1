"""What was met: the set behind its door, as the rooms of the frontier ask it.

The set is asked for the links of many pages at once, in arrays; ways that know a URL by its text are given the texts.
With a depth limit each fingerprint carries the smallest depth it was met at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from nephila.frontier.seen.door import Fingerprints, Mask, Seen

DEPTH_TOP = 255
"""Depths beyond are one to the set: it keeps a byte for each."""


class Depths(Protocol):
    """A set that keeps the smallest depth (0–255) beside each fingerprint."""

    def add_many(self, keys: Fingerprints, depths: npt.NDArray[np.uint8]) -> tuple[Mask, Mask]:
        """(met for the first time, met at a smaller depth than before); no key stands twice in `keys`."""
        ...


class Met:
    """The set of what was met. `deep`: depths count, and the set was made for them."""

    def __init__(self, seen: Seen, *, deep: bool) -> None:
        self.seen, self.deep = seen, deep
        self._of_text = seen.of_text

    def first(self, fp: int, text: str, depth: int = 0) -> bool:
        """Whether one URL is met for the first time; from now on it is known."""
        return self.first_many([fp], [text], [depth])[0]

    def first_many(self, fps: Sequence[int], texts: Sequence[str], depths: Sequence[int] = ()) -> list[bool]:
        """True where a URL is met for the first time; twice in one call it is new once. `depths` where they count."""
        if self.deep:
            return self._first_deep(np.array(fps, np.uint64), np.array(depths, np.int64))
        keys: Any = texts if self._of_text else np.array(fps, np.uint64)
        return cast(list[bool], self.seen.add_many(keys).tolist())

    def _first_deep(self, fps: Fingerprints, depths: npt.NDArray[np.int64]) -> list[bool]:
        keys, at, of = np.unique(fps, return_index=True, return_inverse=True)
        new, _ = self.lower(keys, _least(depths, of, len(keys)))
        first = np.zeros(len(fps), np.bool_)
        first[at] = new
        return cast(list[bool], first.tolist())

    def lower(self, keys: Fingerprints, depths: npt.NDArray[np.int64]) -> tuple[Mask, Mask]:
        """(new, shallower than before) of fingerprints, each there once; they stand at `depths` from now on, if smaller."""
        return cast(Depths, self.seen).add_many(keys, np.minimum(depths, DEPTH_TOP).astype(np.uint8))

    def forget(self, urls: Mapping[int, str]) -> None:
        """Fingerprints (with their texts) that are to be new when they come again."""
        self.seen.discard_many(list(urls.values()) if self._of_text else np.array(list(urls), np.uint64))


def _least(depths: npt.NDArray[np.int64], of: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.int64]:
    """The smallest depth of each group."""
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, of, depths)
    return least
