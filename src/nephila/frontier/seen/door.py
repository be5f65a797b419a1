"""The door to the set of what was met: every way of remembering URLs stands behind it.

A way is asked with one call for the links of many pages. Most ways know a URL by its 64-bit keyed fingerprint; the two
textbook ones know its text (`of_text`), and are given that instead. None of them is durable by itself: a set is built anew
from the database at every start, so it can never know a URL that the database does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Fingerprints: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Keys: TypeAlias = Fingerprints | Sequence[str]
"""What a way knows a URL by: fingerprints, or texts where `of_text` says so."""


class Seen(Protocol):
    """A set of URLs that only grows, but for `discard_many`."""

    of_text: ClassVar[bool]
    """Keys are the URLs themselves, not their fingerprints."""
    exact: ClassVar[bool]
    """Never says "met before" of what was not. False loses pages."""

    def __len__(self) -> int: ...

    def add_many(self, keys: Keys) -> Mask:
        """True where the key is met for the first time; a key twice in `keys` is new once, at its first place."""
        ...

    def contains_many(self, keys: Keys) -> Mask:
        """True where the key was met; nothing changes."""
        ...

    def discard_many(self, keys: Keys) -> None:
        """Forget these keys (a URL that is only counted has to be new when it comes again). Unknown ones are ignored; a way
        that cannot forget ignores all."""
        ...

    def close(self) -> None:
        """Let go of files and memory."""
        ...
