"""How a crawl went: the same whether it is read at once or as it comes, in steps that never become many."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest

from nephila import db
from nephila.stats import course as module
from nephila.stats.course import GAP_S, POINTS_MAX, RECENT_S, Course, recent

START = 1_700_000_000


@pytest.fixture
def con() -> sqlite3.Connection:
    con = sqlite3.connect(":memory:")
    con.executescript(db.TABLES)
    for id, kind in ((1, "page"), (2, "robots")):
        con.execute(
            "INSERT INTO url (id, fp, host, url, kind, depth, parent, state) VALUES (?, ?, 1, ?, ?, 1, 0, 'done')",
            (id, id, f"https://a.example/{id}", kind),
        )
    return con


def visit(con: sqlite3.Connection, ended: float, size: int = 10, **more: Any) -> None:
    row = {"url": 1, "outcome": "OK", "media_type": "text/html"} | more
    con.execute(
        "INSERT INTO visit (url, round, started, outcome, reason, status, protocol, ip, media_type, charset, bytes, ms, digest,"
        " truncated, access, same_as, moved_to, title, language, file, offset, length)"
        " VALUES (?, 1, ?, ?, '', 200, '', '', ?, '', ?, 500, '', '', '', 0, '', '', '', 0, 0, 0)",
        (row["url"], ended - 0.5, row["outcome"], row["media_type"], size),
    )


def all_of(course: Course, con: sqlite3.Connection) -> Course:
    while course.catch_up(con):
        pass
    return course


def test_a_visit_counts_in_the_second_in_which_it_ended(con: sqlite3.Connection) -> None:
    visit(con, START + 0.2)
    visit(con, START + 2.9, size=7, outcome="REFUSED")
    course = all_of(Course(), con)
    assert (course.first, course.width_s, course.points) == (START, 1, [(1, 10), (0, 0), (0, 7)])
    assert course.media_types == {"text/html": 1}


def test_robots_txt_is_no_page(con: sqlite3.Connection) -> None:
    visit(con, START, url=2)
    assert all_of(Course(), con).points == []


def test_read_as_it_comes_or_at_once_is_the_same(con: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, growing = random.Random(4), Course()
    monkeypatch.setattr(module, "VISITS_MAX", 7)
    for n in range(300):
        visit(con, START + n * 5 + rng.random() * 4, rng.randrange(1000))
        if rng.random() < 0.2:
            growing.catch_up(con)
    at_once = all_of(Course(), con)
    assert all_of(growing, con) == at_once
    assert sum(point.pages for point in at_once.points) == 300


def test_a_long_crawl_has_wider_steps_and_loses_none(con: sqlite3.Connection) -> None:
    for n in range(2000):
        visit(con, START + n * 60)
    course = all_of(Course(), con)
    assert len(course.points) <= POINTS_MAX
    assert course.width_s * len(course.points) == pytest.approx(2000 * 60, rel=0.01)
    assert (sum(p.pages for p in course.points), sum(p.bytes for p in course.points)) == (2000, 20_000)


def test_the_time_between_two_runs_is_left_out(con: sqlite3.Connection) -> None:
    for at in (START, START + 10, START + 10 + 10 * GAP_S, START + 15 + 10 * GAP_S):
        visit(con, at)
    course = all_of(Course(), con)
    assert len(course.points) == 16
    assert course.last == START + 15 + 10 * GAP_S


def test_the_last_minutes_are_there_in_steps_and_older_ones_are_forgotten(con: sqlite3.Connection) -> None:
    for n in range(3 * RECENT_S):
        visit(con, START + n)
    course = all_of(Course(), con)
    steps = course.lately(START + 3 * RECENT_S, 5)
    assert steps == [(5, 50)] * (RECENT_S // 5)
    assert len(course.recent) <= 2 * RECENT_S


def test_the_last_visits_come_first(con: sqlite3.Connection) -> None:
    for n in range(40):
        visit(con, START + n, size=n)
    assert [row.bytes for row in recent(con)] == list(range(39, 24, -1))
