"""One address: its row, its visits and attempts, where they lie in the archive, what links to it and what it links to."""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from nephila import db, packed
from nephila.look import known
from nephila.look.look import LOOK_S, Look, parts
from nephila.look.urls import Row, rows

VISITS_MAX, ATTEMPTS_MAX, LINKERS_MAX, LINKS_MAX = 100, 100, 50, 50


class Seen(msgspec.Struct, frozen=True):
    """One visit, and where its records lie: `length` bytes from `offset` of the file; "": nothing is kept."""

    id: int
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


class Attempt(msgspec.Struct, frozen=True):
    """A request that was, or will be, tried again."""

    round: int
    n: int
    started: float
    status: int
    reason: str
    ms: int
    bytes: int
    retry_due: float


class Address(msgspec.Struct, frozen=True):
    """`parent`: where it was found first, None of a seed or when that may not be seen. `visits` and `attempts`: latest first."""

    row: Row
    fp: int
    parent: Row | None
    visits: list[Seen]
    attempts: list[Attempt]


class Linked(msgspec.Struct, frozen=True):
    """An address at one end of a link. `kind`: redirect, flat (adds no depth) or link."""

    id: int
    url: str
    title: str
    outcome: str
    kind: str


class Linkers(msgspec.Struct, frozen=True):
    """Pages that link somewhere. `looked`: the last visit whose links were looked at, of `of`; the rest is behind it."""

    pages: list[Linked]
    looked: int
    of: int


class Around(NamedTuple):
    """`links`: the first of `links_in_all`."""

    linkers: Linkers
    links: list[Linked]
    links_in_all: int


def address(look: Look, id: int) -> Address | None:
    """None when there is no such row, or when it may not be seen."""
    found = rows(look, [id])
    if not found:
        return None
    fp, parent, visit = look.rows("SELECT fp, parent, visit FROM url WHERE id = ?", id)[0]
    visits = [Seen(*row) for row in look.rows(_VISITS, visit)] if visit else []
    attempts = [Attempt(*row) for row in look.rows(_ATTEMPTS, id, ATTEMPTS_MAX)]
    above = next(iter(rows(look, [parent])), None) if parent else None
    return Address(found[0], fp, above, [seen for seen in visits if look.may_see(seen.access)], attempts)


_VISITS = f"""{db.visits_back("SELECT ?", VISITS_MAX)}
  SELECT v.id, v.round, v.started, v.outcome, v.reason, v.status, v.protocol, v.ip, v.media_type, v.charset, v.bytes, v.ms, v.digest,
    v.truncated, v.access, v.same_as, v.moved_to, v.title, v.language, coalesce(a.file, '') AS file, v.offset, v.length,
    coalesce(length(l.targets) / 8, 0) AS links
  FROM back JOIN visit v ON v.id = back.id LEFT JOIN archive a ON a.id = v.file LEFT JOIN link l ON l.visit = v.id ORDER BY v.id DESC"""
_ATTEMPTS = """SELECT round, n, started, status, reason, ms, bytes, retry_due FROM attempt WHERE url = ?
  ORDER BY round DESC, n DESC LIMIT ?"""


def linkers(look: Look, fp: int, after: int = 0) -> Linkers:
    """Pages whose latest good answer links to the address with this fingerprint, looked for in the visits behind `after`.

    The packed links hold eight bytes each, so that looking through ten million of them is reading 80 MB: faster than an index of them
    would be written, and nobody has to keep it (docs/decisions/0046-looking-without-an-index.md).
    """
    needle = packed.needle(fp)
    newest = look.one("SELECT max(visit) FROM link") or 0
    found, looked = list[Linked](), after
    for begin, end in parts(after + 1, newest, time.monotonic() + LOOK_S):
        for row in look.rows(_LINKERS, begin, end, needle, LINKERS_MAX + 1):
            looked = row["visit"]
            if len(found) == LINKERS_MAX:
                return Linkers(found, looked - 1, newest)
            at = packed.place(row["targets"], needle)
            if at >= 0 and look.may_see(row["access"]) and look.one(_LATEST, row["last"]) == row["visit"]:
                kind = "redirect" if row["outcome"] == "MOVED" else "flat" if at < row["flat"] else "link"
                found.append(Linked(row["id"], row["url"], row["title"], row["outcome"], kind))
        looked = end
    return Linkers(found, looked, newest)


_LINKERS = """SELECT l.visit, l.flat, l.targets, u.id, u.url, u.visit AS last, v.title, v.outcome, v.access
  FROM link l JOIN visit v ON v.id = l.visit JOIN url u ON u.id = v.url
  WHERE l.visit BETWEEN ? AND ? AND instr(l.targets, ?) > 0 AND u.url != '' ORDER BY l.visit LIMIT ?"""
_LATEST = """WITH RECURSIVE back (id) AS (SELECT ? UNION ALL SELECT v.before FROM back JOIN visit v ON v.id = back.id
    WHERE v.outcome NOT IN ('OK', 'MOVED') OR (v.same_as = v.url AND NOT EXISTS (SELECT 1 FROM link WHERE visit = v.id)))
  SELECT min(id) FROM back"""
"""The last good answer whose links were read: a repeated one of a foreign archive has none of its own."""


def around(look: Look, found: Address, after: int = 0) -> Around:
    """What links to an address, looked for behind the visit `after`, and what its last visit with links links to."""
    visit = next((seen for seen in found.visits if seen.links), None)
    return Around(linkers(look, found.fp, after), links(look, visit.id) if visit else [], visit.links if visit else 0)


def links(look: Look, visit: int) -> list[Linked]:
    """The first addresses that a visit's page links to, in its order. What is no row of the job is left out."""
    found = look.rows("SELECT flat, targets FROM link WHERE visit = ?", visit)
    if not found:
        return []
    fps = list(dict.fromkeys(packed.unpacked(found[0]["targets"]).tolist()))[: LINKS_MAX * 2]
    there = known.ids(look, fps)
    ids = [there[fp] for fp in fps if fp in there][:LINKS_MAX]
    place = {there[fp]: n for n, fp in enumerate(fps) if fp in there}
    return [
        Linked(
            row.id,
            row.url,
            row.title,
            row.outcome or row.state,
            "flat" if place[row.id] < found[0]["flat"] else "link",
        )
        for row in rows(look, ids)
    ]
