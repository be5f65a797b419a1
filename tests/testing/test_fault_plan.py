"""Death at a chosen step: at that one, in that role, and only once when asked so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nephila.testing.faults import VARIABLE, FaultPlan, Step, steps

PROGRAM = """
import sys
from nephila.testing.faults import FaultPlan
plan = FaultPlan.from_environment(sys.argv[1])
for i in range(5):
    plan.step(f"step.{i + 1}")
"""


def run(plan: str, role: str = "front") -> int:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, role], env={**os.environ, VARIABLE: plan}, check=False
    ).returncode


@pytest.mark.parametrize(
    ("plan", "role", "code"),
    [
        ("kill:3", "front", -signal.SIGKILL),
        ("kill:front:3", "front", -signal.SIGKILL),
        ("kill:worker:3", "front", 0),
        ("kill:6", "front", 0),
        ("", "front", 0),
    ],
)
def test_who_dies(plan: str, role: str, code: int) -> None:
    assert run(plan, role) == code


def test_a_step_by_its_name(tmp_path: Path) -> None:
    log = tmp_path / "steps"
    assert [run(f"log:{log};at:step.2:{n}", "front") for n in (1, 2)] == [-signal.SIGKILL, 0]
    assert steps(log)[1].name == "step.2"


def test_the_log_ends_with_the_step_that_killed(tmp_path: Path) -> None:
    log = tmp_path / "steps"
    run(f"log:{log};kill:3", "worker")
    assert [(s.role, s.number, s.name) for s in steps(log)] == [
        ("worker", 1, "step.1"),
        ("worker", 2, "step.2"),
        ("worker", 3, "step.3"),
    ]


def test_once_means_once(tmp_path: Path) -> None:
    plan = f"kill:2;once:{tmp_path / 'killed'}"
    assert [run(plan), run(plan)] == [-signal.SIGKILL, 0]


def test_an_unknown_clause_is_refused() -> None:
    with pytest.raises(ValueError, match="'explode' is not kill, at, once or log"):
        FaultPlan("explode:3", "front")


def test_a_log_reads_back(tmp_path: Path) -> None:
    plan = FaultPlan(f"log:{tmp_path / 'steps'}", "front")
    plan.step("archive.write")
    assert steps(tmp_path / "steps") == [Step("front", os.getpid(), 1, "archive.write")]
