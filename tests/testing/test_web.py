"""The made-up web: the same for everyone, as wide and as broken as asked for, and known to the last URL without a crawl."""

from __future__ import annotations

import statistics
from collections import Counter
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
import xxhash

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb
from nephila.testing.crawls import FakeCrawl
from nephila.testing.web import MadeUpWeb, Spec

SMALL = Spec(seed=5, hosts=12, pages=15, pages_sigma=0.8, legacy=0.5, traps=0.3, names="h{}.example")
"""Every kind of page is in it."""


@pytest.fixture(scope="module")
def web() -> MadeUpWeb:
    return MadeUpWeb(SMALL)


def html(web: MadeUpWeb) -> list[str]:
    """Every page of the small web that is not empty."""
    return [
        url for url, status in web.everything() if status == 200 and web.page(url).media_type.startswith("text/html")
    ]


def test_all_can_be_listed_without_walking(web: MadeUpWeb) -> None:
    listed = list(web.everything())
    assert len(dict(listed)) == len(listed)
    assert web.reachable(web.seeds[:1]) == dict(listed)
    assert set(web.counts()) == {200, 301, 302, 404, 0}


@pytest.mark.parametrize(
    "spec",
    [
        Spec(hosts=1, pages=1),
        Spec(hosts=1, pages=40, depth=1),
        Spec(hosts=1, pages=40, depth=30),
        Spec(hosts=30, pages=1, null=1, images=0),
        Spec(hosts=5, pages=9, moved=1, twins=1, dead=1, variants=1, private=1, null=0, robots=1),
    ],
)
def test_the_list_is_right_at_the_edges(spec: Spec) -> None:
    web = MadeUpWeb(spec)
    assert web.reachable(web.seeds[:1]) == dict(web.everything())


def test_hosts_without_seed_can_be_left_out(web: MadeUpWeb) -> None:
    mine = {url: status for url, status in web.everything() if urlsplit(url).netloc == "h3.example"}
    assert web.reachable([web.seeds[3]], external=False) == mine


def test_a_crawl_finds_what_is_there(web: MadeUpWeb) -> None:
    """Links are read out of the bytes here, charsets and all, by code that knows nothing of the model."""
    clock = FakeClock()
    fake = FakeWeb(clock, site=web)
    config = Config(seeds=web.seeds[:1], scope="any", workers=0, delay="0", exclude=["/calendar/"])
    FakeCrawl(fake, clock, config, MemoryStore(config.order, config.max_depth)).run()
    found = Counter((access.url, access.status) for access in fake.log if not access.url.endswith("/robots.txt"))
    assert found == Counter((url, status) for url, status in web.everything() if status)


def test_the_trap_has_no_end(web: MadeUpWeb) -> None:
    trapped = next(url for url in web.seeds if f"{url}calendar/1970/1/" in web.links(url))
    assert f"{trapped}calendar/2024/1/" in web.links(f"{trapped}calendar/2023/12/")
    assert web.page(f"{trapped}calendar/2023/13/").status == 404


def test_twins_have_one_body(web: MadeUpWeb) -> None:
    twins = [url for url in html(web) if "/print/" in url]
    parents = {link: url for url in html(web) for link in web.links(url) if link in twins and url != link}
    assert len(parents) == len(twins) > 0
    assert all(web.page(twin).body == web.page(page).body for twin, page in parents.items())


def test_no_other_bodies_are_alike(web: MadeUpWeb) -> None:
    bodies = Counter(web.page(url).body for url in html(web) if "/print/" not in url)
    assert {body for body, count in bodies.items() if count > 1} <= {b""}


def test_pages_read_in_the_charset_they_declare(web: MadeUpWeb) -> None:
    charsets = set()
    for url in html(web):
        host = web.host(urlsplit(url).netloc)
        assert host is not None
        charset, answer = host.language.charset, web.page(url)
        answer.body.decode(charset)
        if answer.body:
            assert f"charset={charset}" in answer.media_type or f'<meta charset="{charset}">'.encode() in answer.body
        charsets.add(charset)
    assert len(charsets) > 2


