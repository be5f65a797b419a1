"""A page read as the crawl reads it, with the room of URLs behind it."""

from __future__ import annotations

from nephila.page import html
from nephila.page.reader import Reader
from nephila.types import Body, Kind, Lease, Page, Request, Response, Timings
from nephila.url.parse import resolve

URL = "http://site.test/dir/page.html"


def look(
    content: bytes,
    content_type: str | None = "text/html; charset=utf-8",
    *,
    url: str = URL,
    headers: list[tuple[str, str]] | None = None,
    kind: Kind = Kind.PAGE,
) -> Page:
    """What the reader makes of a body that was served so."""
    lines = [*([("content-type", content_type)] if content_type is not None else []), *(headers or [])]
    response = Response(url, 200, "http/1.1", b"", lines, Body(), Body(), b"", 0.0, Timings())
    reader = Reader(page_bytes_max=16 << 20, links_max=20_000, sitemaps=True, resolve=resolve)
    return reader(Lease(1, Request(url, kind), 1), response, content)


def by_tree(content: bytes) -> Page:
    """An HTML page by its tree, also where a scan would do."""
    head = html.Head()
    head.charset = "utf-8"
    how = {"as_xml": False, "links_max": 20_000, "sitemaps": True, "resolve": resolve, "scan": False}
    return html.read(content, URL, head, "text/html", **how)  # type: ignore[arg-type]


def told(page: Page) -> tuple[object, ...]:
    """All that a page says."""
    links = page.links
    columns = (links.hrefs, links.kinds, links.tags, links.attributes, links.nofollow) if links else ()
    return page.charset, page.title, page.language, page.canonical, page.robots, columns, page.links_cut
