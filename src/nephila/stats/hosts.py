"""The hosts of a crawl, a page at a time: sorted, searched, and still quick when there are 100,000."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

ROWS_MAX = 100
# The literal 'queued' is what lets SQLite use the partial index of the queue, which is in the order of hosts.
_QUEUE = "FROM url WHERE state = 'queued' AND host = h.id"
_QUEUED = f"(SELECT count(*) {_QUEUE})"
SORTS = {
    "queued": _QUEUED,
    "origin": "h.origin",
    "pages": "h.pages",
    "bytes": "h.bytes",
    "delay": "h.delay",
    "failures": "h.failures",
    "ttfb": "h.ttfb",
}
"""What hosts may be sorted by → the SQL for it."""
SHOWN = {
    "all": "",
    "queued": f"AND EXISTS (SELECT 1 {_QUEUE})",
    "failing": "AND h.failures > 0",
    "held": "AND (h.state != '' OR h.parked_until > 0 OR h.verdict != '')",
}
"""Which hosts are shown → the SQL for it. `held`: paused, slowed, dropped, parked or given up."""

_FROM = "FROM host AS h WHERE h.origin != '' AND (? = '' OR instr(h.origin, ?) > 0)"
_COLUMNS = f"""
SELECT h.origin, h.ip, {_QUEUED}, h.delay, h.ttfb, h.failures, h.parked_until, h.verdict, h.state,
  h.robots_state, h.robots_status, h.crawl_delay, h.pages, h.bytes
"""


class HostRow(NamedTuple):
    """A host as of the last commit. Times in seconds; `parked_until` is Unix time; `crawl_delay` is -1 without one."""

    origin: str
    ip: str
    queued: int
    delay: float
    ttfb: float
    failures: int
    parked_until: float
    verdict: str
    state: str
    robots_state: str
    robots_status: int
    crawl_delay: float
    pages: int
    bytes: int


def hosts(
    con: sqlite3.Connection, text: str, shown: str, sort: str, falling: bool, offset: int, limit: int = ROWS_MAX
) -> list[HostRow]:
    """Those whose origin holds `text`, by `SORTS[sort]`, from `offset` on. `shown`: a key of `SHOWN`."""
    order = f"ORDER BY {SORTS[sort]} {'DESC' if falling else 'ASC'}, h.id"
    # Only what they are sorted by is looked up for all of them.
    chosen = f"SELECT h.id {_FROM} {SHOWN[shown]} {order} LIMIT ? OFFSET ?"
    query = f"{_COLUMNS} FROM host AS h WHERE h.id IN ({chosen}) {order}"
    rows: list[Any] = con.execute(query, (text, text, limit, offset)).fetchall()
    return [HostRow(*row) for row in rows]


def count(con: sqlite3.Connection, text: str, shown: str) -> int:
    """How many hosts `hosts` has with the same words."""
    (found,) = con.execute(f"SELECT count(*) {_FROM} {SHOWN[shown]}", (text, text)).fetchone()
    return int(found)
