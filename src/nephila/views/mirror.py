"""The browsable mirror: the kept pages as files whose links lead to each other, so that a site opens from disk.

Two passes over the log: the first gives every kept URL its name (names depend on all URLs before), the second writes the
files, each one whole or not at all. Nothing is written through a symbolic link or outside the target; running it again
updates the files in place. `index.jsonl` maps every file to its URL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from nephila.errors import Damaged
from nephila.page.charset import decode as decode_text
from nephila.page.listing import MEDIA_TYPE
from nephila.url.key import key
from nephila.views import folders, rewrite, start, style
from nephila.views.folder import Folder
from nephila.views.names import Names
from nephila.views.registry import Order
from nephila.views.source import Kept, Source

CONTENT_MAX = 256 << 20
"""A compressed answer is unpacked to at most this much; others are copied whole, whatever their size."""
_HOPS_MAX = 10
_PAGES = frozenset({"text/html", "application/xhtml+xml"})


class MirrorReport(msgspec.Struct, frozen=True):
    """What an export did. `missing` counts links to pages that are not kept (they lead to the live site), `unreadable`
    names kept pages whose content could not be read back."""

    files: int
    bytes: int
    missing: int
    unreadable: list[str]


def export(source: Source, order: Order) -> str:
    """The view `mirror`."""
    done = mirror(source, order.path)
    lost = f"; {len(done.unreadable)} pages could not be read back" if done.unreadable else ""
    return f"{done.files:,} files, {done.bytes:,} bytes: open {order.path / 'index.html'}{lost}"


def mirror(source: Source, target: Path) -> MirrorReport:
    """Write the mirror of a job into `target` (made if absent). Raises ConfigError for a bad target."""
    with Plan() as plan, Folder(target) as out:
        plan.fill(source)
        report = _write_all(source, plan, out)
        out.write("index.jsonl", plan.index())
        out.write("index.html", [start.page(report.files, plan.seeds(source.seeds()), plan.hosts()).encode()])
        return report


def _write_all(source: Source, plan: Plan, out: Folder) -> MirrorReport:
    files = size = missing = 0
    unreadable: list[str] = []
    for kept in source.pages():
        path = plan.path(kept.url)
        if not path:
            continue  # kept since the first pass: the crawl goes on
        addresses = rewrite.Addresses(kept.url, path, kept.charset or "utf-8", plan.lookup)
        try:
            size += out.write(path, _content(source, kept, addresses))
        except Damaged as error:
            unreadable.append(f"{kept.url}: {error}")
            continue
        files, missing = files + 1, missing + addresses.missing
    return MirrorReport(files, size, missing, unreadable[:1000])


def _content(source: Source, kept: Kept, addresses: rewrite.Addresses) -> Iterator[bytes]:
    if kept.media_type in _PAGES:
        yield rewrite.html(_text(source, kept), addresses).encode("utf-8", "replace")
    elif kept.media_type == MEDIA_TYPE:
        yield folders.page(_decoded(source, kept), kept, addresses).encode("utf-8", "replace")
    elif kept.media_type == "text/css":
        yield style.stylesheet(_text(source, kept), addresses).encode("utf-8", "replace")
    elif kept.media_type == "image/svg+xml":
        yield rewrite.svg(_text(source, kept), addresses).encode("utf-8", "replace")
    else:
        yield from _copied(source, kept)


def _text(source: Source, kept: Kept) -> str:
    return decode_text(_decoded(source, kept), kept.charset)[0]


def _decoded(source: Source, kept: Kept) -> bytes:
    found = source.content(kept, CONTENT_MAX)
    if found.problem and not found.content:
        raise Damaged(f"its content cannot be decoded ({found.problem})")
    return found.content


def _copied(source: Source, kept: Kept) -> Iterator[bytes]:
    with source.stored(kept) as found:
        if not found.encoding:
            yield from found.blocks()
            return
    yield _decoded(source, kept)


class Plan:
    """Which URL lies where. In a temporary database: memory does not grow with the crawl."""

    def __init__(self) -> None:
        self._con = sqlite3.connect("", isolation_level=None)
        self._con.executescript(
            """PRAGMA journal_mode = OFF; BEGIN;
            CREATE TABLE kept (url TEXT PRIMARY KEY, path TEXT NOT NULL, n INTEGER NOT NULL, status INTEGER NOT NULL,
              media_type TEXT NOT NULL, charset TEXT NOT NULL, title TEXT NOT NULL, host TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE alias (key TEXT PRIMARY KEY, url TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE moved (key TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;"""
        )
        self._names = Names(self._con)
        self.lookup = lru_cache(maxsize=1 << 16)(self._lookup)

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *error: object) -> None:
        self._con.close()

    def fill(self, source: Source) -> None:
        for n, kept in enumerate(source.pages()):
            path = self._names.give(kept.url, kept.media_type)
            row = (kept.url, path, n, kept.status, kept.media_type, kept.charset, kept.title, path.partition("/")[0])
            self._con.execute("INSERT OR IGNORE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._con.execute("INSERT OR IGNORE INTO alias VALUES (?, ?)", (key(kept.url), kept.url))
        for url, target in source.moved():
            self._con.execute("INSERT OR REPLACE INTO moved VALUES (?, ?)", (key(url), target))

    def path(self, url: str) -> str:
        """Where this very URL lies; "" when it is not kept."""
        return self._one("SELECT path FROM kept WHERE url = ?", url)

    def _lookup(self, url: str) -> str:
        """Where what this URL shows lies: itself, another spelling of it, or where it moved to."""
        for _ in range(_HOPS_MAX + 1):
            same = key(url)
            if path := self.path(url) or self.path(self._one("SELECT url FROM alias WHERE key = ?", same)):
                return path
            if not (url := self._one("SELECT target FROM moved WHERE key = ?", same)):
                return ""
        return ""

    def seeds(self, urls: Iterable[str]) -> list[tuple[str, str, str]]:
        """(url, path, title) of those that are kept, or whose target is."""
        found = ((url, self.lookup(url)) for url in urls)
        return [(url, path, self._one("SELECT title FROM kept WHERE path = ?", path)) for url, path in found if path]

    def hosts(self) -> list[tuple[str, str, int]]:
        """(host, path of the first page found on it, files)."""
        rows = self._con.execute("SELECT host, count(*), min(n) FROM kept GROUP BY host ORDER BY min(n)").fetchall()
        first = {
            row[0]: row
            for row in self._con.execute("SELECT n, path FROM kept WHERE n IN (SELECT min(n) FROM kept GROUP BY host)")
        }
        return [(host, first[n][1], count) for host, count, n in rows]

    def index(self) -> Iterator[bytes]:
        encoder = msgspec.json.Encoder()
        columns = ("path", "url", "status", "charset", "media_type")
        for row in self._con.execute(f"SELECT {', '.join(columns)} FROM kept ORDER BY n"):
            yield encoder.encode(dict(zip(columns, row, strict=True))) + b"\n"

    def _one(self, query: str, value: str) -> str:
        row = self._con.execute(query, (value,)).fetchone() if value else None
        return str(row[0]) if row else ""
