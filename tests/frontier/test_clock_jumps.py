"""Somebody sets the clock while a crawl runs: pauses are counted by a clock that nobody can set."""

from __future__ import annotations

import pytest

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.testing.crawls import FakeCrawl
from nephila.testing.sites import Answer

A = "http://a.test"
HOUR_S, DAY_S = 3_600.0, 86_400.0


@pytest.mark.parametrize("jump_s", [-HOUR_S, HOUR_S, DAY_S, -30 * DAY_S])
def test_a_clock_that_is_set_changes_no_pause(jump_s: float) -> None:
    clock = FakeClock()

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/5":
            clock.wall_jump(jump_s)
        return Answer(sites.page([f"/{i}" for i in range(12)], path))

    web = FakeWeb(clock, site=site)
    config = Config(seeds=[f"{A}/"], workers=0, delay="3")
    store, begun = MemoryStore(config.order, config.max_depth), clock.monotonic()
    ended = FakeCrawl(web, clock, config, store).run()
    assert ended is not None
    assert ended.reason == "finished"
    assert {row["state"] for row in store.urls.values()} == {"done"}
    assert min(web.gaps("a.test")) >= 3 - 1e-6
    assert clock.monotonic() - begun < 13 * 3 + 10
