"""What every view is made from: the visits of a job in order, and the content each of them left in the archive.

Works on a running crawl, too: rows are read in short queries, none of which holds a transaction between two answers, and
memory holds one batch. Pages fetched with a credential are left out unless its name is given.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from nephila import db
from nephila.archive import reader
from nephila.archive.reader import Content, Decode, Place, Stored
from nephila.errors import ConfigError, Damaged
from nephila.store.cache import Cache

BATCH = 500
FILE_MAX = 256 << 20
"""A compressed answer that becomes a file is unpacked to at most this much; others are copied whole, whatever their size."""

_COLUMNS = """v.id, v.url AS url_id, u.url, u.kind, u.depth, u.parent, coalesce(p.url, '') AS parent_url, v.round,
  v.started, v.outcome, v.reason, v.status, v.protocol, v.ip, v.media_type, v.charset, v.bytes, v.ms, v.digest, v.truncated,
  v.access, v.same_as, v.moved_to, v.title, v.language, coalesce(a.file, '') AS file, v.offset, v.length,
  coalesce(length(l.targets) / 8, 0) AS links"""
_ALSO = "LEFT JOIN url p ON p.id = u.parent LEFT JOIN archive a ON a.id = v.file LEFT JOIN link l ON l.visit = v.id"
_BACK = """WITH RECURSIVE back (id) AS (SELECT u.visit UNION ALL
  SELECT w.before FROM back JOIN visit w ON w.id = back.id WHERE NOT ({good})) SELECT min(id) FROM back"""
"""From a URL's last visit backwards to the first that is `good`: its id; 0: there is none."""
_VISITS = f"SELECT {_COLUMNS} FROM visit v JOIN url u ON u.id = v.url {_ALSO} WHERE v.id > ? AND u.url != '' ORDER BY v.id LIMIT {BATCH}"


class Kept(msgspec.Struct, frozen=True):
    """One visit of the job. `same_as` is url.id of the visit that holds the payload, 0: this one does."""

    id: int
    url_id: int
    url: str
    kind: str
    depth: int
    parent: int
    parent_url: str
    round: int
    started: float
    outcome: str
    reason: str
    status: int
    protocol: str
    ip: str
    media_type: str
    charset: str
    bytes: int
    ms: int
    digest: str
    truncated: str
    access: str
    same_as: int
    moved_to: str
    title: str
    language: str
    file: str
    offset: int
    length: int
    links: int


