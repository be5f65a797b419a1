"""Every fault has one right outcome: the cases of the torture server, crawled by the real thing.

Quick tests crawl a sample of each section, `--long` everything, `--torture A4,B,C1.ring` the rows, sections and cases named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from torture.elsewhere import ELSEWHERE, WAITING
from torture.run import torture

from nephila.testing.torture.cases import UNASKED, Case, cases, chosen_by, crawls
from nephila.testing.torture.rows import ROWS
from nephila.testing.torture.server import Talk, answer, html

TESTS = Path(__file__).parents[1]
ALL = cases()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chosen" not in metafunc.fixturenames:
        return
    given = metafunc.config.getoption("--torture")
    picked = chosen_by(given, ALL) if given else ALL
    every = (
        [] if given else [pytest.param(some, id=f"all {name}", marks=pytest.mark.long) for name, some in crawls(picked)]
    )
    sample = picked if given else [case for case in picked if case.quick]
    metafunc.parametrize("chosen", [*every, *(pytest.param(some, id=name) for name, some in crawls(sample))])


def test_every_case_has_its_outcome(
    chosen: list[Case], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Its outcome and reason, and what is promised for all: nothing else suffers, the archive is sound, manners are kept."""
    record_property("rows", sorted({case.row.id for case in chosen}))
    wrong = torture(chosen, tmp_path)
    assert not wrong, "\n".join(wrong)


def test_rows_are_numbered_without_gaps() -> None:
    for section in sorted({row.section for row in ROWS.values()}):
        numbers = [int(row.id[1:]) for row in ROWS.values() if row.section == section]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(("row", "test"), [(row, test) for row, tests in ELSEWHERE.items() for test in tests])
def test_tests_elsewhere_are_there(row: str, test: str) -> None:
    file, _, function = test.partition("::")
    assert row in ROWS
    assert re.search(rf"^ *(?:async )?def {re.escape(function)}\(", (TESTS / file).read_text(), re.MULTILINE)


def test_every_row_is_covered() -> None:
    served = {case.row.id for case in ALL}
    assert [row for row in ROWS if row not in WAITING and row not in served and row not in ELSEWHERE] == []


def test_the_table_of_the_docs_is_that_of_the_rows() -> None:
    """The lines to put there are in the message."""
    there = (TESTS.parent / "docs" / "torture.md").read_text().splitlines()
    table = [f"| {row.id} | {row.fault} | {row.outcome} |" for row in ROWS.values()]
    assert [line for line in table if line not in there] == []
    assert [line for line in there if re.match(r"\| [A-Z]\d", line) and line not in table] == []


def test_what_is_not_as_promised_is_said(tmp_path: Path) -> None:
    """A checker that never complains checks nothing."""

    async def route(talk: Talk) -> None:
        await talk.say(html("/hidden") if talk.path == "/" else answer(status="503 Later"))

    wrong = Case(
        row=ROWS["A24"],
        name="wrong",
        route=route,
        outcome="REFUSED",
        reason="status.500",
        also={"/hidden": UNASKED},
        attempts=2,
        connections=9,
        truncated="time",
        links=7,
        body=b"other",
        visit={"title": "x"},
        check=lambda seen: [f"/hidden took {seen.other('/hidden').attempts}"],
    )
    slow = Case(row=ROWS["A24"], name="slow", route=route, path="/x", outcome="REFUSED", reason="status.503", gap_s=9.0)
    said = "\n".join(torture([wrong, slow], tmp_path))
    for expected in (
        "A24.wrong: is OK '', not REFUSED 'status.500'",
        "A24.wrong: took 1 attempts, not 2",
        "connections, not 9",
        "A24.wrong: truncated is '', not 'time'",
        "A24.wrong: links is 1, not 7",
        "A24.wrong: title is 't', not 'x'",
        "A24.wrong: the body is",
        "A24.wrong: /hidden was asked for 3 times",
        "A24.wrong: /hidden took 3",
        "A24.slow: was asked again after",
    ):
        assert expected in said
    assert len(said.splitlines()) == 10
