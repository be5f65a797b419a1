"""Database servers of the tests' own: from Debian's packages, in a temporary folder, on a Unix socket, as nobody in particular."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from nephila.fetch.decode import decode
from nephila.views import columns, sql_tables
from nephila.views.rows import Rows
from nephila.views.source import Source
from nephila.views.sql_place import DRIVERS

READY_S = 60.0


def _user() -> str | None:
    """Both servers refuse to run as root."""
    return "nobody" if os.geteuid() == 0 else None


@contextmanager
def _folder(user: str | None) -> Iterator[Path]:
    """Short, because a socket's path has 107 bytes; below /tmp, because the folders of pytest are closed to other users."""
    folder = Path(tempfile.mkdtemp(prefix="nep-db-", dir="/tmp"))
    try:
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program(*patterns: str) -> str:
    for pattern in patterns:
        if found := sorted(glob.glob(pattern)):
            return found[-1]
    pytest.skip(f"{Path(patterns[0]).name} is not installed")


def _run(words: list[str], user: str | None) -> None:
    done = subprocess.run(words, user=user, cwd="/", capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def _server(words: list[str], user: str | None, ready: Path, log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(words, user=user, cwd="/", stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + READY_S
        while not ready.exists():
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of an empty database `crawls`, whose user has the password `p%40ss` (p@ss)."""
    initdb = _program("/usr/lib/postgresql/*/bin/initdb")
    user = _user()
    with _folder(user) as folder:
        data, password = folder / "data", folder / "password"
        password.write_text("p@ss\n")
        password.chmod(0o644)
        words = [initdb, "-D", str(data), "-U", "spider", "--pwfile", str(password), "-A", "scram-sha-256"]
        _run([*words, "-E", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"], user)
        settings = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "full_page_writes=off"]
        words = [str(Path(initdb).with_name("postgres")), "-D", str(data)]
        with _server(
            [*words, *(part for one in settings for part in ("-c", one))],
            user,
            folder / ".s.PGSQL.5432",
            folder / "log",
        ):
            url = f"postgresql://spider:p%40ss@/postgres?host={folder}"
            _create(url, "CREATE DATABASE crawls")
            yield f"postgresql://spider:p%40ss@/crawls?host={folder}"


@contextmanager
def mariadb() -> Iterator[str]:
    """The same of MariaDB."""
    server = _program("/usr/sbin/mariadbd")
    user = _user()
    with _folder(user) as folder:
        data, socket = folder / "data", folder / "sock"
        install = _program("/usr/bin/mariadb-install-db")
        words = [
            install,
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]
        _run(words, user)
        words = [server, "--no-defaults", f"--datadir={data}", f"--socket={socket}", f"--pid-file={folder / 'pid'}"]
        with _server([*words, "--skip-networking", "--innodb-flush-log-at-trx-commit=0"], user, socket, folder / "log"):
            url = f"mariadb://root@/?unix_socket={socket}"
            _create(
                url,
                "CREATE DATABASE crawls",
                "CREATE USER spider IDENTIFIED BY 'p@ss'",
                "GRANT ALL ON crawls.* TO spider",
            )
            yield f"mariadb://spider:p%40ss@/crawls?unix_socket={socket}"


def _create(url: str, *statements: str) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            with engine(url).connect().execution_options(isolation_level="AUTOCOMMIT") as con:
                for statement in statements:
                    con.exec_driver_sql(statement)
                return
        except sqlalchemy.exc.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def engine(url: str) -> sqlalchemy.Engine:
    """A way into the database that is not the one under test."""
    kind, _, rest = url.partition(":")
    return sqlalchemy.create_engine(f"{kind}+{DRIVERS[kind]}:{rest}", poolclass=sqlalchemy.pool.NullPool)


def empty(url: str) -> None:
    at, there = engine(url), sqlalchemy.MetaData()
    there.reflect(at)
    there.drop_all(at)


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, without the job, in the order of the keys."""
    found = {}
    with engine(url).connect() as con:
        for name, table in sql_tables.TABLES.items():
            found[name] = [_bare(row[1:]) for row in con.execute(sqlalchemy.select(table))]
    return {name: _sorted(name, rows) for name, rows in found.items()}


def wanted(folder: Path, *access: str) -> dict[str, list[tuple[Any, ...]]]:
    """What a database is to hold of the job in `folder`, as the reading side says it."""
    with Source(folder, decode, frozenset(access)) as source:
        rows = Rows(source)
        ends = rows.ends()
        return {name: _sorted(name, map(_bare, rows.table(name, ends))) for name in columns.TABLES}


def _bare(row: Iterable[Any]) -> tuple[Any, ...]:
    """SQLite and MariaDB give instants without their zone."""
    return tuple(cell.replace(tzinfo=None) if isinstance(cell, datetime) else cell for cell in row)


def _sorted(name: str, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    width = len(columns.KEYS[name])
    return sorted(rows, key=lambda row: row[:width])
