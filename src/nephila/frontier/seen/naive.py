"""`keytree-naive`: the trie of the textbook, one node per decimal digit with ten pointers and an end flag.

Kept to show what the packed tree saves. The first six digits of a million numbers are shared; every digit behind them is
a node of its own, an object and a list of ten pointers, nearly all of them empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from nephila.frontier.seen.door import Keys, Mask


class _Node:
    __slots__ = ("children", "end")

    def __init__(self) -> None:
        self.children: list[_Node | None] = [None] * 10
        self.end = False


class NaiveSeen:
    """All 64 bits of each fingerprint, in decimal: up to twenty nodes deep."""

    of_text: ClassVar[bool] = False
    exact: ClassVar[bool] = True
    _dropped_bits: ClassVar[int] = 0

    def __init__(self) -> None:
        self._root, self._count = _Node(), 0

    def __len__(self) -> int:
        return self._count

    def add_many(self, keys: Keys) -> Mask:
        return np.fromiter(map(self._add, self._digits(keys)), np.bool_, len(keys))

    def contains_many(self, keys: Keys) -> Mask:
        return np.fromiter((self._end(digits) is not None for digits in self._digits(keys)), np.bool_, len(keys))

    def discard_many(self, keys: Keys) -> None:
        for digits in self._digits(keys):
            if (node := self._end(digits)) is not None:
                node.end = False
                self._count -= 1

    def close(self) -> None:
        self._root, self._count = _Node(), 0

    def _digits(self, keys: Keys) -> Iterator[bytes]:
        """The number as it is written: one may begin another, so an end has to be flagged."""
        for number in (np.asarray(keys, np.uint64) >> np.uint64(self._dropped_bits)).tolist():
            yield b"%d" % number

    def _add(self, digits: bytes) -> bool:
        node = self._root
        for digit in digits:
            child = node.children[digit - 48]
            if child is None:
                child = node.children[digit - 48] = _Node()
            node = child
        if node.end:
            return False
        node.end = True
        self._count += 1
        return True

    def _end(self, digits: bytes) -> _Node | None:
        """The node where a known number ends."""
        node: _Node | None = self._root
        for digit in digits:
            node = node.children[digit - 48]  # type: ignore[union-attr]
            if node is None:
                return None
        return node if node is not None and node.end else None


class NaiveSeen32(NaiveSeen):
    """The upper 32 bits only: half as deep, and of n known URLs one new page in 2³²/n is taken for a known one."""

    exact: ClassVar[bool] = False
    _dropped_bits: ClassVar[int] = 32
