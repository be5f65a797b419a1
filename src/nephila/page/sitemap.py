"""A sitemap in any of its forms (sitemaps.org): XML, index, plain text, RSS or Atom, gzip around any of them.

What can be read is taken: a file that is cut, wrongly escaped or in a wrong namespace gives the URLs that stand in it.
A URL may lie outside the sitemap's own folder; scope decides about it as about any link. Image, video and news entries
name parts of pages, not pages.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from xml.parsers import expat

from nephila.page import charset, feed, xml
from nephila.page.harvest import Harvest
from nephila.types import Kind

SITEMAP_BYTES_MAX = 50 << 20
"""Uncompressed size a sitemap may have (sitemaps.org); the rest is not read."""

SITEMAP_URLS_MAX = 100_000
"""URLs taken of one file. The protocol allows 50,000 and not everybody keeps to it; so many take a second or two."""

RATIO_MAX = 200
"""A file that grows more than this is a bomb; what came until then is used."""

_RATIO_FREE_BYTES = 1 << 20
_GZIP = b"\x1f\x8b\x08"
_BLOCK = 1 << 16
_URL_CHARS_MAX = 4096

_PLAIN = re.compile(r"<loc>([^<]*)</loc>|<[\w.\-]+:link\b([^<>]*)>")

_NO_URL = re.compile(r"[<>\n]|\A&.*;\Z")
"""Markup, or an entity of the file's own as the whole value: that is never expanded, so there is no URL."""

XML_ROOTS = {"urlset": "xml", "sitemapindex": "index"}


def read(content: bytes, declared: str, harvest: Harvest) -> tuple[str, str, bool]:
    """Put the URLs of a sitemap into `harvest`; returns (form, charset, whether the file was whole and well-formed).

    `declared` is the charset of the HTTP header. The form is `xml`, `index`, `text`, `rss`, `atom`, or "" when the
    content is no sitemap.
    """
    content, whole = unpacked(content)
    text, encoding = charset.decode(content, declared)
    text = text.lstrip("\ufeff \t\r\n")
    if not text.startswith("<"):
        return _plain(text, harvest), encoding, whole
    form = XML_ROOTS.get(root(text), "")
    if form:
        kind = Kind.SITEMAP if form == "index" else Kind.PAGE
        for href, tag in _plain_entries(text) or _entries(text):
            harvest.add(href, kind if tag == "loc" else Kind.PAGE, tag, "")
            if harvest.cut:
                break
    else:
        form = feed.read(text, harvest, follow=False)
    return form, encoding, whole and _well_formed(text)


def unpacked(content: bytes) -> tuple[bytes, bool]:
    """(the content of a gzip file, or `content` itself; whether that is all of it). Unpacked once; junk after the end and a
    cut end do no harm."""
    if not content.startswith(_GZIP):
        return content, True
    limit = min(SITEMAP_BYTES_MAX, max(_RATIO_FREE_BYTES, RATIO_MAX * len(content)))
    *pieces, end = _inflated(content, limit)
    return b"".join(pieces), end == _WHOLE


def root(text: str) -> str:
    """Local name of the first element, lower case, "" when there is none."""
    for event, name, _ in xml.events(text):
        if event == xml.OPEN:
            return xml.split_name(name)[1]
    return ""


def _well_formed(text: str) -> bool:
    """By the rules of XML. A document type could define what explodes, so nothing of such a file is given to the parser."""
    if "<!DOCTYPE" in text:
        return True
    try:
        expat.ParserCreate().Parse(text, True)
    except expat.ExpatError:
        return False
    return True


_WHOLE, _CUT = b"whole", b"cut"


def _inflated(content: bytes, limit: int) -> Iterator[bytes]:
    """Pieces, and at last whether they are all."""
    while content.startswith(_GZIP) and limit > 0:
        member = zlib.decompressobj(wbits=31)
        while content and not member.eof and limit > 0:
            before = member.copy()
            try:
                block = member.decompress(content, min(limit, _BLOCK))
            except zlib.error:
                yield from _salvaged(before, content)
                yield _CUT
                return
            content, limit = member.unconsumed_tail, limit - len(block)
            yield block
        if not member.eof:
            yield _CUT
            return
        content = member.unused_data
    yield _WHOLE


def _salvaged(member: zlib._Decompress, content: bytes) -> Iterator[bytes]:
    """What comes before the damage: a wrong checksum alone is no reason to lose the content."""
    try:
        for at in range(len(content)):
            yield member.decompress(content[at : at + 1], _BLOCK)
    except zlib.error:
        return


def _plain_entries(text: str) -> Iterator[tuple[str, str]] | None:
    """As `_entries`, three times as fast, of a file that is written as the protocol shows it: one bare `loc` in each entry, no
    comment, no CDATA. None: it is not."""
    locs = text.count("<loc>")
    if (
        not locs
        or "<!" in text
        or text.count("<url>") + text.count("<sitemap>") != locs
        or text.count("</loc>") != locs
    ):
        return None
    if text.count(":loc>") or text.count("<url ") or text.count("<sitemap "):
        return None
    return _plain_found(text)


def _plain_found(text: str) -> Iterator[tuple[str, str]]:
    for found in _PLAIN.finditer(text):
        loc, link = found.groups()
        if loc is not None:
            if href := _url(xml.unescaped(loc), bare=True):
                yield href, "loc"
        elif xml.attribute(link, "rel").lower() == "alternate":
            yield xml.attribute(link, "href"), "link"


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
    return "" if _NO_URL.search(text) else text


def _plain(text: str, harvest: Harvest) -> str:
    """One URL per line; a file without a single one is no sitemap."""
    found = False
    for line in text.splitlines():
        href = line.strip().strip("\ufeff")
        if href[:8].lower().startswith(("http://", "https://", "ftp://")) and len(href) <= _URL_CHARS_MAX:
            found = True
            harvest.add(href, Kind.PAGE, "line", "")
            if harvest.cut:
                break
    return "text" if found else ""