class Source:
    """The read side of a job folder. `decode` undoes content encodings; `access`: the names of credentials whose pages may be
    seen; what was fetched with several needs the names of all. The only way to the pages of a job: nobody else has to ask."""

    def __init__(
        self,
        folder: Path,
        decode: Decode,
        access: frozenset[str] = frozenset(),
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """`files`: where archive files lie that are not in the job's folder, by their names in the database."""
        self.folder, self.decode, self.access, self.files = folder, decode, access, files or {}
        self._path = lru_cache(256)(self._path_of)
        self._away: Cache | None = None
        self._stored: dict[str, tuple[str, int]] = {}
        self._con = db.reader(folder)
        self._con.row_factory = sqlite3.Row

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self._con.close()
        if self._away is not None:
            self._away.close()

    def unlocked(self) -> Source:
        """The same job with the pages of every credential: for what is stored and asks for the credential when it is shown."""
        every = frozenset(name for names in self.left_out() for name in names.split())
        return Source(self.folder, self.decode, self.access | every, self.files)

    def visits(self, at: int = 0) -> Iterator[Kept]:
        """Every visit of every round behind the one with the id `at`, in the order in which they were committed."""
        while rows := self.rows(_VISITS, at):
            yield from self._seen(rows)
            at = rows[-1]["id"]

    def of(self, url_ids: Sequence[int]) -> Iterator[Kept]:
        """The latest visit of each of a few URLs (at most 500), in the order in which they were committed."""
        marks = ", ".join("?" * len(url_ids))
        query = f"""SELECT {_COLUMNS} FROM url u JOIN visit v ON v.id = u.visit {_ALSO}
          WHERE u.id IN ({marks}) AND u.url != '' ORDER BY v.id"""
        yield from self._seen(self.rows(query, *url_ids))

    def those(self, ids: Sequence[int]) -> Iterator[Kept]:
        """The visits of these ids (at most 500), in the order in which they were committed."""
        marks = ", ".join("?" * len(ids))
        query = (
            f"SELECT {_COLUMNS} FROM visit v JOIN url u ON u.id = v.url {_ALSO} WHERE v.id IN ({marks}) AND u.url != ''"
        )
        yield from self._seen(self.rows(f"{query} ORDER BY v.id", *ids))

    def visited(self, after: int) -> Iterator[tuple[int, int, str]]:
        """(visit, url.id, url) of the visits behind `after` that left something to look at or a reason why not."""
        query = f"""SELECT v.id, v.url, u.url AS address, v.access FROM visit v JOIN url u ON u.id = v.url
          WHERE v.id > ? AND u.url != '' AND u.kind != 'login' ORDER BY v.id LIMIT {BATCH}"""
        while rows := self.rows(query, after):
            yield from ((row["id"], row["url"], row["address"]) for row in rows if self.may_see(row["access"]))
            after = rows[-1]["id"]

    def history(self, url_id: int) -> list[Kept]:
        """The last 1,000 visits of a URL, earliest first."""
        query = f"""{db.visits_back("SELECT visit FROM url WHERE id = ?", 1000)}
          SELECT {_COLUMNS} FROM back JOIN visit v ON v.id = back.id JOIN url u ON u.id = v.url {_ALSO}
          WHERE u.url != '' ORDER BY v.id"""
        return list(self._seen(self.rows(query, url_id)))

    def pages(self) -> Iterator[Kept]:
        """The latest good answer of every URL that has one, in the order in which the URLs were found. Without what only
        the crawl itself needed: robots.txt and logins."""
        at = 0
        latest = _BACK.format(good="w.outcome = 'OK' AND w.length > 0")
        query = f"""SELECT {_COLUMNS} FROM url u CROSS JOIN visit v ON v.id = ({latest}) {_ALSO}
          WHERE u.id > ? AND u.visit > 0 AND u.kind NOT IN ('robots', 'login') ORDER BY u.id LIMIT {BATCH}"""
        while rows := self.rows(query, at):
            yield from self._seen(rows)
            at = rows[-1]["url_id"]

    def moved(self) -> Iterator[tuple[str, str]]:
        """(url, where it moved to), later rounds after earlier ones."""
        at = 0
        query = f"""SELECT v.id, u.url, v.moved_to, v.access FROM visit v JOIN url u ON u.id = v.url
          WHERE v.id > ? AND v.outcome = 'MOVED' ORDER BY v.id LIMIT {BATCH}"""
        while rows := self.rows(query, at):
            yield from ((row["url"], row["moved_to"]) for row in rows if self.may_see(row["access"]))
            at = rows[-1]["id"]

    def addresses(self) -> Iterator[tuple[str, str, str]]:
        """(url, state, outcome of the last visit or "") of every URL of the job, in the order of discovery.
        One that was not visited is as open as the page where it was found."""
        at = 0
        query = f"""SELECT u.id, u.url, u.state, coalesce(v.outcome, '') AS outcome, coalesce(v.access, w.access, '') AS access
          FROM url u LEFT JOIN visit v ON v.id = u.visit LEFT JOIN url p ON p.id = u.parent LEFT JOIN visit w ON w.id = p.visit
          WHERE u.id > ? AND u.url != '' ORDER BY u.id LIMIT {BATCH}"""
        while rows := self.rows(query, at):
            yield from ((row["url"], row["state"], row["outcome"]) for row in rows if self.may_see(row["access"]))
            at = rows[-1]["id"]

    def seeds(self) -> list[str]:
        """The URLs the job began with, at most 1,000 of them."""
        return [
            row["url"]
            for row in self.rows(
                "SELECT url FROM url WHERE parent = 0 AND kind = ? AND url != '' ORDER BY id LIMIT 1000", "page"
            )
        ]

    def items(self, kept: Kept) -> list[Any]:
        """What hooks returned for this visit."""
        rows = self.rows("SELECT value FROM item WHERE url = ? AND round = ? ORDER BY n, id", kept.url_id, kept.round)
        return [msgspec.json.decode(row["value"]) for row in rows]

    def content(self, kept: Kept, limit: int = reader.CONTENT_MAX) -> Content:
        """The decoded content. Raises Damaged when there is none or it does not read back."""
        return reader.payload(self.place(kept), self.decode, self._same(kept), limit)

    def decoded(self, kept: Kept, limit: int) -> Content:
        """The same, for those who can do nothing without it: Damaged also when nothing of it could be decoded."""
        found = self.content(kept, limit)
        if found.problem and not found.content:
            raise Damaged(f"the content of {kept.url} cannot be decoded ({found.problem})")
        return found

    def stored(self, kept: Kept) -> AbstractContextManager[Stored]:
        """The answer as it was kept, for bodies of any size. Raises Damaged like `content`."""
        return reader.stored(self.place(kept), self._same(kept))

    def place(self, kept: Kept) -> Place:
        """Where the records of a visit lie. Raises Damaged when nothing is kept of it."""
        if not kept.file or not kept.length:
            raise Damaged(f"nothing is kept of {kept.url}")
        return self._place(kept.file, kept.offset, kept.length)

    def _path_of(self, file: str) -> Path:
        return self.files[file] if file in self.files else reader.inside(self.folder / "archive", file)

    def _place(self, file: str, offset: int, length: int) -> Place:
        """On the disk; or what is needed of a file that is only in the store."""
        path = self._path(file)
        if file not in self.files and not os.path.exists(path):
            if file not in self._stored:
                rows = self.rows("SELECT store, committed FROM archive WHERE file = ?", file)
                self._stored[file] = (rows[0]["store"], rows[0]["committed"]) if rows else ("", 0)
            address, size = self._stored[file]
            if address:
                self._away = self._away or Cache()
                path = self._away.path(address, file, size, offset, length)
        return Place(path, offset, length)

    def _same(self, kept: Kept) -> Place | None:
        if not kept.same_as:
            return None
        holds = _BACK.format(good="w.digest = ? AND w.same_as = 0 AND w.length > 0")
        query = f"""SELECT a.file, v.offset, v.length FROM url u JOIN visit v ON v.id = ({holds}) JOIN archive a ON a.id = v.file
          WHERE u.id = ?"""
        rows = self.rows(query, kept.digest, kept.same_as)
        return self._place(rows[0]["file"], rows[0]["offset"], rows[0]["length"]) if rows else None

    def left_out(self) -> dict[str, int]:
        """Credentials (their names, with a blank between) whose pages may not be seen → how many visits that are."""
        rows = self.rows(
            "SELECT access, count(*) AS count FROM visit WHERE access != '' GROUP BY access ORDER BY access"
        )
        return {row["access"]: row["count"] for row in rows if not self.may_see(row["access"])}

    def check_access(self) -> None:
        """Raises ConfigError for a name that is none of this job's."""
        rows = self.rows("SELECT DISTINCT access FROM visit WHERE access != ''")
        known = sorted({name for row in rows for name in row["access"].split()})
        for name in sorted(self.access.difference(known)):
            there = f"there are: {', '.join(known)}" if known else "nothing here was fetched with a credential"
            raise ConfigError(f"--with {name}: there is no such credential in {self.folder}; {there}")

    def _seen(self, rows: list[sqlite3.Row]) -> Iterator[Kept]:
        return (Kept(*row) for row in rows if self.may_see(row["access"]))

    def may_see(self, access: str) -> bool:
        """Whether what was fetched with these credentials (`visit.access`) may be seen."""
        return not access or self.access.issuperset(access.split())

    def read_text(self, read: Callable[[bytes], str]) -> None:
        """From now on `read` makes every text of the database."""
        self._con.text_factory = read

    def within(self, seconds: float, query: str, *values: Any) -> list[sqlite3.Row] | None:
        """As `rows`; None when the answer takes longer."""
        end = time.monotonic() + seconds
        self._con.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        try:
            return self.rows(query, *values)
        except Damaged as error:
            if "interrupt" not in str(error.__cause__):
                raise
            return None
        finally:
            self._con.set_progress_handler(None, 0)

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """The answer to a query; whoever asks for visits asks `may_see`, too."""
        try:
            return self._con.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise Damaged(f"{db.database(self.folder)} cannot be read ({error})") from error
