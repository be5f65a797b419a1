"""What all tests share: long tests run only when asked for, skips are counted (and refused where nothing may be missing).

`--long`, `-m long` or NEPHILA_LONG=1 lets the long tests run. NEPHILA_NO_SKIP=1 turns every skip into a failure, except those
whose reason starts with "corpora:": the public test data lies outside this repository and may be absent.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # `benchmarks.servers` and `realsites` are not installed anywhere
pytest_plugins = ["realsites", "torture_report", "conformance.table"]

EXEMPT = "corpora:"

# On a busy machine the first example of a run may take a second, and says nothing about what is tested.
hypothesis.settings.register_profile("busy", suppress_health_check=[hypothesis.HealthCheck.too_slow], deadline=None)
hypothesis.settings.load_profile("busy")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long") or os.environ.get("NEPHILA_LONG") == "1" or config.getoption("-m"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _refused(report, item.nodeid) if not hasattr(report, "wasxfail") else report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _refused((yield), collector.nodeid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line with every reason for a skip and how often it counted: a test that did not run is not a test that passed."""
    counts = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if counts:
        terminalreporter.write_line("skips: " + "; ".join(f"{n} x {reason}" for reason, n in counts.most_common()))


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Folder of the public test data: NEPHILA_CORPORA, else `shared/corpora` beside this repository."""
    folder = Path(os.environ.get("NEPHILA_CORPORA") or ROOT.parent / "shared" / "corpora")
    if not folder.is_dir():
        pytest.skip(f"{EXEMPT} folder absent")
    return folder


def _refused(report: Report, name: str) -> Report:
    """The report of a skip becomes that of a failure where NEPHILA_NO_SKIP says that nothing may be missing."""
    if os.environ.get("NEPHILA_NO_SKIP") == "1" and report.skipped and not _reason(report).startswith(EXEMPT):
        report.outcome, report.longrepr = "failed", f"{name} was skipped, and NEPHILA_NO_SKIP=1: {_reason(report)}"
    return report


def _reason(report: Any) -> str:
    """A skip's longrepr is (file, line, "Skipped: reason")."""
    where = report.longrepr
    return (str(where[2]) if isinstance(where, tuple) else str(where)).removeprefix("Skipped: ")
