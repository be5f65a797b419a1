"""From an address or a fingerprint to its row: table `known` holds all fingerprints packed, eight megabytes a million, so no index is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from nephila.db import BIAS
from nephila.look.look import Look
from nephila.url.key import Fingerprints
from nephila.url.parse import normalise, without_userinfo

BLOBS = 500
"""Rows of `known` in one question."""


class Asks(Protocol):
    """Whatever answers a question to crawl.db."""

    def rows(self, sql: str, /, *values: Any) -> Sequence[Any]: ...


def find(look: Look, written: str) -> int:
    """url.id of the address that somebody wrote (a scheme may be missing), 0 when there is none like it."""
    written = written.strip()
    spelled = [written] if "://" in written else [f"https://{written}", f"http://{written}"]
    addresses = [without_userinfo(url) for text in spelled if (url := normalise(text))]
    found = find_all(look, addresses)
    return next((found[url] for url in addresses if url in found), 0)


def find_all(look: Look, urls: Sequence[str]) -> dict[str, int]:
    """Serialised addresses → url.id, of those that are rows."""
    key = look.one("SELECT value FROM meta WHERE key = 'fingerprint_key'")
    if key is None:
        return {}
    print_of = Fingerprints(int(key))
    fps = {url: print_of(url) - BIAS for url in urls}
    there = ids(look, fps.values())
    return {url: there[fp] for url, fp in fps.items() if fp in there}


def ids(look: Asks, fps: Iterable[int]) -> dict[int, int]:
    """Fingerprints, as the database has them → url.id, of those that are rows."""
    wanted = np.unique(np.fromiter(fps, np.int64))
    found: dict[int, int] = {}
    at = 0
    while len(found) < len(wanted):
        rows = look.rows("SELECT first, fps FROM known WHERE first > ? ORDER BY first LIMIT ?", at, BLOBS)
        if not rows:
            break
        at = rows[-1]["first"]
        for row in rows:
            packed = np.frombuffer(row["fps"], "<i8")
            places = np.minimum(np.searchsorted(wanted, packed), len(wanted) - 1)
            for place in np.flatnonzero(wanted[places] == packed).tolist():
                found[int(packed[place])] = row["first"] + place
    return found
