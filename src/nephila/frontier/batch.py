"""What the scheduler hands to a store: batches of rows, and the questions a store answers.

A batch is everything accepted since the last one; a store commits it whole or not at all, in the order in which batches
were handed over, so that nothing committed depends on something uncommitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from nephila import db
from nephila.frontier.host import Host
from nephila.types import Kind
from nephila.url.scope import Rules

BIAS = db.BIAS
LOGIN = Kind.LOGIN.value
"""The kind of row that is in no table: a request of a login (`members`)."""
ROBOTS = Kind.ROBOTS.value
"""The kind of row that is no page: it gives permission and counts for nothing else."""


class Row(NamedTuple):
    """A queued URL as the scheduler holds it."""

    id: int
    fp: int
    url: str
    kind: str
    depth: int
    hops: int
    parent: int
    score: int
    attempts: int
    unread: str


class Changed(NamedTuple):
    """A stored URL that the rules of today treat otherwise. `was`: id of the rule that refused it (0: none did); `state` and
    `rule` are what it is to be."""

    row: Row
    host: int
    was: int
    state: str
    rule: str


class Looked(NamedTuple):
    """What came of looking at stored URLs up to the id `upto`. Those that were queued or refused are the scheduler's to change,
    because it may know better by now; those that were too deep the store has changed already."""

    upto: int
    queued: list[Changed]
    refused: list[Changed]
    near: list[int]
    """host id of each that was too deep and is queued now"""
    named: list[Changed]
    """were too deep and are refused now; the rule is still to be written"""


HOST_COLUMNS = ("ip", "due", "delay", "ttfb", "failures", "parked_until", "verdict", "state", "pages", "bytes")
"""Columns of table `host` that change with visits."""
ROBOTS_COLUMNS = ("robots", "robots_state", "robots_status", "crawl_delay", "robots_fetched", "robots_expires")
"""Columns of table `host` that change when its rules are learned: the text may be half a megabyte."""


class Batch:
    """Rows to commit together. Column orders follow `db.TABLES`."""

    def __init__(self) -> None:
        self.urls: list[tuple[Any, ...]] = []
        """(id, fp, host, url, kind, depth, hops, parent, score, state, rule, due)"""
        self.done: list[tuple[int, int, int]] = []
        """(attempts, visit id, url id): visited"""
        self.dropped: list[tuple[int]] = []
        """url ids that nobody wants any more"""
        self.retries: list[tuple[float, int, str, int]] = []
        """(due, attempts, unread, url id): stays queued"""
        self.readmitted: list[tuple[str, int, int, str, int]] = []
        """(kind, depth, parent, state, url id): refused before, wanted now"""
        self.aside: dict[int, tuple[str, int]] = {}
        """url id → (state, rule): queued before, refused or too deep now"""
        self.visits: list[tuple[Any, ...]] = []
        """(id, url, round — 0: the next one —, started, … as in table visit up to length, with the archive file's name for its id)"""
        self.attempts: list[tuple[Any, ...]] = []
        self.links: list[tuple[int, int, bytes]] = []
        """(visit id, links that add no depth, fingerprints of all)"""
        self.items: list[tuple[int, int, int, str]] = []
        self.site_links: list[tuple[str, str]] = []
        """(site, other site that links to it)"""
        self.relax: list[tuple[int, int]] = []
        """(fp, smaller depth)"""
        self.settled: list[tuple[int, int]] = []
        """(url id, the depth its links were reckoned from); only with a depth limit"""
        self.hosts_new: list[tuple[int, str]] = []
        self.hosts: dict[int, Host] = {}
        self.rules: list[tuple[int, str, float]] = []
        self.rule_counts: Counter[int] = Counter()
        self.refused_counts: dict[tuple[int, str], tuple[int, list[str]]] = {}
        self.count_anew = False
        """what was counted per rule and host before this batch is forgotten"""
        self.archives: dict[str, tuple[int, int]] = {}
        """file → (end of its last committed group, groups added)"""
        self.last_groups: dict[str, tuple[int, int]] = {}
        """file → (offset, length) of its last group"""
        self.opened: list[tuple[str, int, int]] = []
        self.closed: list[str] = []
        self.stored: list[tuple[str, str, str]] = []
        """(SHA-256, store, file): an archive file is in the store, too"""
        self.cookies: list[tuple[Any, ...]] = []
        self.meta: dict[str, str] = {}
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.bytes = 0
        self.found = 0
        self.pages: list[int] = []
        """url ids of visits, for observers"""
        self.robots: list[tuple[Any, ...]] = []
        """rules of a host that were learned: values of ROBOTS_COLUMNS and the host's id"""
        self.host_rows: list[tuple[Any, ...]] = []
        """filled when the batch is cut: the hosts' state at that moment, values of HOST_COLUMNS and the id"""
        self.weight = 0
        """bytes of what may be long in it: addresses, fingerprints of links, rules, items"""
        self.empty = True


class Committed(NamedTuple):
    """What a commit brought to light: (host id) of each URL that came within the depth limit, and how many relaxations
    are left for the next commit."""

    requeued: list[int]
    relaxing: int


class Ask(NamedTuple):
    """What is wanted of a host: rows of its queue, and its own row if it is `waking`."""

    host: int
    waking: bool


class Refill(NamedTuple):
    """The first queued rows of a host that are due, in order, and when the next one is (wall; 0: none). `host`: its own row."""

    rows: list[Row]
    due: float
    host: dict[str, Any] | None = None


Sites = tuple[Iterable[tuple[int, str, int]], Iterable[tuple[str, str]]]
"""(host id, origin, pages kept) of hosts with any, and (site, other site that links to it)."""


class Snapshot(NamedTuple):
    """All that a scheduler needs to carry on. What there are millions of may be read only once."""

    meta: dict[str, str]
    hosts: Iterable[tuple[int, str, float, float, str]]
    """(id, origin, due, parked_until, state); the rest of a host is fetched when it is needed"""
    queued: Iterable[tuple[int, int]]
    """(host id, queued URLs)"""
    robots_rows: list[tuple[str, Row]]
    """(origin, row) of robots.txt requests not yet settled"""
    refused: dict[int, int]
    """fp → url id"""
    rules: dict[str, int]
    cookies: list[tuple[Any, ...]]
    url_id: int
    visit_id: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    pages: int
    bytes: int
    found: int
    refused_count: int
    relaxing: int
    chains: dict[int, tuple[int, ...]]
    """url id of each queued redirect target → fingerprints of the URLs that led to it"""
    seeds: list[int]
    """url ids of seeds still queued"""
    sites: Callable[[], Sites] = lambda: ((), ())
    """What the budgets of sites are reckoned from; asked only when there are any"""
    rule_counts: dict[int, int] = {}
    """rule → addresses it refused"""
    only_counted: dict[int, int] = {}
    """rule → those of them that no row was made of"""


class Store(Protocol):
    """Where the frontier's rows live. Callbacks come on the scheduler's thread, in the order of the calls."""

    def load(self, seen: Any) -> Snapshot:
        """State from before; fills `seen` with every known fingerprint."""
        ...

    def commit(self, batch: Batch, done: Callable[[Committed | BaseException], None]) -> None: ...

    def fetch(
        self, asked: list[Ask], limit: int, wall: float, done: Callable[[list[Refill] | BaseException], None]
    ) -> None:
        """The first `limit` queued rows of each of some hosts that are due at `wall`, in the order of the question."""
        ...

    def look(self, rules: Rules, after: int, until: int, done: Callable[[Looked | BaseException], None]) -> None:
        """Hold the next stored URLs, of those with ids behind `after` up to `until`, against the rules. Seeds are wanted whatever
        the rules, and requests for robots.txt are no URLs of the crawl."""
        ...

    def close(self) -> None: ...
