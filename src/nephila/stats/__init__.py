"""Where a crawl stands, read from crawl.db: the status that `nephila status` and the final summary show.

Every number is of committed visits. The database may be large and a crawl may be writing it, so a question that takes
longer than its limit is given up and named in `unknown` rather than answered with a guess.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nephila import db
from nephila.types import GOOD, UNVERIFIED

ASK_S_MAX = 2.0
"""A reader that stays longer holds the writer's log back."""
HOSTS_MAX, REASONS_MAX, PARKED_MAX = 5, 10, 100
TRAPS_MAX, EXAMPLES_MAX = 10, 3

# The requests for robots.txt are not counted as visits. They are few and found by one scan, which costs less than asking
# for every visit what it was for.
# Plain OK visits, most of all, are summed apart: grouping would sort them.
_OUTCOMES = """
SELECT 'OK', '', count(*), sum(bytes) FROM visit WHERE outcome = 'OK' AND reason = ''
UNION ALL
SELECT outcome, reason, count(*), sum(bytes) FROM visit WHERE outcome != 'OK' OR reason != '' GROUP BY outcome, reason
"""
_ROBOTS = f"""{db.visits_back("SELECT visit FROM url WHERE kind = 'robots'")}
SELECT v.outcome, v.reason, -count(*), 0 FROM back JOIN visit AS v ON v.id = back.id GROUP BY v.outcome, v.reason
"""
_FOUND = "SELECT count(*) FROM url WHERE state IN ('queued', 'done') AND kind != 'robots'"
# The literal 'queued' is what lets SQLite use the partial index of the queue.
_QUEUES = """
SELECT h.origin, q.n, h.delay, h.failures, h.ttfb
FROM (SELECT host, count(*) AS n FROM url WHERE state = 'queued' GROUP BY host) AS q JOIN host AS h ON h.id = q.host
"""


_TRAPS = "SELECT id, text, count FROM rule WHERE text >= 'trap:' AND text < 'trap;' AND count > 0 ORDER BY count DESC LIMIT ?"
_TRAPPED = f"SELECT url FROM url AS u WHERE u.state = 'refused' AND {db.ASIDE} AND rule = ? LIMIT ?"


def snapshot(
    con: sqlite3.Connection,
    *,
    folder: Path | None = None,
    now: float | None = None,
    per_host: int = 1,
    running: bool = False,
) -> dict[str, Any]:
    """The status of the job behind `con`. `running`: a front process holds the job.

    Keys: state, found, queued, in_flight, outcomes, reasons, bytes, seconds, pages_per_second, hosts, eta_seconds,
    offline_since, proxies, workers, folder, archive_files, traps, changing, rereading, forecast, limited_by, warnings, parked, unknown. What only a running front knows is 0 or None.
    """
    now = time.time() if now is None else now
    meta = db.meta(con)
    unknown: list[str] = []
    visits = _ask(con, _OUTCOMES, "outcomes", unknown) + _ask(con, _ROBOTS, "robots", unknown)
    queues = _ask(con, _QUEUES, "queued", unknown)
    found = _ask(con, _FOUND, "found", unknown)
    traps = [_trap(con, unknown, *row) for row in _ask(con, _TRAPS, "traps", unknown, TRAPS_MAX)]
    parked = "SELECT origin, parked_until FROM host WHERE parked_until > ? ORDER BY parked_until LIMIT ?"
    seconds = float(meta.get("seconds", 0))
    outcomes = _outcomes(visits)
    rate, speed = (n / seconds if seconds > 0 else 0.0 for n in (outcomes.get("OK", 0), sum(outcomes.values())))
    waiting = {origin: n for origin, n, *_ in queues}
    pauses = {origin: delay + ttfb for origin, _, delay, _, ttfb in queues}
    state = standing(meta, running)
    return {
        "state": state,
        "found": found[0][0] if found else 0,
        "queued": sum(waiting.values()),
        "in_flight": 0,
        "outcomes": outcomes,
        "reasons": _reasons(visits),
        "bytes": sum(row[3] or 0 for row in visits),
        "seconds": round(seconds, 3),
        "pages_per_second": round(rate, 2),
        "hosts": _slowest(queues),
        "eta_seconds": None if state == "finished" or unknown else eta(waiting, pauses, per_host, speed),
        "offline_since": None,
        "proxies": [],
        "workers": 0,
        "folder": str(folder) if folder else "",
        "archive_files": con.execute("SELECT count(*) FROM archive").fetchone()[0],
        "traps": traps,
        "changing": None,
        "rereading": None,
        "forecast": None,
        "limited_by": [],
        "warnings": [],
        "parked": [{"origin": o, "until": t} for o, t in _ask(con, parked, "parked", unknown, now, PARKED_MAX)],
        "unknown": unknown,
    }


