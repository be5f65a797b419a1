"""Bringing the database of an earlier version up to `db.TABLES`: by comparison, not by a list of steps.

A table whose text differs is made anew and filled with the columns that both have; what is new is its default, or reckoned
from the old tables as `FILL` says. All of it is one transaction, and a copy as it was stays beside the file.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from nephila import db
from nephila.frontier import sqlite_known

_LAST = "SELECT v.id FROM old_visit v WHERE v.url = {of} ORDER BY v.round DESC LIMIT 1"
FILL = {
    ("url", "visit"): f"coalesce(({_LAST.format(of='old.id')}), 0)",
    ("visit", "before"): f"coalesce(({_LAST.format(of='old.url AND v.round < old.round')}), 0)",
    ("link", "visit"): "(SELECT v.id FROM old_visit v WHERE v.url = old.page AND v.round = old.round)",
}
"""Column → what it is in a row of the table before (`old`), until schema 2."""


def migrate(con: sqlite3.Connection, path: Path, schema: str) -> None:
    """All or nothing. On failure `con` is closed and the file is as it was."""
    copy = path.with_name(f"{path.name}.schema{schema}")
    copy.unlink(missing_ok=True)
    try:
        con.execute("VACUUM INTO ?", (str(copy),))
        con.execute("BEGIN IMMEDIATE")
        _bring_up(con)
        con.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(db.SCHEMA),))
        con.execute("COMMIT")
    except BaseException:
        con.close()
        raise


def _bring_up(con: sqlite3.Connection) -> None:
    there = dict(con.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall())
    texts = {name: text for name, text in _wanted("TABLE") if there.get(name) != text}
    changed = {name: text for name, text in texts.items() if name in there}
    for name in changed:
        con.execute(f"ALTER TABLE {name} RENAME TO old_{name}")
    for text in texts.values():
        con.execute(text)
    for name in changed:
        _copy(con, name)
    for name in changed:
        con.execute(f"DROP TABLE old_{name}")
    if "known" in texts:
        sqlite_known.rebuild(con)
    others = {name for (name,) in con.execute("SELECT name FROM sqlite_schema WHERE type IN ('index', 'trigger')")}
    for name, text in (*_wanted("INDEX"), *_wanted("TRIGGER")):
        if name not in others:
            con.execute(text)


def _wanted(what: str) -> list[tuple[str, str]]:
    """Name and text of the tables, indexes or triggers of today."""
    body = r"(?s:.*?)\bEND" if what == "TRIGGER" else "[^;]+"
    texts = re.findall(rf"CREATE (?:UNIQUE )?{what} \w+{body}", db.TABLES)
    return [(text.partition(f"{what} ")[2].split()[0], text) for text in texts]


def _copy(con: sqlite3.Connection, name: str) -> None:
    """The rows of the old table, in their order."""
    before, now = (
        [column for _, column, *_ in con.execute(f"PRAGMA table_info({table})")] for table in (f"old_{name}", name)
    )
    values = {column: f"old.{column}" if column in before else FILL.get((name, column), "") for column in now}
    told = {column: value for column, value in values.items() if value}
    missing = " AND ".join(f"{value} IS NOT NULL" for column, value in told.items() if column not in before) or "1"
    con.execute(
        f"INSERT INTO {name} ({', '.join(told)}) SELECT {', '.join(told.values())} FROM old_{name} AS old WHERE {missing}"
    )
