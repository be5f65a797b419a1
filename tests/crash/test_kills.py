"""SIGKILL at random moments: the same command carries on, nothing is lost, nothing is torn or doubled, little is repeated."""

from __future__ import annotations

import functools
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from crash.compare import complaints, repeats, strangers
from crash.run import FINISHED, FULL_SPEED, finish, start

from nephila.testing import sites
from nephila.testing.groups import Crawl, Growth
from nephila.testing.server import Hit, SiteServer, hits

IN_DOUBT_MAX = 2 * 32 + 2000
"""Connections of two workers, and visits that may be accepted and not yet committed."""

KILLS_MAX = 400
"""A crawl that makes no progress between kills would go on for ever."""

MOUNTS = 20
"""How often the site of 25 URLs is mounted: some 24 requests each, of which every kill takes some."""


class Calm:
    """An undisturbed crawl of the site, to compare with."""

    def __init__(self, folder: Path, mounts: int) -> None:
        self.folder, self.mounts, log = folder / "calm", mounts, folder / "calm.log"
        with SiteServer(sites.kinds(mounts), log) as server:
            finish(start(server.url(), self.folder, *FULL_SPEED))
        self.hits = hits(log)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Calm]:
    """One undisturbed crawl per size of the site."""
    return functools.cache(lambda mounts: Calm(tmp_path_factory.mktemp("undisturbed"), mounts))


def kill_group(crawl: Crawl, dice: random.Random) -> bool:
    crawl.kill()
    return crawl.wait(10).code == -signal.SIGKILL


def kill_front(crawl: Crawl, dice: random.Random) -> bool:
    crawl.kill_front()
    return crawl.wait(10).code == -signal.SIGKILL


def kill_worker(crawl: Crawl, dice: random.Random) -> bool:
    return crawl.kill_worker(dice.randrange(8))


VICTIMS: dict[str, Callable[[Crawl, random.Random], bool]] = {
    "group": kill_group,
    "front": kill_front,
    "worker": kill_worker,
}


def killed_crawl(
    url: str | list[str], folder: Path, log: Path, victim: str, dice: random.Random, lines_max: int = 200
) -> int:
    """Crawl until it finishes by itself, killing whenever the log has grown by 20 to `lines_max`. Returns the kills."""
    kills = 0
    while kills < KILLS_MAX:
        with start(url, folder, *FULL_SPEED) as crawl:
            while crawl.wait_for_growth(log, dice.randint(20, lines_max)) and crawl.running:
                kills += VICTIMS[victim](crawl, dice)
            ended = crawl.wait(30)
            crawl.wait_alone()
        if ended.code != -signal.SIGKILL:
            assert ended.code == FINISHED, f"exit code {ended.code} after {kills} kills\n{ended.out}\n{ended.err}"
            return kills
    raise AssertionError(f"not finished after {kills} kills")


@pytest.mark.parametrize(
    ("victim", "kills_min", "lines_max"), [("group", 3, 150), ("front", 3, 150), ("worker", 3, 100)]
)
def test_kills_by_progress(
    victim: str, kills_min: int, lines_max: int, calm: Callable[[int], Calm], tmp_path: Path
) -> None:
    kill_by_progress(victim, calm(MOUNTS), tmp_path, kills_min, lines_max)


@pytest.mark.long
@pytest.mark.parametrize(("victim", "mounts", "kills_min"), [("group", 60, 8), ("front", 60, 8), ("worker", 100, 14)])
def test_thirty_kills_by_progress(
    victim: str, mounts: int, kills_min: int, calm: Callable[[int], Calm], tmp_path: Path
) -> None:
    kill_by_progress(victim, calm(mounts), tmp_path, kills_min, lines_max=200)


def kill_by_progress(victim: str, calm: Calm, place: Path, kills_min: int, lines_max: int) -> None:
    folder, log = place / "job", place / "log"
    with SiteServer(sites.kinds(calm.mounts), log) as server:
        kills = killed_crawl(server.url(), folder, log, victim, random.Random(f"kill the {victim}"), lines_max)
    assert kills >= kills_min
    assert complaints(folder, calm.folder) == []
    assert repeats(hits(log), calm.hits, kills, in_doubt_max=IN_DOUBT_MAX) == []
    assert strangers(place, {"job", "job.toml", "log"}) == []


def test_a_finished_job_asks_for_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with SiteServer("tree", log) as server:
        finish(start(server.url(), tmp_path / "job", *FULL_SPEED))
        growth = Growth(log)
        ended = finish(start(server.url(), tmp_path / "job", *FULL_SPEED))
        assert growth.lines() == 0
    assert "finished on" in ended.out + ended.err


@pytest.mark.long
@pytest.mark.parametrize("victim", VICTIMS)
def test_kills_on_a_real_site(victim: str, real_site: Callable[..., object], tmp_path: Path) -> None:
    """Some 200 kills over 23,460 pages of documentation."""
    calm_server, server = real_site("postgres", mounts=20), real_site("postgres", mounts=20)
    calm_seeds, seeds = ([f"{s.url}/m{i}/index.html" for i in range(1, 21)] for s in (calm_server, server))  # type: ignore[attr-defined]
    finish(start(calm_seeds, tmp_path / "calm", *FULL_SPEED), timeout_s=120)
    kills = killed_crawl(seeds, tmp_path / "job", server.log, victim, random.Random(f"long, the {victim}"))  # type: ignore[attr-defined]
    assert kills >= 150
    assert complaints(tmp_path / "job", tmp_path / "calm") == []
    assert repeats(_hits(server), _hits(calm_server), kills, in_doubt_max=IN_DOUBT_MAX) == []


def _hits(server: object) -> list[Hit]:
    lines = server.log_lines()  # type: ignore[attr-defined]
    return [Hit(line.ended, "127.0.0.1", line.path, line.status, line.connection, 0, 0.0) for line in lines]
