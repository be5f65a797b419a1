"""A sitemap in any of its forms (sitemaps.org): XML, index, plain text, RSS or Atom, gzip around any of them.

What can be read is taken: a file that is cut, wrongly escaped or in a wrong namespace gives the URLs that stand in it.
A URL may lie outside the sitemap's own folder; scope decides about it as about any link. Image, video and news entries
name parts of pages, not pages.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from nephila.page import charset, feed, xml
from nephila.page.harvest import Harvest
from nephila.types import Kind

SITEMAP_BYTES_MAX = 50 << 20
"""Uncompressed size a sitemap may have (sitemaps.org); the rest is not read."""

RATIO_MAX = 200
"""A file that grows more than this is a bomb; what came until then is used."""

_RATIO_FREE_BYTES = 1 << 20
_GZIP = b"\x1f\x8b\x08"
_BLOCK = 1 << 16
_URL_CHARS_MAX = 4096

XML_ROOTS = {"urlset": "xml", "sitemapindex": "index"}


def read(content: bytes, declared: str, harvest: Harvest) -> tuple[str, str]:
    """Put the URLs of a sitemap into `harvest`; returns (form, charset).

    `declared` is the charset of the HTTP header. The form is `xml`, `index`, `text`, `rss`, `atom`, or "" when the
    content is no sitemap.
    """
    content = unpacked(content)
    text, encoding = charset.decode(content, declared)
    text = text.lstrip("\ufeff \t\r\n")
    if not text.startswith("<"):
        return _plain(text, harvest), encoding
    name = root(text)
    form = XML_ROOTS.get(name, "")
    if form:
        kind = Kind.SITEMAP if form == "index" else Kind.PAGE
        for href, tag in _entries(text):
            harvest.add(href, kind if tag == "loc" else Kind.PAGE, tag, "")
        return form, encoding
    return feed.read(text, harvest, follow=False), encoding


def unpacked(content: bytes) -> bytes:
    """The content of a gzip file, or `content` itself. Unpacked once; junk after the end and a cut end do no harm."""
    if not content.startswith(_GZIP):
        return content
    limit = min(SITEMAP_BYTES_MAX, max(_RATIO_FREE_BYTES, RATIO_MAX * len(content)))
    return b"".join(_inflated(content, limit))


def root(text: str) -> str:
    """Local name of the first element, lower case, "" when there is none."""
    for event, name, _ in xml.events(text):
        if event == xml.OPEN:
            return xml.split_name(name)[1]
    return ""


def _inflated(content: bytes, limit: int) -> Iterator[bytes]:
    while content.startswith(_GZIP) and limit > 0:
        member = zlib.decompressobj(wbits=31)
        try:
            while content and not member.eof and limit > 0:
                block = member.decompress(content, min(limit, _BLOCK))
                content, limit = member.unconsumed_tail, limit - len(block)
                yield block
        except zlib.error:
            return
        content = member.unused_data


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """(URL, `loc` or `link`) of every entry. Text counts inside `loc`, or right inside an entry that has no `loc`."""
    prefix: str | None = None
    inside, pieces = "", [""]
    for event, name, attributes in xml.events(text):
        if event == xml.TEXT:
            if inside:
                pieces.append(name)
            continue
        own, local = xml.split_name(name)
        if inside and (href := _url("".join(pieces), bare=inside == "loc")):
            yield href, "loc"
        pieces.clear()
        if event == xml.CLOSE:
            inside = ""
            continue
        if prefix is None:
            prefix = own
        ours = own in ("", prefix)
        if local == "loc" and ours:
            inside = "loc"
        elif local in ("url", "sitemap") and ours:
            inside = "loc" if inside == "loc" else "entry"
        else:
            inside = ""
            if local == "link" and own and xml.attribute(attributes, "rel").lower() == "alternate":
                yield xml.attribute(attributes, "href"), "link"


def _url(text: str, *, bare: bool) -> str:
    """The URL in a piece of text, "" when there is none; `bare`: it need not be absolute."""
    text = text.strip().strip("\ufeff\u200b").strip()
    if not text or len(text) > _URL_CHARS_MAX or (not bare and "://" not in text):
        return ""
    return "" if any(c in text for c in "<>\n") or _undefined_entity(text) else text


def _undefined_entity(text: str) -> bool:
    """The whole value is an entity of the file's own: never expanded, so there is no URL."""
    return text.startswith("&") and text.endswith(";")


def _plain(text: str, harvest: Harvest) -> str:
    """One URL per line; a file without a single one is no sitemap."""
    found = False
    for line in text.splitlines():
        href = line.strip().strip("\ufeff")
        if href[:8].lower().startswith(("http://", "https://", "ftp://")) and len(href) <= _URL_CHARS_MAX:
            found = True
            harvest.add(href, Kind.PAGE, "line", "")
    return "text" if found else ""
