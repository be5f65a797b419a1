"""Budgets of sites: never exceeded, nothing lost, and they grow with who links to a site."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from xxhash import xxh3_64_hexdigest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.checks import check  # noqa: E402
from nephila.errors import ConfigError  # noqa: E402
from nephila.frontier.batch import Store  # noqa: E402
from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.frontier.scheduler import Ended  # noqa: E402
from nephila.frontier.sqlite import SqliteStore  # noqa: E402
from nephila.testing import sites  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.contract.bench import after_visits, config, star, web_of  # noqa: E402
from nephila.testing.crawls import FakeCrawl  # noqa: E402
from nephila.testing.fakeweb import FakeWeb  # noqa: E402
from nephila.testing.sites import Answer  # noqa: E402
from nephila.types import Kind  # noqa: E402
from nephila.url.site import registrable  # noqa: E402


def crawl(
    web: FakeWeb, clock: FakeClock, store: Store, *seeds: str, kill_at: int = 0, **settings: Any
) -> tuple[FakeCrawl, Ended | None]:
    made = FakeCrawl(web, clock, config(*seeds, **{"connections": 16, "scope": "any"} | settings), store)
    return made, made.run(after_visits(kill_at) if kill_at else None)


def kept(web: FakeWeb) -> Counter[str]:
    """Site → pages that were answered with 200."""
    return Counter(registrable(a.host) for a in web.log if a.status == 200 and a.kind != Kind.ROBOTS)


def hosts_of(site: str, count: int, pages: int) -> dict[str, Any]:
    """A site of several hosts, each a star of `pages` pages."""
    found: dict[str, Any] = {}
    for i in range(count):
        found |= star(pages - 1, f"http://h{i}.{site}")
    return found


@pytest.mark.parametrize("per_host", [1, 16])
@pytest.mark.parametrize("delay", ["0", "1"])
def test_a_budget_is_never_exceeded_and_what_waits_is_said(delay: str, per_host: int) -> None:
    clock = FakeClock()
    pages = hosts_of("big.com", 5, 30) | star(9, "http://small.org")
    for n, url in enumerate(url for url in list(pages) if url[-1].isdigit()):
        if "big.com" in url and n % 3 == 0:
            pages[url] = Answer(status=404)  # what brings no page costs no budget
    web = web_of(clock, pages)
    seeds = [*(f"http://h{i}.big.com/" for i in range(5)), "http://small.org/"]
    made, ended = crawl(web, clock, MemoryStore(), *seeds, delay=delay, per_host=per_host, site_pages=40)
    assert kept(web) == {"big.com": 40, "small.org": 10}
    assert ended is not None
    assert ended.reason == "limit"
    left = made.scheduler.status()["queued"]
    assert left == 160 - len({a.url for a in web.log if a.kind != Kind.ROBOTS})
    assert ended.text == (
        f"site_pages: {left} URLs of 1 sites wait: big.com (40 pages kept, {left} URLs wait); a higher limit goes on"
    )
    assert ("site.full", {"site": "big.com", "pages": 40, "budget": 40}) in made.notes
    assert [name for name, _ in made.notes].count("site.full") == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_higher_limit_goes_on_and_the_same_one_sends_nothing(kind: str, tmp_path: Path) -> None:
    def store() -> Store:
        return memory if kind == "memory" else SqliteStore(tmp_path / "crawl.db")

    clock, memory = FakeClock(), MemoryStore()
    web = web_of(clock, hosts_of("big.com", 2, 20) | star(4, "http://small.org"))
    seeds = ("http://h0.big.com/", "http://h1.big.com/", "http://small.org/")
    assert crawl(web, clock, store(), *seeds, site_pages=10, kill_at=8)[1] is None
    assert crawl(web, clock, store(), *seeds, site_pages=10)[1].reason == "limit"  # type: ignore[union-attr]
    assert kept(web)["big.com"] <= 10 + 8  # those of the visits that the kill took back
    sent = len(web.log)
    made, ended = crawl(web, clock, store(), *seeds, site_pages=10)
    assert (len(web.log), ended and ended.reason) == (sent, "limit")
    assert made.scheduler.outcomes == {"OK": 15}
    made, ended = crawl(web, clock, store(), *seeds, site_pages=25)
    assert (ended and ended.reason, made.scheduler.outcomes) == ("limit", {"OK": 30})
    made, ended = crawl(web, clock, store(), *seeds, site_pages=0)
    assert (ended and ended.reason, made.scheduler.outcomes) == ("finished", {"OK": 45})


def linking_web(clock: FakeClock, linkers: int) -> FakeWeb:
    """`linkers` sites, each with two hosts whose pages link to the good site; the bad one links to itself under other names,
    and once from a page that says nofollow."""
    pages = star(99, "http://good.org") | hosts_of("bad.com", 30, 4)
    for i in range(linkers):
        for host in (f"http://s{i}.com", f"http://www.s{i}.com"):
            pages[f"{host}/"] = [f"http://www.s{i}.com/", "http://good.org/", "http://good.org/7"]
    for i in range(30):
        pages[f"http://h{i}.bad.com/"] = [f"http://h{j}.bad.com/{n}" for j in range(30) for n in range(1, 4)]
    return web_of(clock, pages)


@pytest.mark.parametrize(("linkers", "most", "good"), [(0, 50, 5), (3, 50, 20), (20, 50, 50), (20, 0, 5)])
def test_a_budget_grows_with_the_sites_that_link_to_it(linkers: int, most: int, good: int) -> None:
    """5 × (1 + linkers), at most `most`; hosts of one site count once, and a site's own links not at all."""
    clock = FakeClock()
    web = linking_web(clock, linkers)
    seeds = [
        "http://good.org/",
        *(f"http://h{i}.bad.com/" for i in range(30)),
        *(f"http://s{i}.com/" for i in range(linkers)),
    ]
    _, ended = crawl(web, clock, MemoryStore(), *seeds, site_pages=5, site_pages_max=most, delay="1")
    assert kept(web)["good.org"] == good
    assert kept(web)["bad.com"] == 5
    assert ended is not None
    assert ended.reason == "limit"


