"""What the report asks about: rows about addresses and pages, gathered once into a database of its own.

It lies in a temporary file, so memory does not grow with the crawl, and holds only what may be seen. One pass over crawl.db
(`address`), a few over its links (`reach`), one over the pages in the archive (`pages`); what follows from them comes last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from nephila.db import BIAS
from nephila.url.key import Fingerprints
from nephila.url.parse import host_of, origin
from nephila.views.report import near
from nephila.views.report.pages import Pages
from nephila.views.report.reach import Reach
from nephila.views.source import BATCH, Source

HOPS_MAX = 20
"""Redirects of a chain that are followed here; the crawl itself ends after ten."""
_ENDLESS = "('redirect_loop', 'too_many_redirects')"
_CLOSED = "(401, 407, 429)"
"""Answers that say who may come in, or when: nothing is broken."""

_TABLES = f"""
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA temp_store = FILE;
CREATE TABLE address (id INTEGER PRIMARY KEY, fp INTEGER, url TEXT, host TEXT, origin TEXT, kind TEXT, outcome TEXT, reason TEXT,
  status INTEGER, media_type TEXT, bytes INTEGER, ms INTEGER, moved_to TEXT, seed INTEGER,
  moved INTEGER AS (outcome = 'MOVED' OR reason IN {_ENDLESS}),
  broken INTEGER AS (outcome IN ('REFUSED', 'UNREACHABLE') AND status NOT IN {_CLOSED} AND reason != 'login_required'
    AND reason NOT IN {_ENDLESS}));
CREATE INDEX address_fp ON address (fp);
CREATE TABLE reach (id INTEGER PRIMARY KEY, pages INTEGER, depth INTEGER, via INTEGER);
CREATE TABLE page (id INTEGER PRIMARY KEY, title TEXT, title_key TEXT, title_width INTEGER, description TEXT,
  description_key TEXT, description_width INTEGER, headings INTEGER, heading TEXT, canonical TEXT, canonical_fp INTEGER,
  canonicals INTEGER, noindex INTEGER, digest TEXT, soft INTEGER, listable INTEGER);
CREATE TABLE hit (page INTEGER, target INTEGER, text TEXT, tag TEXT, part INTEGER);
CREATE TABLE chain (id INTEGER PRIMARY KEY, hops INTEGER, end TEXT, status INTEGER, problem TEXT, way TEXT);
CREATE TABLE listed (fp INTEGER PRIMARY KEY, host TEXT, sitemap INTEGER) WITHOUT ROWID;
CREATE TABLE mixed (page INTEGER, url TEXT, tag TEXT);
CREATE TABLE alternate (page INTEGER, code TEXT, valid INTEGER, url TEXT, fp INTEGER);
CREATE TABLE unlinked (fp INTEGER);
CREATE TABLE sketch (page INTEGER PRIMARY KEY, host TEXT, texts BLOB);
CREATE TABLE near (page INTEGER PRIMARY KEY, leader INTEGER, percent INTEGER);
CREATE TABLE faulty (url TEXT PRIMARY KEY) WITHOUT ROWID;
"""
"""`page.listable`: a search engine may show it under its own address; `unlinked`: pages only name it in their heads."""
_INDEXES = """
CREATE INDEX page_title ON page (title_key) WHERE listable; CREATE INDEX page_description ON page (description_key) WHERE listable;
CREATE INDEX page_digest ON page (digest); CREATE INDEX hit_target ON hit (target);
CREATE INDEX alternate_page ON alternate (page, fp); ANALYZE;
"""
_ADDRESSES = f"""SELECT u.id, u.fp, u.url, u.kind, coalesce(v.outcome, '') AS outcome, coalesce(v.reason, '') AS reason,
  coalesce(v.status, 0) AS status, coalesce(v.media_type, '') AS media_type, coalesce(v.bytes, 0) AS bytes,
  coalesce(v.ms, 0) AS ms, coalesce(v.moved_to, '') AS moved_to, u.parent = 0 AND u.kind = 'page' AS seed,
  coalesce(v.access, w.access, '') AS access
  FROM url u LEFT JOIN visit v ON v.id = u.visit LEFT JOIN url p ON p.id = u.parent LEFT JOIN visit w ON w.id = p.visit
  WHERE u.id > ? AND u.url != '' AND u.kind NOT IN ('login', 'probe') ORDER BY u.id LIMIT {BATCH}"""
_COLUMNS = "id, fp, url, host, origin, kind, outcome, reason, status, media_type, bytes, ms, moved_to, seed"
_UNLINKED = """UPDATE reach SET pages = pages - n FROM (SELECT a.id AS id, count(*) AS n FROM unlinked u JOIN address a ON a.fp = u.fp
  GROUP BY a.id) u WHERE u.id = reach.id"""


class Facts:
    """The database of one report, in `con`; `unread`: pages that do not read back."""

    def __init__(self, source: Source) -> None:
        self._source, self.unread = source, 0
        keys = source.rows("SELECT value FROM meta WHERE key = 'fingerprint_key'")
        self._print = Fingerprints(int(keys[0]["value"]) if keys else 0)
        self.con = sqlite3.connect("", isolation_level=None)
        self.con.executescript(_TABLES + "BEGIN;")
        self.con.create_function("host_of", 1, host_of, deterministic=True)

    def __enter__(self) -> Facts:
        return self

    def __exit__(self, *error: object) -> None:
        self.con.close()

    def gather(self) -> None:
        """Everything."""
        con = self.con
        marks = ", ".join("?" * len(_COLUMNS.split(", ")))
        con.executemany(f"INSERT INTO address ({_COLUMNS}) VALUES ({marks})", self._addresses())
        con.executemany("INSERT INTO reach VALUES (?, ?, ?, ?)", Reach(self._source, con).rows())
        self.unread = Pages(self._source, con, self._print).read()
        con.execute(_UNLINKED)
        moved = con.execute("SELECT id, moved_to FROM address WHERE moved")
        con.executemany("INSERT INTO chain VALUES (?, ?, ?, ?, ?, ?)", (self._chain(*row) for row in moved))
        con.executescript(_INDEXES)
        con.executemany("INSERT INTO near VALUES (?, ?, ?)", near.pairs(con))

    def _addresses(self) -> Iterator[tuple[Any, ...]]:
        """An address that was not visited is as open as the page where it was found."""
        at = 0
        while rows := self._source.rows(_ADDRESSES, at):
            for row in rows:
                if self._source.may_see(row["access"]):
                    id, fp, url, *rest, _ = row
                    yield (id, fp, url, host_of(url), origin(url), *rest)
            at = rows[-1]["id"]

    def _chain(self, id: int, moved_to: str) -> tuple[Any, ...]:
        """Where a redirect leads in the end."""
        way, at, seen, problem, status = list[str](), moved_to, {id}, "", 0
        query = "SELECT id, moved, moved_to, status, broken, reason FROM address WHERE fp = ?"
        while not problem:
            way.append(at)
            row = self.con.execute(query, (self._print(at) - BIAS,)).fetchone() if at else None
            if row is None:
                break
            here, moved, at, status, broken, reason = row
            if not moved:
                problem = "broken" if broken else ""
                break
            if here in seen:
                problem = "loop"
            elif len(way) > HOPS_MAX or reason == "too_many_redirects":
                problem = "endless"
            seen.add(here)
        return id, len(way), way[-1], status, problem or ("chain" if len(way) > 1 else ""), " ".join(way)
