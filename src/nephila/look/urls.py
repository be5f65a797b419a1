"""Tables of addresses: filtered, sorted, a page at a time, at any number of them.

The order of discovery is the order of `url.id`, so a page in it is read from where the last one ended. Any other order takes the best
of a range of ids; both are looked through in parts until `LOOK_S` is over, and the answer says which ids it has looked at. A page after a
page carries the place of the last row (value and id), never an offset. Where the state is one of those set aside the small index on it serves.
"""

from __future__ import annotations

import heapq
import sqlite3
import time
from typing import Any

import msgspec

from nephila import db
from nephila.errors import ConfigError
from nephila.look.look import LOOK_S, Look, parts
from nephila.look.pattern import Pattern
from nephila.types import Outcome

ROWS = 50
"""On one page of a table."""
ROWS_MAX = 500
AGAIN_S = 1.7
"""The same rows once more, for the page behind the first: half as long again, so that it reaches as far."""
STATES = ("queued", "done", "refused", "too_deep", "parked", "dropped")
OUTCOMES = tuple(outcome.name for outcome in Outcome)
KINDS = ("page", "embed", "redirect", "canonical", "sitemap", "feed", "script", "form", "robots", "login", "probe")
SORTS = {
    "found": "u.id",
    "visited": "coalesce(v.started, -1)",
    "depth": "u.depth",
    "status": "coalesce(v.status, -1)",
    "bytes": "coalesce(v.bytes, -1)",
    "ms": "coalesce(v.ms, -1)",
    "url": "u.url",
}
"""Order → what is compared; -1 of what was not visited."""
OPENNESS = (
    """coalesce(v.access, (SELECT w.access FROM url p JOIN visit w ON w.id = p.visit WHERE p.id = u.parent), '')"""
)
"""Which credentials a row takes to be seen: one that was not visited is as open as the page where it was found."""
_ASIDE = f"u.state = '{{}}' AND {db.ASIDE}"
_FROM = "FROM url u LEFT JOIN visit v ON v.id = u.visit"
_ROW = f"""SELECT u.id, u.url, u.kind, u.depth, u.state, u.due, u.attempts, coalesce(r.text, '') AS rule, coalesce(v.started, 0.0) AS started,
  coalesce(v.outcome, '') AS outcome, coalesce(v.reason, '') AS reason, coalesce(v.status, 0) AS status,
  coalesce(v.media_type, '') AS media_type, coalesce(v.bytes, 0) AS bytes, coalesce(v.ms, 0) AS ms, coalesce(v.title, '') AS title,
  {OPENNESS} AS access
  {_FROM} LEFT JOIN rule r ON r.id = u.rule WHERE u.id IN ({{}})"""


class Question(msgspec.Struct, frozen=True):
    """What is asked for; "" and -1 ask for nothing. `media_type` may end in `/*`; `status` is a code or its class, as in `4xx`; `text` is looked
    for in address and title, `regex` (RE2) in the address. `first`, `last`: ids looked at, 0 for all; `value`, `id`: of the last row before."""

    outcome: str = ""
    state: str = ""
    status: str = ""
    media_type: str = ""
    kind: str = ""
    depth: int = -1
    host: str = ""
    text: str = ""
    regex: str = ""
    sort: str = "found"
    falling: bool = False
    rows: int = ROWS
    first: int = 0
    last: int = 0
    value: float | str = 0
    id: int = 0


class Row(msgspec.Struct, frozen=True):
    """An address with its last visit. `started` 0: not visited."""

    id: int
    url: str
    kind: str
    depth: int
    state: str
    due: float
    attempts: int
    rule: str
    started: float
    outcome: str
    reason: str
    status: int
    media_type: str
    bytes: int
    ms: int
    title: str
    access: str


class Answer(msgspec.Struct, frozen=True):
    """`looked`: addresses looked through, of `of`. `next`: the question for the next page of these, `on`: for what was not looked at."""

    rows: list[Row]
    looked: int
    of: int
    total: int | None
    next: Question | None
    on: Question | None


def table(look: Look, asked: Question) -> Answer:
    """A page of the table. Raises ConfigError for a question that cannot be meant."""
    where, values = _where(look, asked)
    pattern = Pattern(asked.regex) if asked.regex else None
    newest = look.one("SELECT max(id) FROM url") or 0
    first, last = asked.first or 1, min(asked.last or newest, newest)
    plain = asked.sort == "found"
    if asked.id and plain:
        first, last = (first, asked.id - 1) if asked.falling else (asked.id + 1, last)
    best, looked = list[tuple[Any, int]](), 0
    low, high = first, last
    until = time.monotonic() + (AGAIN_S if asked.id else LOOK_S)
    for begin, end in parts(first, last, until, backward=plain and asked.falling):
        best += _found(look, asked, where, values, begin, end, pattern, asked.rows + 1 - (len(best) if plain else 0))
        looked += end - begin + 1
        low, high = (low, begin - 1) if plain and asked.falling else (end + 1, high)
        if not plain:
            best = (heapq.nlargest if asked.falling else heapq.nsmallest)(asked.rows + 1, best)
        elif len(best) > asked.rows:
            break
    shown = rows(look, [id for _, id in best[: asked.rows]])
    more = len(best) > asked.rows
    value, id = best[asked.rows - 1] if more else (0, 0)
    seen = (asked.first, asked.last) if plain else (asked.first or 1, low - 1)
    following = msgspec.structs.replace(asked, value=value, id=id, first=seen[0], last=seen[1]) if more else None
    left = low <= high and not (plain and more)
    on = msgspec.structs.replace(asked, value=0, id=0, first=low, last=high) if left else None
    whole = not (asked.first or asked.last or asked.id or more or on)
    return Answer(shown, looked, newest, len(shown) if whole else _total(look, asked), following, on)


