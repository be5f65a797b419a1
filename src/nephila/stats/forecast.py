"""When will it end, and how sure is that? From what is queued, how fast each host may be asked, and how much is still being found.

The least that is left is what is queued. What will be found besides is reckoned from the links that were new per visit lately:
they become fewer as a site is known better, and the rate at which they have become fewer is taken to go on (likely), or to
slow down (high). A growing queue cannot be told from one that is about to stop growing: a site in the shape of a tree
looks the same until its last level is reached. So the range is wide then, and narrows as soon as less is found.

Time is what the slowest host needs for its part, or all of them together at the rate so far, whichever is more. Budgets bound
both. (docs/decisions/0048-rules-while-it-runs.md says how often the range held.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from nephila.url.parse import host_of
from nephila.url.site import registrable

MOMENTS_MAX = 256
"""Moments that are remembered; then every second one is forgotten, and they come half as often."""
VISITS_MIN, SECONDS_MIN, MOMENTS_MIN = 10, 4.0, 5
"""Before so much is known nothing is said."""
LATELY = 0.25
"""The share of all visits, or seconds, that counts as lately."""


Range = tuple[float, float, float]
"""At least, most likely, at most."""


class Line(NamedTuple):
    """A host that will take long: URLs done and queued, and seconds that one request of it takes, its pause included."""

    done: int
    queued: int
    request_s: float


class Moment(NamedTuple):
    """Where a crawl stood. `queued`: what waits for nothing but its turn; `found`: all that was ever queued."""

    seconds: float
    visits: int
    found: int
    queued: int
    kept: int
    bytes: int
    hosts: dict[str, Line]


class Budgets(NamedTuple):
    """Limits; 0: none."""

    pages: int = 0
    bytes: int = 0
    seconds: float = 0.0
    site_pages: int = 0


class Forecast(NamedTuple):
    """Seconds until the end: at least, most likely, at most."""

    low_s: float
    likely_s: float
    high_s: float


class History:
    """Moments of a crawl, evenly spaced, and never many."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self._apart_s = 0.0

    def add(self, moment: Moment) -> None:
        if self.moments and moment.seconds - self.moments[-1].seconds < self._apart_s:
            return
        self.moments.append(moment)
        if len(self.moments) >= MOMENTS_MAX:
            self._apart_s = max(2 * self._apart_s, 2 * (moment.seconds - self.moments[0].seconds) / MOMENTS_MAX)
            del self.moments[1::2]


def forecast(history: Sequence[Moment], now: Moment, budgets: Budgets) -> Forecast | None:
    """The rest of a crawl; None while too little is known."""
    first = history[0] if history else now
    visits, seconds = now.visits - first.visits, now.seconds - first.seconds
    if visits < VISITS_MIN or seconds < SECONDS_MIN or len(history) < MOMENTS_MIN:
        return None
    before = _before(history, now.seconds - max(LATELY * seconds, SECONDS_MIN))
    lately, always = _rate(before, now), _rate(first, now)
    rates = (max(lately, always), lately or always, max(min(lately, always), max(lately, always) / 20))
    left = _left(history, now, budgets)
    rooms = _rooms(now, budgets)
    waits = [_host_s(name, line, history, left, now, rooms) for name, line in now.hosts.items() if line.queued]
    low, likely, high = (max([left[n] / rates[n], *(wait[n] for wait in waits)]) for n in range(3))
    high = 1.15 * high + 2.0
    for budget, used in ((budgets.pages, now.kept), (budgets.bytes, now.bytes)):
        if budget:
            rest = max(budget - used, 0) * now.visits / max(used, 1)
            low, likely = min(low, 0.8 * rest / rates[0]), min(likely, rest / rates[1])
            high = min(high, 1.3 * rest / rates[2] + 2.0)
    if budgets.seconds:
        over = max(budgets.seconds - now.seconds, 0.0)
        low, likely, high = min(low, over), min(likely, over), min(high, over + 1.0)
    low = 0.9 * low
    return Forecast(round(low, 1), round(min(max(likely, low), high), 1), round(high, 1))


