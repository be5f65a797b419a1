"""A crawl that is killed and carried on fetches the same pages with every way of remembering URLs, and none twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nephila.config import Config
from nephila.frontier.seen.ways import WAYS
from nephila.frontier.sqlite import SqliteStore
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb

HOST, PAGES, KILLED_AT = "http://a.test", 30, 12


@pytest.mark.parametrize("seen", WAYS)
def test_the_same_pages_are_fetched(seen: str, tmp_path: Path) -> None:
    clock = FakeClock()
    web = FakeWeb(clock, {f"{HOST}/{n}": sites.page(links(n)) for n in range(PAGES)})
    config = Config(seeds=[f"{HOST}/0"], seen=seen, delay="0", workers=0, connections=4)
    visits = 0

    def killed(scheduler: Any) -> bool:
        nonlocal visits
        visits += 1
        return visits >= KILLED_AT

    assert run(web, clock, config, tmp_path, killed) is None
    ended = run(web, clock, config, tmp_path)
    assert ended is not None
    assert ended.reason == "finished"
    asked = Counter(access.url.removeprefix(HOST) for access in web.log)
    assert set(asked) == {"/robots.txt", *(f"/{n}" for n in range(PAGES))}
    assert sum(asked.values()) <= PAGES + 2 + 2 * config.connections  # what was under way or not committed at the kill


def links(n: int) -> list[str]:
    """A binary tree with ways back, and with addresses that differ in a tracking parameter only."""
    return [
        f"/{n // 2}?utm_source=up",
        f"/{n // 3}",
        *(f"/{m}" for m in (2 * n + 1, 2 * n + 2) if m < PAGES),
        "/0?gclid=1",
    ]


def run(web: FakeWeb, clock: FakeClock, config: Config, folder: Path, until: Any = None) -> Any:
    store = SqliteStore(folder / "crawl.db", order_name=config.order, max_depth=config.max_depth)
    crawl = FakeCrawl(web, clock, config, store)
    ended = crawl.run(until)
    crawl.seen.close()
    if ended is None:  # killed: else the scheduler has closed it
        store.close()
    return ended
