"""SIGKILL before and after every durable step of a crawl of 25 URLs: every write, commit, roll-over and close."""

from __future__ import annotations

import signal
from collections import defaultdict
from pathlib import Path

import pytest
from crash.compare import complaints, repeats
from crash.run import FINISHED, finish, start

from nephila.testing.faults import VARIABLE, steps
from nephila.testing.groups import Crawl
from nephila.testing.server import SiteServer, hits

OPTIONS = ("--delay", "0", "--per-host", "2", "--workers", "1")
CONFIG: dict[str, float] = {"commit_ms": 1, "retry_wait_s": 0.02, "retry_wait_max_s": 0.05, "archive_bytes_max": 20_000}
"""Nearly a commit per visit, and the large body rolls the archive file over."""

IN_DOUBT_MAX = 32 + 2000


class Calm:
    """An undisturbed crawl, and how many durable steps each role took in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, log, step_log = folder / "calm", folder / "calm.log", folder / "steps"
        with SiteServer("kinds", log) as server:
            finish(faulty(server, self.folder, f"log:{step_log}"))
        self.hits, self.steps = hits(log), steps(step_log)

    def count(self, role: str) -> int:
        return sum(step.role == role for step in self.steps)

    def sample(self, role: str) -> list[int]:
        """Of each kind of step the first and the last, and of those that come with every visit one in the middle."""
        kinds = defaultdict(list)
        for step in self.steps:
            if step.role == role:
                kinds[step.name].append(step.number)
        often = [numbers[len(numbers) // 2] for numbers in kinds.values() if len(numbers) > self.count(role) // 4]
        return sorted({*often, *(numbers[end] for numbers in kinds.values() for end in (0, -1))})


def faulty(server: SiteServer, folder: Path, plan: str) -> Crawl:
    return start(server.url(), folder, *OPTIONS, config=CONFIG, module="nephila.testing.crawl", env={VARIABLE: plan})


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    return Calm(tmp_path_factory.mktemp("undisturbed"))


def test_both_roles_have_steps(calm: Calm) -> None:
    assert calm.count("front") >= 20
    assert calm.count("worker") >= 40


@pytest.mark.parametrize("role", ["front", "worker"])
def test_every_kind_of_step(role: str, calm: Calm, tmp_path: Path) -> None:
    die_at_each(calm.sample(role), role, calm, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("role", ["front", "worker"])
def test_every_step(role: str, calm: Calm, tmp_path: Path) -> None:
    die_at_each(list(range(1, calm.count(role) + 1)), role, calm, tmp_path)


def die_at_each(numbers: list[int], role: str, calm: Calm, tmp_path: Path) -> None:
    found = {f"{role} step {k}": die_at(k, role, calm, tmp_path / str(k)) for k in numbers}
    assert {where: what for where, what in found.items() if what} == {}


def die_at(k: int, role: str, calm: Calm, place: Path) -> list[str]:
    """Kill at step k, carry on, compare. The front's death ends the crawl; a worker is replaced by the running one."""
    place.mkdir()
    folder, log, once = place / "job", place / "log", place / "killed"
    plan = f"kill:{role}:{k};once:{once}"
    with SiteServer("kinds", log) as server:
        with faulty(server, folder, plan) as crawl:
            ended = crawl.wait(30)
            crawl.wait_alone()
        if ended.code == -signal.SIGKILL:
            with faulty(server, folder, plan) as crawl:
                ended = crawl.wait(30)
                crawl.wait_alone()
    if ended.code != FINISHED:
        return [f"exit code {ended.code}: {ended.err}"]
    return complaints(folder, calm.folder) + repeats(
        hits(log), calm.hits, int(once.exists()), in_doubt_max=IN_DOUBT_MAX
    )
