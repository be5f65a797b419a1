"""Table `change` names what changed otherwise than by a visit, and nothing else."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from nephila import db, resume
from nephila.config import Config
from nephila.frontier import sqlite_rows
from nephila.frontier.batch import Batch
from nephila.frontier.sqlite import SqliteStore
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb

A = "http://a.test"
PAGES = {f"{A}/{n}": sites.page([f"/{n + 1}", "http://other.test/"]) for n in range(1, 9)} | {
    A + "/": sites.page(["/1", "/9"]),
    A + "/9": sites.page(["/8"]),
}


def crawl(path: Path, **keys: object) -> Config:
    clock = FakeClock()
    config = Config(seeds=[A + "/"], delay="0", workers=0, connections=2, **keys)  # type: ignore[arg-type]
    FakeCrawl(FakeWeb(clock, PAGES), clock, config, SqliteStore(path, max_depth=config.max_depth)).run()
    return config


def changes(path: Path) -> list[tuple[str, int]]:
    query = "SELECT u.url, c.visit FROM change c JOIN url u ON u.id = c.url ORDER BY c.id"
    with closing(sqlite3.connect(path)) as con:
        return [(url.removeprefix(A), visit) for url, visit in con.execute(query)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


def test_a_crawl_from_start_to_end_has_nothing_to_say(path: Path) -> None:
    crawl(path)
    assert changes(path) == []


def test_a_visit_costs_what_it_cost_before() -> None:
    """SQLite makes the same program of the update that happens most, with the triggers and without."""
    programs = list[list[tuple[object, ...]]]()
    for tables in (db.TABLES, re.sub(r"CREATE TRIGGER \w+(?s:.*?)\bEND;", "", db.TABLES)):
        with closing(sqlite3.connect(":memory:")) as con:
            con.executescript(tables)
            said = list[str]()
            con.set_trace_callback(said.append)
            batch = Batch()
            batch.done = [(1, 7, 1)]
            sqlite_rows.write(con, batch)
            con.set_trace_callback(None)
            (update,) = (text for text in said if "UPDATE url" in text and "'done'" in text)
            steps = con.execute(f"EXPLAIN {update}").fetchall()
            programs.append(
                [row[1:] for row in steps if row[1] != "Transaction"]
            )  # which counts the schema's statements
    assert programs[0] == programs[1]
    assert len(programs[0]) > 10


def test_a_visit_that_is_taken_back(path: Path) -> None:
    """Its id is not used again, so that whoever knows it takes no other for it."""
    crawl(path)
    store = SqliteStore(path)
    ((last, url),) = store.query("SELECT id, url FROM visit ORDER BY id DESC LIMIT 1")
    with store.transaction() as con:
        sqlite_rows.unmake(con, [(last, url)])
    assert [visit for _, visit in changes(path)] == [last]
    assert store.load(None).visit_id == last
    store.close()


def test_rules_that_changed(path: Path) -> None:
    old, clock = crawl(path), FakeClock()
    new = msgspec.structs.replace(old, scope="any")
    scheduler = FakeCrawl(FakeWeb(clock, PAGES), clock, new, SqliteStore(path)).scheduler
    scheduler.change(new, scheduler.scope, lambda effect: None)
    scheduler.close()
    assert changes(path) == [("http://other.test/", 0)]


def test_requests_for_robots_txt_that_nobody_wants_any_more(path: Path) -> None:
    old = crawl(path)
    store = SqliteStore(path)
    store.query("UPDATE url SET state = 'queued' WHERE kind = 'robots'")
    list(resume.apply(store, Config(seeds=old.seeds, no_robots=True), old, []))
    store.close()
    assert changes(path) == [("/robots.txt", 0)]


def test_depths_that_became_smaller(path: Path) -> None:
    con = sqlite3.connect(path)
    con.executescript(db.TABLES)
    con.execute(
        "INSERT INTO url (id, fp, host, url, kind, depth, parent, state) VALUES (1, 1, 1, '/x', 'page', 5, 0, 'done')"
    )
    con.execute("UPDATE url SET state = 'done', attempts = 2, visit = 7, due = 3, unread = 'x', score = 1")
    con.commit()
    assert changes(path) == []
    con.execute("UPDATE url SET depth = 2")
    con.commit()
    con.close()
    assert changes(path) == [("/x", 0)]
