"""Whose rules count and for how long, seen in whole crawls."""

from __future__ import annotations

import asyncio

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb

DAY_S = 86_400.0


def crawl(web: FakeWeb, clock: FakeClock, *seeds: str, store: MemoryStore | None = None, **keys: object) -> FakeCrawl:
    config = Config(seeds=list(seeds), scope="any", **keys)  # type: ignore[arg-type]
    run = FakeCrawl(web, clock, config, store or MemoryStore())
    run.run()
    return run


def test_rules_are_those_of_scheme_host_and_port() -> None:
    clock = FakeClock()
    web = FakeWeb(clock)
    origins = {"http://h.test": "/a", "https://h.test": "/b", "http://h.test:8080": "/c", "http://www.h.test": "/d"}
    for origin, closed in origins.items():
        web.robots(origin, f"User-agent: *\nDisallow: {closed}\n")
        web.page(f"{origin}/", ["/a", "/b", "/c", "/d"])
    crawl(web, clock, *(f"{origin}/" for origin in origins))
    for origin, closed in origins.items():
        asked = {path for path in ("/a", "/b", "/c", "/d") if web.times(origin + path)}
        assert asked == {"/a", "/b", "/c", "/d"} - {closed}, origin


def test_rules_that_change_during_a_crawl_count_after_a_day() -> None:
    clock = FakeClock()
    web = FakeWeb(clock)
    web.answer("http://h.test/robots.txt", "User-agent: *\nDisallow: /0\n", "User-agent: *\nDisallow: /9\n")
    web.page("http://h.test/", [f"/{n}" for n in range(100)])
    crawl(web, clock, "http://h.test/", delay="3000")  # 100 pages take three and a half days
    assert 3 <= web.times("http://h.test/robots.txt") <= 5
    assert web.times("http://h.test/0") == 0
    late = [access.url for access in web.log if access.start > clock.monotonic() - 2 * DAY_S]
    assert "http://h.test/80" in late
    assert "http://h.test/99" not in late


def test_rules_are_asked_for_again_when_a_crawl_goes_on_next_day() -> None:
    clock = FakeClock()
    web = FakeWeb(clock)
    web.answer("http://h.test/robots.txt", "User-agent: *\nDisallow: /9\n", "User-agent: *\nDisallow: /1\n")
    web.page("http://h.test/", [f"/{n}" for n in range(20)])
    store = MemoryStore()
    config = Config(seeds=["http://h.test/"], delay="1")
    FakeCrawl(web, clock, config, store).run(until=lambda scheduler: len(web.log) > 4)
    clock.run(asyncio.sleep(2 * DAY_S))
    FakeCrawl(web, clock, config, store).run()
    assert web.times("http://h.test/robots.txt") == 2
    assert web.times("http://h.test/19") == 0
    assert web.times("http://h.test/9") == 1
