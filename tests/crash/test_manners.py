"""Manners as the sites see them, from their own log: how many at once, how often, how long between, and what never."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

from crash.run import run_here, start

from nephila.testing import sites
from nephila.testing.server import Hit, SiteServer
from nephila.testing.sites import Answer, Site

SLACK_S = 0.005
"""Between our decision and the server's clock."""


def gaps(log: list[Hit]) -> list[float]:
    """Seconds from the end of one answer to the next request."""
    return [after.time - before.end for before, after in itertools.pairwise(log)]


def of_host(log: list[Hit], number: int) -> list[Hit]:
    return [hit for hit in log if hit.host.startswith(f"127.0.0.{number}:")]


def test_never_more_than_per_host_at_once(tmp_path: Path) -> None:
    with SiteServer("synthetic:150,20,500", tmp_path / "log", delay_s=0.03) as server:
        run_here(server.url(), tmp_path / "job", "--delay", "0", "--per-host", "4", "--workers", "2")
        log = server.hits()
    assert max(hit.in_flight for hit in log) == 4
    assert len(log) == 152  # with `/`, which is another name of page 0, and robots.txt


def test_one_at_a_time_by_default(tmp_path: Path) -> None:
    with SiteServer("synthetic:40,20,500", tmp_path / "log", delay_s=0.01) as server:
        run_here(server.url(), tmp_path / "job", "--delay", "0", "--workers", "2")
        assert max(hit.in_flight for hit in server.hits()) == 1


def test_the_pause_is_kept(tmp_path: Path) -> None:
    with SiteServer("tree", tmp_path / "log", delay_s=0.05) as server:
        run_here(server.url(), tmp_path / "job", "--delay", "0.2", "--workers", "2")
        log = server.hits()
    assert len(log) == 10
    assert min(gaps(log)) >= 0.2 - SLACK_S
    assert max(gaps(log)) < 0.5


def crawl_delay(seconds: float) -> Site:
    """The tree, whose robots.txt asks for a pause."""
    tree, robots = sites.tree(), Answer(f"User-agent: *\nCrawl-delay: {seconds}\n".encode(), media_type="text/plain")
    return lambda host, path, n: robots if path == "/robots.txt" else tree(host, path, n)


def test_crawl_delay_is_kept(tmp_path: Path) -> None:
    with SiteServer(crawl_delay(0.3), tmp_path / "log") as server:
        run_here(server.url(), tmp_path / "job", "--delay", "0", "--workers", "2")
        assert min(gaps(server.hits()[1:])) >= 0.3 - SLACK_S


def test_robots_once_per_origin_and_first(tmp_path: Path) -> None:
    with SiteServer("kinds", tmp_path / "log", hosts=4) as server:
        seeds = [server.url(host=number) for number in range(1, 5)]
        run_here(seeds, tmp_path / "job", "--delay", "0", "--per-host", "8", "--workers", "2")
        log = server.hits()
    counts = Counter(hit.host for hit in log if hit.path == "/robots.txt")
    assert sorted(counts.values()) == [1, 1, 1, 1]
    assert {of_host(log, number)[0].path for number in range(1, 5)} == {"/robots.txt"}
    assert not [hit for hit in log if hit.path == "/private"]


def test_retry_after_silences_that_host_alone(tmp_path: Path) -> None:
    """2 s of silence on the host that asked for it; the other one is not slowed."""
    with SiteServer(sites.retry429(after_s=2), tmp_path / "log", hosts=2, delay_s=0.02) as server:
        seeds = [server.url(host=number) for number in (1, 2)]
        run_here(seeds, tmp_path / "job", "--delay", "0.05", "--workers", "2")
        log = server.hits()
    slow, other = of_host(log, 2), of_host(log, 1)
    (at,) = [i for i, hit in enumerate(slow) if hit.status == 429]
    assert 2.0 - SLACK_S <= slow[at + 1].time - slow[at].end < 3.5
    assert max(gaps(other)) < 1.0
    assert [hit.status for hit in slow if hit.path == "/3"] == [429, 200]
    assert {hit.path for hit in slow} == {hit.path for hit in other}


def test_the_pause_survives_a_kill(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with SiteServer("tree", log) as server:
        options = ("--delay", "0.8", "--workers", "2")
        with start(server.url(), tmp_path / "job", *options) as crawl:
            assert crawl.wait_for_growth(log, 3)
            crawl.kill()
            crawl.wait(5)
        before = len(server.hits())
        with start(server.url(), tmp_path / "job", *options) as crawl:
            assert crawl.wait_for_growth(log, 2)
        pauses = gaps(server.hits())
    assert before == 3
    assert min(pauses) >= 0.8 - SLACK_S
