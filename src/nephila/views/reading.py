"""Reading a kept page again, as the crawl read it: charset, title, robots directives, links, its tree."""

from __future__ import annotations

from nephila.archive.reader import Content
from nephila.config import Config
from nephila.page.charset import decode
from nephila.page.reader import Reader
from nephila.types import Body, Kind, Lease, Page, Request, Response, Timings
from nephila.url.parse import resolve
from nephila.views.source import Kept, Source

_HIDDEN = frozenset({"noindex", "noarchive", "none"})
_c = Config()
_READ = Reader(page_bytes_max=_c.page_bytes_max, links_max=_c.links_max, sitemaps=True, resolve=resolve)


def read(kept: Kept, found: Content) -> Page:
    """A visit and its content as a page."""
    size = Body(size=len(found.content))
    response = Response(
        kept.url, kept.status, kept.protocol, found.head, found.headers, size, size, b"", kept.started, Timings(),
        truncated=kept.truncated,
    )  # fmt: skip
    return _READ(Lease(0, Request(kept.url, Kind(kept.kind)), 0), response, found.content)


def text(source: Source, kept: Kept) -> str:
    """What a reader sees of it, as plain text; "" of pages that ask not to be searched. Raises Damaged when it does not read back."""
    found = source.content(kept, _c.page_bytes_max)
    page = read(kept, found)
    if page.robots & _HIDDEN:
        return ""
    if page.document is not None:
        return str(page.document().to_text())
    return decode(found.content, page.charset or kept.charset)[0] if page.media_type == "text/plain" else ""
