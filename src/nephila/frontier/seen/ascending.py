"""What ways of remembering fingerprints share: they are asked in ascending order, each fingerprint of a batch once.

Files, trees and tables like it so: neighbours lie together. What a batch holds twice, and its order, are dealt with here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from nephila.frontier.seen.door import Fingerprints, Keys, Mask

PART = 1 << 20
"""Of a larger batch (a start hands over all that is known) so many are taken at a time."""


class Ascending(ABC):
    """The door (`door.Seen`) over `add`, `has` and `discard` of ascending, distinct fingerprints."""

    of_text: ClassVar[bool] = False
    exact: ClassVar[bool] = True

    def __init__(self) -> None:
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add_many(self, keys: Keys) -> Mask:
        asked = np.asarray(keys, np.uint64)
        mask = np.zeros(len(asked), np.bool_)
        for at in range(0, len(asked), PART):
            fps, first = np.unique(asked[at : at + PART], return_index=True)
            new = self.add(fps)
            self._count += int(np.count_nonzero(new))
            mask[at + first[new]] = True
        return mask

    def contains_many(self, keys: Keys) -> Mask:
        fps, place = np.unique(np.asarray(keys, np.uint64), return_inverse=True)
        known: Mask = self.has(fps)[place]
        return known

    def discard_many(self, keys: Keys) -> None:
        fps = np.unique(np.asarray(keys, np.uint64))
        self._count -= self.discard(fps)

    @abstractmethod
    def close(self) -> None:
        """Let go of files and memory."""

    @abstractmethod
    def add(self, fps: Fingerprints) -> Mask:
        """Remember all; true where one was not known."""

    @abstractmethod
    def has(self, fps: Fingerprints) -> Mask:
        """True where one is known."""

    @abstractmethod
    def discard(self, fps: Fingerprints) -> int:
        """Forget these; how many of them were known."""
