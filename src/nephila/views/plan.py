"""Which URL of a mirror lies where, decided before anything is written, since names depend on all URLs before.

It stands in a temporary database: memory does not grow with the crawl, and every process that writes can look links up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from xxhash import xxh3_64, xxh3_64_intdigest

from nephila.url.key import key
from nephila.views.names import Names
from nephila.views.source import Kept, Source

FORM = 1
"""Raised when pages are written differently: files of an older form are made again."""
WOVEN = ("text/html", "application/xhtml+xml", "text/x-ftp-listing", "text/css", "image/svg+xml")
"""Media types of files that hold links to others: they change with the plan, all others with their own content only."""

_HOPS_MAX = 10
_LOOKED_UP = 1 << 14
"""Addresses of which a process remembers where they lie (half a kilobyte each); most are remembered by their folder before."""
_BATCH = 500
_TABLES = """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;
CREATE TABLE kept (n INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE, visit INTEGER NOT NULL,
  stamp INTEGER NOT NULL, status INTEGER NOT NULL, media_type TEXT NOT NULL, charset TEXT NOT NULL, title TEXT NOT NULL,
  host TEXT NOT NULL, started REAL NOT NULL);
CREATE TABLE alias (key TEXT PRIMARY KEY, url TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE moved (key TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;"""


class Place(NamedTuple):
    """One file to be written: the visit that it is made from, and what tells whether it has to be made again."""

    n: int
    url: str
    path: str
    visit: int
    stamp: int


def make(source: Source, file: Path) -> None:
    """Decide where every kept page of a job lies, in a new database `file`."""
    con = sqlite3.connect(file, isolation_level=None)
    try:
        con.executescript(_TABLES)
        _fill(con, source)
        con.execute("COMMIT")
    finally:
        con.close()


def _fill(con: sqlite3.Connection, source: Source) -> None:
    names, mark, rows, n = Names(con), xxh3_64(str(FORM).encode()), list[tuple[object, ...]](), 0
    aliases: list[tuple[str, str]] = []
    for n, kept in enumerate(source.pages()):
        path = names.give(kept.url, kept.media_type)
        rows.append(_row(n, kept, path))
        mark.update(f"{kept.url}\n{path}\n".encode("utf-8", "surrogatepass"))
        if (same := key(kept.url)) != kept.url:
            aliases.append((same, kept.url))
        if len(rows) == _BATCH:
            _put(con, rows, aliases)
    _put(con, rows, aliases)
    for url, target in source.moved():
        con.execute("INSERT OR REPLACE INTO moved VALUES (?, ?)", (key(url), target))
    for row in con.execute("SELECT key, target FROM moved ORDER BY key"):
        mark.update("\n".join(row).encode("utf-8", "surrogatepass"))
    con.execute(
        f"UPDATE kept SET stamp = (stamp | ?1) - (stamp & ?1) WHERE media_type IN ({', '.join(map(repr, WOVEN))})",
        (_signed(mark.intdigest()),),
    )


def _row(n: int, kept: Kept, path: str) -> tuple[object, ...]:
    made_from = f"{kept.id} {kept.started} {kept.digest} {kept.media_type} {kept.charset}"
    stamp = _signed(xxh3_64_intdigest(made_from.encode("utf-8", "surrogatepass"), FORM))
    about = kept.status, kept.media_type, kept.charset, kept.title, path.partition("/")[0], kept.started
    return n, kept.url, path, kept.id, stamp, *about


def _put(con: sqlite3.Connection, rows: list[tuple[object, ...]], aliases: list[tuple[str, str]]) -> None:
    con.executemany("INSERT INTO kept VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    con.executemany("INSERT OR IGNORE INTO alias VALUES (?, ?)", aliases)
    rows.clear()
    aliases.clear()


def _signed(number: int) -> int:
    """Of 64 bits, as SQLite has them; never 0, which means "not written yet"."""
    return (number - (1 << 63)) or 1


class Plan:
    """Reading what `make` has written."""

    def __init__(self, file: Path) -> None:
        self._con = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        self.lookup = lru_cache(maxsize=_LOOKED_UP)(self._lookup)

    def close(self) -> None:
        self._con.close()

    def places(self, numbers: list[int]) -> Iterator[Place]:
        """Those of so many rows (at most 500)."""
        marks = ", ".join("?" * len(numbers))
        query = f"SELECT n, url, path, visit, stamp FROM kept WHERE n IN ({marks}) ORDER BY n"
        return map(Place._make, self._con.execute(query, numbers).fetchall())

    def _lookup(self, url: str) -> str:
        """Where what this URL shows lies: itself, another spelling of it, or where it moved to; "" when it is not kept."""
        for _ in range(_HOPS_MAX + 1):
            same = key(url)
            if (
                path := self._path(url)
                or (same != url and self._path(same))
                or self._path(self._one("SELECT url FROM alias WHERE key = ?", same))
            ):
                return path
            if not (url := self._one("SELECT target FROM moved WHERE key = ?", same)):
                return ""
        return ""

    def _path(self, url: str) -> str:
        return self._one("SELECT path FROM kept WHERE url = ?", url)

    def seeds(self, urls: Iterable[str]) -> list[tuple[str, str, str]]:
        """(url, path, title) of those that are kept, or whose target is."""
        found = ((url, self.lookup(url)) for url in urls)
        return [(url, path, self._one("SELECT title FROM kept WHERE path = ?", path)) for url, path in found if path]

    def hosts(self) -> list[tuple[str, str, int]]:
        """(host, path of the first page found on it, files), those with most files first, at most 1,000."""
        return self._con.execute(
            """SELECT h.host, k.path, h.files FROM (SELECT host, count(*) AS files, min(n) AS first FROM kept GROUP BY host) h
               JOIN kept k ON k.n = h.first ORDER BY h.files DESC, h.first LIMIT 1000"""
        ).fetchall()

    def numbers(self) -> tuple[int, float, float]:
        """(hosts, when the first and the last of the pages was fetched, Unix time)."""
        row = self._con.execute(
            "SELECT count(DISTINCT host), coalesce(min(started), 0), coalesce(max(started), 0) FROM kept"
        )
        hosts, first, last = row.fetchone()
        return hosts, first, last

    def _one(self, query: str, value: str) -> str:
        row = self._con.execute(query, (value,)).fetchone() if value else None
        return str(row[0]) if row else ""
