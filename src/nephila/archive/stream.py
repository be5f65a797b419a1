"""Bytes that come in blocks, read by line, by length, or up to a pattern; they know where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LOOK_BACK = 256
"""A pattern that is searched for may lie across two blocks: longer ones than this are not."""


class Stream:
    """`at`: bytes taken so far. Memory: one block and what was asked for."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._have, self.at = blocks, b"", 0

    def peek(self, size: int) -> bytes:
        """The next bytes, up to `size`, which stay."""
        while len(self._have) < size and (block := next(self._blocks, b"")):
            self._have += block
        return self._have[:size]

    def take(self, size: int) -> bytes:
        """The next bytes, fewer than `size` only at the end."""
        taken = self.peek(size)
        self._drop(len(taken))
        return taken

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes in pieces."""
        while size > 0 and (piece := (self._have or self.peek(1)) and self._have[:size]):
            self._drop(len(piece))
            size -= len(piece)
            yield piece

    def until(self, end: re.Pattern[bytes], limit: int) -> bytes:
        """The bytes up to and including the first match of `end`, or b"" when it is not within `limit` bytes."""
        searched = 0
        while True:
            found = end.search(self._have, max(0, searched - _LOOK_BACK))
            if found:
                return self.take(found.end()) if found.end() <= limit else b""
            searched = len(self._have)
            if searched >= limit or not (block := next(self._blocks, b"")):
                return b""
            self._have += block

    def skip_to(self, begin: re.Pattern[bytes]) -> bool:
        """Drop everything before the next match of `begin`. False, and all is dropped: there is none."""
        while True:
            if (found := begin.search(self._have)) is not None:
                self._drop(found.start())
                return True
            self._drop(max(0, len(self._have) - _LOOK_BACK))
            if not (block := next(self._blocks, b"")):
                self._drop(len(self._have))
                return False
            self._have += block

    def _drop(self, size: int) -> None:
        self._have, self.at = self._have[size:], self.at + size