def test_who_links_to_a_site_is_remembered(tmp_path: Path) -> None:
    """The sites that link are done when the crawl is killed: nobody tells of them again."""
    clock = FakeClock()
    web = linking_web(clock, 6)
    seeds = [*(f"http://s{i}.com/" for i in range(6)), "http://good.org/"]
    settings: dict[str, Any] = {"site_pages": 5, "site_pages_max": 50, "no_robots": True, "per_host": 1, "delay": "2"}
    crawl(web, clock, SqliteStore(path := tmp_path / "crawl.db"), *seeds, kill_at=16, **settings)
    before = kept(web)["good.org"]
    assert before < 35
    made, _ = crawl(web, clock, SqliteStore(path), *seeds, **settings)
    assert len([a for a in web.log if a.status == 200 and a.host == "good.org"]) >= 35
    assert made.scheduler.outcomes["OK"] == 35 + 12


def test_a_full_site_says_why() -> None:
    clock = FakeClock()
    web = linking_web(clock, 2)
    seeds = ["http://good.org/", "http://s0.com/", "http://s1.com/"]
    made, _ = crawl(web, clock, MemoryStore(), *seeds, site_pages=5, site_pages_max=50)
    host = made.scheduler._books.hosts["http://good.org"]
    assert made.scheduler._manners.budgets.why(host) == (
        "over budget: 15 pages of good.org are kept, 15 may be"
        " (site_pages = 5 × (1 + 2 other sites that link to it), at most 50)"
    )
    assert made.scheduler._manners.budgets.why(made.scheduler._books.hosts["http://s0.com"]) == ""


def test_the_robots_of_a_full_site_are_still_fetched_for_others() -> None:
    """b.org sends us to the robots.txt of a site that has no room left: it is not the one that is limited."""
    clock = FakeClock()
    pages = star(9, "http://a.com") | star(3, "http://b.org")
    pages["http://b.org/robots.txt"] = Answer(status=301, headers=(("Location", "http://x.a.com/robots.txt"),))
    web = web_of(clock, pages)
    _, ended = crawl(web, clock, MemoryStore(), "http://a.com/", "http://b.org/", site_pages=5, delay="3")
    assert kept(web) == {"a.com": 5, "b.org": 4}
    assert ended is not None
    assert ended.reason == "limit"


@pytest.mark.parametrize("site_pages", [0, 11])
def test_a_growth_that_cannot_be_is_refused(site_pages: int) -> None:
    with pytest.raises(ConfigError, match="site_pages_max = 10: site_pages must be given"):
        check(config(site_pages=site_pages, site_pages_max=10))


def farm(host: str, path: str, n: int) -> Answer:
    """Every name of farm.com is a host with a page, and links to 20 more names; small.org is somebody else."""
    if path != "/" or not host.endswith("farm.com"):
        return Answer(status=404)
    names = [f"http://{xxh3_64_hexdigest(f'{host} {i}'.encode())}.farm.com/" for i in range(20)]
    return Answer(sites.page([*names, "http://small.org/"]))


def test_a_domain_with_a_name_for_everything_is_asked_under_so_many_of_them() -> None:
    clock, store = FakeClock(), MemoryStore()
    web = FakeWeb(clock, {"http://small.org/": ""}, site=farm)
    made, ended = crawl(web, clock, store, "http://farm.com/", site_hosts=30)
    hosts = {a.host for a in web.log}
    assert len(hosts) == 31
    assert "small.org" in hosts
    assert ended is not None
    assert ended.reason == "limit"
    assert ended.text.startswith("site_hosts: of some sites 30 hosts were asked: farm.com (5")
    ((_, said),) = [note for note in made.notes if note[0] == "site.hosts"]
    assert (said["site"], said["hosts"]) == ("farm.com", 30)
    _, again = crawl(web, clock, store, "http://farm.com/", site_hosts=30)
    assert {a.host for a in web.log} == hosts, "the limit holds after a restart"
    _, more = crawl(web, clock, store, "http://farm.com/", site_hosts=40)
    assert len({a.host for a in web.log}) == 41
    assert [one.reason for one in (again, more) if one] == ["limit", "limit"]


def test_sites_below_a_common_suffix_are_no_farm() -> None:
    clock = FakeClock()
    pages = {f"http://h{i}.github.io/": [""] for i in range(60)} | {
        "http://start.org/": [f"http://h{i}.github.io/" for i in range(60)]
    }
    web = web_of(clock, pages)
    _, ended = crawl(web, clock, MemoryStore(), "http://start.org/", site_hosts=20)
    assert ended is not None
    assert ended.reason == "finished"
    assert kept(web).total() == 61


def test_hosts_of_few_names_never_load_the_list_of_suffixes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephila.frontier.farms.registrable", None)
    clock = FakeClock()
    web = web_of(clock, hosts_of("a.com", 5, 3))
    _, ended = crawl(web, clock, MemoryStore(), *(f"http://h{i}.a.com/" for i in range(5)))
    assert ended is not None
    assert ended.reason == "finished"