def _ask(con: sqlite3.Connection, sql: str, what: str, unknown: list[str], *values: Any) -> list[tuple[Any, ...]]:
    """All rows, or none and a word in `unknown` when they take too long."""
    end = time.monotonic() + ASK_S_MAX
    con.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    try:
        return con.execute(sql, values).fetchall()
    except sqlite3.OperationalError as error:
        if "interrupt" not in str(error):
            raise
        unknown.append(what)
        return []
    finally:
        con.set_progress_handler(None, 0)


def _trap(con: sqlite3.Connection, unknown: list[str], id: int, text: str, count: int) -> dict[str, Any]:
    """A trap's rule, how many addresses it has refused, and a few of those that are stored."""
    examples = _ask(con, _TRAPPED, "traps", unknown, id, EXAMPLES_MAX)
    return {"rule": text, "count": count, "examples": [url for (url,) in examples]}


def standing(meta: Mapping[str, str], running: bool) -> str:
    """A stored `running` without a process means that the crawl was killed."""
    state = meta.get("state", "interrupted")
    if meta.get("paused", "0") not in ("", "0", "false") and state not in ("finished", "limit"):
        return "paused"
    return "interrupted" if state == "running" and not running else state


def _outcomes(visits: list[tuple[Any, ...]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for outcome, _, count, _ in visits:
        totals[outcome] = totals.get(outcome, 0) + count
    return {outcome: n for outcome, n in totals.items() if n > 0}


def _reasons(visits: list[tuple[Any, ...]]) -> dict[str, int]:
    """The most frequent reasons of what was not kept, or was kept unverified, largest first."""
    totals: dict[str, int] = {}
    for outcome, reason, count, _ in visits:
        if reason and (outcome not in GOOD or reason.startswith(UNVERIFIED)):
            totals[reason] = totals.get(reason, 0) + count
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return {reason: n for reason, n in ranked[:REASONS_MAX] if n > 0}


def _slowest(queues: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """The hosts that will take longest, by queue × time per request."""
    order = sorted(queues, key=lambda row: (-row[1] * max(row[2] + row[4], 1e-6), row[0]))[:HOSTS_MAX]
    return [
        {"origin": origin, "queued": n, "delay": delay, "failures": failures, "ms": round(ttfb * 1000)}
        for origin, n, delay, failures, ttfb in order
    ]


def eta(
    queued_by_host: Mapping[str, int], delay: Mapping[str, float], per_host: int, rate: float = 0.0
) -> float | None:
    """Seconds until the queue is empty if nothing new is found: the slowest host, or all at `rate` visits per second.

    `delay`: seconds that one request of a host takes, its pause included. None when nothing is known to reckon with.
    """
    if not any(queued_by_host.values()):
        return 0.0
    slowest = max(n * delay.get(host, 0.0) for host, n in queued_by_host.items()) / max(per_host, 1)
    together = sum(queued_by_host.values()) / rate if rate > 0 else 0.0
    return round(max(slowest, together), 1) or None
