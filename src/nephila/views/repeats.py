"""Which lines of a page belong to its site and not to it: menus, footers, notices, found by their coming back.

A reader of one page can only guess; a crawl has seen the others. A block of text that stands on a quarter of a host's pages, and
on four of them at least, is furniture. The pages that are compared are the first 32 of a host and 32 of each doubling after
that, so a host costs little however large it is, and its deep pages count too. Counts stand in a database (a temporary one
unless a path is given): memory does not grow with the crawl.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import xxhash

PAGES_MIN = 4
SHARE = 4
"""On one in so many of the pages that were compared."""
_EACH_DOUBLING = 32
_HOSTS_CACHED = 256
_CHARS_MAX = 1000
"""A longer block is an article's, or not worth comparing."""

_TABLES = """
CREATE TABLE IF NOT EXISTS host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, met INTEGER NOT NULL DEFAULT 0,
  learned INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS block (host INTEGER NOT NULL, hash INTEGER NOT NULL, pages INTEGER NOT NULL,
  PRIMARY KEY (host, hash)) WITHOUT ROWID;
"""


class Repeats:
    """What comes back on the pages of each host. First `wanted` and `learn`, then `of`."""

    def __init__(self, path: Path | None = None) -> None:
        self._con = sqlite3.connect(path or "", isolation_level=None)
        self._con.executescript(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;" + _TABLES + "BEGIN;"
        )
        self.of = lru_cache(maxsize=_HOSTS_CACHED)(self._of)

    def __enter__(self) -> Repeats:
        return self

    def __exit__(self, *error: object) -> None:
        self.commit()
        self._con.close()

    def commit(self) -> None:
        self._con.execute("COMMIT")
        self._con.execute("BEGIN")

    def wanted(self, host: str) -> bool:
        """One more page of this host: is it among those that are compared?"""
        row = self._con.execute(
            "INSERT INTO host (name, met) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET met = met + 1 RETURNING met",
            (host,),
        ).fetchone()
        met = int(row[0])
        return met % (1 << max((met // _EACH_DOUBLING).bit_length() - 1, 0)) == 0

    def learn(self, host: str, blocks: Iterable[str]) -> None:
        """Compare a page: its blocks of text, white space made even."""
        (id,) = self._con.execute("SELECT id FROM host WHERE name = ?", (host,)).fetchone()
        self._con.execute("UPDATE host SET learned = learned + 1 WHERE id = ?", (id,))
        self._con.executemany(
            "INSERT INTO block VALUES (?, ?, 1) ON CONFLICT (host, hash) DO UPDATE SET pages = pages + 1",
            [(id, found) for found in {hashed(text) for text in blocks if 0 < len(text) <= _CHARS_MAX}],
        )

    def forget(self, host: str, *, all: bool) -> None:
        """A page of this host was taken down, or `all` of them: what stood on one page only may have stood on that."""
        seen = 1 << 62 if all else 1
        self._con.execute(
            "DELETE FROM block WHERE host = (SELECT id FROM host WHERE name = ?) AND pages <= ?", (host, seen)
        )
        if all:
            self._con.execute("DELETE FROM host WHERE name = ?", (host,))
        self.of.cache_clear()

    def _of(self, host: str) -> frozenset[int]:
        """`hashed` blocks that are the host's own."""
        row = self._con.execute("SELECT id, learned FROM host WHERE name = ?", (host,)).fetchone()
        if row is None or row[1] < PAGES_MIN:
            return frozenset()
        enough = max(PAGES_MIN, -(-row[1] // SHARE))
        rows = self._con.execute("SELECT hash FROM block WHERE host = ? AND pages >= ?", (row[0], enough))
        return frozenset(hash for (hash,) in rows)


def hashed(text: str) -> int:
    """A block's fingerprint, as SQLite stores it."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace")) - (1 << 63)