def _found(
    look: Look, asked: Question, where: str, values: list[Any], begin: int, end: int, pattern: Pattern | None, most: int
) -> list[tuple[Any, int]]:
    """(what is compared, id) of the best `most` among these ids, in order."""
    by, way, sign = SORTS[asked.sort], "DESC" if asked.falling else "ASC", "<" if asked.falling else ">"
    plain = asked.sort == "found"
    if asked.id and not plain:
        where, values = f"{where} AND ({by}, u.id) {sign} (?, ?)", [*values, asked.value, asked.id]
    order = f"ORDER BY u.id {way}" if plain else f"ORDER BY {by} {way}, u.id {way}"
    if pattern is None:
        sql = f"SELECT {by} AS value, u.id {_FROM} WHERE u.id BETWEEN ? AND ? AND {where} {order} LIMIT ?"
        return [(row[0], row[1]) for row in look.rows(sql, begin, end, *values, most)]
    sql = f"SELECT {by} AS value, u.id, u.url {_FROM} WHERE u.id BETWEEN ? AND ? AND {where} {order if plain else ''}"
    rows = look.rows(sql, begin, end, *values)
    places = pattern.matching([row[2] for row in rows], most if plain else 1 << 62)
    return [(rows[place][0], rows[place][1]) for place in places]


def _where(look: Look, asked: Question) -> tuple[str, list[Any]]:
    """The filters as SQL; what is cheap to hold against a row comes first."""
    _check(asked)
    terms, values = ["u.url != ''"], list[Any]()

    def add(term: str, *given: Any) -> None:
        terms.append(term)
        values.extend(given)

    if asked.state:
        terms.insert(
            0, _ASIDE.format(asked.state) if asked.state not in ("queued", "done") else f"+u.state = '{asked.state}'"
        )
    if asked.depth >= 0:
        add("u.depth = ?", asked.depth)
    if asked.kind:
        add("u.kind = ?", asked.kind)
    if asked.host:
        ids = [
            row[0] for row in look.rows(_HOSTS, asked.host, f"%://{_like(asked.host)}", f"%://{_like(asked.host)}:%")
        ]
        terms.append(f"+u.host IN ({', '.join(map(str, ids))})")
    if asked.outcome:
        add("v.outcome = ?", asked.outcome)
    if asked.status:
        low = int(asked.status.replace("x", "0"))
        add("v.status BETWEEN ? AND ?", low, low + (99 if asked.status.endswith("xx") else 0))
    if asked.media_type.endswith("/*"):
        add("v.media_type >= ? AND v.media_type < ?", asked.media_type[:-1], asked.media_type[:-2] + "0")
    elif asked.media_type:
        add("v.media_type = ?", asked.media_type)
    if asked.text:
        like = f"%{_like(asked.text)}%"
        add("(u.url LIKE ? ESCAPE '\\' OR v.title LIKE ? ESCAPE '\\')", like, like)
    if closed := look.closed():
        add(f"{OPENNESS} NOT IN ({', '.join('?' * len(closed))})", *closed)
    return " AND ".join(terms), values


_HOSTS = "SELECT id FROM host WHERE origin = ? OR origin LIKE ? ESCAPE '\\' OR origin LIKE ? ESCAPE '\\' LIMIT 1000"
"""An origin, or a host under all its schemes and ports."""


def _check(asked: Question) -> None:
    for name, given, known in (
        ("outcome", asked.outcome, OUTCOMES),
        ("state", asked.state, STATES),
        ("kind", asked.kind, KINDS),
        ("sort", asked.sort, tuple(SORTS)),
    ):
        if given and given not in known:
            raise ConfigError(f"{name} {given!r}: there are {', '.join(known)}")
    status = asked.status
    if status and not (
        len(status) == 3 and status.isascii() and (status.isdecimal() or (status[0].isdecimal() and status[1:] == "xx"))
    ):
        raise ConfigError(f"status {status!r}: give a code such as 404, or a class such as 4xx")
    if not 1 <= asked.rows <= ROWS_MAX:
        raise ConfigError(f"rows {asked.rows}: give a number from 1 to {ROWS_MAX}")


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def rows(look: Look, ids: list[int]) -> list[Row]:
    """These rows, in this order, without those that may not be seen."""
    found = {row["id"]: row for row in look.rows(_ROW.format(", ".join(map(str, ids))))}
    there = (found[id] for id in ids if id in found)
    return [Row(*row) for row in there if look.may_see(row["access"])]


def _total(look: Look, asked: Question) -> int | None:
    """How many there are, where somebody has counted already or an index does."""
    filters = {
        name
        for name in ("outcome", "state", "status", "media_type", "kind", "host", "text", "regex")
        if getattr(asked, name)
    } | ({"depth"} if asked.depth >= 0 else set())
    try:
        if not filters:
            return int(look.one("SELECT max(id) FROM url") or 0)
        if filters == {"state"} and asked.state == "queued":
            return int(look.one("SELECT count(*) FROM url u WHERE u.state = 'queued'"))
        if filters == {"state"} and asked.state != "done":
            return int(look.one(f"SELECT count(*) FROM url u WHERE {_ASIDE.format(asked.state)}"))
    except (TimeoutError, sqlite3.Error):
        return None
    return None
