"""How a crawl went: pages and bytes over time, and what kinds of pages they were, from its visits.

Visits are read once, in the order of their ids, and summed by SQLite; whoever keeps a `Course` asks for what is new since the last
time, in pieces, so that no question takes long. It is made of the database alone, so it survives every restart of either side.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

VISITS_MAX = 20_000
"""Read at a time: some 20 ms."""
POINTS_MAX = 480
"""Of the whole course; past it two neighbours become one."""
RECENT_S = 300
GAP_S = 900
"""Between two runs, or in a long pause: time without any visit beyond this is left out."""
RECENT_MAX = 15

# A visit counts when it was over: what is under way would make the end of every curve look like a fall.
_NEW = """
SELECT cast(v.started + v.ms / 1000.0 AS INTEGER) AS second, v.media_type, v.outcome IN ('OK', 'UNCHANGED') AS kept,
  count(*), sum(v.bytes)
FROM visit AS v JOIN url AS u ON u.id = v.url WHERE v.id > ? AND v.id <= ? AND u.kind != 'robots'
GROUP BY second, v.media_type, kept ORDER BY second
"""
_RECENT = """
SELECT v.started + v.ms / 1000.0, u.url, v.outcome, v.reason, v.status, v.media_type, v.bytes, v.ms, v.access
FROM visit AS v JOIN url AS u ON u.id = v.url ORDER BY v.id DESC LIMIT ?
"""


class Point(NamedTuple):
    pages: int = 0
    bytes: int = 0


class Recent(NamedTuple):
    """A visit as it is listed."""

    ended: float
    url: str
    outcome: str
    reason: str
    status: int
    media_type: str
    bytes: int
    ms: int
    access: str


@dataclass
class Course:
    """`points[i]`: what ended in the `width_s` seconds from `first + i * width_s` on, gaps left out; `recent`: the same per second."""

    width_s: int = 1
    first: int = 0
    points: list[Point] = field(default_factory=list)
    recent: dict[int, Point] = field(default_factory=dict)
    media_types: Counter[str] = field(default_factory=Counter)
    """Of what was kept."""
    upto: int = 0
    _last: int = 0
    _left_out: int = 0

    def catch_up(self, con: sqlite3.Connection) -> bool:
        """Take in the next visits. Whether there may be more."""
        last: int
        (last,) = con.execute("SELECT coalesce(max(id), 0) FROM visit").fetchone()
        upto = min(last, self.upto + VISITS_MAX)
        if upto > self.upto:
            for second, media_type, kept, count, size in con.execute(_NEW, (self.upto, upto)):
                if kept:
                    self.media_types[media_type] += count
                if second > 0:
                    self._add(second, count if kept else 0, size)
            self.upto = upto
        return upto < last

    @property
    def last(self) -> int:
        """When the last visit ended, Unix time."""
        return self._last

    def lately(self, now: int, width_s: int) -> list[Point]:
        """The last five minutes before `now`, in steps of `width_s`."""
        steps = RECENT_S // width_s
        start = now - steps * width_s
        found = [Point()] * steps
        for second, point in self.recent.items():
            if 0 <= second - start < RECENT_S:
                step = (second - start) // width_s
                found[step] = _sum(found[step], point)
        return found

    def _add(self, second: int, pages: int, size: int) -> None:
        self.first = self.first or second
        if self._last and second - self._last > GAP_S:
            self._left_out += second - self._last
        self._last = max(self._last, second)
        if second > self._last - RECENT_S:
            self.recent[second] = _sum(self.recent.get(second, Point()), Point(pages, size))
            if len(self.recent) > 2 * RECENT_S:
                self.recent = {at: point for at, point in self.recent.items() if at > self._last - RECENT_S}
        at = max(second - self.first - self._left_out, 0) // self.width_s
        while at >= POINTS_MAX:
            self._coarsen()
            at //= 2
        self.points += [Point()] * (at + 1 - len(self.points))
        self.points[at] = _sum(self.points[at], Point(pages, size))

    def _coarsen(self) -> None:
        even, odd = self.points[::2], [*self.points[1::2], Point()]
        self.points = [_sum(a, b) for a, b in zip(even, odd, strict=False)]
        self.width_s *= 2


def _sum(a: Point, b: Point) -> Point:
    return Point(a.pages + b.pages, a.bytes + b.bytes)


def recent(con: sqlite3.Connection) -> list[Recent]:
    """The last visits, the latest first."""
    rows: list[Any] = con.execute(_RECENT, (RECENT_MAX,)).fetchall()
    return [Recent(*row) for row in rows]
