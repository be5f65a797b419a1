"""Whole crawls in memory and in fake time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.testing.crawls import FakeCrawl

A = "http://a.test"


def crawl(folder: Path, config: Config, web: FakeWeb, clock: FakeClock) -> MemoryStore:
    store = MemoryStore(config.order, config.max_depth)
    FakeCrawl(web, clock, config, store).run()
    return store


def outcomes(store: MemoryStore) -> dict[str, str]:
    return {row["url"]: row["state"] for row in store.urls.values()}


def config(**more: object) -> Config:
    return Config(seeds=[f"{A}/"], workers=0, **more)  # type: ignore[arg-type]


def test_a_tree_is_crawled_once_and_politely(tmp_path: Path) -> None:
    clock = FakeClock()
    web = FakeWeb(clock, site=sites.tree())
    store = crawl(tmp_path, config(delay="3"), web, clock)
    assert set(outcomes(store).values()) == {"done"}
    assert sorted(web.urls()) == sorted([f"{A}/robots.txt", f"{A}/", *(f"{A}/{name}" for name in "BCDEFGHI")])
    assert web.max_in_flight("a.test") == 1
    assert min(web.gaps("a.test")) >= 3 - 1e-6


def test_a_pause_of_two_hours_takes_no_time(tmp_path: Path) -> None:
    clock = FakeClock()
    web = FakeWeb(clock, site=sites.tree())
    begun = clock.monotonic()
    crawl(tmp_path, config(delay="7200"), web, clock)
    assert clock.monotonic() - begun == pytest.approx(9 * 7200, rel=0.001)


def test_the_same_crawl_twice(tmp_path: Path) -> None:
    logs = []
    for n in range(2):
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.kinds())
        crawl(tmp_path / str(n), config(delay="1", per_host=2), web, clock)
        logs.append(web.log)
    assert logs[0] == logs[1]


def test_a_host_that_is_away_for_a_while_loses_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    web = FakeWeb(clock, site=sites.tree())
    web.down("a.test", 3, 8)
    store = crawl(tmp_path, config(delay="1"), web, clock)
    assert set(outcomes(store).values()) == {"done"}
    assert Counter(visit[4] for visit in store.visits) == {"OK": 9, "REFUSED": 1}  # there is no robots.txt
