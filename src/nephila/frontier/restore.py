"""Carrying on: the books as a snapshot of the store tells them. Hosts are asleep at first, queues lie in the store."""

from __future__ import annotations

from functools import partial

from nephila.errors import Damaged
from nephila.frontier.batch import Row, Snapshot
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.frontier.queues import Queues


def restore(books: Books, queues: Queues, snapshot: Snapshot) -> None:
    """Fill the books; hosts that are silent or whose robots.txt is asked for are woken, others when they are due."""
    longest = max(books.config.delay_max_s, books.config.crawl_delay_max_s, books.config.retry_after_max_s)
    mono, wall = books.clock.monotonic(), books.clock.wall()
    silent, dues = list[str](), list[float]()
    for id, origin, due, parked_until, state in snapshot.hosts:
        books.ids[origin] = id
        dues.append(mono + min(due - wall, longest) if due > wall else mono)
        if parked_until > wall or state == "paused":
            silent.append(origin)
    if len(books.ids) != len(dues) or (dues and id != len(dues)):
        raise Damaged("crawl.db is damaged: hosts are missing")
    books.queued = books.asleep.load(dues, snapshot.queued)
    if snapshot.meta.get("clean") == "0":
        books.killed_at = mono
    books.jar.load(snapshot.cookies)
    books.batch.meta.update(clean="0", state="running")
    books.batch.empty = False
    for origin in silent:
        queues.with_host(origin, queues.wake)
    for name, row in snapshot.robots_rows:
        queues.with_host(name, partial(_ask_robots, books, queues, row))


def _ask_robots(books: Books, queues: Queues, row: Row, host: Host) -> None:
    """One request for the rules of each host that has none; what else was under way then is asked for anew."""
    if host.robots is None and host.robots_row is None and row.url == host.origin + "/robots.txt":
        host.robots_row = row
    else:
        books.batch.dropped.append((row.id,))
        books.batch.empty = False
    queues.wake(host)
