"""The tables that `csv`, `parquet` and `sql` write: their columns, types and keys (docs/tables.md has what each means).

One list for three forms: what a program has learned about one of them holds for the others. In a database the column `job`
stands before each key, so that one database holds many jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from nephila.errors import ConfigError

Type = Literal["number", "real", "text", "flag", "time"]
"""`number`: 64 bits with sign; `real`: a double; `time`: an instant, with microseconds, UTC."""


class Column(NamedTuple):
    """`empty`: it may hold nothing (NULL, an empty cell)."""

    name: str
    type: Type
    empty: bool = False


def shaped(text: str) -> tuple[Column, ...]:
    """`name type` each, a `?` behind those that may be empty."""
    pairs = (one.split() for one in text.split(","))
    return tuple(Column(name, type.rstrip("?"), type.endswith("?")) for name, type in pairs)  # type: ignore[arg-type]


TABLES = {
    "page": shaped(
        "fp number, url text, origin text, kind text, depth number, hops number, parent number?, state text, rule text,"
        " round number"
    ),
    "visit": shaped(
        "fp number, round number, url text, kind text, started time?, outcome text, reason text, status number,"
        " protocol text, ip text, media_type text, charset text, bytes number, ms number, digest text, truncated text,"
        " access text, same_as number?, moved_to text, title text, language text, links number, file text,"
        " file_offset number, file_length number"
    ),
    "link": shaped("fp number, round number, n number, target number, flat flag"),
    "item": shaped("fp number, round number, n number, value text"),
    "host": shaped(
        "origin text, ip text, pages number, bytes number, robots_state text, robots_status number, robots_fetched time?,"
        " crawl_delay real?, verdict text"
    ),
}
KEYS = {
    "page": ("fp",),
    "visit": ("fp", "round"),
    "link": ("fp", "round", "n"),
    "item": ("fp", "round", "n"),
    "host": ("origin",),
}


def wanted(chosen: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables that `--table` names, in the order of `TABLES`; all without it. Raises ConfigError."""
    names = [name.strip() for name in (chosen.get("table") or ",".join(TABLES)).split(",") if name.strip()]
    for name in names:
        if name not in TABLES:
            raise ConfigError(f"--table {name}: there is no such table; there are: {', '.join(TABLES)}")
    return tuple(name for name in TABLES if name in names)
