"""Carrying on: the books as a snapshot of the store tells them. Hosts have their clocks and rules, queues lie in the store."""

from __future__ import annotations

from typing import Any

from nephila.frontier import patience
from nephila.frontier.batch import Snapshot
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.frontier.manners import Manners
from nephila.frontier.queues import BEFORE_ALL, Queues
from nephila.types import Outcome, RobotsFile


def restore(books: Books, manners: Manners, queues: Queues, snapshot: Snapshot) -> None:
    """Fill the books, and wake every host."""
    longest = max(books.config.delay_max_s, books.config.crawl_delay_max_s, books.config.retry_after_max_s)
    killed = snapshot.meta.get("clean") == "0"
    mono, wall = books.clock.monotonic(), books.clock.wall()
    for row in snapshot.hosts:
        host = books.add_host(row["id"], row["origin"])
        _restore_host(host, row)
        host.queued = snapshot.queued.get(host.id, 0)
        host.horizon = BEFORE_ALL if host.queued else None
        books.queued += host.queued
        host.due = mono + min(max(row["due"] - wall, 0.0), longest)
        if killed:  # what was under way then is unknown: one full pause
            host.due = max(host.due, mono + manners.pause(host))
        if row["parked_until"] > wall or host.state == "paused":
            host.parked_until = row["parked_until"]
            books.parked.add(host)
    _restore_robots_rows(books, snapshot)
    books.jar.load(snapshot.cookies)
    books.batch.meta.update(clean="0", state="running")
    books.batch.empty = False
    for host in books.hosts.values():
        queues.wake(host)


def _restore_host(host: Host, row: dict[str, Any]) -> None:
    host.ip, host.ttfb, host.pages, host.bytes = row["ip"], row["ttfb"], row["pages"], row["bytes"]
    host.private = host.private or (bool(host.ip) and patience.is_private(host.ip))
    host.crawl_delay, host.state = row["crawl_delay"], row["state"]
    host.answered = bool(host.pages) or bool(row["robots_status"])
    if row["robots_state"] and row["robots_state"] != "unreachable":
        host.robots = RobotsFile(row["robots_state"], row["robots"] or b"", row["robots_status"], host.crawl_delay)
        host.robots_fetched, host.robots_expires = row["robots_fetched"], row["robots_expires"]
    if host.state == "dropped":
        host.verdict = (Outcome.SKIPPED, "dropped")


def _restore_robots_rows(books: Books, snapshot: Snapshot) -> None:
    """One request for the rules of each host that has none; what else was under way then is asked for anew."""
    for host_id, row in snapshot.robots_rows:
        host = books.by_id[host_id]
        if host.robots is None and host.robots_row is None and row.url == host.origin + "/robots.txt":
            host.robots_row = row
        else:
            books.batch.states.append(("dropped", 0, row.id))
