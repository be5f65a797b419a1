"""Sitemap indexes inside one another: so many are followed, and a chain without end is not."""

from __future__ import annotations

from nephila.config import Config
from nephila.frontier.intake import SITEMAP_DEPTH_MAX
from nephila.frontier.memory import MemoryStore
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer


def index(*urls: str) -> Answer:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Answer(f"<sitemapindex>{entries}</sitemapindex>".encode(), media_type="text/xml")


def chain(host: str, path: str, n: int) -> Answer:
    """Every sitemap names the next one and, in a set beside it, a page."""
    if path == "/robots.txt":
        return Answer(b"Sitemap: /s0\n", media_type="text/plain")
    number = int(path[2:] or 0)
    if path.startswith("/s"):
        return index(f"/s{number + 1}", f"/u{number}")
    if path.startswith("/u"):
        return Answer(f"<urlset><url><loc>/p{number}</loc></url></urlset>".encode(), media_type="text/xml")
    return Answer(b"<title>p</title>")


def test_a_chain_of_sitemaps_ends() -> None:
    clock = FakeClock()
    web, store = FakeWeb(clock, site=chain), MemoryStore()
    FakeCrawl(web, clock, Config(seeds=["http://h.test/p00"], sitemaps=True), store).run()
    assert web.times(f"http://h.test/s{SITEMAP_DEPTH_MAX}") == 1
    assert web.times(f"http://h.test/s{SITEMAP_DEPTH_MAX + 1}") == 0
    assert web.times(f"http://h.test/p{SITEMAP_DEPTH_MAX - 1}") == 1
    refused = {store.rules[row["rule"]] for row in store.urls.values() if row["state"] == "refused"}
    assert refused == {"sitemap.depth"}
    depths = {row["url"]: row["depth"] for row in store.urls.values() if "/p" in row["url"]}
    assert set(depths.values()) <= {0, 1}
