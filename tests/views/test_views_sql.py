"""The tables in a database hold what the crawl holds: once, whatever was killed, taken back or asked for again."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from views.databases import contents, empty, engine, mariadb, postgresql, wanted

from nephila.errors import ConfigError
from nephila.frontier.sqlite_rows import unmake
from nephila.types import Outcome
from nephila.views import registry, sql, sql_tables
from nephila.views.source import BATCH

H = "http://example.com"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    with postgresql() as url:
        yield {"postgresql": url}


@pytest.fixture(scope="module")
def maria() -> Iterator[str]:
    with mariadb() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql", pytest.param("mariadb", marks=pytest.mark.long)])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'tables.db'}"
        return
    url: str = (
        request.getfixturevalue("servers")["postgresql"]
        if request.param == "postgresql"
        else request.getfixturevalue("maria")
    )
    empty(url)
    yield url


def export(job: Any, to: str, *access: str, **more: Any) -> str:
    return registry.export("sql", job.folder, to, job.decode, frozenset(access), **more)


@pytest.fixture
def crawl(job: Any) -> Any:
    con = job.con
    con.execute("INSERT INTO host (id, origin, pages) VALUES (1, ?, 2)", (H,))
    first = job.page(f"{H}/", "hello", title="Straße 北京 😀 \\N \\ \t'\"%s", charset="gb18030")
    job.page(f"{H}/b", "hello", parent=first, same_as=first, started=0)
    job.page(f"{H}/B", "", outcome=Outcome.REFUSED, status=404, reason="http.404", parent=first)
    job.page(f"{H}/", "again", round=2)
    con.execute(
        "INSERT INTO link VALUES (1, 2, ?)", (b"".join(n.to_bytes(8, "little") for n in (0, 1 << 63, (1 << 64) - 1)),)
    )
    con.execute("INSERT INTO item (url, round, n, value) VALUES (1, 1, 0, '\"one\"'), (1, 1, 0, '{\"two\": 2}')")
    queue(job, 9)
    return job


def queue(job: Any, id: int, parent: int = 1) -> None:
    row = "INSERT INTO url (id, fp, host, url, kind, depth, parent, state) VALUES (?, ?, 1, ?, 'page', 1, ?, 'queued')"
    job.con.execute(row, (id, id, f"{H}/{id}", parent))


def test_a_database_holds_what_the_crawl_holds(crawl: Any, to: str) -> None:
    said = export(crawl, to)
    assert said.startswith("4 page, 4 visit, 3 link, 2 item, 1 host rows in ")
    assert contents(to) == wanted(crawl.folder)
    assert contents(to)["visit"][0][17:21] == (None, "", "Straße 北京 😀 \\N \\ \t'\"%s", "")


def test_twice_is_once(crawl: Any, to: str) -> None:
    export(crawl, to)
    before = contents(to)
    assert export(crawl, to).startswith("0 page, 0 visit, 0 link, 0 item, 1 host rows")
    assert contents(to) == before


def test_only_what_is_new_is_loaded(crawl: Any, to: str) -> None:
    """And an address that was waiting is a page that is done."""
    export(crawl, to)
    crawl.page(f"{H}/9", "nine", parent=1)
    crawl.con.execute("UPDATE url SET state = 'done' WHERE id = 9")
    queue(crawl, 10)
    crawl.con.execute("UPDATE host SET pages = 3")
    assert export(crawl, to).startswith("2 page, 1 visit, 0 link, 0 item, 1 host rows")
    assert contents(to) == wanted(crawl.folder)


def test_what_a_resume_takes_back_goes(crawl: Any, to: str) -> None:
    export(crawl, to)
    crawl.con.execute("BEGIN")
    unmake(crawl.con, [(1, 1)])
    crawl.con.execute("DELETE FROM item")
    crawl.con.execute("COMMIT")
    export(crawl, to)
    found = contents(to)
    assert [row[:2] for row in found["visit"]] == [(1, 2), (2, 1), (3, 1)]
    assert (found["link"], found["item"]) == ([], [])
    assert found == wanted(crawl.folder)


def test_what_is_forgotten_goes(crawl: Any, to: str) -> None:
    export(crawl, to)
    crawl.con.execute("DELETE FROM link")
    crawl.con.execute("UPDATE visit SET title = '' WHERE url = 1")
    crawl.con.execute("UPDATE url SET url = '' WHERE id = 1")
    export(crawl, to)
    assert [row[0] for row in contents(to)["page"]] == [2, 3, 9]
    assert contents(to) == wanted(crawl.folder)


def test_members_pages_come_and_go_with_their_name(crawl: Any, to: str) -> None:
    """An address known from an open page goes when it was fetched with a credential."""
    export(crawl, to)
    assert 9 in [row[0] for row in contents(to)["page"]]
    crawl.page(f"{H}/9", "inside", access="cookies", parent=1)
    queue(crawl, 10, parent=9)
    export(crawl, to)
    assert [row[0] for row in contents(to)["page"]] == [1, 2, 3]
    assert contents(to) == wanted(crawl.folder)
    export(crawl, to, "cookies")
    assert len(contents(to)["visit"]) == 5
    assert contents(to) == wanted(crawl.folder, "cookies")
    export(crawl, to)
    assert contents(to) == wanted(crawl.folder)


def test_many_rows(job: Any, to: str) -> None:
    """More than one batch of addresses and visits, and of what a driver takes at once."""
    job.page(f"{H}/", "x")
    job.con.execute("BEGIN")
    for n in range(2, 2 * BATCH):
        queue(job, n)
    targets = b"".join(n.to_bytes(8, "little") for n in range(sql_tables.AT_ONCE + 1))
    job.con.execute("INSERT INTO link VALUES (1, 0, ?)", (targets,))
    job.con.execute("COMMIT")
    export(job, to)
    assert contents(to) == wanted(job.folder)


def test_a_kill_at_any_step_loses_and_doubles_nothing(crawl: Any, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(10, 16):
        queue(crawl, n)
    load, left = sql_tables.load, [0]

    def dying(*args: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return load(*args)

    monkeypatch.setattr(sql_tables, "load", dying)
    for n in range(30):
        left[0] = n
        try:
            export(crawl, to)
        except KeyboardInterrupt:
            continue
        break
    else:
        pytest.fail("it never came to an end")
    assert n > 3
    assert contents(to) == wanted(crawl.folder)


def test_an_older_copy_of_the_job_is_loaded_from_its_start(crawl: Any, to: str) -> None:
    export(crawl, to)
    crawl.con.executescript(
        "DROP TRIGGER visit_gone; DELETE FROM visit WHERE id = 4; UPDATE url SET visit = 1 WHERE id = 1; DELETE FROM url WHERE id = 9;"
    )
    export(crawl, to)
    assert contents(to) == wanted(crawl.folder)
    assert len(contents(to)["visit"]) == 3


def test_jobs_share_a_database(crawl: Any, to: str) -> None:
    export(crawl, to)
    crawl.con.execute("INSERT INTO meta VALUES ('fingerprint_key', '7'), ('name', 'second')")
    export(crawl, to)
    with engine(to).connect() as con:
        jobs = con.execute(sqlalchemy.select(sql_tables.JOB.c.name).order_by("name")).scalars().all()
        assert jobs == ["", "second"]
        assert (
            con.execute(sqlalchemy.select(sqlalchemy.func.count()).select_from(sql_tables.TABLES["page"])).scalar_one()
            == 8
        )
    crawl.con.execute("DELETE FROM item")
    export(crawl, to, chosen={"table": "visit"})
    with engine(to).connect() as con:
        counts = {
            name: con.execute(
                sqlalchemy.select(sqlalchemy.func.count()).select_from(sql_tables.TABLES[name])
            ).scalar_one()
            for name in ("page", "visit", "item")
        }
    assert counts == {"page": 4, "visit": 8, "item": 2}


def test_following_ends_with_the_crawl(crawl: Any, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is committed between two looks is there after the next, and what came last is there at the end."""
    seen = list[int]()
    steps: list[Callable[[], object]] = [
        lambda: crawl.page(f"{H}/10", "ten"),
        lambda: (crawl.page(f"{H}/11", "eleven"), queue(crawl, 20)),
    ]

    def sleep(seconds: float) -> None:
        seen.append(len(contents(to)["visit"]))
        steps.pop(0)()

    monkeypatch.setattr(sql.time, "sleep", sleep)
    export(crawl, to, chosen={"follow": True}, running=lambda: bool(steps))
    assert seen == [4, 5]
    assert contents(to) == wanted(crawl.folder)
    assert len(contents(to)["visit"]) == 6