def _rate(earlier: Moment, later: Moment) -> float:
    """Visits per second."""
    return (later.visits - earlier.visits) / max(later.seconds - earlier.seconds, 1e-3)


def _left(history: Sequence[Moment], now: Moment, budgets: Budgets) -> Range:
    """Visits that are left of the whole crawl. What hosts have queued beyond the budget of their site is not asked for."""
    queued = now.queued
    for room in {id(room): room for room in _rooms(now, budgets).values()}.values():
        queued -= max(sum(now.hosts[name].queued for name in room.hosts) - room.pages, 0)
    points = [(moment.visits, moment.found) for moment in history]
    return _grown(points, now.visits, now.found, max(queued, 0))


class _Room(NamedTuple):
    """Pages that a site may still give, and its hosts."""

    pages: int
    hosts: list[str]


def _rooms(now: Moment, budgets: Budgets) -> dict[str, _Room]:
    """Host → room of its site; nothing without a budget per site."""
    sites: dict[str, list[str]] = {}
    for name in now.hosts if budgets.site_pages else ():
        sites.setdefault(registrable(host_of(f"{name}/")), []).append(name)
    return {
        name: room
        for names in sites.values()
        for room in [_Room(max(budgets.site_pages - sum(now.hosts[one].done for one in names), 0), names)]
        for name in names
    }


def _grown(points: list[tuple[int, int]], visits: int, found: int, queued: int) -> Range:
    """At least, most likely and at most: what is queued, and what visits to it will find. `points`: (visits, found) so far."""
    begun = points[0][0]
    span = max((visits - begun) * LATELY, 1.0)
    lately, before = _at(points, visits - span), _at(points, visits - 2 * span)
    rate = (found - lately[1]) / max(visits - lately[0], 1)
    rate_before = (lately[1] - before[1]) / max(lately[0] - before[0], 1)
    rate, rate_before = max(rate, 0.0), max(rate_before, 0.0)
    scale = 4 * span
    if 0.0 < rate < rate_before:
        scale = min(scale, span / math.log(rate_before / rate))
    noise = 1.0 + 2.0 / math.sqrt(max(found - lately[1], 1))
    most = max(rate, min(rate_before, 1.0) / 2) * noise
    return float(queued), _total(queued, rate, scale), _total(queued, most, max(2 * scale, 2 * span)) + 2.0


def _total(queued: float, rate: float, scale: float) -> float:
    """Visits until nothing is queued: x = queued + rate · scale · (1 − e^(−x / scale))."""
    total = queued
    for _ in range(60):
        total = queued + rate * scale * -math.expm1(-total / scale)
    return total


def _host_s(
    name: str, line: Line, history: Sequence[Moment], whole: Range, now: Moment, rooms: dict[str, _Room]
) -> Range:
    """Seconds that one host needs for its part; one that is hardly known grows as the whole does."""
    points = [
        (known.done, known.done + known.queued) for moment in history if (known := moment.hosts.get(name)) is not None
    ]
    if len(points) >= MOMENTS_MIN and line.done > points[0][0]:
        left = _grown(points, line.done, line.done + line.queued, line.queued)
    else:
        part = line.queued / max(now.queued, 1)
        left = (part * whole[0], part * whole[1], part * whole[2])
    least, likely, most = left
    if (room := rooms.get(name)) is not None:  # hosts of one site share it, and nobody knows how
        least, likely, most = min(least, room.pages / len(room.hosts)), min(likely, room.pages), min(most, room.pages)
    least = max(least - 1, 0.0)  # one is under way, or its pause is nearly over
    return least * line.request_s, likely * line.request_s, most * line.request_s


def _at(points: list[tuple[int, int]], visits: float) -> tuple[int, int]:
    """The last point up to so many visits, or the first there is."""
    return next((point for point in reversed(points) if point[0] <= visits), points[0])


def _before(history: Sequence[Moment], seconds: float) -> Moment:
    return next((moment for moment in reversed(history) if moment.seconds <= seconds), history[0])
