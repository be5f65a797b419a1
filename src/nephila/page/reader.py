"""The door to reading: which kind of content a response holds, and who reads it."""

from __future__ import annotations

import re

import msgspec

from nephila.page import charset, css, elements, feed, headers, html, listing, media, script, sitemap
from nephila.page.harvest import Harvest, Resolve
from nephila.types import Kind, Lease, Page, Response

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_XML = frozenset({"text/xml", "application/xml"})
_FEED_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|rss|feed|rdf)", re.I)
"""A feed that is served as text/html is one all the same."""


class Reader:
    """Reads responses (the `Read` door). Pure: the same response gives the same page.

    At most `page_bytes_max` bytes of a body are read and `links_max` links taken. `sitemaps`: links to sitemaps are
    taken, and an XML file that proves to be one is read as one. `guess_links`: so are addresses in scripts, comments and text. `resolve` is (base, href, charset) → absolute URL or None.
    """

    def __init__(
        self, *, page_bytes_max: int, links_max: int, sitemaps: bool, resolve: Resolve, guess_links: bool = False
    ) -> None:
        self._bytes_max, self._links_max = page_bytes_max, links_max
        self._sitemaps, self._resolve, self._guess = sitemaps, resolve, guess_links

    def __call__(self, lease: Lease, response: Response, content: bytes) -> Page:
        """What `content` (decoded bytes of the response's body) means."""
        kind = lease.request.kind
        most = max(self._bytes_max, sitemap.SITEMAP_BYTES_MAX) if kind is Kind.SITEMAP else self._bytes_max
        cut = len(content) > most
        if cut or response.truncated:
            content = _whole_characters(content[:most])
        page = self._read(response, kind, content)
        if cut or page.links_cut:
            page = msgspec.structs.replace(page, flaw="cut.page" if cut else "cut.links")
        return page

    def _read(self, response: Response, kind: Kind, content: bytes) -> Page:
        head, content_type = _head(response)
        media_type = media.of(content_type, content)
        head.charset = media.charset_of(content_type)
        if kind is Kind.ROBOTS:
            return Page(media_type=media_type)
        if media_type == listing.MEDIA_TYPE and response.protocol == "ftp":
            return listing.read(content, response.url, response.started, self._links_max, self._resolve)
        if kind is Kind.SITEMAP:
            return self._sitemap(response, head, media_type, content)
        if media_type in _HTML and not (kind is Kind.FEED and _FEED_START.match(content)):
            return self._html(response, head, media_type, content, as_xml=media_type != "text/html")
        if media_type == "text/css":
            return self._css(response, head, media_type, content)
        if kind is Kind.FEED or media_type in elements.FEED_TYPES or media_type in _XML:
            return self._xml(response, head, media_type, content)
        if self._guess and media_type in script.SCRIPT_TYPES | script.TEXT_TYPES:
            return self._guessed(response, head, media_type, content)
        return self._page(response, head, media_type, Harvest(self._links_max))

    def _html(self, response: Response, head: html.Head, media_type: str, content: bytes, *, as_xml: bool) -> Page:
        return html.read(
            content,
            response.url,
            head,
            media_type,
            as_xml=as_xml,
            links_max=self._links_max,
            sitemaps=self._sitemaps,
            resolve=self._resolve,
            guess=self._guess,
        )

    def _guessed(self, response: Response, head: html.Head, media_type: str, content: bytes) -> Page:
        text, encoding = charset.decode(content, head.charset)
        harvest = Harvest(self._links_max)
        script.guess(text, harvest, script=media_type in script.SCRIPT_TYPES)
        return self._page(response, head, media_type, harvest, encoding)

    def _css(self, response: Response, head: html.Head, media_type: str, content: bytes) -> Page:
        text, encoding = charset.decode(content, head.charset)
        harvest = Harvest(self._links_max)
        for href, attribute in css.urls(text):
            harvest.add(href, Kind.EMBED, "css", attribute)
        return self._page(response, head, media_type, harvest, encoding)

    def _sitemap(self, response: Response, head: html.Head, media_type: str, content: bytes) -> Page:
        harvest = Harvest(max(self._links_max, sitemap.SITEMAP_URLS_MAX))
        form, encoding, whole = sitemap.read(content, head.charset, harvest)
        flaw = "sitemap.none" if not form else "" if whole else "sitemap.broken"
        return self._page(response, head, media_type, harvest, encoding, flaw=flaw)

    def _xml(self, response: Response, head: html.Head, media_type: str, content: bytes) -> Page:
        """XML without a telling type: a feed, a sitemap, a page, or nothing we read; its root says which."""
        text, encoding = charset.decode(content, head.charset)
        name = sitemap.root(text)
        if name == "html":
            return self._html(response, head, media_type, content, as_xml=True)
        if name in sitemap.XML_ROOTS and self._sitemaps:
            return self._sitemap(response, head, media_type, content)
        harvest = Harvest(self._links_max)
        feed.read(text, harvest)
        base = self._resolve(response.url, feed.base(text), encoding) or response.url
        return self._page(response, head, media_type, harvest, encoding, base)

    def _page(
        self,
        response: Response,
        head: html.Head,
        media_type: str,
        harvest: Harvest,
        encoding: str = "",
        base: str = "",
        flaw: str = "",
    ) -> Page:
        """A page that is no document: its links, and what the header adds."""
        base = base or response.url
        canonical = html.add_header_links(
            harvest, head, response.url, base, sitemaps=self._sitemaps, resolve=self._resolve
        )
        return Page(
            media_type=media_type,
            charset=encoding,
            language=head.language.strip()[:40],
            canonical=canonical,
            robots=head.robots,
            links=harvest.links(base, encoding or "utf-8", self._resolve) if harvest.hrefs else None,
            links_cut=harvest.cut,
            flaw=flaw,
        )


def _head(response: Response) -> tuple[html.Head, str]:
    """What the header says of the page, and its Content-Type (several joined)."""
    head, content_type = html.Head(), ""
    for name, value in response.headers:
        if name == "content-type":
            content_type = f"{content_type}, {value}" if content_type else value
        elif name == "link":
            head.links = (head.links + headers.links(value))[: headers.LINKS_MAX]
        elif name == "x-robots-tag":
            head.robots |= headers.robots(value)
        elif name == "refresh":
            head.refresh = head.refresh or value
        elif name == "content-language":
            head.language = head.language or value.partition(",")[0]
        elif name == "content-location" or (name == "location" and response.status == 201):
            head.targets.append((value, name))
    return head, content_type


def _whole_characters(content: bytes) -> bytes:
    """A cut body without the half of a UTF-8 character at its end: it would make the page look like another charset."""
    for back in range(1, min(3, len(content)) + 1):
        byte = content[-back]
        if byte >= 0xC0:
            return content[:-back] if back < 2 + (byte >= 0xE0) + (byte >= 0xF0) else content
        if byte < 0x80:
            return content
    return content
