"""The rows of the tables (`columns.TABLES`), read from crawl.db in batches, in an order that only grows.

Ids of visits, addresses and hosts ascend in the order of commit, so what is new lies behind the highest id that was read;
whatever else changes is written down in table `change`. Text is made fit for every reader where it is read: NUL and what is
no Unicode (lone surrogates) become U+FFFD and are counted.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nephila import db
from nephila.packed import unpacked
from nephila.views.source import BATCH, Source

Row = tuple[Any, ...]

LINKS_MAX = 100_000
"""Links of one batch of visits (or those of its only visit): what memory has to hold."""
_UNFIT = re.compile("[\x00\ud800-\udfff]")

_PAGES = """
SELECT u.fp, u.url, coalesce(h.origin, ''), u.kind, u.depth, u.hops, p.fp, u.state, coalesce(r.text, ''),
  coalesce(v.round, 0), coalesce(v.access, q.access, '') AS access, u.id
FROM url u LEFT JOIN host h ON h.id = u.host LEFT JOIN url p ON p.id = u.parent LEFT JOIN rule r ON r.id = u.rule
  LEFT JOIN visit v ON v.id = u.visit LEFT JOIN visit q ON q.id = p.visit
WHERE {where} ORDER BY u.id LIMIT """ + str(BATCH)
_VISITS = """
SELECT u.fp, v.round, u.url, u.kind, v.started, v.outcome, v.reason, v.status, v.protocol, v.ip, v.media_type, v.charset,
  v.bytes, v.ms, v.digest, v.truncated, v.access, s.fp, v.moved_to, v.title, v.language,
  coalesce(length(l.targets) / 8, 0) AS links, coalesce(a.file, ''), v.offset, v.length, v.id, v.url AS url_id
FROM visit v JOIN url u ON u.id = v.url LEFT JOIN url s ON s.id = v.same_as LEFT JOIN archive a ON a.id = v.file
  LEFT JOIN link l ON l.visit = v.id
