"""The table of hosts: sorted, searched, by the page; quick with very many."""

from __future__ import annotations

import sqlite3
import time

import pytest

from nephila import db
from nephila.frontier import order
from nephila.stats.hosts import ROWS_MAX, count, hosts


def made(n: int, per_host: int = 1) -> sqlite3.Connection:
    con = sqlite3.connect(":memory:")
    con.executescript(db.TABLES)
    con.execute(f"CREATE INDEX url_queue ON url (host, {order.COLUMNS['bfs']}) WHERE state = 'queued'")
    con.executemany(
        "INSERT INTO host (id, origin, delay, failures, pages, state) VALUES (?, ?, ?, ?, ?, ?)",
        ((i, f"https://h{i}.example", i % 7, i % 10 == 0, n - i, "paused" if i == 2 else "") for i in range(1, n + 1)),
    )
    con.executemany(
        "INSERT INTO url (fp, host, url, kind, depth, parent, state) VALUES (?, ?, '', 'page', 1, 0, 'queued')",
        ((i, i % n + 1) for i in range(n * per_host)),
    )
    return con


def test_sorted_searched_and_by_the_page() -> None:
    con = made(250)
    con.execute(
        "INSERT INTO url (fp, host, url, kind, depth, parent, state) VALUES (-1, 9, '', 'page', 1, 0, 'queued')"
    )
    first = hosts(con, "", "all", "queued", True, 0)
    assert (len(first), first[0].origin, first[0].queued) == (ROWS_MAX, "https://h9.example", 2)
    last = hosts(con, "", "all", "pages", False, 200)
    assert (len(last), last[-1].origin) == (50, "https://h1.example")
    assert [row.origin for row in hosts(con, "h24", "all", "origin", False, 0, 3)] == [
        "https://h24.example",
        "https://h240.example",
        "https://h241.example",
    ]


@pytest.mark.parametrize(("shown", "many"), [("all", 250), ("queued", 250), ("failing", 25), ("held", 1)])
def test_which_are_shown_and_how_many_there_are(shown: str, many: int) -> None:
    con = made(250)
    assert count(con, "", shown) == many
    assert len(hosts(con, "", shown, "queued", True, 0, 1000)) == many


def test_a_name_is_a_text_and_no_pattern() -> None:
    con = made(3)
    assert count(con, "%", "all") == count(con, "' OR 1=1 --", "all") == 0


def test_a_hundred_thousand_hosts_are_quick() -> None:
    con = made(100_000)
    start = time.process_time()
    assert len(hosts(con, "", "all", "queued", True, 0)) == ROWS_MAX
    assert len(hosts(con, "", "all", "pages", True, 50_000)) == ROWS_MAX
    assert count(con, "h1", "queued") > 10_000
    assert time.process_time() - start < 1.5  # usually 0.3