def test_somebody_elses_table_is_left_alone(crawl: Any, to: str) -> None:
    with engine(to).begin() as con:
        con.exec_driver_sql("CREATE TABLE page (thesis INTEGER)")
    with pytest.raises(ConfigError, match="there is a table page of another form"):
        export(crawl, to)
    with engine(to).connect() as con:
        assert sqlalchemy.inspect(con).get_table_names() == ["page"]


def test_text_that_no_database_takes(job: Any, to: str) -> None:
    job.page(f"{H}/", "x", title="a\0b")
    job.con.execute("UPDATE visit SET language = CAST(X'61EDA08062' AS TEXT)")
    assert export(job, to).endswith("; 2 characters that no table may hold became U+FFFD")
    assert contents(to)["visit"][0][19:21] == ("a\ufffdb", "a\ufffdb")


def test_urls_that_differ_in_case_are_two(job: Any, to: str) -> None:
    job.con.execute("INSERT INTO host (origin) VALUES ('http://a'), ('http://A')")
    job.page("http://a/X", "1")
    job.page("http://a/x", "2")
    export(job, to)
    assert len(contents(to)["host"]) == 2
    with engine(to).connect() as con:
        table = sql_tables.TABLES["page"]
        assert con.execute(sqlalchemy.select(table.c.fp).where(table.c.url == "http://a/x")).scalars().all() == [2]


