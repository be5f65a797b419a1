"""Whatever the way in, only http, https and ftp are requested: no file is opened, nothing inline is decoded, no other protocol spoken."""

from __future__ import annotations

import asyncio

import pytest

from nephila.config import Config
from nephila.fetch.client import Client
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.testing.crawls import FakeCrawl
from nephila.testing.sites import Answer
from nephila.types import Failure, Lease, Outcome, Request

A = "http://a.test"
OTHER = [
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file://a.test/x",
    "data:text/html,<a href=/from-data>x</a>",
    "javascript:location='/x'",
    "s3://bucket/key",
    "gopher://a.test/x",
    "ftps://a.test/x",
    "sftp://a.test/x",
    "dict://a.test:11211/stats",
    "ldap://a.test/x",
    "ws://a.test/x",
    "blob:http://a.test/x",
    "view-source:http://a.test/x",
    "about:blank",
    "jar:http://a.test/x!/y",
    "\x01file:///etc/passwd",
    "fi\nle:///etc/passwd",
]
XML = "application/xml"


def way_in(how: str, url: str) -> dict[str, Answer | bytes]:
    """A site whose page or file of that kind names `url`."""
    quoted = url.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    start = sites.page(["/way"], "start")
    pages: dict[str, Answer | bytes] = {"/": start}
    match how:
        case "link":
            pages["/way"] = sites.page([url], "a", f'<img src="{quoted}"><iframe src="{quoted}"></iframe>')
        case "redirect":
            pages["/way"] = Answer(b"", 302, headers=(("Location", url.strip().replace("\n", "")),))
        case "refresh":
            pages["/way"] = sites.page([], "a", f'<meta http-equiv="refresh" content="0; url={quoted}">')
        case "refresh header":
            pages["/way"] = Answer(sites.page([], "a"), headers=(("Refresh", f"0; url={url.replace(chr(10), '')}"),))
        case "base":
            pages["/way"] = sites.page([], "a", f'<base href="{quoted}"><a href="x">x</a>')
        case "canonical":
            pages["/way"] = sites.page([], "a", f'<link rel="canonical" href="{quoted}">')
        case "sitemap":
            pages["/robots.txt"] = Answer(f"Sitemap: {A}/map.xml\n".encode(), media_type="text/plain")
            text = f"<urlset><url><loc>{quoted}</loc></url><url><loc>{A}/way</loc></url></urlset>"
            pages["/map.xml"] = Answer(text.encode(), media_type=XML)
        case "sitemap of robots":
            pages["/robots.txt"] = Answer(f"Sitemap: {url}\n".encode(), media_type="text/plain")
        case "sitemap index":
            pages["/robots.txt"] = Answer(f"Sitemap: {A}/map.xml\n".encode(), media_type="text/plain")
            text = f"<sitemapindex><sitemap><loc>{quoted}</loc></sitemap></sitemapindex>"
            pages["/map.xml"] = Answer(text.encode(), media_type=XML)
        case "robots":
            pages["/robots.txt"] = Answer(b"", 301, headers=(("Location", url.replace("\n", "")),))
        case "feed":
            text = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="{quoted}"/></entry></feed>'
            pages["/"] = Answer(text.encode(), media_type="application/atom+xml")
        case "style":
            pages["/way"] = Answer(
                f'@import "{quoted}"; a {{ background: url("{quoted}") }}'.encode(), media_type="text/css"
            )
    return pages  # fmt: skip


WAYS = ["link", "redirect", "refresh", "refresh header", "base", "canonical", "feed", "style"]
WAYS += ["sitemap", "sitemap of robots", "sitemap index", "robots"]


@pytest.mark.parametrize("how", WAYS)
def test_no_other_scheme_is_requested(how: str) -> None:
    for url in OTHER:
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.table(way_in(how, url)))
        config = Config(seeds=[f"{A}/"], workers=0, delay="0", scope="any", embeds=True, sitemaps=True)
        store = MemoryStore(config.order, config.max_depth)
        FakeCrawl(web, clock, config, store).run()
        asked = set(web.urls())
        assert f"{A}/" in asked or how == "robots"
        assert [one for one in asked if not one.startswith(f"{A}/") or "from-data" in one] == [], url


@pytest.mark.parametrize("url", [url for url in OTHER if url.isprintable()])
def test_the_door_knows_no_other_scheme(url: str) -> None:
    """Should one ever get as far as there."""

    async def work() -> Failure:
        fetch = Client(Config(allow_private=True))
        try:
            got = await fetch(Lease(1, Request(url), 7))
            assert isinstance(got, Failure)
            return got
        finally:
            await fetch.close()

    assert asyncio.run(work()).outcome is Outcome.BLOCKED
