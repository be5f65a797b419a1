"""Bodies that are small on the wire and huge when opened: only what is read for links is opened, and that within limits."""

from __future__ import annotations

import gzip
import tracemalloc

import brotli
import pytest
import zstandard

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.testing.crawls import FakeCrawl
from nephila.testing.sites import Answer

A = "http://a.test"
HUGE = b" " * (64 << 20) + b"<a href=/hidden>x</a>"


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    """64 MiB each, in some kilobytes."""
    return {
        "gzip": gzip.compress(HUGE, 1, mtime=0),
        "br": brotli.compress(HUGE, quality=1),
        "zstd": zstandard.compress(HUGE),
    }


def crawl(pages: dict[str, Answer | bytes]) -> tuple[FakeWeb, int]:
    """(the web, most bytes that Python held)."""
    clock = FakeClock()
    web = FakeWeb(clock, site=sites.table(pages))
    config = Config(seeds=[f"{A}/"], workers=0, delay="0", sitemaps=True, tries=1)
    store = MemoryStore(config.order, config.max_depth)
    tracemalloc.start()
    try:
        FakeCrawl(web, clock, config, store).run()
        return web, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("place", ["page", "redirect", "error", "robots", "sitemap"])
def test_bomb(place: str, coding: str, bombs: dict[str, bytes]) -> None:
    bomb = bombs[coding]
    packed = (("Content-Encoding", coding),)
    pages: dict[str, Answer | bytes] = {"/": sites.page(["/bomb", "/good"]), "/good": sites.page([])}
    match place:
        case "page":
            pages["/bomb"] = Answer(bomb, headers=packed)
        case "redirect":
            pages["/bomb"] = Answer(bomb, 302, headers=(("Location", "/good"), *packed))
        case "error":
            pages["/bomb"] = Answer(bomb, 404, headers=packed)
        case "robots":
            pages["/robots.txt"] = Answer(bomb, media_type="text/plain", headers=packed)
        case "sitemap":
            pages["/robots.txt"] = Answer(f"Sitemap: {A}/map.xml\n".encode(), media_type="text/plain")
            pages["/map.xml"] = Answer(bomb, media_type="application/xml", headers=packed)
    web, peak = crawl(pages)
    if place != "robots":  # rules that cannot be read forbid everything
        assert f"{A}/good" in web.urls()
    assert f"{A}/hidden" not in web.urls()
    assert peak < 80 << 20


def test_gzip_inside_gzip_is_opened_once(bombs: dict[str, bytes]) -> None:
    """A sitemap.gz is opened by its own first bytes, and what is in it is not opened again."""
    twice = gzip.compress(bombs["gzip"], mtime=0)
    pages: dict[str, Answer | bytes] = {"/": sites.page(["/good"]), "/good": sites.page([])}
    pages["/robots.txt"] = Answer(f"Sitemap: {A}/map.xml.gz\n".encode(), media_type="text/plain")
    pages["/map.xml.gz"] = Answer(twice, media_type="application/gzip")
    web, peak = crawl(pages)
    assert f"{A}/good" in web.urls()
    assert peak < 80 << 20


@pytest.mark.parametrize("status", [301, 302, 404, 410, 500])
def test_a_body_that_is_no_page_is_never_opened(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def watched(response: object, *kind: object, **limits: int) -> tuple[bytes, str]:
        opened.append(response.url)  # type: ignore[attr-defined]
        return b"", ""

    monkeypatch.setattr("nephila.corridor._decoded", watched)
    target = (("Location", "/good"),) if status < 400 else ()
    crawl({"/": Answer(b"x", status, headers=(*target, ("Content-Encoding", "gzip")))})
    assert f"{A}/" not in opened
