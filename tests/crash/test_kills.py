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

KILLS_MIN = {"group": 8, "front": 8, "worker": 14}
KILLS_MAX = 400
"""A crawl that makes no progress between kills would go on for ever."""

MOUNTS = {"group": 40, "front": 40, "worker": 80}
"""How often the site of 25 URLs is mounted: some 24 requests each, of which every kill takes 20 to 200."""


class Calm:
    """An undisturbed crawl of the site, to compare with."""

    def __init__(self, folder: Path, mounts: int) -> None:
        self.folder, log = folder / "calm", folder / "calm.log"
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


def killed_crawl(url: str | list[str], folder: Path, log: Path, victim: str, dice: random.Random) -> int:
    """Crawl until it finishes by itself, killing whenever the log has grown by 20 to 200 lines. Returns the kills."""
    kills = 0
    while kills < KILLS_MAX:
        with start(url, folder, *FULL_SPEED) as crawl:
            while crawl.wait_for_growth(log, dice.randint(20, 200)) and crawl.running:
                kills += VICTIMS[victim](crawl, dice)
            ended = crawl.wait(30)
            crawl.wait_alone()
        if ended.code != -signal.SIGKILL:
            assert ended.code == FINISHED, f"exit code {ended.code} after {kills} kills\n{ended.out}\n{ended.err}"
            return kills
    raise AssertionError(f"not finished after {kills} kills")


@pytest.mark.parametrize("victim", VICTIMS)
def test_kills_by_progress(victim: str, calm: Callable[[int], Calm], tmp_path: Path) -> None:
    """Together at least 30 kills."""
    folder, log, mounts = tmp_path / "job", tmp_path / "log", MOUNTS[victim]
    with SiteServer(sites.kinds(mounts), log) as server:
        kills = killed_crawl(server.url(), folder, log, victim, random.Random(f"kill the {victim}"))
    assert kills >= KILLS_MIN[victim]
    assert complaints(folder, calm(mounts).folder) == []
    assert repeats(hits(log), calm(mounts).hits, kills, in_doubt_max=IN_DOUBT_MAX) == []
    assert strangers(tmp_path, {"job", "job.toml", "log"}) == []


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
