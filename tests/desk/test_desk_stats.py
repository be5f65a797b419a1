"""The status of a made-up crawl.db, and the reckoning of what is left."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephila import db, stats

NOW = 1_700_000_000.0


@pytest.fixture
def con() -> Iterator[sqlite3.Connection]:
    con = sqlite3.connect(":memory:", isolation_level=None)
    con.executescript(db.TABLES)
    yield con
    con.close()


def meta(con: sqlite3.Connection, **values: str) -> None:
    con.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def host(
    con: sqlite3.Connection, origin: str, delay: float = 0, ttfb: float = 0, failures: int = 0, until: float = 0
) -> int:
    sql = "INSERT INTO host (origin, delay, ttfb, failures, parked_until) VALUES (?, ?, ?, ?, ?)"
    return con.execute(sql, (origin, delay, ttfb, failures, until)).lastrowid or 0


def urls(con: sqlite3.Connection, host: int, state: str, count: int) -> None:
    (first,) = con.execute("SELECT count(*) FROM url").fetchone()
    rows = [(first + i, host, f"u{first + i}", state) for i in range(count)]
    con.executemany(
        "INSERT INTO url (fp, host, url, kind, depth, parent, state) VALUES (?, ?, ?, 'page', 0, 0, ?)", rows
    )


def visits(con: sqlite3.Connection, outcome: str, reason: str, count: int, size: int = 100) -> None:
    (first,) = con.execute("SELECT count(*) FROM visit").fetchone()
    columns = [row[1] for row in con.execute("PRAGMA table_info (visit)")][1:]
    for i in range(count):
        row = dict.fromkeys(columns, "") | {
            "url": first + i + 1,
            "round": 1,
            "outcome": outcome,
            "reason": reason,
            "bytes": size,
            "before": 0,
        }
        marks = ", ".join("?" * len(row))
        con.execute(f"INSERT INTO visit ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def test_a_crawl_in_numbers(con: sqlite3.Connection) -> None:
    meta(con, schema="1", state="running", seconds="40")
    slow, quick = host(con, "https://slow.example", 5.0, 0.25, 2), host(con, "https://quick.example", 0.0, 0.01)
    host(con, "https://parked.example", until=NOW + 60)
    host(con, "https://was-parked.example", until=NOW - 60)
    for where, state, count in ((slow, "queued", 4), (quick, "queued", 6), (quick, "done", 15), (slow, "too_deep", 1)):
        urls(con, where, state, count)
    visits(con, "OK", "", 10)
    visits(con, "MOVED", "", 2, 0)
    visits(con, "REFUSED", "status.404", 2, 50)
    visits(con, "REFUSED", "status.403", 1, 50)
    visits(con, "UNREACHABLE", "timeout.connect", 1, 0)
    con.execute("INSERT INTO archive (file, worker) VALUES ('a', 1), ('b', 2)")
    assert stats.snapshot(con, folder=Path("x"), now=NOW, running=True) == {
        "state": "running",
        "found": 25,
        "queued": 10,
        "in_flight": 0,
        "outcomes": {"OK": 10, "MOVED": 2, "REFUSED": 3, "UNREACHABLE": 1},
        "reasons": {"status.404": 2, "status.403": 1, "timeout.connect": 1},
        "bytes": 1150,
        "seconds": 40.0,
        "pages_per_second": 0.25,
        "hosts": [
            {"origin": "https://slow.example", "queued": 4, "delay": 5.0, "failures": 2, "ms": 250},
            {"origin": "https://quick.example", "queued": 6, "delay": 0.0, "failures": 0, "ms": 10},
        ],
        "eta_seconds": 25.0,
        "offline_since": None,
        "proxies": [],
        "workers": 0,
        "folder": "x",
        "archive_files": 2,
        "traps": [],
        "changing": None,
        "rereading": None,
        "forecast": None,
        "limited_by": [],
        "warnings": [],
        "parked": [{"origin": "https://parked.example", "until": NOW + 60}],
        "unknown": [],
    }


def test_robots_files_are_not_visits(con: sqlite3.Connection) -> None:
    visits(con, "OK", "", 2, 10)
    visits(con, "REFUSED", "status.404", 1, 10)
    urls(con, host(con, "https://h.example"), "done", 3)
    con.execute("UPDATE url SET visit = id, kind = iif(id = 2, 'page', 'robots')")
    status = stats.snapshot(con, now=NOW)
    assert (status["found"], status["outcomes"], status["reasons"], status["bytes"]) == (1, {"OK": 1}, {}, 30)


def test_an_empty_crawl(con: sqlite3.Connection) -> None:
    status = stats.snapshot(con, now=NOW)
    assert (status["state"], status["found"], status["outcomes"], status["bytes"]) == ("interrupted", 0, {}, 0)
    assert (status["pages_per_second"], status["eta_seconds"], status["hosts"]) == (0.0, 0.0, [])


@pytest.mark.parametrize(
    ("values", "running", "state"),
    [
        ({"state": "running"}, True, "running"),
        ({"state": "running"}, False, "interrupted"),
        ({"state": "running", "paused": "1"}, True, "paused"),
        ({"state": "interrupted", "paused": "1"}, False, "paused"),
        ({"state": "finished", "paused": "1"}, False, "finished"),
        ({"state": "limit", "paused": "0"}, False, "limit"),
        ({"state": "parked"}, False, "parked"),
    ],
)
def test_state(con: sqlite3.Connection, values: dict[str, str], running: bool, state: str) -> None:
    meta(con, **values)
    assert stats.snapshot(con, now=NOW, running=running)["state"] == state


def test_a_finished_crawl_has_nothing_left_to_reckon(con: sqlite3.Connection) -> None:
    meta(con, state="finished")
    assert stats.snapshot(con, now=NOW)["eta_seconds"] is None


def test_only_the_ten_most_frequent_reasons(con: sqlite3.Connection) -> None:
    for n in range(12):
        visits(con, "REFUSED", f"status.{400 + n}", n + 1)
    assert stats.snapshot(con, now=NOW)["reasons"] == {f"status.{400 + n}": n + 1 for n in range(11, 1, -1)}


def test_only_the_five_slowest_hosts(con: sqlite3.Connection) -> None:
    for n in range(1, 8):
        urls(con, host(con, f"https://h{n}.example", delay=1.0), "queued", n)
    origins = [h["origin"] for h in stats.snapshot(con, now=NOW)["hosts"]]
    assert origins == [f"https://h{n}.example" for n in (7, 6, 5, 4, 3)]


def test_a_question_that_takes_too_long_is_named(con: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "ASK_S_MAX", -1.0)
    urls(con, host(con, "https://h.example"), "queued", 20_000)
    status = stats.snapshot(con, now=NOW)
    assert "queued" in status["unknown"]
    assert status["eta_seconds"] is None


@pytest.mark.parametrize(
    ("queued", "delay", "per_host", "rate", "right"),
    [
        ({}, {}, 1, 0.0, 0.0),
        ({"a": 0}, {"a": 1.0}, 1, 5.0, 0.0),
        ({"a": 10, "b": 100}, {"a": 5.0, "b": 0.1}, 1, 0.0, 50.0),
        ({"a": 10, "b": 100}, {"a": 5.0, "b": 0.1}, 2, 0.0, 25.0),
        ({"a": 10, "b": 100}, {"a": 5.0, "b": 0.1}, 1, 1.0, 110.0),
        ({"a": 10}, {}, 1, 0.0, None),
    ],
)
def test_eta(queued: dict[str, int], delay: dict[str, float], per_host: int, rate: float, right: float | None) -> None:
    assert stats.eta(queued, delay, per_host, rate) == right
