"""The gauge: what is looked at once a second to say when a crawl will end and what holds it up. Costs nothing per page."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from nephila.frontier.books import Books
from nephila.frontier.ledger import Ledger
from nephila.frontier.manners import Manners
from nephila.frontier.patience import Network

LINES_MAX = 20
"""Hosts that are looked at: those that will take longest."""
HOSTS_MAX = 2_000
"""Of so many that are awake, those that were looked at least recently first."""
FAILURES = 3
"""In a row; then a host is failing."""


class Line(NamedTuple):
    """A host: pages kept, URLs queued, seconds that one request takes with its pause."""

    origin: str
    done: int
    queued: int
    request_s: float


class Gauge(NamedTuple):
    """Where a crawl stands at a moment; visits and bytes are committed ones."""

    now: float
    seconds: float
    visits: int
    kept: int
    bytes: int
    queued: int
    """waits for its turn: hosts that are parked, and those over their budget, left out"""
    leases: int
    paused: bool
    offline_since: float | None
    """wall clock"""
    full: bool
    """as much is accepted as may be before it is committed"""
    due: bool
    """some host could be asked at once"""
    looked_up: int
    """hosts that wait for their names"""
    lines: list[Line]
    failing: list[tuple[str, int]]
    """origin, failures in a row"""
    held: list[str] = []
    """hosts with something queued that somebody paused"""


def gauge(books: Books, ledger: Ledger, manners: Manners, network: Network) -> Gauge:
    """Numbers of this moment."""
    now = books.clock.monotonic()
    hosts = [host for _, host in zip(range(HOSTS_MAX), books.by_id.values(), strict=False) if not host.waking]
    per_host = max(books.config.per_host, 1)
    waiting = [
        host
        for host in hosts
        if host.queued and not host.parked_until and host.state != "paused" and not manners.budgets.is_aside(host.id)
    ]
    first = heapq.nlargest(LINES_MAX, waiting, key=lambda host: host.queued * (manners.pause(host) + host.ttfb))
    due = books.heap.next_due()
    aside = manners.budgets.urls_aside() + sum(host.queued for host in books.parked)
    return Gauge(
        now,
        books.watch.seconds(),
        sum(ledger.outcomes.values()),
        books.ok_pages,
        ledger.bytes,
        max(books.queued - aside, 0),
        len(books.leases),
        books.paused,
        None if network.since is None else books.clock.wall() - (now - network.since),
        ledger.full(),
        due is not None and due <= now,
        manners.addresses.waiting,
        [
            Line(
                host.origin,
                host.pages,
                host.queued,
                (manners.pause(host) + host.ttfb) / (1 if manners.pause(host) else per_host),
            )
            for host in first
        ],
        [(host.origin, host.failures) for host in hosts if host.failures >= FAILURES and not host.verdict],
        [host.origin for host in books.parked if host.queued and host.state == "paused"],
    )