def test_a_password_is_in_no_message(
    crawl: Any, servers: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = servers["postgresql"].replace("p%40ss", "s3cret") + "&application_name=s3cret"
    (tmp_path / "url").write_text(wrong + "\n")
    monkeypatch.setenv("NEPHILA_TEST_DB", wrong)
    for to in (wrong, f"@{tmp_path / 'url'}", "env:NEPHILA_TEST_DB"):
        with pytest.raises(
            ConfigError, match=r"postgresql://localhost/crawls: .*password authentication failed"
        ) as error:
            export(crawl, to)
        assert "s3cret" not in str(error.value)
    monkeypatch.setenv("NEPHILA_TEST_DB", servers["postgresql"])
    said = export(crawl, "env:NEPHILA_TEST_DB")
    assert said.endswith("rows in postgresql://localhost/crawls")


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("oracle://a/b", "oracle:// is not known here; there are: sqlite, postgresql, mysql, mariadb"),
        (
            "postgresql+psycopg2://u:s3cret@h/b",
            r"postgresql\+psycopg2:// is not known here; postgresql\+psycopg:// is the way",
        ),
        ("postgresql://u:s3cret@h:port/b", "no address of a database"),
        ("postgresql://u:s3cret@h", "which database"),
        ("sqlite://", "which file"),
        ("env:NEPHILA_NO_SUCH", "no environment variable NEPHILA_NO_SUCH"),
        ("@/nowhere/url", "cannot be read"),
        ("/proc/nowhere/tables.db", "cannot be written to"),
    ],
)
def test_mistakes_in_an_address_are_told(crawl: Any, to: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        export(crawl, to)
    assert "s3cret" not in str(error.value)
    assert error.value.__cause__ is None or "s3cret" not in str(error.value.__cause__)


def test_the_file_of_sqlite_is_the_users_alone(crawl: Any, tmp_path: Path) -> None:
    """In its usual place or another, never through a link, and never the crawl's own."""
    said = export(crawl, "")
    path = crawl.folder / "views" / "tables.db"
    assert said.endswith(f"rows in {path}")
    assert os.stat(path).st_mode & 0o777 == 0o600
    with sqlite3.connect(path) as con:
        assert con.execute("SELECT started FROM visit WHERE fp = 1 AND round = 1").fetchone() == (
            "2023-11-14 22:13:20.500000",
        )
    con.close()
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ConfigError, match="symbolic link"):
        export(crawl, str(tmp_path / "link"))
    with pytest.raises(ConfigError, match="the crawl's own database"):
        export(crawl, str(crawl.folder / "crawl.db"))
