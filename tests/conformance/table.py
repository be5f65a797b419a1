"""A public corpus being run: what passed, what answers otherwise on purpose, and the table of all at the end.

`docs/conformance.md` lists every deviation with its reason, by the name of the case or, where many have one reason, by the
name of a rule. A run fails when its deviations are not exactly those: a new failure and a repaired one are both told.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "conformance.md"
PROPERTY = "conformance"
SHOWN = 20

Run = Callable[[str], "Corpus"]


class Corpus:
    """One run over one corpus. A context manager: its end holds what deviates against the documents."""

    def __init__(self, name: str, folder: Path, note: Callable[[tuple[str, object]], None]) -> None:
        self.name, self.folder, self._note = name, folder, note
        self.passed = 0
        self.explained: Counter[str] = Counter()
        self.failed: dict[str, str] = {}
        self._reasons, self._counts = documented(name)

    def load(self, path: str) -> Any:
        return json.loads(self.bytes(path))

    def bytes(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def check(self, case: str, got: object, wanted: object, **rules: object) -> None:
        """One case. `rules`: what is got where a documented rule of that name (`-` written `_`) decides otherwise."""
        if got == wanted:
            self.passed += 1
            return
        rule = next((name for name, answer in rules.items() if got == answer), "").replace("_", "-")
        if (rule or case) in self._reasons:
            self.explained[rule or case] += 1
        else:
            self.failed[case] = f"{str(got)[:200]} in place of {str(wanted)[:200]}"

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        counts = self.passed, len(self.failed), self.explained.total()
        self._note((PROPERTY, [self.name, *counts]))
        if kind is not None:
            return
        told = [f"{case}: {what}" for case, what in self.failed.items()]
        told += [f"{case} does not deviate any more" for case in self._reasons if not self.explained[case]]
        assert not told, "\n".join([f"{self.name}, {len(told)} not as {DOCS.name} says:", *told[:SHOWN]])
        assert self.passed, f"{self.name}: nothing was asked"
        if self._counts and sum(self._counts) == sum(counts):
            assert self._counts == (counts[0], counts[2]), f"{self.name}: the numbers in {DOCS.name} are old"


def documented(name: str) -> tuple[dict[str, str], tuple[int, ...]]:
    """(case or rule → reason, (passed, explained) or ()) of a corpus, as docs/conformance.md has them."""
    text = DOCS.read_text()
    section = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    reasons = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", section[1], re.M)) if section else {}
    row = re.search(rf"^\| {re.escape(name)} \|[^|]*\| ([\d,]+) \| ([\d,]+) \|$", text, re.M)
    return reasons, tuple(int(number.replace(",", "")) for number in row.groups()) if row else ()


@pytest.fixture
def corpus(request: pytest.FixtureRequest) -> Run:
    """corpus("mime/mime-types.json") → the run of that corpus; the test is skipped, and it is counted, where there is no data."""

    def run(name: str) -> Corpus:
        try:
            folder = request.getfixturevalue("corpora")
        except pytest.skip.Exception:
            request.node.user_properties.append((PROPERTY, [name, 0, 0, 0]))
            raise
        return Corpus(name, folder, request.node.user_properties.append)

    return run


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows: dict[str, list[int]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY:
                    rows[value[0]] = value[1:]
    if not rows:
        return
    width = max(map(len, rows))
    terminalreporter.write_line(f"\n{'corpus':{width}}  {'passed':>7} {'failed':>7} {'explained':>9} {'skipped':>7}")
    for name, (passed, failed, explained) in sorted(rows.items()):
        skipped = "all" if not passed + failed + explained else "0"
        terminalreporter.write_line(f"{name:{width}}  {passed:7,} {failed:7,} {explained:9,} {skipped:>7}")
