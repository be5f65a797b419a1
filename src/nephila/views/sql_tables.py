"""The tables in a database: how they are declared, and how many rows get into them at once, in each kind of database.

PostgreSQL takes them by COPY into a temporary table and from there, MariaDB and MySQL in statements of many rows, SQLite one
by one. In all of them a row that is there already is written over: what is loaded twice is there once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import sqlalchemy
from sqlalchemy import BigInteger, Boolean, Column, Connection, DateTime, Double, MetaData, String, Table, Text
from sqlalchemy.dialects import mysql, sqlite

from nephila.errors import ConfigError
from nephila.views import columns
from nephila.views.rows import Row

AT_ONCE = 5_000
"""Rows handed to a driver at once."""
_MYSQL = ("mysql", "mariadb")
_LONG = Text().with_variant(mysql.LONGTEXT(), *_MYSQL)
_MOMENT = DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), *_MYSQL)
_TYPES: dict[str, Any] = {"number": BigInteger, "real": Double, "text": _LONG, "flag": Boolean, "time": _MOMENT}
_WISHES = {"charset": "utf8mb4", "collate": "utf8mb4_bin", "engine": "InnoDB"}
_FORM: dict[str, Any] = {f"{kind}_{name}": value for kind in _MYSQL for name, value in _WISHES.items()}
"""Their servers may have other habits: texts are Unicode, and two that differ in case are two."""
_KEY = {"job": String(32), "origin": String(300)}
"""Texts in a key have a length: MariaDB asks for it."""


def _table(metadata: MetaData, name: str) -> Table:
    key = columns.KEYS[name]
    told = [Column("job", _KEY["job"], primary_key=True)]
    for column in columns.TABLES[name]:
        type = _KEY.get(column.name, _TYPES[column.type]) if column.name in key else _TYPES[column.type]
        told.append(
            Column(column.name, type, primary_key=column.name in key, nullable=column.empty, autoincrement=False)
        )
    return Table(name, metadata, *told, **_FORM)


METADATA = MetaData()
TABLES = {name: _table(METADATA, name) for name in columns.TABLES}
JOB = Table(
    "job",
    METADATA,
    Column("job", _KEY["job"], primary_key=True),
    Column("name", _LONG, nullable=False),
    Column("asked", _LONG, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in ("change_id", "visit_id", "url_id", "host_id")),
    **_FORM,
)
"""One row per job: how far its tables have been loaded, and what was asked for (`asked`: tables and credentials)."""


def create(con: Connection) -> None:
    """The tables that are missing. Raises ConfigError when one of these names is somebody else's."""
    there = sqlalchemy.inspect(con)
    for name, table in METADATA.tables.items():
        if there.has_table(name):
            found = {column["name"] for column in there.get_columns(name)}
            if found != {column.name for column in table.columns}:
                raise ConfigError(f"there is a table {name} of another form: give a database of its own")
    METADATA.create_all(con)


def load(con: Connection, table: Table, job: str, rows: Iterable[Row]) -> int:
    """Rows of a table, without the job, which stands first. Returns how many there were."""
    told = ((job, *row) for row in rows)
    first = next(told, None)
    if first is None:
        return 0
    put = {"postgresql": _copy, "sqlite": _upsert}.get(con.dialect.name, _insert)
    return put(con, table, chain([first], told))


def _upsert(con: Connection, table: Table, rows: Iterator[Row]) -> int:
    names = [column.name for column in table.columns]
    insert = sqlite.insert(table)
    changes = {name: insert.excluded[name] for name in names}
    statement = insert.on_conflict_do_update(index_elements=[*table.primary_key.columns], set_=changes)
    count = 0
    for some in _parts(rows):
        con.execute(statement, [dict(zip(names, row, strict=True)) for row in some])
        count += len(some)
    return count


def _insert(con: Connection, table: Table, rows: Iterator[Row]) -> int:
    """The driver of MariaDB makes one statement of many rows from this form, and from no other."""
    names = [column.name for column in table.columns]
    statement = (
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"
        f" ON DUPLICATE KEY UPDATE {', '.join(f'{name} = VALUES({name})' for name in names)}"
    )
    count = 0
    for some in _parts(rows):
        con.exec_driver_sql(statement, some)
        count += len(some)
    return count


def _copy(con: Connection, table: Table, rows: Iterator[Row]) -> int:
    """Through a temporary table: COPY itself cannot write over what is there."""
    names = [column.name for column in table.columns]
    all, draft, count = ", ".join(names), f"load_{table.name}", 0
    con.exec_driver_sql(f"CREATE TEMPORARY TABLE IF NOT EXISTS {draft} (LIKE {table.name})")
    con.exec_driver_sql(f"TRUNCATE {draft}")
    driver: Any = con.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {draft} ({all}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    keys = ", ".join(column.name for column in table.primary_key.columns)
    con.exec_driver_sql(
        f"INSERT INTO {table.name} ({all}) SELECT {all} FROM {draft}"
        f" ON CONFLICT ({keys}) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in names)}"
    )
    return count


def _parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while some := list(islice(rows, AT_ONCE)):
        yield some
