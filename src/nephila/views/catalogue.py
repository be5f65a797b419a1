"""Archives as a job: the rows that a crawl would have written, made from the records of files.

Every record is looked at once, and pages are read as a crawl reads them. What a page links to and the files do not hold is a
row, too: refused, by the rule `not in the archive`. A record that is a revisit of one in the files has the content of that.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from nephila import db
from nephila.archive import foreign, reader
from nephila.archive.index import Entry
from nephila.archive.reader import Decode, Group, Place
from nephila.config import Config
from nephila.db import BIAS
from nephila.errors import Damaged
from nephila.page import media
from nephila.page.reader import Reader
from nephila.types import Body, Kind, Lease, Outcome, Page, Request, Response, Timings
from nephila.url.admission import Admission
from nephila.url.key import Fingerprints
from nephila.url.parse import normalise, origin, path_of, resolve
from nephila.url.scope import Scope, ScopeSpec
from nephila.verdict import Verdict, judge

COMPLAINTS_MAX = 100
_VISITS = frozenset({"response", "revisit", "resource"})
_SEED = 0
"""Of fingerprints that leave nothing behind."""
_READ = re.compile(r"|text/.*|.*[/+]xml")
"""Types with links or a title; "" is looked at."""
_PAGES = frozenset({"text/html", "application/xhtml+xml", "application/pdf", "text/plain"})
_STATUS = re.compile(rb"HTTP/(\d(?:\.\d)?)\s+(\d{3})")


class Catalogue:
    """A crawl.db in `folder`, filled by `add`. `files`: names in it → the files; `visits`: how many there are. `complain` is
    called with a sentence for each damage, up to a limit."""

    def __init__(self, folder: Path, decode: Decode, complain: Callable[[str], object]) -> None:
        self.files: dict[str, Path] = {}
        self.visits = 0
        self._folder, self._decode = folder, decode
        self._complain, self._complaints = complain, 0
        self._fingerprint = Fingerprints(_SEED)
        self._admission = Admission(Scope(ScopeSpec("any", sitemaps=True)), self._fingerprint)
        c = Config()
        self._read = Reader(page_bytes_max=c.page_bytes_max, links_max=c.links_max, sitemaps=True, resolve=resolve)
        self._bytes_max = c.page_bytes_max
        self._hosts: dict[str, int] = {}
        self._con = con = sqlite3.connect(folder / "crawl.db", isolation_level=None)
        con.executescript("PRAGMA journal_mode = off; PRAGMA synchronous = off;" + db.TABLES)
        con.execute("CREATE UNIQUE INDEX url_fp ON url (fp)")
        con.execute("CREATE INDEX visit_digest ON visit (digest)")
        con.execute("INSERT INTO rule (id, text, since) VALUES (1, 'not in the archive', ?)", (time.time(),))
        con.execute(
            "INSERT INTO meta VALUES ('schema', ?), ('state', 'finished'), ('fingerprint_key', ?)",
            (str(db.SCHEMA), str(_SEED)),
        )
        con.execute("BEGIN")

    def __enter__(self) -> Catalogue:
        return self

    def __exit__(self, *error: object) -> None:
        self._con.execute("COMMIT")
        self._con.close()

    def add(self, path: Path) -> None:
        """All records of a file. Raises Damaged when it is none of the known forms."""
        spare, ids = self._folder / f"packed-{len(self.files)}.warc.gz", dict[Path, int]()
        for where, entry in foreign.records(path, spare, self._told):
            url = normalise(entry.uri) if entry.type in _VISITS else None
            if url is None:
                continue
            if where not in ids:
                name = f"{len(self.files)}-{where.name}"
                self.files[name] = where
                ids[where] = self._insert("archive", file=name, worker=0, closed=1)
            place = Place(where, entry.offset, entry.length)
            try:
                group = reader.read_group(*place)
                group.body.close()
                self._visit(url, group, entry, place, ids[where])
            except Damaged as damage:
                self._told(f"{path}: {damage}")

    def _told(self, sentence: str) -> None:
        self._complaints += 1
        if self._complaints <= COMPLAINTS_MAX:
            self._complain(sentence)

    def _visit(self, url: str, group: Group, entry: Entry, place: Place, file: int) -> None:
        fp, response = self._fingerprint(url), _response(url, group)
        id, depth, before, round = self._url(url, fp)
        verdict = self._judge(Lease(id, Request(url), fp), response, group.type)
        page = self._page(url, response, place, group.type, verdict.outcome)
        digest = entry.headers.get("warc-payload-digest", "")
        kind = Kind.ROBOTS if path_of(url) == "/robots.txt" else Kind.PAGE if page.media_type in _PAGES else Kind.EMBED
        visit = self._insert(
            "visit", url=id, round=round + 1, before=before, started=response.started, outcome=verdict.outcome.value,
            reason=verdict.reason, status=response.status, protocol=response.protocol, ip=response.ip,
            media_type=page.media_type, charset=page.charset, bytes=response.body.size, ms=0, digest=digest,
            truncated=response.truncated, access="", same_as=self._same(digest) if group.type == "revisit" else 0,
            moved_to=verdict.target, title=page.title, language=page.language, file=file, offset=place.offset,
            length=place.length,
        )  # fmt: skip
        change = "UPDATE url SET state = 'done', rule = 0, attempts = 1, visit = ?, kind = ? WHERE id = ?"
        self._con.execute(change, (visit, kind.value, id))
        self._links(id, depth, visit, page, verdict.target)
        self.visits += 1

    def _judge(self, lease: Lease, response: Response, record: str) -> Verdict:
        if record == "resource":  # without a protocol there is no status
            return Verdict(Outcome.OK)
        return judge(lease, response, self._fingerprint, hops_max=1, robots_hops_max=1)

    def _page(self, url: str, response: Response, place: Place, record: str, outcome: Outcome) -> Page:
        """What an answer says, if it is of a kind that is read."""
        media_type = media.essence(response.header("content-type"))
        if record == "revisit" or outcome is not Outcome.OK or not _READ.fullmatch(media_type):
            return Page(media_type=media_type)
        content = reader.payload(place, self._decode, limit=self._bytes_max).content
        return self._read(Lease(0, Request(url), 0), response, content)

    def _links(self, id: int, depth: int, visit: int, page: Page, target: str) -> None:
        """The edges of a visit, and rows for addresses that nobody has met before."""
        if target:
            found = self._admission.admit_urls([(target, Kind.REDIRECT)])
        elif page.links is not None:
            found = self._admission.admit(page.links)
        else:
            return
        if found.edges:
            self._insert("link", visit=visit, flat=found.flat, targets=found.edges)
        rows = [(link.fp - BIAS, self._host(link.url), link.url, link.kind.value, depth + 1, id) for link in found.new]
        self._con.executemany(
            "INSERT OR IGNORE INTO url (fp, host, url, kind, depth, parent, state, rule) VALUES (?, ?, ?, ?, ?, ?, 'refused', 1)",
            rows,
        )

    def _url(self, url: str, fp: int) -> tuple[int, int, int, int]:
        """(id, depth, its last visit and that one's round) of an address; one that nothing has linked to is a seed."""
        query = "SELECT u.id, u.depth, u.visit, coalesce(v.round, 0) FROM url u LEFT JOIN visit v ON v.id = u.visit WHERE u.fp = ?"
        found = self._con.execute(query, (fp - BIAS,)).fetchone()
        if found:
            return found  # type: ignore[no-any-return]
        row = {"host": self._host(url), "url": url, "kind": "page", "depth": 0, "parent": 0, "state": "done"}
        return self._insert("url", fp=fp - BIAS, **row), 0, 0, 0

    def _host(self, url: str) -> int:
        name = origin(url)
        if name not in self._hosts:
            self._hosts[name] = self._insert("host", origin=name)
        return self._hosts[name]

    def _same(self, digest: str) -> int:
        """The address whose visit holds the content of a revisit; 0: it is in none of the files so far."""
        query = "SELECT url FROM visit WHERE digest = ? AND digest != '' AND same_as = 0 ORDER BY id LIMIT 1"
        found = self._con.execute(query, (digest,)).fetchone()
        return int(found[0]) if found else 0

    def _insert(self, table: str, **row: Any) -> int:
        marks = ", ".join("?" * len(row))
        done = self._con.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        return done.lastrowid or 0


def _response(url: str, group: Group) -> Response:
    """A record as the answer that it was."""
    headers, line = group.headers, _STATUS.match(group.response_head)
    pairs = reader.header_pairs(group.response_head)
    if group.type == "resource":
        pairs = [("content-type", headers.get("content-type", ""))]
    size = Body(size=group.body.size)
    return Response(
        url,
        int(line[2]) if line else 0,
        headers.get("warc-protocol", "") or (f"http/{line[1].decode()}" if line else ""),
        group.response_head,
        pairs,
        size,
        size,
        b"",
        _moment(headers.get("warc-date", "")),
        Timings(),
        ip=headers.get("warc-ip-address", ""),
        truncated=headers.get("warc-truncated", ""),
    )


def _moment(date: str) -> float:
    """Unix time of a W3C date; 0.0 when it is none."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return 0.0
