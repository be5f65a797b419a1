"""Reading a kept page again, as the crawl read it: charset, title, robots directives, links, its tree."""

from __future__ import annotations

from typing import NamedTuple

from nephila.config import Config
from nephila.page import charset, headers
from nephila.page.reader import Reader
from nephila.types import Body, Kind, Lease, Page, Request, Response, Timings
from nephila.url.parse import resolve
from nephila.views.source import Kept, Source

_HIDING = frozenset({"noindex", "noarchive", "none"})
_c = Config()
_READ = Reader(page_bytes_max=_c.page_bytes_max, links_max=_c.links_max, sitemaps=True, resolve=resolve)


class Reading(NamedTuple):
    """A page and its decoded bytes, at most `page_bytes_max` of them."""

    page: Page
    content: bytes

    @property
    def hidden(self) -> bool:
        """The page asks not to be searched, or not to be shown from a copy: meta robots or X-Robots-Tag."""
        return not _HIDING.isdisjoint(self.page.robots)


def read(source: Source, kept: Kept) -> Reading:
    """The page of a visit. Raises Damaged when it does not read back."""
    found = source.decoded(kept, _c.page_bytes_max)
    # Of FTP, the head is what was said on the control connection: the type is known from the row alone.
    said = found.headers if found.head.startswith(b"HTTP/") else [("content-type", kept.media_type)]
    size = Body(size=len(found.content))
    response = Response(
        kept.url, kept.status, kept.protocol, found.head, said, size, size, b"", kept.started, Timings(),
        truncated=kept.truncated,
    )  # fmt: skip
    page = _READ(Lease(kept.url_id, Request(kept.url, Kind(kept.kind)), 0), response, found.content)
    return Reading(page, found.content)


def file_hidden(source: Source, kept: Kept) -> bool:
    """`Reading.hidden` of what is no page: its header alone can say so. Raises Damaged like `read`."""
    if kept.protocol == "ftp":
        return False
    with source.stored(kept) as found:
        said = (headers.robots(value) for name, value in found.headers if name == "x-robots-tag")
        return any(not _HIDING.isdisjoint(directives) for directives in said)


def text(source: Source, kept: Kept) -> str:
    """What a reader sees of it, as plain text; "" of pages that ask not to be searched. Raises Damaged when it does not read back."""
    reading = read(source, kept)
    page = reading.page
    if reading.hidden:
        return ""
    if page.document is not None:
        return str(page.document().to_text())
    return charset.decode(reading.content, page.charset or kept.charset)[0] if page.media_type == "text/plain" else ""