def test_the_query_of_a_version_is_in_the_charset_of_its_host(web: MadeUpWeb) -> None:
    for url in (url for url in html(web) if "?" in url):
        host = web.host(urlsplit(url).netloc)
        assert host is not None
        word = unquote_to_bytes(urlsplit(url).query).removeprefix(b"q=").removesuffix(b"&page=2")
        assert word.decode(host.language.charset) in web.page(url.partition("?")[0]).body.decode(host.language.charset)


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/moved/0.html",
        "/print/999.html",
        "/private/x.html",
        "/img/9.png",
        "/?q=1",
        "//",
        "/-1/",
        "/a-00001.html",
    ],
)
def test_what_nobody_links_to_is_not_there(web: MadeUpWeb, path: str) -> None:
    assert web.page(f"http://h0.example{path}").status == 404


@pytest.mark.parametrize(
    "host", ["h12.example", "h01.example", "h-1.example", "h.example", "other.example", "127.0.0.1", ""]
)
def test_other_hosts_are_not_there(web: MadeUpWeb, host: str) -> None:
    assert web.host(host) is None


def test_sizes_and_degrees_are_those_of_pages() -> None:
    web = MadeUpWeb(Spec(hosts=12, pages=100, legacy=0, null=0))
    pages = [
        url for url in html(web) if urlsplit(url).path not in ("", "/") and "/print/" not in url and "?" not in url
    ][:1000]
    sizes = [len(web.page(url).body) for url in pages]
    degrees = [web.page(url).body.count(b"<a ") for url in pages]
    assert statistics.median(sizes) == pytest.approx(14_000, rel=0.1)
    assert statistics.quantiles(sizes, n=100)[98] > 4 * statistics.median(sizes)
    assert statistics.median(degrees) == pytest.approx(50, rel=0.15)
    links = [link for url in pages for link in web.links(url)]
    assert 0.05 < sum(urlsplit(a).netloc != urlsplit(b).netloc for b in pages for a in web.links(b)) / len(links) < 0.15


def test_shares_are_met() -> None:
    web = MadeUpWeb(Spec(hosts=400, pages=20, slow=0.25, gzip=0.5, robots=0.75))
    hosts = [web.graph.host(number) for number in range(400)]
    assert sum(host.delay_s > 0 for host in hosts) == pytest.approx(100, abs=25)
    assert sum(host.gzip for host in hosts) == pytest.approx(200, abs=30)
    assert sum(host.robots for host in hosts) == pytest.approx(300, abs=25)
    counts = web.counts()
    assert counts[404] == pytest.approx(0.05 * 8000, rel=0.2)
    assert counts[301] + counts[302] == pytest.approx(0.03 * 7600, rel=0.25)


def test_pages_per_host_differ_around_their_mean() -> None:
    web = MadeUpWeb(Spec(hosts=1000, pages=50, pages_sigma=1.0))
    pages = [web.graph.host(number).pages for number in range(1000)]
    assert statistics.mean(pages) == pytest.approx(50, rel=0.1)
    assert statistics.median(pages) < 35


def test_loopback_addresses_are_hosts() -> None:
    spec = Spec(hosts=200_000, port=8080)
    assert [spec.name(k) for k in (0, 253, 254, 65_024, 199_999)] == [
        "127.0.0.1",
        "127.0.0.254",
        "127.0.1.1",
        "127.1.0.1",
        "127.3.19.102",
    ]
    assert all(spec.number(spec.name(number)) == number for number in range(0, 200_000, 997))
    assert [spec.number(name) for name in ("127.0.0.0", "127.0.0.255", "128.0.0.1", "127.255.255.254")] == [-1] * 4
    assert spec.origin(1) == "http://127.0.0.2:8080"


def test_the_same_web_for_everyone() -> None:
    """Figures of benchmarks speak of these bytes: a change of them is a change of the benchmark."""
    one, other = MadeUpWeb(Spec()), MadeUpWeb(Spec(seed=2))
    page = "http://127.0.0.7" + one.graph.path(one.graph.host(6), 20)
    assert xxhash.xxh3_64_hexdigest(one.page(page).body) == "c11bfc2200f63ea2"
    assert other.page(page).body != one.page(page).body


def test_port_and_names_change_nothing_but_urls() -> None:
    here, there = MadeUpWeb(Spec(names="a{}.test")), MadeUpWeb(Spec(names="b{}.test", port=81))
    for one, other in zip(here.everything(), there.everything(), strict=True):
        assert (one[0].replace("http://a", "http://b").replace(".test", ".test:81"), one[1]) == other
