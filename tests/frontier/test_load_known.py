"""A start knows every URL of the database, or says that it is damaged; what it need not count it does not count."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nephila import db
from nephila.config import Config
from nephila.errors import Damaged
from nephila.frontier import sqlite_known, sqlite_tally
from nephila.frontier.batch import BIAS
from nephila.frontier.seen.hash import HashSeen
from nephila.frontier.seen.keytree import KeyTree
from nephila.frontier.sqlite import SqliteStore
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer

A = "http://a.test"


def crawl(path: Path, *, visits: int = 1 << 30, max_depth: int = -1) -> None:
    """A crawl of 40 pages, with a redirect, a dead link and refused links; killed after so many visits."""
    clock = FakeClock()
    pages = {f"{A}/{n}": sites.page([f"/{n + 1}", f"/{n + 2}", "http://other.test/"]) for n in range(1, 39)}
    pages |= {A + "/": sites.page(["/1", "/moved"]), A + "/moved": Answer(status=301, headers=(("Location", "/39"),))}
    config = Config(seeds=[A + "/"], delay="0", workers=0, connections=2, max_depth=max_depth)
    left = iter(range(visits - 1, -1, -1))
    run = FakeCrawl(FakeWeb(clock, pages), clock, config, SqliteStore(path, max_depth=max_depth))
    run.run(lambda scheduler: next(left) == 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    crawl(tmp_path / "crawl.db", visits=20)
    return tmp_path / "crawl.db"


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        for statement in statements:
            con.execute(statement)


def stored(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as con:
        return sorted(fp + BIAS for (fp,) in con.execute("SELECT fp FROM url"))


def test_every_url_is_known(path: Path) -> None:
    seen, fps = KeyTree(), stored(path)
    SqliteStore(path).load(seen)
    assert len(seen) == len(fps) > 20
    assert seen.contains_many(np.array(fps, np.uint64)).all()


def test_by_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_known, "SORTED_AT_ONCE", 4)
    seen, fps = KeyTree(), stored(path)
    SqliteStore(path).load(seen)
    assert len(seen) == len(fps)
    assert seen.contains_many(np.array(fps, np.uint64)).all()


def test_texts_for_a_way_that_wants_them(path: Path) -> None:
    seen = HashSeen()
    SqliteStore(path).load(seen)
    assert seen.contains_many([A + "/", A + "/1", "http://nobody.test/"]).tolist() == [True, True, False]


def test_depths(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawl(path, max_depth=5)
    seen = KeyTree(payload=True)
    SqliteStore(path, max_depth=5).load(seen)
    with closing(sqlite3.connect(path)) as con:
        depths = {fp + BIAS: depth for fp, depth in con.execute("SELECT fp, depth FROM url")}
    assert len(seen) == len(depths)
    assert seen.depths_many(np.array(list(depths), np.uint64)).tolist() == list(depths.values())


LAST = "(SELECT max(id) FROM url)"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM known", "table known tells of 0 URLs"),
        ("DELETE FROM known WHERE first = 1", "does not tell of URL 1"),
        (f"DELETE FROM url WHERE id = {LAST}", "table url of"),
        ("UPDATE known SET fps = substr(fps, 1, length(fps) - 3) WHERE first = 1", "is damaged"),
    ],
)
def test_never_silently_empty(path: Path, statement: str, said: str) -> None:
    change(path, statement)
    with pytest.raises(Damaged, match=said):
        SqliteStore(path).load(KeyTree())


def test_never_the_same_url_twice(path: Path) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        first, fps = con.execute("SELECT first, fps FROM known WHERE length(fps) > 8").fetchone()
        con.execute("UPDATE known SET fps = ? WHERE first = ?", (fps[:8] + fps[:-8], first))
    with pytest.raises(Damaged, match="twice"):
        SqliteStore(path).load(KeyTree())


def test_a_missing_url_is_missed_by_its_depth(tmp_path: Path) -> None:
    crawl(tmp_path / "crawl.db", max_depth=5)
    change(tmp_path / "crawl.db", "DELETE FROM url WHERE id = 3")
    with pytest.raises(Damaged, match="missing in table url"):
        SqliteStore(tmp_path / "crawl.db", max_depth=5).load(KeyTree(payload=True))


def tallies(path: Path) -> tuple[sqlite_tally.Tally, sqlite_tally.Tally]:
    """As it was kept, and counted anew."""
    with closing(sqlite3.connect(path)) as con:
        return sqlite_tally.load(con), sqlite_tally.count(con)


@pytest.mark.parametrize("visits", [1, 7, 20, 1 << 30])
@pytest.mark.parametrize("max_depth", [-1, 4])
def test_the_tally_is_what_a_count_says(tmp_path: Path, visits: int, max_depth: int) -> None:
    crawl(tmp_path / "crawl.db", visits=visits, max_depth=max_depth)
    kept, counted = tallies(tmp_path / "crawl.db")
    assert kept == counted


def test_a_change_by_another_way_is_counted(path: Path) -> None:
    store = SqliteStore(path)
    with store.transaction() as con:
        con.execute("UPDATE url SET state = 'refused' WHERE state = 'queued'")
    store.close()
    kept, counted = tallies(path)
    assert kept == counted


def version_4(path: Path) -> None:
    """The database as version 4 of the schema had it: archive files are nowhere but here."""
    change(path, "ALTER TABLE archive DROP COLUMN sha256", "ALTER TABLE archive DROP COLUMN store")
    change(path, "UPDATE meta SET value = '4' WHERE key = 'schema'")


def version_3(path: Path) -> None:
    """The database as version 3 of the schema had it: nobody writes down what changed."""
    version_4(path)
    triggers = ("url_change", "visit_change", "visit_gone")
    change(path, *(f"DROP TRIGGER {name}" for name in triggers), "DROP TABLE change")
    change(path, "UPDATE meta SET value = '3' WHERE key = 'schema'")


def version_2(path: Path) -> None:
    """The database as version 2 of the schema had it: visits and links found by URL."""
    version_3(path)
    change(
        path,
        "ALTER TABLE link RENAME TO new_link",
        "CREATE TABLE link (page INTEGER NOT NULL, round INTEGER NOT NULL, flat INTEGER NOT NULL, targets BLOB NOT NULL)",
        "INSERT INTO link SELECT v.url, v.round, l.flat, l.targets FROM url u JOIN visit v ON v.id = u.visit JOIN new_link l ON l.visit = v.id",
        "DROP TABLE new_link",
        "CREATE UNIQUE INDEX link_page ON link (page)",
        "ALTER TABLE visit DROP COLUMN before",
        "CREATE UNIQUE INDEX visit_url ON visit (url, round)",
        "ALTER TABLE url DROP COLUMN visit",
        "UPDATE meta SET value = '2' WHERE key = 'schema'",
    )


def version_1(path: Path) -> None:
    """The database as version 1 of the schema had it."""
    version_2(path)
    change(
        path,
        "DROP TABLE known",
        "DROP INDEX url_aside",
        "DROP INDEX url_special",
        "DROP TABLE IF EXISTS site_link",
        "DELETE FROM meta WHERE key = 'tally'",
        "UPDATE meta SET value = '1' WHERE key = 'schema'",
        "CREATE UNIQUE INDEX url_fp ON url (fp)",
    )


def indexes(path: Path) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as con:
        return set(con.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall())


def told(path: Path) -> list[tuple[object, ...]]:
    """Every URL with its visit and the links of that."""
    query = "SELECT u.*, v.*, l.* FROM url u LEFT JOIN visit v ON v.id = u.visit LEFT JOIN link l ON l.visit = v.id ORDER BY 1"
    with closing(sqlite3.connect(path)) as con:
        return con.execute(query).fetchall()


def again(path: Path) -> None:
    """A second round of one page, as a revisit leaves it."""
    change(
        path,
        "CREATE TEMP TABLE more AS SELECT * FROM visit WHERE outcome = 'OK' LIMIT 1",
        "UPDATE more SET id = 1000, round = 2, before = id",
        "INSERT INTO visit SELECT * FROM more",
        "UPDATE url SET visit = 1000 WHERE id = (SELECT url FROM more)",
        "INSERT INTO link VALUES (1000, 0, x'0102030405060708')",
    )


@pytest.mark.parametrize(("old", "version"), [(version_1, 1), (version_2, 2), (version_3, 3), (version_4, 4)])
def test_an_old_database_is_brought_up_to_date(path: Path, old: Callable[[Path], None], version: int) -> None:
    again(path)
    wanted, fps, rows = indexes(path), stored(path), told(path)
    assert sum(row[-1] is not None for row in rows) > 15
    old(path)
    seen = KeyTree()
    store = SqliteStore(path)
    store.load(seen)
    store.close()
    assert len(seen) == len(fps)
    assert indexes(path) == wanted
    assert told(path) == rows
    with closing(sqlite3.connect(path)) as con:
        assert {"sha256", "store"} <= {column[1] for column in con.execute("PRAGMA table_info(archive)")}
    copy = path.with_name(f"crawl.db.schema{version}")
    assert stored(copy) == fps
    assert dict(SqliteStore(path).query("SELECT key, value FROM meta"))["schema"] == str(db.SCHEMA)


def killed(path: Path) -> list[str]:
    raise OSError("killed")


def test_a_migration_that_dies_is_done_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fps = stored(path)
    version_1(path)
    rebuild: Callable[..., None] = sqlite_known.rebuild
    monkeypatch.setattr(sqlite_known, "rebuild", killed)
    with pytest.raises(OSError, match="killed"):
        SqliteStore(path)
    monkeypatch.setattr(sqlite_known, "rebuild", rebuild)
    seen = KeyTree()
    SqliteStore(path).load(seen)
    assert len(seen) == len(fps)
