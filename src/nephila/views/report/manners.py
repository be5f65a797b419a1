"""The proof of manners: what the rows of the crawl say about how its hosts were asked.

Every request that left is in table `visit` or `attempt`, with its start and its length; every address that was fetched is judged
once more by the robots.txt that is stored. Credentials do not matter here: only hosts are named.
"""

from __future__ import annotations

import heapq
import sqlite3
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from nephila.robots.gate import Gate
from nephila.types import RobotsFile
from nephila.views.source import BATCH, Source

_SENT = "(v.status > 0 OR v.ms > 0)"
"""What ended without an answer and took no time was not asked for: robots.txt forbade it, or its host was given up."""
_HALF_MS = 0.0005
"""Lengths are rounded to a millisecond: of one, only what is certain counts."""
_VISITS = f"""SELECT v.id AS at, u.host, u.id AS url, u.kind, v.started, v.ms, 0.0 AS due FROM visit v JOIN url u ON u.id = v.url
  WHERE v.id > ? AND {_SENT} ORDER BY v.id LIMIT {BATCH}"""
_ATTEMPTS = f"""SELECT v.rowid AS at, u.host, u.id AS url, u.kind, v.started, v.ms, v.retry_due AS due FROM attempt v
  JOIN url u ON u.id = v.url WHERE v.rowid > ? AND {_SENT} AND v.reason != 'handler_error' ORDER BY v.rowid LIMIT {BATCH}"""


class Manners(NamedTuple):
    """How one host was asked. Seconds; `pause_min_s` from the end of one request to the start of the next, −1: there was only one.
    `early`: retries before their time, which Retry-After is part of."""

    origin: str
    requests: int
    at_once_max: int
    pause_min_s: float
    crawl_delay_s: float
    robots_requests: int
    disallowed_fetched: int
    retries: int
    early: int


def hosts(source: Source, con: sqlite3.Connection) -> Iterator[Manners]:
    """Every host that was asked. `con` takes the requests in."""
    con.execute("CREATE TABLE request (host INTEGER, url INTEGER, robots INTEGER, started REAL, ended REAL, due REAL)")
    for query in (_VISITS, _ATTEMPTS):
        at = 0
        while rows := source.rows(query, at):
            con.executemany("INSERT INTO request VALUES (?, ?, ?, ?, ?, ?)", map(_request, rows))
            at = rows[-1]["at"]
    con.executescript(
        "CREATE INDEX request_start ON request (host, started); CREATE INDEX request_url ON request (host, url, started);"
    )
    gate = Gate()
    for id, host in _hosts(source):
        retries, early = _retries(con, id)
        once, pause, requests, robots = _asked(
            con.execute("SELECT started, ended, robots AND due = 0 FROM request WHERE host = ? ORDER BY started", (id,))
        )
        if requests:
            wrong = _disallowed(source, con, gate, id, host)
            yield Manners(host["origin"], requests, once, pause, host["crawl_delay"], robots, wrong, retries, early)


def ignores_robots(source: Source) -> bool:
    """The crawl was told to (`--no-robots`)."""
    path = source.folder / "crawl.toml"
    return path.exists() and bool(tomllib.loads(path.read_text("utf-8")).get("no_robots"))


def _request(row: Any) -> tuple[Any, ...]:
    end = row["started"] + max(row["ms"] / 1000 - _HALF_MS, 0.0)
    return row["host"], row["url"], row["kind"] == "robots", row["started"], end, row["due"]


def _hosts(source: Source) -> Iterator[tuple[int, Any]]:
    at = 0
    query = f"SELECT id, origin, robots, robots_state, robots_status, crawl_delay FROM host WHERE id > ? ORDER BY id LIMIT {BATCH // 10}"
    while rows := source.rows(query, at):
        yield from ((row["id"], row) for row in rows)
        at = rows[-1]["id"]


def _asked(requests: Any) -> tuple[int, float, int, int]:
    """(largest number at once, smallest pause, requests, those for robots.txt), of requests by their start."""
    running, once, pause, end, count, robots = list[float](), 0, -1.0, 0.0, 0, 0
    for started, ended, is_robots in requests:
        while running and running[0] <= started:
            heapq.heappop(running)
        heapq.heappush(running, ended)
        once, count, robots = max(once, len(running)), count + 1, robots + is_robots
        if count > 1:
            gap = max(started - end, 0.0)
            pause = gap if pause < 0 else min(pause, gap)
        end = max(end, ended)
    return once, round(pause, 3), count, robots


def _retries(con: sqlite3.Connection, host: int) -> tuple[int, int]:
    query = """SELECT count(*), coalesce(sum(next < due - ?), 0) FROM (SELECT due, lead(started) OVER (PARTITION BY url ORDER BY started)
      AS next FROM request WHERE host = ?) WHERE due > 0 AND next IS NOT NULL"""
    retries, early = con.execute(query, (_HALF_MS, host)).fetchone()
    return retries, early


def _disallowed(source: Source, con: sqlite3.Connection, gate: Gate, id: int, host: Any) -> int:
    """Addresses that were asked for and that the stored robots.txt forbids."""
    if host["robots_state"] != "found":
        return 0
    gate.learn(host["origin"], RobotsFile("found", bytes(host["robots"] or b""), host["robots_status"]))
    wrong, at = 0, 0
    query = "SELECT DISTINCT url FROM request WHERE host = ? AND NOT robots AND url > ? ORDER BY url LIMIT ?"
    while ids := [url for (url,) in con.execute(query, (id, at, BATCH))]:
        marks = ", ".join("?" * len(ids))
        rows = source.rows(f"SELECT url FROM url WHERE id IN ({marks}) AND url != '' AND kind != 'login'", *ids)
        wrong += sum(bool(gate.denial(host["origin"], row["url"])) for row in rows)
        at = ids[-1]
    return wrong
