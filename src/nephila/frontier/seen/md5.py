"""`md5`: 128-bit digests of the URLs (of their keys), the classic of early crawlers; a collision is noticed, counted and loses no page.

Two texts with one MD5 digest can be made by anybody. So beside each digest stands a witness, another hash of the same text;
where digest and witness disagree, two URLs have collided: the second one is remembered by both together, and is new.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import md5
from typing import ClassVar

import numpy as np
from xxhash import xxh3_64_digest

from nephila.frontier.seen.door import Keys, Mask
from nephila.url.key import key


class Md5Seen:
    """`say` hears a sentence at the first collision of each digest; `digest` is replaced in tests, for want of real ones."""

    of_text: ClassVar[bool] = True
    exact: ClassVar[bool] = True

    def __init__(
        self,
        say: Callable[[str], object] = lambda sentence: None,
        digest: Callable[[bytes], bytes] = lambda text: md5(text, usedforsecurity=False).digest(),
    ) -> None:
        self._say, self._digest = say, digest
        self._witness: dict[bytes, bytes] = {}
        """Digest → witness of the first text that had it."""
        self._collided: set[bytes] = set()
        """Digest and witness, joined, of each later text with a digest that was taken."""

    def __len__(self) -> int:
        return len(self._witness) + len(self._collided)

    @property
    def collisions(self) -> int:
        """URLs remembered whose digest another URL had first."""
        return len(self._collided)

    def add_many(self, keys: Keys) -> Mask:
        return np.fromiter(map(self._add, keys), np.bool_, len(keys))

    def contains_many(self, keys: Keys) -> Mask:
        return np.fromiter(map(self._has, keys), np.bool_, len(keys))

    def discard_many(self, keys: Keys) -> None:
        for url in keys:
            digest, witness = self._names(url)
            if self._witness.get(digest) == witness:
                del self._witness[digest]  # those that collided with it stay known by both their names
            self._collided.discard(digest + witness)

    def close(self) -> None:
        self._witness, self._collided = {}, set()

    def _names(self, url: str) -> tuple[bytes, bytes]:
        text = key(url).encode()
        return self._digest(text), xxh3_64_digest(text)

    def _add(self, url: str) -> bool:
        digest, witness = self._names(url)
        first = self._witness.get(digest)
        if first == witness or digest + witness in self._collided:
            return False
        if first is None:
            self._witness[digest] = witness
        else:
            self._collided.add(digest + witness)
            self._say(f"MD5 collision: {url} has the digest of another URL ({digest.hex()}); it is taken as new")
        return True

    def _has(self, url: str) -> bool:
        digest, witness = self._names(url)
        return self._witness.get(digest) == witness or digest + witness in self._collided
