"""The host (scheme + host + port): the unit of scheduling, and the heap of hosts that are due.

A host has a small output list in memory (`ready`, the first few of its queue in order), and knows how many more wait in
the store. It stands in the heap only when it could give out a lease, and re-enters when a visit settles: so politeness
needs no locks.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from nephila.types import Outcome, RobotsFile

if TYPE_CHECKING:
    from nephila.frontier.batch import Row


class Host:
    """State of one origin. Times are monotonic unless the name says wall."""

    __slots__ = (
        "answered",
        "backoff_until",
        "bytes",
        "clean",
        "crawl_delay",
        "due",
        "extra",
        "failed_at",
        "failures",
        "held",
        "horizon",
        "id",
        "ip",
        "leased",
        "origin",
        "pages",
        "parked_until",
        "pause_s",
        "penalty",
        "private",
        "queued",
        "ready",
        "refilling",
        "refusals",
        "retries",
        "robots",
        "robots_asked",
        "robots_expires",
        "robots_fetched",
        "robots_row",
        "robots_used",
        "settled_meanwhile",
        "state",
        "store_due",
        "ticket",
        "ttfb",
        "verdict",
        "waiters",
    )

    def __init__(self, id: int, origin: str, private: bool) -> None:
        self.id, self.origin, self.private = id, origin, private
        self.ip = ""
        self.ready: list[tuple[tuple[int, int], Row]] = []
        self.retries: list[tuple[float, tuple[int, int], Row]] = []
        self.held: set[int] = set()
        """ids in `ready`, in `retries` or leased: everything of the queue that is in memory"""
        self.queued = 0
        """all queued URLs, in memory or not"""
        self.leased = 0
        self.horizon: tuple[int, int] | None = None
        """`ready` holds every queued URL whose key is smaller; None: nothing is only in the store"""
        self.refilling = False
        self.settled_meanwhile: set[int] = set()
        """ids settled since the running refill was asked for: its answer may still name them"""
        self.store_due = 0.0
        """when the next URL in the store comes due, if none is now"""
        self.due = 0.0
        self.backoff_until = 0.0
        self.ttfb = 0.0
        self.pause_s = -1.0
        """what `Manners.pause` reckoned last; negative: reckon anew"""
        self.penalty = 1.0
        self.clean = 0
        self.failures = 0
        self.failed_at = -1.0
        self.refusals = 0
        self.answered = False
        self.crawl_delay = -1.0
        self.robots: RobotsFile | None = None
        self.robots_asked = False
        self.robots_row: Row | None = None
        self.robots_fetched = 0.0
        self.robots_expires = 0.0
        self.robots_used = True
        self.extra: list[Row] = []
        """robots.txt requests of other hosts that were redirected here: they need no permission of ours"""
        self.waiters: list[Host] = []
        """hosts whose robots.txt was redirected to ours"""
        self.parked_until = 0.0
        self.verdict: tuple[Outcome, str] | None = None
        """how every queued URL of this host ends, without a request"""
        self.state = ""
        """"" or what the user said: paused, dropped"""
        self.pages = 0
        self.bytes = 0
        self.ticket = 0

    def stored(self) -> int:
        """Queued URLs that are only in the store."""
        return self.queued - len(self.held)

    def pop_ready(self, now: float) -> Row | None:
        """The next URL in order; a retry that is due comes first."""
        if self.retries and self.retries[0][0] <= now:
            return heapq.heappop(self.retries)[2]
        return heapq.heappop(self.ready)[1] if self.ready else None

    def row(self, mono: float, wall: float) -> tuple[Any, ...]:
        """Values for table `host`, the id last; monotonic times become wall-clock."""
        due = max(self.due, self.backoff_until)
        robots = self.robots
        return (
            self.ip,
            wall + due - mono if due > mono else 0.0,
            max(due - mono, 0.0),
            self.ttfb,
            self.failures,
            self.parked_until,
            self.verdict[1] if self.verdict else "",
            self.state,
            robots.text if robots else None,
            robots.state if robots else "",
            robots.status if robots else 0,
            self.crawl_delay,
            self.robots_fetched,
            self.robots_expires,
            self.pages,
            self.bytes,
            self.id,
        )


class HostHeap:
    """Hosts by due time. A host is in it at most once; a later `push` replaces the earlier one (lazy deletion)."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Host]] = []
        self._turn = 0

    def push(self, host: Host, due: float) -> None:
        self._turn += 1
        host.ticket = self._turn
        heapq.heappush(self._heap, (due, self._turn, host))

    def remove(self, host: Host) -> None:
        host.ticket = 0

    def next_due(self) -> float | None:
        while self._heap and self._heap[0][2].ticket != self._heap[0][1]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Host | None:
        due = self.next_due()
        if due is None or due > now:
            return None
        host = heapq.heappop(self._heap)[2]
        host.ticket = 0
        return host


class Address:
    """The second clock: one IP address, whatever the number of hosts behind it."""

    __slots__ = ("due", "in_flight", "waiting")

    def __init__(self) -> None:
        self.in_flight = 0
        self.due = 0.0
        self.waiting: list[Host] = []
