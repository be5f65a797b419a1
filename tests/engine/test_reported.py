"""Whole crawls of what users of other crawlers reported (docs/cases.md), in memory and in fake time."""

from __future__ import annotations

from typing import NamedTuple

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.testing.crawls import FakeCrawl
from nephila.testing.sites import Answer, Site

A = "http://a.test"


class Done(NamedTuple):
    """How a crawl ended, in how many seconds; what was asked for; URL → (outcome, reason) of every page."""

    reason: str
    seconds: float
    asked: set[str]
    ends: dict[str, tuple[str, str]]


def crawl(site: Site | dict[str, Answer | bytes], **more: object) -> Done:
    clock = FakeClock()
    web = FakeWeb(clock, site=sites.table(site) if isinstance(site, dict) else site)
    config = Config(**{"seeds": [f"{A}/"], "workers": 0, "delay": "0"} | more)  # type: ignore[arg-type]
    store, begun = MemoryStore(config.order, config.max_depth), clock.monotonic()
    ended = FakeCrawl(web, clock, config, store).run()
    rows = {visit[1]: (visit[4], visit[5]) for visit in store.visits}
    pages = [row for row in store.urls.values() if row["kind"] != "robots" and row["id"] in rows]
    reason = ended.reason if ended else ""
    return Done(reason, clock.monotonic() - begun, set(web.urls()), {row["url"]: rows[row["id"]] for row in pages})


def test_what_is_fetched_is_the_address_and_never_its_key() -> None:
    paths = [
        "/x?/a/",
        "/x?q=%25",
        "/x?q=%23y",
        "/a+b?c+d",
        "/x?b=2&a=1&utm_source=n",
        "/%7euser/%2f",
        "/X/?PHPSESSID=1",
    ]
    assert crawl({"/": sites.page(paths)}).asked == {f"{A}/robots.txt", f"{A}/", *(A + path for path in paths)}


def test_links_resolve_against_the_address_that_a_redirect_led_to() -> None:
    moved = {"/old": sites.redirect("/new/place/"), "/new/place/": sites.page(["x", "../y"])}
    asked = crawl({"/": sites.page(["/old"]), **moved}).asked
    assert asked >= {f"{A}/new/place/x", f"{A}/new/y"}
    assert f"{A}/x" not in asked


def test_an_impossible_host_costs_one_url() -> None:
    odd = ["http://a..b/", "http://.a.test/", f"http://{'x' * 64}.test/", "http://a_b.test/", "http://xn--/"]
    done = crawl({"/": sites.page([*odd, "/good"]), "/good": b"x"}, scope="any")
    assert done.reason == "finished"
    assert done.asked >= {f"{A}/good", "http://a_b.test/"}
    assert done.ends[f"{A}/good"][0] == "OK"


def test_each_port_has_its_own_robots() -> None:
    def site(host: str, path: str, n: int) -> Answer:
        if path == "/robots.txt":
            return Answer(b"User-agent: *\nDisallow: /\n" if host.endswith(":8001") else b"", media_type="text/plain")
        return Answer(sites.page(["http://a.test:8001/x", "http://a.test:8002/x"]))

    asked = crawl(site, scope="any").asked
    assert asked >= {"http://a.test:8001/robots.txt", "http://a.test:8002/robots.txt", "http://a.test:8002/x"}
    assert "http://a.test:8001/x" not in asked


def test_a_limit_is_kept_beside_a_page_that_is_slow() -> None:
    pages: dict[str, Answer | bytes] = {"/": sites.page(["/slow", *(f"/{i}" for i in range(9))])}
    pages |= {f"/{i}": b"x" for i in range(9)} | {"/slow": Answer(b"x", delay_s=25.0)}
    done = crawl(pages, max_pages=5, per_host=4)
    assert done.reason == "limit"
    assert [outcome for outcome, _ in done.ends.values()].count("OK") == 5
    assert done.seconds < 60


def test_too_many_requests_is_no_broken_link() -> None:
    assert crawl({"/": Answer(b"", 429)}, tries=2).ends == {f"{A}/": ("REFUSED", "status.429")}
