"""Which database `--to` means, and a connection to it whose secrets appear in no message."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nephila import db
from nephila.errors import ConfigError

try:
    import sqlalchemy
    from sqlalchemy import event, exc
    from sqlalchemy.engine import URL, Engine, make_url
except ImportError as error:
    raise ConfigError("the view sql needs some parts more: pip install 'nephila[sql]'") from error

DRIVERS = {"sqlite": "pysqlite", "postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql"}
"""Kind of database → the one driver for it: each has a way of its own to take many rows."""
FORMS = "postgresql://USER:PASSWORD@HOST/DATABASE, mariadb://…, mysql://…, sqlite:///FILE, a file, @FILE or env:NAME that hold one"
CONNECT_S_MAX = 20


class Place(NamedTuple):
    """A database. `said` is how messages call it: without user, password and parameters."""

    engine: Engine
    said: str


def database(to: str, usual: Path, job: Path) -> Place:
    """What `to` means; "": a SQLite file at `usual`. `job` is the folder of the crawl. Raises ConfigError."""
    text = _revealed(to)
    url = _url(text) if "://" in text else URL.create("sqlite", database=text or str(usual))
    kind = url.get_backend_name()
    driver = DRIVERS.get(kind)
    if driver is None or url.drivername not in (kind, f"{kind}+{driver}"):
        hint = f"{kind}+{driver}:// is the way to {kind}" if driver else f"there are: {', '.join(DRIVERS)}"
        raise ConfigError(f"--to: {url.drivername}:// is not known here; {hint}")
    url = url.set(drivername=f"{kind}+{driver}")
    if kind == "sqlite":
        _prepare_file(url, job)
    elif not url.database:
        raise ConfigError(f"--to: which database? {FORMS}")
    return Place(_engine(url, kind), _said(url, kind))


def _revealed(to: str) -> str:
    """`@FILE` and `env:NAME` keep a password out of the process list."""
    if to.startswith("env:"):
        if not (text := os.environ.get(to[4:], "").strip()):
            raise ConfigError(f"--to: there is no environment variable {to[4:]}")
        return text
    if to.startswith("@"):
        try:
            return Path(to[1:]).expanduser().read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"--to {to}: the file cannot be read") from error
    return to


def _url(text: str) -> URL:
    try:
        return make_url(text)
    except (exc.ArgumentError, ValueError) as error:
        raise ConfigError(f"--to: this is no address of a database; {FORMS}") from error.with_traceback(None)


def _said(url: URL, kind: str) -> str:
    if kind == "sqlite":
        return str(url.database)
    host = f"[{url.host}]" if ":" in (url.host or "") else url.host or "localhost"
    return f"{kind}://{host}{f':{url.port}' if url.port else ''}/{url.database}"


def _prepare_file(url: URL, job: Path) -> None:
    """A file of ours, for nobody else's eyes."""
    if not url.database or url.database == ":memory:":
        raise ConfigError(f"--to: which file? {FORMS}")
    path = Path(url.database)
    if path.is_symlink():
        raise ConfigError(f"{path} is a symbolic link: give the name of a file")
    if path.exists() and path.samefile(db.database(job)):
        raise ConfigError(f"{path} is the crawl's own database: give another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written to ({error.strerror}): give another file") from error


def _engine(url: URL, kind: str) -> Engine:
    options: dict[str, Any] = {"connect_timeout": CONNECT_S_MAX}
    if kind == "sqlite":
        options = {"timeout": CONNECT_S_MAX, "isolation_level": None}
    elif kind != "postgresql":
        options["charset"] = "utf8mb4"
    engine = sqlalchemy.create_engine(
        url, connect_args=options, hide_parameters=True, poolclass=sqlalchemy.pool.NullPool
    )
    if kind == "sqlite":
        # The driver's own transactions begin late; two exports must not read the same marks.
        event.listen(engine, "begin", lambda con: con.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


@contextmanager
def told(place: Place) -> Iterator[None]:
    """Inside the block, what the database refuses comes as a ConfigError that names it. Wrong data of ours stay a bug."""
    driver: Any = place.engine.dialect.loaded_dbapi
    refused = (driver.OperationalError, driver.InterfaceError, driver.ProgrammingError, driver.InternalError)
    try:
        yield
    except (exc.DBAPIError, *refused) as error:
        cause = error.orig if isinstance(error, exc.DBAPIError) else error
        if not isinstance(cause, refused):
            raise
        said = str(cause).strip().splitlines() or ["no reason given"]
        raise ConfigError(f"{place.said}: {said[0][:300]}; the same command carries on") from None
