"""Tables in the documents that name tests: every row has one, and every test that is named is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["cases.md", "limits.md", "promises.md", "security.md"]
NAME = re.compile(r"`([a-z_/]+\.py)::(test_\w+)`")
"""`contract/…` is the suite that every store passes (nephila.testing.contract); all other files lie below tests/."""


def rows(page: str) -> Iterator[str]:
    """The rows of the tables whose last column is called test."""
    named = False
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if not line.startswith("| "):
            named = False
        elif line.endswith("| test |"):
            named = True
        elif named and not line.startswith("| ---"):
            yield line


def place(file: str) -> Path:
    above = ROOT / "src/nephila/testing" if file.startswith("contract/") else ROOT / "tests"
    return above / file


ROWS = [(page, row) for page in PAGES for row in rows(page)]


@pytest.mark.parametrize(("page", "row"), ROWS, ids=[f"{page}-{row.split('|')[1].strip()[:40]}" for page, row in ROWS])
def test_every_row_names_tests_that_exist(page: str, row: str) -> None:
    last = row.rstrip("| ").rpartition(" | ")[2]
    found = NAME.findall(last)
    assert found, f"docs/{page}: a row without a test"
    assert NAME.sub("", last).strip(", ") == ""
    lost = [f"{file}::{name}" for file, name in found if not defined(place(file), name)]
    assert lost == []


def defined(file: Path, name: str) -> bool:
    return file.is_file() and re.search(rf"^\s*(?:async )?def {name}\(", file.read_text(), re.MULTILINE) is not None


def test_every_limit_has_its_test() -> None:
    """All keys of docs/limits.md stand in tables whose rows are looked at above."""
    text = (ROOT / "docs" / "limits.md").read_text()
    keys = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    looked_at = "\n".join(row for page, row in ROWS if page == "limits.md")
    assert len(keys) > 40
    assert [key for key in keys if f"| `{key}` |" not in looked_at] == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_rows(page: str) -> None:
    assert [row for name, row in ROWS if name == page] != []
