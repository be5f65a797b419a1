"""Hosts that sleep: a crawl with few places for hosts ends as one with places for all."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nephila.config import Config
from nephila.frontier.asleep import Asleep
from nephila.frontier.batch import Store
from nephila.frontier.host import Host
from nephila.frontier.memory import MemoryStore
from nephila.frontier.scheduler import Scheduler
from nephila.frontier.sqlite import SqliteStore
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer
from nephila.types import Kind, Outcome

HOSTS, PAGES, PLACES = 100, 6, 10


def name(host: int) -> str:
    return f"http://h{host}.test"


def web_of(clock: FakeClock) -> FakeWeb:
    """A hundred hosts of six pages; the first page of each leads to its others and to three other hosts."""
    pages: dict[str, Any] = {}
    for host in range(HOSTS):
        others = [name((host * 7 + n) % HOSTS) + "/" for n in (1, 2, 3)]
        pages[name(host) + "/"] = sites.page([f"/{page}" for page in range(1, PAGES)] + others)
        pages |= {f"{name(host)}/{page}": sites.page([]) for page in range(1, PAGES)}
        pages[name(host) + "/robots.txt"] = Answer(b"User-agent: *\nDisallow: /5\n", media_type="text/plain")
    return FakeWeb(clock, pages)


def config(**changes: Any) -> Config:
    seeds = [name(0) + "/", name(1) + "/"]
    return Config(**{"seeds": seeds, "scope": "any", "delay": "0.5", "connections": 8, "workers": 0} | changes)


def awake_most(most: list[int]) -> Callable[[Scheduler], bool]:
    def look(scheduler: Scheduler) -> bool:
        most[0] = max(most[0], len(scheduler._books.by_id))
        return False

    return look


def counts(web: FakeWeb) -> Counter[str]:
    """How often each URL was asked for."""
    return Counter(access.url for access in web.log)


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """The one store of a test, opened again."""
    memory = MemoryStore()
    return lambda: memory if request.param == "memory" else SqliteStore(tmp_path / "crawl.db")


def test_the_same_crawl_with_few_places(make: Callable[[], Store]) -> None:
    clock, most = FakeClock(), [0]
    web = web_of(clock)
    crawl = FakeCrawl(web, clock, config(hosts_max=PLACES), make())
    ended = crawl.run(awake_most(most))
    assert ended is not None
    assert ended.reason == "finished"
    assert crawl.scheduler.outcomes == {"OK": HOSTS * (PAGES - 1), "DENIED": HOSTS}
    assert set(counts(web).values()) == {1}
    assert most[0] <= PLACES


def test_pauses_are_kept_asleep(make: Callable[[], Store]) -> None:
    clock = FakeClock()
    web = web_of(clock)
    FakeCrawl(web, clock, config(hosts_max=PLACES, delay="3"), make()).run()
    for host in range(HOSTS):
        times = sorted(a.start for a in web.log if a.host == f"h{host}.test" and a.kind != Kind.ROBOTS)
        assert min(after - before for before, after in itertools.pairwise(times)) >= 3.0 - 1e-6


def test_killed_and_resumed(make: Callable[[], Store]) -> None:
    clock = FakeClock()
    web, visits = web_of(clock), itertools.count()
    assert FakeCrawl(web, clock, config(hosts_max=PLACES), make()).run(lambda scheduler: next(visits) == 250) is None
    crawl = FakeCrawl(web, clock, config(hosts_max=PLACES), make())
    ended = crawl.run()
    assert ended is not None
    assert ended.reason == "finished"
    assert crawl.scheduler.outcomes == {"OK": HOSTS * (PAGES - 1), "DENIED": HOSTS}


def test_a_host_is_dropped_in_its_sleep() -> None:
    clock, dropped = FakeClock(), list[str]()
    web = web_of(clock)

    def drop(scheduler: Scheduler) -> bool:
        books = scheduler._books
        asleep = [origin for origin, id in books.ids.items() if id not in books.by_id and books.asleep.queued[id]]
        if not dropped and asleep:
            dropped.append(asleep[0])
            scheduler.host_command(asleep[0], "drop")
        return False

    FakeCrawl(web, clock, config(hosts_max=PLACES), MemoryStore()).run(drop)
    asked = Counter(access.host for access in web.log)
    assert asked[dropped[0].removeprefix("http://")] <= 2
    assert sum(asked.values()) >= (HOSTS - 1) * PAGES


def test_a_host_that_is_only_refused_costs_an_id(tmp_path: Path) -> None:
    clock = FakeClock()
    pages = {name(0) + "/": sites.page([f"http://elsewhere{n}.test/" for n in range(20)])}
    crawl = FakeCrawl(
        FakeWeb(clock, pages), clock, config(seeds=[name(0) + "/"], scope="host"), SqliteStore(tmp_path / "crawl.db")
    )
    crawl.run()
    assert len(crawl.scheduler._books.ids) == 21
    assert list(crawl.scheduler._books.hosts) == [name(0)]
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as con:
        assert con.execute("SELECT count(*) FROM host").fetchone() == (21,)


def test_trouble_outlives_a_sleep() -> None:
    asleep = Asleep()
    host = Host(asleep.new(), "http://a.test")
    host.penalty, host.failures, host.refusals, host.backoff_until = 4.0, 2, 1, 50.0
    host.verdict, host.answered, host.robots_used, host.queued = (Outcome.DENIED, "why"), True, False, 3
    asleep.take(host, now=10.0)
    again = Host(host.id, "http://a.test")
    asleep.give(again)
    assert asleep.finish(again)
    for slot in ("penalty", "failures", "refusals", "backoff_until", "verdict", "answered", "robots_used", "queued"):
        assert getattr(again, slot) == getattr(host, slot), slot
    assert again.due == 50.0


def test_an_outage_is_forgiven_asleep() -> None:
    asleep = Asleep()
    failed, refused = Host(asleep.new(), "http://a.test"), Host(asleep.new(), "http://b.test")
    failed.failures = refused.failures = 3
    refused.refusals, refused.backoff_until = 1, 90.0
    for host in (failed, refused):
        asleep.take(host, now=10.0)
    asleep.forgive()
    for host in (failed, refused):
        host.failures = host.refusals = 0
        host.backoff_until = 0.0
        asleep.finish(host)
    assert (failed.failures, failed.backoff_until) == (0, 0.0)
    assert (refused.failures, refused.refusals, refused.backoff_until) == (0, 1, 90.0)


def test_who_is_due_first_is_woken_first() -> None:
    asleep, dues = Asleep(), [30.0, 10.0, 20.0, 10.0]
    for due in dues:
        host = Host(asleep.new(), "")
        host.due, host.queued = due, 1
        asleep.take(host, now=0.0)
    assert asleep.next_due() == 10.0
    assert [asleep.pop_due(25.0) for _ in range(4)] == [2, 4, 3, 0]


def test_a_host_met_now_is_not_ahead_of_one_that_waits() -> None:
    asleep = Asleep()
    old, new = asleep.new(), asleep.new()
    asleep.add(old, 10.0)
    asleep.add(new, 20.0)
    asleep.add(old, 30.0)
    assert (asleep.next_due(), asleep.pop_due(15.0), asleep.pop_due(15.0), asleep.pop_due(25.0)) == (10.0, old, 0, new)
