"""The reference pages name everything there is, with the meaning and the default that the code has."""

from __future__ import annotations

import ast
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from nephila import cli, db
from nephila.config import Config, fields
from nephila.events import EVENTS, FIELDS
from nephila.types import Outcome
from nephila.views.registry import VIEWS

DOCS = Path(__file__).parents[2] / "docs"


def rows(text: str) -> dict[str, list[str]]:
    """First cell without its code marks → all cells, of every table row."""
    found = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells] for cells in found}


def as_shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return {float: f"{value:g}" if isinstance(value, float) else "", list: "[]", str: f'"{value}"'}.get(
        type(value), str(value)
    )


@pytest.mark.parametrize("key", list(fields()))
def test_every_key_is_explained(key: str) -> None:
    doc, extra = fields()[key]
    cells = rows((DOCS / "options.md").read_text())[key]
    assert cells[2] == f"`{as_shown(getattr(Config(), key))}`"
    assert cells[3] == extra["resume"]
    assert cells[4].replace("\\|", "|").removesuffix(". Secret: see below") == doc
    assert ("Secret" in cells[4]) is extra["secret"]


def test_no_key_is_explained_that_does_not_exist() -> None:
    text = (DOCS / "options.md").read_text().partition("## Options that are not keys")[0]
    assert set(rows(text)) == set(fields())


def test_every_other_option_is_explained() -> None:
    text = (DOCS / "options.md").read_text()
    for action in cli.COMMANDS["crawl"].build()._actions:
        if not action.dest.startswith("key_") and action.dest not in ("help", "url"):
            assert all(f"`{name}" in text or f", `{name}" in text for name in action.option_strings), action.dest


def test_every_view_and_its_options_are_explained() -> None:
    text = (DOCS / "views.md").read_text()
    told = rows(text)
    assert set(told) == set(VIEWS)
    for name, view in VIEWS.items():
        assert told[name][1] == f"`DIR/views/{view.default}`"
        assert set(re.findall(r"`--([a-z-]+)`", told[name][3])) == {option.replace("_", "-") for option in view.takes}
    for action in cli.COMMANDS["export"].build()._actions:
        assert action.dest in ("help", "json", "view", "dir") or f"- `{action.option_strings[-1]}" in text, action.dest


def test_every_event_is_explained() -> None:
    events, _, fields = (DOCS / "events.md").read_text().partition("## Fields")
    told = {name: (cells[1], tuple(re.findall(r"`(\w+)`", cells[2]))) for name, cells in rows(events).items()}
    assert told == EVENTS
    assert {name: cells[1] for name, cells in rows(fields).items()} == FIELDS
    assert set(FIELDS) == {name for event in EVENTS.values() for name in event.fields} | {"lost"}


def test_every_event_is_noted_somewhere_with_the_fields_documented() -> None:
    """Read from the source: a call of `note`, or a pair that a generator gives, with the name of an event."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for path in sorted((DOCS.parent / "src" / "nephila").rglob("*.py")):
        text = path.read_text()
        if not re.search(r'note\(\s*"|"[a-z.]+", \{', text):
            continue
        nodes = [*ast.walk(ast.parse(text))]
        made = {
            node.name: _keys(body.value)
            for node in nodes
            if isinstance(node, ast.FunctionDef)
            for body in node.body
            if isinstance(body, ast.Return)
        }
        for node in nodes:
            match node:
                case ast.Call(args=[ast.Constant(value=str(name))], keywords=words) if _called(node) in (
                    "note",
                    "_note",
                ):
                    name = {"worker_started": "worker.start", "worker_died": "worker.died"}.get(name, name)
                    fields = [
                        (word.arg,) if word.arg else _keys(word.value) or made[_called(word.value)] for word in words
                    ]
                    found.setdefault(name, set()).add(sum(fields, ()))
                case ast.Tuple(elts=[ast.Constant(value=str(name)), ast.Dict() as given]) if name in EVENTS:
                    found.setdefault(name, set()).add(_keys(given))
    assert found == {name: {event.fields} for name, event in EVENTS.items()}


def _called(node: ast.expr) -> str:
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _keys(given: ast.expr | None) -> tuple[str, ...]:
    """The keys of a dict that is written out."""
    keys = given.keys if isinstance(given, ast.Dict) else []
    return tuple(key.value for key in keys if isinstance(key, ast.Constant))


def test_every_table_and_column_is_explained() -> None:
    con = sqlite3.connect(":memory:")
    con.executescript(db.TABLES)
    tables = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {table: [row[1] for row in con.execute(f"PRAGMA table_info ({table})")] for table in tables}
    con.close()
    sections = dict(part.partition("\n")[::2] for part in (DOCS / "schema.md").read_text().split("\n## ")[1:])
    assert {table: list(rows(text)) for table, text in sections.items()} == columns
    assert f"Schema version {db.SCHEMA}." in (DOCS / "schema.md").read_text()


def test_every_command_outcome_and_status_key_is_explained(job: Any) -> None:
    text = (DOCS / "commands.md").read_text()
    assert re.findall(r"^nephila (\w+)", text, re.MULTILINE) == list(cli.COMMANDS)
    assert all(f"`{outcome}`" in text for outcome in Outcome)
    keys = text.partition("## Keys of the status")[2]
    assert list(rows(keys)) == [*job.final, "unknown"]
