"""The web in memory answers like a real one and remembers who asked when."""

from __future__ import annotations

import asyncio

import pytest

from nephila.testing import Answer, FakeClock, FakeWeb, sites
from nephila.types import Failure, Lease, Outcome, Request, Response


def ask(web: FakeWeb, url: str, **more: object) -> asyncio.Future[Response | Failure]:
    return asyncio.ensure_future(web(Lease(1, Request(url, **more), 1)))  # type: ignore[arg-type]


def fetch(clock: FakeClock, web: FakeWeb, *urls: str) -> list[Response | Failure]:
    """One after the other."""

    async def main() -> list[Response | Failure]:
        return [await ask(web, url) for url in urls]

    return clock.run(main())


def test_a_page_comes_as_a_whole_response() -> None:
    clock = FakeClock()
    web = FakeWeb(clock, {"http://a.test/": "<p>hi</p>"})
    (got,) = fetch(clock, web, "http://a.test/")
    assert isinstance(got, Response)
    assert (got.status, got.body.head(99), got.header("content-type")) == (
        200,
        b"<p>hi</p>",
        "text/html; charset=utf-8",
    )
    assert got.head == b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 9\r\n\r\n"
    assert got.timings.total == pytest.approx(0.05)
    assert got.started == FakeClock().wall()


def test_unknown_urls_and_robots_are_404() -> None:
    clock = FakeClock()
    got = fetch(clock, FakeWeb(clock), "http://a.test/x", "http://a.test/robots.txt")
    assert [r.status for r in got] == [404, 404]


def test_builders() -> None:
    clock = FakeClock()
    web = FakeWeb(clock)
    web.page("http://a.test/", ["/b", "/c?x=1&y=2"], "A")
    web.redirect("http://a.test/b", "/c", 302)
    web.robots("http://a.test", "User-agent: *\nDisallow: /\n")
    page, moved, robots = fetch(clock, web, "http://a.test/", "http://a.test/b", "http://a.test/robots.txt")
    assert isinstance(page, Response)
    assert isinstance(moved, Response)
    assert isinstance(robots, Response)
    assert b'<a href="/c?x=1&amp;y=2">' in page.body.head(999)
    assert (moved.status, moved.header("location")) == (302, "/c")
    assert robots.header("content-type") == "text/plain"


def test_a_failure_that_passes() -> None:
    clock = FakeClock()
    web = FakeWeb(clock, {"http://a.test/": "at last"})
    web.fail("http://a.test/", "connect.refused", times=2)
    first, second, third = fetch(clock, web, *["http://a.test/"] * 3)
    assert isinstance(first, Failure)
    assert (first.outcome, first.reason) == (Outcome.UNREACHABLE, "connect.refused")
    assert isinstance(second, Failure)
    assert isinstance(third, Response)


def test_a_host_that_is_down_for_a_while() -> None:
    clock = FakeClock()
    web = FakeWeb(clock, {"http://a.test/": "a", "http://b.test/": "b"})
    web.down("a.test", 10, 20)

    async def main() -> list[str]:
        got = []
        for _ in range(3):
            got.append(type(await ask(web, "http://a.test/")).__name__)
            got.append(type(await ask(web, "http://b.test/")).__name__)
            await asyncio.sleep(11)
        return got

    assert clock.run(main()) == ["Response", "Response", "Failure", "Response", "Response", "Response"]


def test_a_sequence_of_answers_ends_with_its_last() -> None:
    clock = FakeClock()
    web = FakeWeb(clock, {"http://a.test/": [Answer(b"", 503), Answer(b"ok")]})
    assert [r.status for r in fetch(clock, web, *["http://a.test/"] * 3)] == [503, 200, 200]


def test_an_etag_that_still_holds_is_304() -> None:
    clock = FakeClock()
    web = FakeWeb(clock, {"http://a.test/": Answer(b"body", headers=(("ETag", '"1"'),))})

    async def main() -> list[int]:
        return [(await ask(web, "http://a.test/", validators=(etag, ""))).status for etag in ("", '"0"', '"1"')]

    assert clock.run(main()) == [200, 200, 304]


def test_the_log_knows_manners() -> None:
    clock = FakeClock()
    web = FakeWeb(clock, site=sites.tree())

    async def main() -> None:
        await asyncio.gather(*(ask(web, f"http://a.test/{name}") for name in "BCD"), ask(web, "http://b.test/B"))
        await asyncio.sleep(2)
        await ask(web, "http://a.test/B")

    clock.run(main())
    assert web.max_in_flight("a.test") == 3
    assert web.max_in_flight("b.test") == 1
    assert web.gaps("a.test") == [pytest.approx(-0.05), pytest.approx(-0.05), pytest.approx(2.0)]
    assert web.times("http://a.test/B") == 2
    assert len(web.urls("a.test")) == 4


def test_hosts_have_addresses_of_their_own() -> None:
    clock = FakeClock()
    web = FakeWeb(clock)
    a, b, again = fetch(clock, web, "http://a.test/", "http://b.test/", "http://a.test/x")
    assert a.ip == again.ip != b.ip


def test_the_graph_and_its_search_agree() -> None:
    found = sites.within(3, 30, 2, 2)
    assert found["/0"] == 0
    assert max(found.values()) == 2
    site = sites.graph(3, 30, 2)
    one = {f"/{t}" for t in sites.edges(3, 30, 2)[0]} - {"/0"}
    assert {path for path, depth in found.items() if depth == 1} == one
    assert all(f'href="{path}"'.encode() in site("h", "/0", 1).body for path in one)


def test_kinds_has_25_urls_and_names_them_all() -> None:
    assert len(sites.KINDS) == 25
    everything = b"".join(sites.kinds()("h", path, 2).body for path in sites.KINDS)
    missing = [
        path for path in sites.KINDS if path not in ("/robots.txt", "/target") and path[1:].encode() not in everything
    ]
    assert missing == []


def test_a_synthetic_site_links_to_all_its_pages() -> None:
    site, found = sites.synthetic(50, 4, 2000), {"/0.html"}
    for i in range(50):
        body = site("h", f"/{i}.html", 1).body
        assert len(body) == 2000
        found |= {link.decode().split('"')[0] for link in body.split(b'href="')[1:]}
    assert found == {f"/{i}.html" for i in range(50)}
    assert site("h", "/50.html", 1).status == 404
