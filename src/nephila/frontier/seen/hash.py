"""`hash`: a Python set of the URLs themselves (their keys, as for every way): exact, simple, and a lot of memory."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nephila.frontier.seen.door import Keys, Mask
from nephila.url.key import key


class HashSeen:
    """About 60 bytes a URL beside its text: the string object's head and its share of the table."""

    of_text: ClassVar[bool] = True
    exact: ClassVar[bool] = True

    def __init__(self) -> None:
        self._urls: set[str] = set()

    def __len__(self) -> int:
        return len(self._urls)

    def add_many(self, keys: Keys) -> Mask:
        seen, add = self._urls, self._urls.add
        return np.fromiter((not (url in seen or add(url)) for url in map(key, keys)), np.bool_, len(keys))

    def contains_many(self, keys: Keys) -> Mask:
        return np.fromiter(map(self._urls.__contains__, map(key, keys)), np.bool_, len(keys))

    def discard_many(self, keys: Keys) -> None:
        self._urls.difference_update(map(key, keys))

    def close(self) -> None:
        self._urls = set()
