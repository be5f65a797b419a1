"""The host (scheme + host + port): the unit of scheduling, and the heap of hosts that are due.

A host has a small output list in memory (`ready`, the first few of its queue in order), and knows how many more wait in
the store. It stands in the heap only when it could give out a lease, and re-enters when a visit settles: so politeness
needs no locks.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Any

from nephila.types import Outcome, RobotsFile
from nephila.url.guard import is_private
from nephila.url.parse import host_of

if TYPE_CHECKING:
    from nephila.frontier.batch import Row

WAITING = -1
"""Ticket of a host that waits outside the heap: for its name, its address or its site's budget."""


class Host:
    """State of one origin. Times are monotonic unless the name says wall."""

    __slots__ = (
        "answered",
        "backoff_until",
        "bytes",
        "clean",
        "costly",
        "crawl_delay",
        "due",
        "entered",
        "extra",
        "failed_at",
        "failures",
        "held",
        "home",
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
        "waking",
    )

    def __init__(self, id: int, origin: str) -> None:
        self.id, self.origin = id, origin
        self.private = bool(origin) and is_private(host_of(origin + "/"))
        self.waking = False
        """its row is being read: nothing is known of it but its id, its queue's length and its clock"""
        self.ip = ""
        self.ready: list[tuple[tuple[int, int], Row]] = []
        self.retries: list[tuple[float, tuple[int, int], Row]] = []
        self.held: set[int] = set()
        """ids in `ready`, in `retries` or leased: everything of the queue that is in memory"""
        self.queued = 0
        """all queued URLs, in memory or not"""
        self.home = 0
        """the worker that served it last, which holds its connection; 0: none, or several at once"""
        self.leased = 0
        self.horizon: tuple[int, int] | None = None
        """`ready` holds every queued URL whose key is smaller; None: nothing is only in the store"""
        self.refilling = False
        self.settled_meanwhile: set[int] | None = None
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
        self.costly = False
        """its last page took long to read"""
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
        self.ticket, self.entered = 0, 0.0
        """its place in the heap, and the time that it stands there for"""

    def stored(self) -> int:
        """Queued URLs that are only in the store."""
        return self.queued - len(self.held)

    def pop_ready(self, now: float) -> Row | None:
        """The next URL in order; a retry that is due comes first."""
        if self.retries and self.retries[0][0] <= now:
            return heapq.heappop(self.retries)[2]
        return heapq.heappop(self.ready)[1] if self.ready else None

    def restore(self, row: dict[str, Any]) -> None:
        """What table `host` says of it, clocks aside: they are told in another way."""
        if not self.origin:
            self.origin = row["origin"]
            self.private = is_private(host_of(self.origin + "/"))
        self.ip, self.ttfb, self.pages, self.bytes = row["ip"], row["ttfb"], row["pages"], row["bytes"]
        self.private = self.private or (bool(self.ip) and is_private(self.ip))
        self.crawl_delay, self.state, self.parked_until = row["crawl_delay"], row["state"], row["parked_until"]
        self.answered = bool(self.pages) or bool(row["robots_status"])
        if row["robots_state"] and row["robots_state"] != "unreachable":
            self.robots = RobotsFile(row["robots_state"], row["robots"] or b"", row["robots_status"], self.crawl_delay)
            self.robots_fetched, self.robots_expires = row["robots_fetched"], row["robots_expires"]
        if self.state == "dropped":
            self.verdict = (Outcome.SKIPPED, "dropped")

    def marks(self, now: float) -> tuple[Any, ...] | None:
        """What trouble it has that its row does not tell; None: none."""
        if self.penalty == 1.0 and not self.failures and not self.refusals and not self.verdict:
            return None
        late = self.backoff_until if self.backoff_until > now else 0.0
        return (self.penalty, self.clean, self.failures, self.failed_at, self.refusals, late, self.verdict)

    def mark(self, marks: tuple[Any, ...]) -> None:
        """Have the trouble again that `marks` tells."""
        self.penalty, self.clean, self.failures, self.failed_at, self.refusals, self.backoff_until, self.verdict = marks

    @staticmethod
    def forgiven(marks: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The same trouble without what a missing network of our own may have caused."""
        penalty, clean, _, failed_at, refusals, late, verdict = marks
        if penalty == 1.0 and not refusals and not verdict:
            return None
        return (penalty, clean, 0, failed_at, refusals, late if refusals else 0.0, verdict)

    def row(self, mono: float, wall: float) -> tuple[Any, ...]:
        """Values of HOST_COLUMNS, and the id; monotonic times become wall-clock."""
        due = max(self.due, self.backoff_until)
        return (
            self.ip,
            wall + due - mono if due > mono else 0.0,
            max(due - mono, 0.0),
            self.ttfb,
            self.failures,
            self.parked_until,
            self.verdict[1] if self.verdict else "",
            self.state,
            self.pages,
            self.bytes,
            self.id,
        )


PASSED_MAX = 16
"""So many hosts with a connection at another worker are passed over in search of a better placed one."""


class HostHeap:
    """Hosts by due time, and addresses for which hosts stand in line. Each is in it at most once; a later `push` replaces the
    earlier one (lazy deletion)."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Host | Address]] = []
        self._turn = 0

    def __len__(self) -> int:
        """How many are in it at most: entries that were replaced are among them."""
        return len(self._heap)

    def push(self, host: Host | Address, due: float) -> None:
        self._turn += 1
        host.ticket, host.entered = self._turn, due
        heapq.heappush(self._heap, (due, self._turn, host))

    def remove(self, host: Host) -> None:
        host.ticket = 0

    def next_due(self) -> float | None:
        while self._heap and self._heap[0][2].ticket != self._heap[0][1]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float, worker: int = 0) -> Host | Address | None:
        """What is due first for this worker: a host that another one served last has its connection there, and is passed over
        if one of the next few is not so placed. It stays in front: the other worker finds it first, and if nobody else is due
        this one takes it."""
        passed: list[tuple[float, int, Host | Address]] = []
        found = None
        while found is None and len(passed) < PASSED_MAX and (due := self.next_due()) is not None and due <= now:
            entry = heapq.heappop(self._heap)
            if entry[2].home in (0, worker):
                found = entry[2]
            else:
                passed.append(entry)
        if found is None and passed:
            found = passed.pop(0)[2]
        for entry in passed:
            heapq.heappush(self._heap, entry)
        if found is not None:
            found.ticket = 0
        return found


class Address:
    """The second clock: one IP address, whatever the number of hosts behind it."""

    __slots__ = ("due", "entered", "in_flight", "ticket", "waiting")
    home = 0
    """Nobody's: hosts behind one address are served by any worker."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.due = 0.0
        self.ticket, self.entered = 0, 0.0
        self.waiting: deque[Host] = deque()
        """hosts in line; one whose ticket is not WAITING has left it"""
