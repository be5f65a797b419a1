"""The second clock: what an IP address is asked at once, whatever the number of names that lead to it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.frontier import addresses  # noqa: E402
from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.testing import sites  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.contract.bench import SLACK_S, after_visits, config, overlap_max, spacing, star, starts, web_of  # noqa: E402
from nephila.testing.crawls import FakeCrawl  # noqa: E402
from nephila.testing.fakeweb import FakeWeb  # noqa: E402
from nephila.testing.names import FakeNames, NamedWeb  # noqa: E402
from nephila.testing.sites import Answer  # noqa: E402

FARM = "9.8.7.6"


def farm_web(clock: FakeClock, latency_s: float = 0.5) -> FakeWeb:
    """Every host is the same server: a front page and three more."""

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/robots.txt":
            return Answer(status=404, ip=FARM)
        return Answer(sites.page(["/1", "/2", "/3"]), ip=FARM)

    return FakeWeb(clock, site=site, latency_s=latency_s)


def crawl(web: FakeWeb, clock: FakeClock, names: FakeNames, *seeds: str, **settings: Any) -> FakeCrawl:
    made = FakeCrawl(web, clock, c := config(*seeds, **settings), MemoryStore(), directory=names.directory(c, clock))
    ended = made.run()
    assert ended is not None
    assert ended.reason == "finished"
    return made


@pytest.mark.parametrize(("delay", "per_host", "most"), [("0", 1, 8), ("0", 2, 8), ("0", 12, 12), ("auto", 1, 2)])
def test_a_farm_of_names_never_sees_more_than_eight_at_once(delay: str, per_host: int, most: int) -> None:
    """From the first request on, robots.txt included, and all of it is fetched."""
    clock = FakeClock()
    web = farm_web(clock)
    seeds = [f"http://n{i}.farm{i % 50}.test/" for i in range(100)]
    made = crawl(web, clock, FakeNames(), *seeds, delay=delay, per_host=per_host, connections=64)
    assert overlap_max(web.log) == most
    assert made.scheduler.outcomes == {"OK": 400}
    assert len(web.log) == 500
    if delay == "auto":  # a quarter of the shortest pause: a missing robots.txt tells nothing of how fast a host is
        times = sorted(access.start for access in web.log)
        assert min(spacing(times)) >= 0.25 - SLACK_S


def test_the_hosts_of_one_address_take_turns() -> None:
    clock = FakeClock()
    web = farm_web(clock, latency_s=0.1)
    crawl(
        web, clock, FakeNames(), *(f"http://n{i}.test/" for i in range(40)), delay="0", no_robots=True, connections=32
    )
    order = [access.host for access in sorted(web.log, key=lambda access: access.start)]
    assert all(len(set(order[at : at + 40])) == 40 for at in range(0, 160, 40))


def test_other_addresses_do_not_wait_for_a_busy_one() -> None:
    clock = FakeClock()
    web = farm_web(clock, latency_s=5.0)
    for url in star(20, "http://free.test"):
        web.answer(url, sites.late(Answer(sites.page([f"/{i}" for i in range(1, 21)])), 0.1))
    names = FakeNames(lambda host: "9.1.1.1" if host == "free.test" else FARM)
    farm = [f"http://n{i}.test/" for i in range(100)]
    began = clock.monotonic()
    crawl(web, clock, names, *farm, "http://free.test/", delay="0", connections=16)
    assert max(a.end for a in web.log if a.host == "free.test") - began < 15
    assert len(web.log) == 500 + 22


@pytest.mark.parametrize(("settings", "most"), [({"per_address": 3}, 3), ({"per_address": 0}, 32)])
def test_the_limit_is_a_setting(settings: dict[str, int], most: int) -> None:
    clock = FakeClock()
    web = farm_web(clock)
    crawl(web, clock, FakeNames(), *(f"http://n{i}.test/" for i in range(64)), delay="0", connections=32, **settings)
    assert overlap_max(web.log) == most


def test_private_addresses_have_no_limit_unless_set() -> None:
    hosts = [f"http://127.0.0.1:{8000 + i}" for i in range(40)]
    for settings, most in (({}, 32), ({"per_address": 4}, 4)):
        clock = FakeClock()
        web = web_of(clock, {url: page for host in hosts for url, page in star(3, host).items()})
        names = FakeNames()
        crawl(web, clock, names, *(host + "/" for host in hosts), delay="0", connections=32, **settings)
        assert overlap_max(web.log) == most
        assert names.asked == []


def test_behind_a_proxy_the_address_is_not_the_hosts() -> None:
    """All answers come from the proxy: neither does it slow them down together, nor is a public host private for it."""
    clock = FakeClock()
    web = FakeWeb(clock, site=lambda host, path, n: Answer(sites.page(["/1", "/2"]), ip="127.0.0.1"))
    names = FakeNames()
    hosts = [f"http://n{i}.test/" for i in range(20)]
    crawl(web, clock, names, *hosts, delay="auto", connections=32, proxy=["http://127.0.0.1:3128"], no_robots=True)
    assert overlap_max(web.log) == 20
    assert min(spacing(starts(web, "n0.test"))) >= 1
    assert names.asked == []


def test_idle_addresses_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "KEPT_MIN", 10)
    clock = FakeClock()
    number = itertools.count()
    known: dict[str, str] = {}
    names = FakeNames(lambda host: known.setdefault(host, f"9.9.{next(number)}.1"))
    web = FakeWeb(clock, site=lambda host, path, n: Answer(b"", ip=known[host]))
    seeds = [f"http://n{i}.test/" for i in range(100)]
    made = crawl(web, clock, names, *seeds, delay="0", no_robots=True, connections=4)
    assert len(set(known.values())) == 100
    assert len(made.scheduler._manners.addresses._clocks) <= 20


def test_slow_names_do_not_slow_a_host_whose_name_is_known() -> None:
    """A thousand names whose servers are silent; the host that is known goes on at its own pace, and nobody is lost."""
    clock = FakeClock()
    pages = {url: sites.page(links) for url, links in star(200, "http://known.test").items()}
    for url, links in star(40, "http://alive.test").items():  # as long as somebody answers, the network is there
        pages[url] = sites.late(Answer(sites.page(links)), 5.0)
    web = NamedWeb(clock, pages, latency_s=0.1)
    names = FakeNames(latency_s=lambda host: 1e6 if "slow" in host else 0.0)
    slow = [f"http://s{i}.slow{i}.test/" for i in range(1000)]
    settings: dict[str, Any] = {"delay": "0", "connections": 8, "tries": 1, "robots_tries": 1}
    began = clock.monotonic()
    made = crawl(web, clock, names, "http://known.test/", "http://alive.test/", *slow, **settings)
    assert max(a.end for a in web.log if a.host == "known.test") - began < 202 * 0.1 + 1
    assert names.most_at_once <= made.config.dns_lookups
    assert made.scheduler.outcomes["OK"] == 201 + 41
    assert sum(made.scheduler.outcomes.values()) == 1242


def test_names_that_an_outage_did_not_find_are_asked_again_after_it() -> None:
    """For a minute neither names nor hosts answer: nobody is blamed, and it is over soon after the network is back."""
    clock = FakeClock()
    began = clock.monotonic()

    def gone() -> bool:
        return 3 < clock.monotonic() - began < 63

    names = FakeNames(lambda host: "" if gone() else f"9.9.9.{host[1:-5]}", why="dns.temporary")
    hosts = [f"http://h{i}.test" for i in range(1, 7)]
    web = NamedWeb(clock, {url: sites.page(links) for at in hosts for url, links in star(20, at).items()})
    web.down("*", 3, 63, "timeout.connect")
    made = crawl(web, clock, names, *(host + "/" for host in hosts), delay="1", connections=8, offline_after_s=5.0)
    assert made.scheduler.outcomes == {"OK": 6 * 21}
    assert [name for name, _ in made.notes if name.startswith("network.")] == ["network.lost", "network.back"]
    assert clock.monotonic() - began < 63 + 5 + 22 * 1.1


@pytest.mark.parametrize("hosts_max", [2, 20])
def test_hosts_that_wait_for_their_turn_find_a_place_among_few(hosts_max: int) -> None:
    """Far more names than hosts may be awake at a time, killed in the middle."""
    clock = FakeClock()
    web = farm_web(clock)
    settings = config(*(f"http://n{i}.test/" for i in range(60)), delay="0", connections=32, hosts_max=hosts_max)
    store = MemoryStore()
    FakeCrawl(web, clock, settings, store, directory=FakeNames().directory(settings, clock)).run(after_visits(100))
    ended = FakeCrawl(web, clock, settings, store, directory=FakeNames().directory(settings, clock)).run()
    assert ended is not None
    assert ended.reason == "finished"
    assert len({access.url for access in web.log}) == 60 * 5
    assert overlap_max(web.log) == min(8, hosts_max)


@pytest.mark.long
@pytest.mark.parametrize("delay", ["0", "auto"])
def test_a_farm_of_a_thousand_names(delay: str) -> None:
    clock = FakeClock()
    web = farm_web(clock)
    crawl(web, clock, FakeNames(), *(f"http://n{i}.farm.test/" for i in range(1000)), delay=delay, connections=256)
    assert overlap_max(web.log) <= 8
    assert len(web.log) == 5000
