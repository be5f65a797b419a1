"""The documents tell the truth: all that can be set, asked, logged or queried is in them, and what they name is there."""

from __future__ import annotations

import re
import shlex
import sqlite3
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from benchmarks.pictures import SHOTS

from nephila import __version__
from nephila.cli import COMMANDS
from nephila.config import Config, fields
from nephila.db import TABLES
from nephila.events import EVENTS
from nephila.types import HOST_FAILURES, RETRYABLE
from nephila.ui.window import PAGES
from nephila.views.columns import TABLES as TABLES_OF_VIEWS
from nephila.views.sql_tables import JOB

ROOT = Path(__file__).parents[1]
DOCS = {path.name: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
ENGLISH, CHINESE = (ROOT / "README.md").read_text(), (ROOT / "README.zh-CN.md").read_text()
KEYS = fields()
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def columns() -> dict[str, list[str]]:
    """Table → its columns, as SQLite reads the schema."""
    con = sqlite3.connect(":memory:")
    con.executescript(TABLES)
    tables = [name for (name,) in con.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {table: [row[1] for row in con.execute(f"PRAGMA table_info({table})")] for table in tables}


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_in_the_docs(key: str) -> None:
    """With its meaning and what it may do on resume; the page says how the option and the variable are spelled."""
    meaning, extra = KEYS[key]
    rows = [line for line in DOCS["options.md"].splitlines() if line.startswith(f"| `{key}` |")]
    assert [f"| {extra['resume']} | {meaning}" in row for row in rows] == [True]


@pytest.mark.parametrize(
    "key", [key for key, (_, extra) in KEYS.items() if not extra["option"] and key not in ("seeds", "extract")]
)
def test_every_limit_has_its_default_and_reason(key: str) -> None:
    assert f"| `{key}` | {shown(key, getattr(Config(), key))} | {KEYS[key][0]} |" in DOCS["limits.md"]


def shown(key: str, value: Any) -> str:
    """A default as docs/limits.md writes it: seconds, bytes in the largest unit that fits, or a number."""
    if isinstance(value, float):
        return f"{value:,g} s" if value < 1000 else f"{value:,.0f} s"
    if "bytes" in key or "memory" in key or key == "min_free":
        units = {"GB": 10**9, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "bytes": 1}
        return next(f"{value // size} {unit}" for unit, size in units.items() if value % size == 0)
    return f"{value:,}"


@pytest.mark.parametrize("reason", sorted(HOST_FAILURES - {"ftp_login"} | {"http2", "http3"}))
def test_every_reason_of_the_network_is_in_the_docs(reason: str) -> None:
    """And whether it is tried again."""
    (row,) = (line for line in DOCS["network.md"].splitlines() if line.startswith(f"| `{reason}` |"))
    assert row.endswith(" yes |" if reason in RETRYABLE else " no |")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_docs(command: str) -> None:
    assert re.search(rf"\bnephila {command}\b", DOCS["commands.md"])


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_in_the_docs(event: str) -> None:
    assert f"`{event}`" in DOCS["events.md"]


@pytest.mark.parametrize(("table", "names"), columns().items())
def test_every_column_is_in_the_docs(table: str, names: list[str]) -> None:
    sections = re.split(r"^#+ ", DOCS["schema.md"], flags=re.MULTILINE)
    section = next((text for text in sections if re.search(rf"\b{table}\b", text.partition("\n")[0])), "")
    assert section, f"docs/schema.md has no heading that names the table {table}"
    assert [name for name in names if not re.search(rf"`{name}`", section)] == []


@pytest.mark.parametrize("table", TABLES_OF_VIEWS)
def test_every_column_of_the_tables_is_in_the_docs(table: str) -> None:
    """In its order, with its type and whether it may be empty."""
    sections = dict(part.partition("\n")[::2] for part in DOCS["tables.md"].split("\n## ")[1:])
    rows = re.findall(r"^\| `(\w+)` \| (\w+\??) \|", sections[table], re.MULTILINE)
    assert rows == [(column.name, column.type + "?" * column.empty) for column in TABLES_OF_VIEWS[table]]


def test_every_column_of_table_job_is_in_the_docs() -> None:
    section = DOCS["tables.md"].partition("\nTable `job`")[2]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [column.name for column in JOB.columns]


def test_the_readmes_are_level() -> None:
    assert ENGLISH.count("\n## ") == CHINESE.count("\n## ")
    assert BLOCK.findall(ENGLISH) == BLOCK.findall(CHINESE)
    assert ENGLISH.count("\n| ") == CHINESE.count("\n| ")
    assert set(re.findall(r"`(--[a-z-]+)`", ENGLISH)) == set(re.findall(r"`(--[a-z-]+)`", CHINESE))


@pytest.mark.parametrize(
    "line",
    [
        line
        for kind, text in BLOCK.findall(ENGLISH)
        if kind == "sh"
        for line in text.splitlines()
        if line.startswith("nephila ")
    ],
)
def test_commands_of_the_readme_exist(line: str) -> None:
    words = shlex.split(line)[1:]
    parser = COMMANDS[words[0]].build()
    assert [word for word in words if word.startswith("--") and word not in parser._option_string_actions] == []


@pytest.mark.parametrize("option", sorted(set(re.findall(r"`(--[a-z0-9-]+)", ENGLISH))))
def test_options_of_the_readme_exist(option: str) -> None:
    assert any(option in command.build()._option_string_actions for command in COMMANDS.values())


@pytest.mark.parametrize(
    "path", [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name
)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_every_page_of_the_window_is_shown_in_both_languages_wide_and_on_a_phone() -> None:
    shown = {language: DOCS[f"window{end}.md"] for language, end in (("en", ""), ("zh", ".zh"))}
    for shot, (language, text), size in product(SHOTS, shown.items(), ("wide", "phone")):
        assert f"](pictures/{shot.name}.{language}.{size}.webp)" in text
    assert {page.path for page in PAGES} <= {shot.path.partition("?")[0] for shot in SHOTS}
    assert sum(path.stat().st_size for path in (ROOT / "docs" / "pictures").iterdir()) < 3_000_000


def test_decisions_are_numbered_and_whole() -> None:
    notes = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(note.name[:4]) for note in notes]
    assert numbers == sorted(set(numbers))
    for note in notes:
        text = note.read_text()
        assert [part for part in ("**Decision.**", "**Alternatives", "pkeep.**") if part not in text] == [], note.name


def test_the_changelog_has_this_version() -> None:
    assert re.search(rf"^## {re.escape(__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    """The words are put together here, or this file would be the one that is found."""
    registries = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "deb." + "debian.org"]
    places = ["/work" + "/main", "/work" + "/shared", "/tmp" + "/v/", "/home" + "/", "/Users" + "/", "/root" + "/"]
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    found = []
    for path in (ROOT / name for name in names if name and (ROOT / name).is_file()):
        text = path.read_text(errors="replace")
        found += [f"{path.relative_to(ROOT)}: {word}" for word in registries + places if word in text]
    assert found == []
