"""Which proxy a host goes through, and what becomes of everybody when proxies fail; whole crawls in fake time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.testing import sites  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.contract.bench import config, once, overlap_max  # noqa: E402
from nephila.testing.crawls import FakeCrawl  # noqa: E402
from nephila.testing.fakeweb import FakeWeb  # noqa: E402
from nephila.testing.names import FakeNames  # noqa: E402
from nephila.testing.sites import Answer  # noqa: E402
from nephila.types import Failure, Kind, Lease, Outcome, Response  # noqa: E402

PROXIES = ["http://p0:1", "http://p1:1", "http://p2:1"]
HOSTS = [f"http://h{i}.test" for i in range(8)]

Trouble = Callable[[int, str, float], str]
"""(proxy, host, seconds since the start) → reason of its failure, or ""."""


class ProxiedWeb(FakeWeb):
    """A web behind proxies: `trouble` says which of them fails how. `ways`: (seconds, host, proxy, reason) of every request."""

    def __init__(self, clock: FakeClock, trouble: Trouble = lambda way, host, at: "", links: int = 20) -> None:
        body = sites.page([f"/{i}" for i in range(1, links + 1)])
        super().__init__(clock, site=lambda host, path, n: Answer(body) if path != "/robots.txt" else sites.NOT_FOUND)
        self.trouble = trouble
        self.ways: list[tuple[float, str, int, str]] = []

    async def __call__(self, lease: Lease) -> Response | Failure:
        host = lease.origin.partition("//")[2]
        at = self._clock.monotonic() - self._born
        reason = self.trouble(lease.proxy, host, at)
        self.ways.append((at, host, lease.proxy, reason))
        if reason:
            await self._wait(Answer())
            return Failure(Outcome.UNREACHABLE, reason, "as told", self._clock.wall())
        return await super().__call__(lease)

    def used(self, host: str, since: float = 0.0) -> Counter[int]:
        return Counter(way for at, h, way, _ in self.ways if h == host and at >= since)


def crawl(web: FakeWeb, clock: FakeClock, *seeds: str, until: Any = None, **settings: Any) -> tuple[FakeCrawl, str]:
    settings = {"delay": "1", "proxy": PROXIES, "connections": 32, "no_robots": True} | settings
    made = FakeCrawl(web, clock, config(*(seeds or [host + "/" for host in HOSTS]), **settings), MemoryStore())
    ended = made.run(until)
    return made, ended.reason if ended else ""


def said(made: FakeCrawl, event: str) -> list[dict[str, Any]]:
    return [fields for name, fields in made.notes if name == event]


def attempts(made: FakeCrawl) -> Counter[str]:
    return Counter(row[5] for row in made.store.attempts)  # type: ignore[attr-defined]


# --- the choice -----------------------------------------------------------------------------------------------------


def test_a_host_keeps_its_proxy_and_all_are_used() -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, links=3)
    seeds = [f"http://h{i}.test/" for i in range(60)]
    made, reason = crawl(web, clock, *seeds, no_robots=False)
    assert (reason, made.scheduler.outcomes) == ("finished", {"OK": 240})
    ways = {host: set(web.used(host)) for _, host, _, _ in web.ways}
    assert all(len(way) == 1 for way in ways.values())
    assert min(Counter(way.pop() for way in ways.values()).values()) >= 10


def test_the_choice_outlives_a_restart_and_a_longer_list_moves_few() -> None:
    chosen = []
    for proxies in (PROXIES, PROXIES, [*PROXIES, "http://p3:1"]):
        clock = FakeClock()
        web = ProxiedWeb(clock, links=0)
        crawl(web, clock, *(f"http://h{i}.test/" for i in range(80)), proxy=proxies)
        chosen.append({host: way for _, host, way, _ in web.ways})
    assert chosen[0] == chosen[1]
    moved = {host for host in chosen[0] if chosen[0][host] != chosen[2][host]}
    assert 8 <= len(moved) <= 35
    assert {chosen[2][host] for host in moved} == {3}


def test_both_schemes_of_a_name_share_a_proxy() -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, links=0)
    crawl(web, clock, *(f"{scheme}://h{i}.test/" for i in range(20) for scheme in ("http", "https")))
    assert all(len(web.used(f"h{i}.test")) == 1 for i in range(20))


def test_rules_per_site() -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, links=2)
    rules = ["http://p0:1", "h1.test=http://p1:1", "http://h2.test=direct", "*.sub.test=http://p2:1"]
    crawl(web, clock, *(h + "/" for h in HOSTS[:3]), "https://h2.test/", "http://a.sub.test/", proxy=rules)
    used = {origin: set(web.used(origin)) for _, origin, _, _ in web.ways}
    assert used == {"h0.test": {0}, "h1.test": {1}, "h2.test": {-1, 0}, "a.sub.test": {2}}


def test_a_host_that_a_proxy_resolves_is_not_looked_up_and_one_that_goes_direct_is() -> None:
    """The second clock counts those whose address we know: the direct ones, and those behind SOCKS 5."""
    clock, names = FakeClock(), FakeNames()
    web = FakeWeb(clock, site=lambda host, path, n: Answer(sites.page(["/1"])), latency_s=0.5)
    rules = ["http://p0:1", "*.free.test=direct", "*.socks.test=socks5://p1:1"]
    seeds = [f"http://{i}.{kind}.test/" for kind in ("far", "free", "socks") for i in range(30)]
    c = config(*seeds, proxy=rules, connections=90, delay="0")
    made = FakeCrawl(web, clock, c, MemoryStore(), directory=names.directory(c, clock))
    made.run()
    assert {name.split(".")[1] for name in names.asked} == {"free", "socks"}
    assert overlap_max([access for access in web.log if ".far." in access.host]) == 30
    assert overlap_max([access for access in web.log if ".far." not in access.host]) == 8


# --- faults that are the proxy's for certain --------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["proxy_unreachable", "proxy_tls", "proxy_auth"])
def test_a_proxy_that_fails_is_rested_and_nobody_is_blamed(reason: str) -> None:
    """Its hosts go on through the others at once; it is tried again, less and less often."""
    clock = FakeClock()
    hosts = [host.replace("http:", "https:") + "/" for host in HOSTS]
    web = ProxiedWeb(clock, lambda way, host, at: reason if way == 1 else "", links=100)
    made, ended = crawl(web, clock, *hosts)
    assert (ended, made.scheduler.outcomes) == ("finished", {"OK": 808})
    assert attempts(made) == {}
    assert all(host.failures == 0 and host.penalty == 1.0 for host in made.scheduler._books.hosts.values())
    failed = [at for at, _, way, _ in web.ways if way == 1]
    assert 3 <= len(failed) <= 12
    assert [event["proxy"] for event in said(made, "proxy.lost")] == ["http://p1:1"]
    assert said(made, "proxy.none") == []
    assert web.ways[-1][0] < 115


def test_a_proxy_that_is_back_is_used_again_by_those_that_come_new() -> None:
    """Who moved away meanwhile stays where it is, but for the host that tried it."""
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: "proxy_unreachable" if way == 1 and 10 < at < 40 else "", links=100)
    hosts = [f"http://h{i}.test/" for i in range(14)]
    made, ended = crawl(web, clock, *hosts)
    assert (ended, made.scheduler.outcomes) == ("finished", {"OK": 14 * 101})
    (back,) = said(made, "proxy.back")
    assert 30 <= back["seconds"] <= 60
    before = {host for at, host, way, _ in web.ways if way == 1 and at < 10}
    after = {host for at, host, way, _ in web.ways if way == 1 and at > 80}
    assert len(before) >= 3
    assert after < before
    assert len(after) == 1
    for host in before - after:
        assert len(set(web.used(host, since=45))) == 1


@pytest.mark.parametrize("proxies", [PROXIES, PROXIES[:1]])
def test_all_down_is_like_offline(proxies: list[str]) -> None:
    """Nothing is counted, nothing goes direct, limits in time stand still, and it ends by itself."""
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: "proxy_unreachable" if 10 < at < 610 else "", links=60)
    seen: list[Any] = []

    def look(scheduler: Any) -> bool:
        seen.append(scheduler.status())
        return False

    made, ended = crawl(web, clock, proxy=proxies, max_time=100.0, until=look)
    assert (ended, made.scheduler.outcomes) == ("finished", {"OK": 8 * 61})
    assert attempts(made) == {}
    assert {way for _, _, way, _ in web.ways} == set(range(len(proxies)))
    down = [at for at, *_ in web.ways if 20 < at < 600]
    assert 4 <= len(down) <= 200
    (none,) = said(made, "proxy.none")
    assert none["reason"] == "proxy_unreachable"
    assert len(said(made, "proxy.lost")) == len(proxies)
    resting = [status["proxies"] for status in seen if all(p["resting_since"] for p in status["proxies"])]
    assert resting
    assert {"proxy": proxies[web.ways[-1][2]], "resting_since": None, "reason": ""} in seen[-1]["proxies"]
    assert 660 < web.ways[-1][0] < 1000


def test_robots_are_asked_for_again_after_an_outage_of_the_proxy() -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: "proxy_unreachable" if at < 18 and way >= 0 else "", links=2)
    rules = ["http://p:1", "free.test=direct"]
    made, ended = crawl(web, clock, "http://free.test/", "http://a.test/", proxy=rules, no_robots=False)
    assert ended == "finished"
    assert made.scheduler.outcomes == {"OK": 6}
    assert {way for _, host, way, _ in web.ways if host == "a.test"} == {0}


@pytest.mark.parametrize(("worked", "patience_s"), [(True, 3600), (False, 20)])
def test_no_proxy_for_too_long_gives_up(worked: bool, patience_s: float) -> None:
    """Sooner when none ever worked: then it may be a slip of the user. Everything stays queued."""
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: "proxy_auth" if at > 5 or not worked else "")
    made, ended = crawl(web, clock, *(host.replace("http:", "https:") + "/" for host in HOSTS))
    assert ended == "offline"
    assert made.scheduler.ended is not None
    assert "no proxy works: http://p0:1 proxy_auth" in made.scheduler.ended.text
    assert patience_s <= clock.monotonic() - web._born <= patience_s + 310
    assert set(made.scheduler.outcomes) <= {"OK"}
    assert made.scheduler.status()["queued"] >= 8
    assert {way for _, _, way, _ in web.ways} == {0, 1, 2}


def test_a_dead_pool_of_one_site_parks_it_and_the_rest_is_finished() -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: "proxy_unreachable" if way == 0 else "")
    made, ended = crawl(web, clock, "http://a.test/", "http://b.test/", proxy=["a.test=http://p:1", "http://q:1"])
    assert (ended, made.scheduler.outcomes) == ("parked", {"OK": 21})
    assert [fields["origin"] for fields in said(made, "host.parked")] == ["http://a.test"]
    assert {way for _, host, way, _ in web.ways if host == "a.test"} == {0}


# --- faults of which nobody knows whose they are ------------------------------------------------------------------------

UNSURE = ["proxy_refused", "proxy_timeout", "proxy_closed"]


@pytest.mark.parametrize("reason", UNSURE)
def test_a_target_that_one_proxy_refuses_goes_through_another(reason: str) -> None:
    """At once, and stays there; the proxy is not rested."""
    clock = FakeClock()
    seen = defaultdict[str, set[int]](set)

    def trouble(way: int, host: str, at: float) -> str:
        seen[host].add(way)
        return reason if host == "h3.test" and len(seen[host]) < 3 else ""

    web = ProxiedWeb(clock, trouble)
    made, ended = crawl(web, clock)
    assert (ended, made.scheduler.outcomes) == ("finished", {"OK": 168})
    assert attempts(made) == {reason: 2}
    assert said(made, "proxy.lost") == []
    assert len({way for _, host, way, why in web.ways if host == "h3.test" and not why}) == 1
    third = [at for at, host, _, _ in web.ways if host == "h3.test"][2]
    assert third < 5


@pytest.mark.parametrize("reason", UNSURE)
def test_a_dead_target_ends_with_the_name_of_the_proxy(reason: str) -> None:
    """One probe at a time, not one per URL; the others go on, and no proxy is rested for it."""
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: reason if host == "h3.test" and at > 5 else "", links=100)
    made, ended = crawl(web, clock)
    assert ended == "finished"
    counted = Counter(row[5] for row in made.store.visits)  # type: ignore[attr-defined]
    assert set(counted) == {"", reason}
    assert counted[""] >= 7 * 101
    assert sum(1 for _, host, _, why in web.ways if why) <= 20
    assert said(made, "proxy.lost") == []


@pytest.mark.parametrize("reason", UNSURE)
def test_the_first_target_that_is_dead_proves_nothing_about_the_proxy(reason: str) -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: reason)
    made, ended = crawl(web, clock, "http://a.test/", no_robots=False)
    assert ended == "finished"
    assert [tuple(row[4:6]) for row in made.store.visits if row[2]] == [("UNREACHABLE", reason)]  # type: ignore[attr-defined]
    assert len(web.ways) == 4
    assert said(made, "proxy.none") == []


@pytest.mark.parametrize("reason", UNSURE)
def test_a_proxy_that_answers_nobody_any_more_is_rested_after_a_while(reason: str) -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: reason if 10 < at < 310 else "", links=60)
    made, ended = crawl(web, clock, proxy=PROXIES[:1])
    assert (ended, made.scheduler.outcomes) == ("finished", {"OK": 8 * 61})
    assert len(said(made, "proxy.none")) == 1
    assert sum(attempts(made).values()) <= 40
    assert not any(host.verdict for host in made.scheduler._books.hosts.values())


def test_a_407_over_plain_http_may_be_the_sites_and_rests_no_proxy() -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: "proxy_auth" if host == "evil.test" else "")
    made, ended = crawl(web, clock, "http://evil.test/", *(host + "/" for host in HOSTS))
    assert ended == "finished"
    assert said(made, "proxy.lost") == []
    assert made.scheduler.outcomes == {"OK": 168, "UNREACHABLE": 1}


def test_silence_in_a_tunnel_of_a_proxy_that_went_is_not_counted() -> None:
    """Requests under way when the proxy goes end in silence; they are asked again."""
    clock = FakeClock()

    def trouble(way: int, host: str, at: float) -> str:
        if not 10 < at < 60:
            return ""
        return "proxy_unreachable" if at > 12 else "timeout.body"

    web = ProxiedWeb(clock, trouble, links=60)
    made, ended = crawl(web, clock)
    assert (ended, made.scheduler.outcomes) == ("finished", {"OK": 8 * 61})


def test_an_answer_of_a_proxy_does_not_end_the_outage_of_another() -> None:
    clock = FakeClock()
    web = ProxiedWeb(clock, lambda way, host, at: "proxy_tls" if way == 2 and at > 3 else "")
    made, _ = crawl(web, clock, until=once(150, lambda s: None))
    resting = [p["proxy"] for p in made.scheduler.status()["proxies"] if p["resting_since"]]
    assert resting == ["http://p2:1"]


def test_kinds_of_requests_all_take_the_proxy() -> None:
    """robots.txt and sitemaps, too."""
    clock = FakeClock()
    web = ProxiedWeb(clock, links=1)
    crawl(web, clock, "http://a.test/", no_robots=False, sitemaps=True)
    assert {access.kind for access in web.log} >= {Kind.ROBOTS, Kind.SITEMAP, Kind.PAGE}
    assert set(web.used("a.test")) <= {0, 1, 2}
