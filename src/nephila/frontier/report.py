"""The report: where a crawl stands, in numbers for people and tools."""

from __future__ import annotations

import dataclasses
import heapq
from typing import Any

import msgspec

from nephila.frontier.books import Books
from nephila.frontier.changing import Effect
from nephila.frontier.host import Host
from nephila.frontier.ledger import Ledger
from nephila.frontier.manners import Manners
from nephila.frontier.patience import Network
from nephila.frontier.rereading import Reread
from nephila.types import Outcome
from nephila.url.traps import PREFIX

HOSTS_MAX = 5
"""Hosts that are named: those that will take longest, of the ones that are awake."""
REASONS_MAX = 10


def report(
    books: Books,
    ledger: Ledger,
    manners: Manners,
    network: Network,
    changing: Effect | None = None,
    rereading: Reread | None = None,
) -> dict[str, Any]:
    """Numbers are committed ones; queues and hosts are as of now."""
    seconds = books.watch.seconds()
    pages = ledger.outcomes[Outcome.OK.value]
    waiting = (host for host in books.hosts.values() if host.queued)
    slow = heapq.nlargest(HOSTS_MAX, waiting, key=lambda host: host.queued * manners.pause(host))
    return {
        "state": books.ended.reason if books.ended else "paused" if books.paused else "running",
        "found": ledger.found,
        "queued": books.queued,
        "in_flight": len(books.leases),
        "outcomes": dict(ledger.outcomes),
        "reasons": dict(ledger.reasons.most_common(REASONS_MAX)),
        "bytes": ledger.bytes,
        "seconds": round(seconds, 3),
        "pages_per_second": round(pages / seconds, 1) if seconds > 0 else 0.0,
        "eta_seconds": _eta_s(books, ledger, [_wait_s(books, host, manners.pause(host)) for host in slow]),
        "offline_since": _wall_of(books, network.since),
        "proxies": manners.proxies.report(),
        "hosts": [_of_host(host, manners.pause(host)) for host in slow],
        "traps": [
            {"rule": rule, "count": n, "examples": books.trapped.get(id, [])}
            for rule, id in books.rules.items()
            if rule.startswith(PREFIX) and (n := ledger.refused[id])
        ],
        "changing": None if changing is None else dataclasses.asdict(changing),
        "rereading": None if rereading is None else msgspec.structs.asdict(rereading),
        "parked": [
            {"origin": host.origin, "until": host.parked_until} for host in books.parked if host.state != "paused"
        ],
    }


def hosts(books: Books, manners: Manners, origins: list[str]) -> list[dict[str, Any]]:
    """Those of the hosts named that are awake."""
    found = (host for origin in origins if (host := books.hosts.get(origin)) and not host.waking)
    return [
        _of_host(host, manners.pause(host))
        | {
            "in_flight": host.leased,
            "state": host.state,
            "parked_until": host.parked_until,
            "verdict": host.verdict[1] if host.verdict else "",
        }
        for host in found
    ]


def _eta_s(books: Books, ledger: Ledger, waits_s: list[float]) -> float | None:
    """At the rate so far, but no less than the slowest host needs; None: nothing has ended yet."""
    seconds = books.watch.seconds()
    rate = sum(ledger.outcomes.values()) / seconds if seconds > 0 else 0.0
    return round(max([*waits_s, books.queued / rate]), 1) if rate else None


def _wait_s(books: Books, host: Host, pause: float) -> float:
    return host.queued * pause / (1 if pause else books.config.per_host)


def _wall_of(books: Books, monotonic: float | None) -> float | None:
    return None if monotonic is None else books.clock.wall() - (books.clock.monotonic() - monotonic)


def _of_host(host: Host, pause: float) -> dict[str, Any]:
    return {
        "origin": host.origin,
        "queued": host.queued,
        "delay": round(pause, 3),
        "failures": host.failures,
        "ms": round(host.ttfb * 1000),
    }
