"""What the pages in the archive say, for the report: each is read once, and leaves a few rows."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from typing import Any

import numpy as np

from nephila.db import BIAS
from nephila.errors import Damaged
from nephila.packed import unpacked
from nephila.page.markup import bare
from nephila.page.sketch import sketch
from nephila.types import ERRANDS, KEPT, Kind, Links, Page
from nephila.url.key import Fingerprints
from nephila.url.parse import host_of, without_userinfo
from nephila.views import reading
from nephila.views.article import HTML_TYPES
from nephila.views.source import Kept, Source

TEXT_CHARS = 300
"""Of a link's text or a heading."""
_NO_PAGES = ERRANDS | {Kind.EMBED, Kind.SITEMAP, Kind.FEED, Kind.SCRIPT, Kind.PROBE, Kind.FORM}
_HEAD_TAGS = frozenset({"link", "header", "base"})
"""What they name is for programs, unless it is a part of the page."""
_CODE = re.compile(r"x-default|[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?", re.IGNORECASE)
"""A language, perhaps a script, perhaps a country (https://developers.google.com/search/docs/specialty/international)."""


class Pages:
    """The pages of a source. `con`: the tables of `facts`, of which `address` is filled."""

    def __init__(self, source: Source, con: sqlite3.Connection, fingerprint: Fingerprints) -> None:
        self._source, self._con, self._print = source, con, fingerprint
        told = con.execute("SELECT fp FROM address WHERE broken OR moved ORDER BY fp")
        self._told = np.fromiter((fp for (fp,) in told), np.int64)

    def read(self) -> int:
        """All of them. Returns how many do not read back."""
        unread = 0
        for kept in self._source.pages():
            try:
                self._read(kept)
            except Damaged:
                unread += 1
        return unread

    def _read(self, kept: Kept) -> None:
        """A page or a sitemap, as it answered last: what it was before it broke is history."""
        sitemap = kept.kind == Kind.SITEMAP
        if not sitemap and (kept.media_type not in HTML_TYPES or kept.kind in _NO_PAGES):
            return
        now = self._con.execute("SELECT outcome FROM address WHERE id = ?", (kept.url_id,)).fetchone()
        if now is None or now[0] not in KEPT:
            return
        found = reading.read(self._source, kept)
        links = found.page.links or Links(kept.url, "utf-8", [], [], [], [], resolve=lambda *_: None)
        if sitemap:
            self._sitemap(kept, links)
        elif found.page.document is not None:
            self._page(kept, found.page, links, found.content)

    def _insert(self, table: str, *row: Any) -> None:
        self._con.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def _fp(self, url: str) -> int:
        return self._print(without_userinfo(url)) - BIAS

    def _target(self, links: Links, href: str) -> int:
        """The fingerprint of a link; 0: it leads nowhere."""
        url = links.resolve(links.base, href, links.charset)
        return self._fp(url) if url else 0

    def _sitemap(self, kept: Kept, links: Links) -> None:
        for href, kind, tag in zip(links.hrefs, links.kinds, links.tags, strict=True):
            url = links.resolve(links.base, href, links.charset)
            if url and kind is Kind.PAGE and tag in ("loc", "line"):
                self._insert("listed", self._fp(url), host_of(url), kept.url_id)

    def _page(self, kept: Kept, page: Page, links: Links, content: bytes) -> None:
        assert page.document is not None
        tree, id, own = page.document(), kept.url_id, self._fp(kept.url)
        title, description, headings = _even(page.title), _description(tree), tree.find_all("h1")
        canonical = self._fp(page.canonical) if page.canonical else 0
        noindex, soft = "noindex" in page.robots, kept.reason == "soft_404"
        elsewhere = canonical not in (0, own)
        listable = not (noindex or soft or elsewhere) and kept.status in (0, 200)
        self._insert(
            "page",
            id, title, title.casefold(), _width(title), description, description.casefold(), _width(description),
            len(headings), _heading(headings), page.canonical, canonical, self._canonicals(links), noindex, kept.digest,
            soft, listable,
        )  # fmt: skip
        anchors = _anchors(tree, links)
        self._hits(kept, links, anchors)
        self._named(own, links, anchors)
        self._alternates(id, tree, links)
        if kept.url.startswith("https:"):
            self._mixed(id, links)
        if not soft and not elsewhere:
            self._insert("sketch", id, host_of(kept.url), sketch(content, kept.url))

    def _canonicals(self, links: Links) -> int:
        """Different addresses that the page calls its canonical one."""
        named = (href for href, kind in zip(links.hrefs, links.kinds, strict=True) if kind is Kind.CANONICAL)
        return len({self._target(links, href) for href in named})

    def _hits(self, kept: Kept, links: Links, anchors: dict[str, Any]) -> None:
        """Links that lead to something broken or moved. The packed links say at once whether there are any."""
        packed = self._source.rows("SELECT targets FROM link WHERE visit = ?", kept.id)
        if packed and not len(np.intersect1d(unpacked(packed[0]["targets"]), self._told)):
            return
        for i, href in enumerate(links.hrefs):
            tag, part = links.tags[i], links.kinds[i] is Kind.EMBED
            named = tag in _HEAD_TAGS and not part
            if named and href not in anchors:
                continue
            fp = self._target(links, href)
            at = int(np.searchsorted(self._told, fp))
            if at < len(self._told) and self._told[at] == fp:
                (target,) = self._con.execute("SELECT id FROM address WHERE fp = ?", (fp,)).fetchone()
                text, tag = (anchors[href].text, "a") if named else (links[i].anchor, tag)
                self._insert("hit", kept.url_id, target, _even(text)[:TEXT_CHARS], tag, part)

    def _named(self, own: int, links: Links, anchors: dict[str, Any]) -> None:
        """Addresses that the page only names in its head: they are among the packed links, and nobody can click on them."""
        named, clicked = set[str](), set(anchors)
        for href, kind, tag in zip(links.hrefs, links.kinds, links.tags, strict=True):
            if kind is not Kind.EMBED:
                (named if tag in _HEAD_TAGS else clicked).add(href)
        fps = {self._target(links, href) for href in named - clicked} - {0, own}
        for fp in fps.difference(self._target(links, href) for href in clicked) if fps else ():
            self._insert("unlinked", fp)

    def _alternates(self, id: int, tree: Any, links: Links) -> None:
        for node in tree.find_all("link", hreflang=True):
            if "alternate" in (node.attr("rel") or "").lower().split():
                code = (node.attr("hreflang") or "").strip()
                url = links.resolve(links.base, node.attr("href") or "", links.charset) or ""
                fp = self._fp(url) if url else 0
                self._insert("alternate", id, code[:40], bool(_CODE.fullmatch(code)), url, fp)

    def _mixed(self, id: int, links: Links) -> None:
        """Parts that a page got over TLS loads without it."""
        plain = links.base.startswith("http:")
        for href, kind, tag in zip(links.hrefs, links.kinds, links.tags, strict=True):
            if (kind is Kind.EMBED or tag in ("iframe", "frame")) and (plain or href[:5].lower() == "http:"):
                url = links.resolve(links.base, href, links.charset) or ""
                if url.startswith("http:"):
                    self._insert("mixed", id, url, tag)


def _anchors(tree: Any, links: Links) -> dict[str, Any]:
    """href → its first anchor, of a page whose head names addresses: the same ones may be links further down (`rel=next`), and
    a page's links hold each href once."""
    if _HEAD_TAGS.isdisjoint(links.tags):
        return {}
    return {bare(node.attr("href") or ""): node for node in reversed(tree.find_all("a", href=True))}


def _description(tree: Any) -> str:
    metas = (node for node in tree.find_all("meta") if (node.attr("name") or "").lower() == "description")
    return next((_even(node.attr("content") or "") for node in metas), "")


def _heading(nodes: Any) -> str:
    """The first heading that says something; of a picture its text."""
    for node in nodes:
        image = node.find("img")
        if text := _even(node.text) or _even((image.attr("alt") or "") if image else ""):
            return text[:TEXT_CHARS]
    return ""


def _even(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _width(text: str) -> int:
    """Columns on a screen: a Chinese character takes two."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)
