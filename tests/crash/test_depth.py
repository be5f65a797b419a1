"""A depth limit keeps exactly the pages that have a short enough path, in whatever order they were met, killed or not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from crash.compare import left
from crash.run import FULL_SPEED, finish, start

from nephila.testing import sites
from nephila.testing.server import SiteServer

NODES, DEGREE = 120, 2


@pytest.mark.parametrize("seed", range(4))
def test_a_few_graphs(seed: int, tmp_path: Path) -> None:
    crawl_graph(seed, tmp_path)


@pytest.mark.long
def test_two_hundred_graphs(tmp_path: Path) -> None:
    for seed in range(200):
        crawl_graph(seed, tmp_path / str(seed))


def crawl_graph(seed: int, place: Path) -> None:
    """Depth first, two workers, one kill at a random moment; what is kept is what a breadth-first search finds."""
    place.mkdir(exist_ok=True)
    dice = random.Random(f"depth {seed}")
    depth_max, log = dice.randint(1, 12), place / "log"
    wanted = sites.within(seed, NODES, DEGREE, depth_max)
    options = (*FULL_SPEED, "--max-depth", str(depth_max), "--order", "dfs")
    with SiteServer(sites.graph(seed, NODES, DEGREE), log) as server:
        with start(server.url("/0"), place / "job", *options) as crawl:
            if crawl.wait_for_growth(log, dice.randint(1, len(wanted) + 1)):
                crawl.kill()
            crawl.wait(30)
        finish(start(server.url("/0"), place / "job", *options))
    assert kept(place / "job") == wanted, f"seed {seed}, depth {depth_max}"


def kept(folder: Path) -> dict[str, int]:
    """path → depth of every page kept."""
    found = left(folder)
    ok = {url for url, (outcome, _) in found.outcomes.items() if outcome == "OK" and not url.endswith("/robots.txt")}
    return {url.removeprefix("http://127.0.0.1"): found.depths[url] for url in ok}