WHERE {where} ORDER BY v.id LIMIT """ + str(BATCH)
_BARE = f"""
SELECT u.fp, v.round, u.url, v.access, coalesce(length(l.targets) / 8, 0) AS links, v.id, v.url AS url_id
FROM visit v JOIN url u ON u.id = v.url LEFT JOIN link l ON l.visit = v.id
WHERE {{where}} ORDER BY v.id LIMIT {BATCH}
"""
_HOSTS = """
SELECT origin, ip, pages, bytes, robots_state, robots_status, robots_fetched, nullif(crawl_delay, -1), verdict, id
FROM host WHERE {where} ORDER BY id LIMIT """ + str(BATCH)
_ANY = (1 << 63) - 1
_THESE = "IN (SELECT value FROM json_each(?))"
_CHAIN = f"{db.visits_back(f'SELECT visit FROM url WHERE id {_THESE}')} SELECT id FROM back"
_STARTED, _ROBOTS_FETCHED = 4, 6
_VISIT_WIDTH, _HOST_WIDTH, _PAGE_WIDTH = 25, 9, 10


class Marks(NamedTuple):
    """How far each table has been read: the highest id."""

    change: int = 0
    visit: int = 0
    url: int = 0
    host: int = 0


class Visits:
    """A batch of visits with what belongs to them. `last`: the highest id in it; `url_ids`: of all, seen or not."""

    def __init__(self, rows: Rows, found: Sequence[sqlite3.Row]) -> None:
        self._rows = rows
        self._seen = [row for row in found if row["url"] and rows.source.may_see(row["access"])]
        self.last = found[-1]["id"]
        self.url_ids = [row["url_id"] for row in found]

    def visits(self) -> Iterator[Row]:
        for row in self._seen:
            yield (*row[:_STARTED], _moment(row[_STARTED]), *row[_STARTED + 1 : _VISIT_WIDTH])

    def links(self) -> Iterator[Row]:
        of = {row["id"]: (row["fp"], row["round"]) for row in self._seen if row["links"]}
        sql = f"SELECT visit, flat, targets FROM link WHERE visit {_THESE}"
        for visit, flat, targets in self._rows.query(sql, json.dumps(list(of))):
            stored = unpacked(targets).tolist()
            yield from ((*of[visit], n, target, n < flat) for n, target in enumerate(stored))

    def items(self) -> Iterator[Row]:
        of = {(row["url_id"], row["round"]): row["fp"] for row in self._seen}
        sql = f"SELECT url, round, value FROM item WHERE url {_THESE} ORDER BY url, round, n, id"
        n, before = 0, (0, 0)
        for url, round, value in self._rows.query(sql, json.dumps(list({url for url, _ in of}))):
            n, before = (n + 1 if before == (url, round) else 0), (url, round)
            if before in of:
                yield of[before], round, n, self._rows.fit_json(value)

    def of(self, table: str) -> Iterator[Row]:
        """`visit`, `link` or `item`."""
        read = {"visit": self.visits, "link": self.links, "item": self.items}
        return read[table]()


class Rows:
    """What `source` lets see, as rows. `replaced`: characters that became U+FFFD so far."""

    def __init__(self, source: Source) -> None:
        self.source, self.replaced = source, 0
        self.query = source.rows
        source.read_text(self._text)
        self._told = bool(self.query("SELECT 1 FROM sqlite_schema WHERE name = 'change'"))  # not before schema 4

    def ends(self) -> Marks:
        """The highest ids there are now."""
        there = Marks._fields if self._told else Marks._fields[1:]
        parts = (f"(SELECT coalesce(max(id), 0) FROM {name})" for name in there)
        return Marks(*() if self._told else (0,), *self.query(f"SELECT {', '.join(parts)}")[0])

    def table(self, name: str, ends: Marks) -> Iterator[Row]:
        """All rows of a table, as far as `ends`."""
        of: dict[str, tuple[Callable[[int, int], Some | Visits | None], int]] = {
            "page": (self.pages, ends.url),
            "host": (self.hosts, ends.host),
        }
        read, upto = of.get(name, (self.visits if name == "visit" else self.bare_visits, ends.visit))
        at = 0
        while found := read(at, upto):
            yield from found.of(name)
            at = found.last

    def visits(self, after: int, upto: int) -> Visits | None:
        """The next few visits behind id `after`; None: there are no more."""
        return self._visits(_VISITS, "v.id > ? AND v.id <= ?", after, upto)

    def bare_visits(self, after: int, upto: int) -> Visits | None:
        """The same for who wants their links and items only."""
        return self._visits(_BARE, "v.id > ? AND v.id <= ?", after, upto)

    def _visits(self, query: str, where: str, *values: Any) -> Visits | None:
        found = self.query(query.format(where=where), *values)
        return Visits(self, list(_light(found))) if found else None

    def visits_of(self, url_ids: Iterable[int]) -> Iterator[Visits]:
        """Every visit of some addresses."""
        at = 0
        chosen = json.dumps(list(url_ids))
        while found := self._visits(_VISITS, f"v.id IN ({_CHAIN}) AND v.id > ?", chosen, at):
            yield found
            at = found.last

    def pages(self, after: int, upto: int) -> Some | None:
        """The next few addresses behind id `after`; None: there are no more."""
        return self._pages("u.id > ? AND u.id <= ?", after, upto)

    def pages_of(self, url_ids: Sequence[int], upto: int = _ANY) -> Some | None:
        """Some addresses, at most `BATCH`, with ids up to `upto`; None: there are none."""
        return self._pages(f"u.id {_THESE} AND u.id <= ?", json.dumps(url_ids), upto)

    def _pages(self, where: str, *values: Any) -> Some | None:
        found = self.query(_PAGES.format(where=where), *values)
        if not found:
            return None
        seen = [row[:_PAGE_WIDTH] for row in found if row["url"] and self.source.may_see(row["access"])]
        shown = {row[0] for row in seen}
        hidden = [row["fp"] for row in found if row["fp"] not in shown]
        return Some(seen, hidden, found[-1]["id"])

    def hosts(self, after: int, upto: int) -> Some | None:
        """The next few origins behind id `after`; None: there are no more."""
        return self._hosts("id > ? AND id <= ?", after, upto)

    def hosts_of(self, url_ids: Sequence[int], upto: int) -> Some | None:
        """The origins of some addresses, at most `BATCH`, with ids up to `upto`; None: there are none."""
        return self._hosts(f"id IN (SELECT host FROM url WHERE id {_THESE}) AND id <= ?", json.dumps(url_ids), upto)

    def _hosts(self, where: str, *values: Any) -> Some | None:
        found = self.query(_HOSTS.format(where=where), *values)
        if not found:
            return None
        seen = [
            (*r[:_ROBOTS_FETCHED], _moment(r[_ROBOTS_FETCHED]), *r[_ROBOTS_FETCHED + 1 : _HOST_WIDTH]) for r in found
        ]
        return Some(seen, [], found[-1]["id"])

    def changed(self, after: int, upto: int) -> tuple[list[int], int]:
        """(ids of addresses to be read anew, each once; the highest mark among them) of the next few changes."""
        if after >= upto:
            return [], upto
        found = self.query(
            f"SELECT id, url FROM change WHERE id > ? AND id <= ? ORDER BY id LIMIT {BATCH}", after, upto
        )
        return list(dict.fromkeys(row["url"] for row in found)), found[-1]["id"] if found else upto

    def told(self, counts: Mapping[str, int], place: object) -> str:
        """What an export says of itself: rows of each table, where they are, what was replaced."""
        text = f"{', '.join(f'{count:,} {name}' for name, count in counts.items())} rows in {place}"
        return text + (f"; {self.replaced:,} characters that no table may hold became U+FFFD" if self.replaced else "")

    def fit_json(self, text: str) -> str:
        r"""The same JSON without `\u0000` and lone surrogates: databases refuse them in their own JSON types."""
        return json.dumps(self._fit_value(json.loads(text)), ensure_ascii=False) if "\\u" in text else text

    def _fit_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._fit(key): self._fit_value(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._fit_value(one) for one in value]
        return self._fit(value) if isinstance(value, str) else value

    def _text(self, raw: bytes) -> str:
        """A text as SQLite holds it."""
        for errors in ("strict", "surrogatepass", "surrogateescape"):
            try:
                text = raw.decode("utf-8", errors)
                break
            except UnicodeDecodeError:
                continue
        return self._fit(text) if errors != "strict" or "\0" in text else text

    def _fit(self, text: str) -> str:
        fit, count = _UNFIT.subn("\ufffd", text)
        self.replaced += count
        return fit


class Some(NamedTuple):
    """A batch of rows; `hidden`: fingerprints of those that may not be seen, or are forgotten; `last`: the highest id of all."""

    seen: list[Row]
    hidden: list[int]
    last: int

    def of(self, table: str) -> list[Row]:
        """The rows of the table that was read."""
        return self.seen


def _light(found: Sequence[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """As many of the visits as their links allow; the first one in any case."""
    links = 0
    for n, row in enumerate(found):
        links += row["links"]
        if n and links > LINKS_MAX:
            return
        yield row


def _moment(seconds: float) -> datetime | None:
    """Unix seconds as an instant; 0: never."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
