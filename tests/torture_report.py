"""The option `--torture`, and the last line of a run: which rows of the torture tests are covered, and where.

A pytest plugin (tests/conftest.py), because with several processes only the first one prints, and that one sees no test folder.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--torture",
        metavar="IDS",
        help="sections, rows or cases of the torture tests (A,B4,C1.ring), whether long or not",
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Said only when a torture test ran."""
    passed = [report for report in terminalreporter.stats.get("passed", []) if "test_torture.py" in report.nodeid]
    if passed:
        ran = {row for report in passed for name, value in report.user_properties if name == "rows" for row in value}
        for line in coverage(ran):
            terminalreporter.write_line(line)


def coverage(ran: set[str]) -> list[str]:
    from torture.elsewhere import ELSEWHERE

    from nephila.testing.torture.cases import cases
    from nephila.testing.torture.rows import ROWS, SECTIONS

    served = {case.row.id for case in cases()}
    covered = [row for row in ROWS if row in served or row in ELSEWHERE]
    lines = [f"torture: rows covered {len(covered)} of {len(ROWS)}; served and crawled in this run: {len(ran)}"]
    for section in SECTIONS:
        rows = [row for row in ROWS if row[0] == section]
        parts = {
            "served": [row for row in rows if row in served],
            "elsewhere": [row for row in rows if row in ELSEWHERE],
            "missing": [row for row in rows if row not in served and row not in ELSEWHERE],
        }
        lines.append(f"  {section}: " + "; ".join(f"{what} {' '.join(ids)}" for what, ids in parts.items() if ids))
    return lines
