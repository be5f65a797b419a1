"""A database that follows a crawl, with both killed on the way: in the end it holds exactly the crawl, by its own count."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy
from crash.run import FULL_SPEED, finish, start
from views.databases import contents, engine, mariadb, postgresql, wanted

from nephila import db, lock
from nephila.testing import sites
from nephila.testing.server import SiteServer

PATIENCE_S = 60.0


@contextmanager
def following(folder: Path, to: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "nephila", "export", "sql", str(folder), "--to", "env:NEPHILA_TEST_TO", "--follow"]
    process = subprocess.Popen(words, env={**os.environ, "NEPHILA_TEST_TO": to}, text=True, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def count(to: str, table: str) -> int:
    with engine(to).connect() as con:
        if not sqlalchemy.inspect(con).has_table(table):
            return 0
        return int(con.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


@pytest.mark.long
@pytest.mark.parametrize("server", [postgresql, mariadb], ids=["postgresql", "mariadb"])
def test_what_is_there_after_kills_is_the_crawl(
    server: Callable[[], AbstractContextManager[str]], tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    with server() as to, SiteServer(sites.kinds(60), tmp_path / "log", delay_s=0.1) as site:
        with start(site.url(), folder, *FULL_SPEED) as crawl:
            until(lambda: lock.is_held(folder) and (folder / "crawl.db").exists())
            with following(folder, to) as export:
                until(lambda: count(to, "visit") > 50)
                assert crawl.running  # addresses come in while it crawls
                export.kill()
            with following(folder, to) as export:
                until(lambda: count(to, "visit") > 300)
                assert crawl.running
                crawl.kill()
                crawl.wait(10)
                crawl.wait_alone()
                assert export.wait(PATIENCE_S) == 0  # nothing runs any more
        with start(site.url(), folder, *FULL_SPEED) as crawl:
            until(lambda: lock.is_held(folder))
            with following(folder, to) as export:
                out, _ = export.communicate(timeout=PATIENCE_S)
                assert export.returncode == 0
                assert " rows in " in out
                assert not lock.is_held(folder)
            finish(crawl)
        there = contents(to)
        assert there == wanted(folder)
        assert [count(to, name) for name in ("page", "visit")] == [_rows(folder, name) for name in ("url", "visit")]
        assert len(there["visit"]) > 900
        assert len(there["link"]) > 900


def _rows(folder: Path, table: str) -> int:
    with closing(db.reader(folder)) as con:
        return int(con.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
