"""An HTML page: its tree, what it says of itself, and every link a parser can see.

The bytes are parsed once (turbohtml, WHATWG tree), or only scanned where the page is plain enough; everything else asks
the markup by tag. Frames that a conforming
parser drops (a `<frameset>` in a body) are read from the tags, since such a page is a dead end otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from turbohtml import Namespace, TokenType, parse, tokenize

from nephila.page import charset, elements, headers, plain, script, srcset
from nephila.page.harvest import Harvest, Resolve
from nephila.page.markup import Markup, Tree
from nephila.types import Kind, Links, Page
from nephila.url.parse import from_header

REFRESH_MAX_S = 30
"""A refresh that waits longer shows a page, not a way to another one."""

TITLE_CHARS = 500
_SRCDOC_DEPTH = 3

_EMPTY_RAW = re.compile(
    rb"<(script|style|title|textarea|iframe|noscript)\b((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)(?<=/)>", re.I
)


class Head:
    """What the HTTP header said, in the words of a page."""

    __slots__ = ("charset", "language", "links", "refresh", "robots", "targets")

    def __init__(self) -> None:
        self.charset = ""
        self.language = ""
        self.links: list[headers.HeaderLink] = []
        self.refresh = ""
        self.robots: frozenset[str] = frozenset()
        self.targets: list[tuple[str, str]] = []
        """(URL, header name) of Content-Location and of Location on an answer that is no redirect."""


def read(
    content: bytes,
    url: str,
    head: Head,
    media_type: str,
    *,
    as_xml: bool,
    links_max: int,
    sitemaps: bool,
    resolve: Resolve,
    guess: bool = False,
    scan: bool = True,
) -> Page:
    """The page in `content` (decoded bytes) that was fetched from `url`. `as_xml`: it was written to be read as XML.
    `guess`: links that nobody declares, too. `scan` False: build the tree in any case."""
    if as_xml:
        content = _opened(content)
    scanned = plain.markup(content, head.charset) if scan else None
    markup: Markup = scanned or Tree(charset.document(content, head.charset))
    encoding = markup.encoding
    base = _base(markup, url, encoding, resolve)
    harvest = Harvest(links_max)
    robots, language = _metas(markup, harvest, head)
    canonical = _links(markup, harvest, sitemaps=sitemaps)
    canonical = resolve(base, canonical, encoding) or "" if canonical else ""
    canonical = add_header_links(harvest, head, url, base, sitemaps=sitemaps, resolve=resolve) or canonical
    _body(markup, harvest, base, encoding, resolve, _SRCDOC_DEPTH)
    if not harvest.seen[Kind.PAGE]:
        _dropped_frames(markup, content, encoding, harvest)
    if guess:
        script.guess(_text(content, encoding), harvest)
    root, details = markup.root, harvest.details
    if scanned is not None:  # nobody made elements of the anchors: who asks for their texts gets them from the tree

        def again() -> Links:
            page = read(
                content,
                url,
                head,
                media_type,
                as_xml=False,
                links_max=links_max,
                sitemaps=sitemaps,
                resolve=resolve,
                guess=guess,
                scan=False,
            )
            assert page.links is not None
            return page.links

        details = _Later(again)
    return Page(
        media_type=media_type,
        charset=encoding,
        title=" ".join(markup.title().split())[:TITLE_CHARS],
        language=((root.attr("lang") or root.attr("xml:lang") if root else "") or language).strip()[:40],
        canonical=canonical,
        robots=robots,
        links=harvest.links(base, encoding, resolve, details),
        links_cut=harvest.cut,
        document=markup.document,
    )


class _Later:
    """What the links' elements say, from a tree that is built when somebody asks first."""

    def __init__(self, again: Callable[[], Links]) -> None:
        self._again: Callable[[], Links] | None = again
        self._links: Links | None = None

    def __call__(self, i: int) -> tuple[str, str]:
        if self._links is None:
            assert self._again is not None
            self._links, self._again = self._again(), None
        return self._links.details(i)  # type: ignore[no-any-return]


def add_header_links(harvest: Harvest, head: Head, url: str, base: str, *, sitemaps: bool, resolve: Resolve) -> str:
    """The links of the HTTP header; they resolve against the page's URL, whatever its base. Returns the canonical one."""

    def absolute(written: str) -> str:
        href = from_header(written)
        return href if base == url else resolve(url, href, "utf-8") or href

    canonical = ""
    for link in head.links:
        kind = elements.link_kind(link.rel, link.type, sitemaps=sitemaps)
        if kind is None or (kind is Kind.CANONICAL and link.anchored):
            continue
        if kind is Kind.CANONICAL:
            canonical = canonical or resolve(url, from_header(link.href), "utf-8") or ""
        harvest.add(absolute(link.href), kind, "header", "link")
    if head.refresh and (found := headers.refresh(head.refresh)):
        harvest.add(absolute(found[1]), _refresh_kind(found[0]), "header", "refresh")
    for target, name in head.targets:
        harvest.add(absolute(target), Kind.PAGE, "header", name)
    return canonical


def _opened(content: bytes) -> bytes:
    """XHTML as HTML: `<script …/>` is complete there and would swallow the rest of the page here."""
    return _EMPTY_RAW.sub(rb"<\1\2></\1>", content)


def _base(markup: Markup, url: str, encoding: str, resolve: Resolve) -> str:
    """The document's base URL: that of the first `<base href>` (html.spec.whatwg.org section 4.2.3)."""
    for node in markup.all("base"):
        href = node.attr("href")
        if href is None or node.namespace is not Namespace.HTML or node.closest("template"):
            continue
        base = resolve(url, href, encoding)
        return base if base and not base.startswith(("data:", "javascript:")) else url
    return url


def _metas(markup: Markup, harvest: Harvest, head: Head) -> tuple[frozenset[str], str]:
    """(robots directives, language); a meta refresh becomes a link."""
    robots, language = set(head.robots), head.language
    for node in markup.all("meta"):
        name = (node.attr("name") or "").lower()
        if name in ("robots", headers.AGENT):
            robots |= headers.robots(node.attr("content") or "")
        if not (equiv := (node.attr("http-equiv") or "").lower()):
            continue
        if equiv == "refresh" and (found := headers.refresh(node.attr("content") or "")):
            kind = Kind.PAGE if node.closest("noscript") else _refresh_kind(found[0])
            harvest.add(found[1], kind, "meta", "content", node)
        elif equiv == "content-language":
            language = language or (node.attr("content") or "").partition(",")[0]
    return frozenset(robots), language


def _refresh_kind(delay_s: int) -> Kind:
    return Kind.REDIRECT if delay_s <= REFRESH_MAX_S else Kind.PAGE


def _links(markup: Markup, harvest: Harvest, *, sitemaps: bool) -> str:
    """All `<link>`s; returns the first canonical href as written."""
    canonical = ""
    for node in markup.all("link"):
        href = node.attr("href")
        rel = (node.attr("rel") or "").lower()
        media_type = (node.attr("type") or "").lower() if "alternate" in rel or "feed" in rel else ""
        kind = elements.link_kind(rel, media_type, sitemaps=sitemaps)
        if kind is Kind.EMBED and "preload" in rel and (images := node.attr("imagesrcset")):
            for image in srcset.urls(images):
                harvest.add(image, kind, "link", "imagesrcset", node)
        if href and kind is not None:
            canonical = canonical or (href if kind is Kind.CANONICAL else "")
            harvest.add(href, kind, "link", "href", node)
    for node in markup.all("base"):
        harvest.add(node.attr("href") or "", Kind.PAGE, "base", "href", node)
    return canonical


def _body(markup: Markup, harvest: Harvest, base: str, encoding: str, resolve: Resolve, depth: int) -> None:
    elements.anchors(markup, harvest)
    elements.pages(markup, harvest)
    elements.parts(markup, harvest)
    for node in markup.all("iframe"):
        if depth and (inner := node.attr("srcdoc")):
            _srcdoc(inner, harvest, base, encoding, resolve, depth - 1)


def _srcdoc(text: str, harvest: Harvest, base: str, encoding: str, resolve: Resolve, depth: int) -> None:
    """A document written into an attribute; where it has a base of its own, its links are made absolute."""
    markup = Tree(parse(text, positions=False))
    inner_base = _base(markup, base, encoding, resolve)
    inner = Harvest(max(harvest.limit - len(harvest.hrefs), 0))
    _links(markup, inner, sitemaps=False)
    _body(markup, inner, inner_base, encoding, resolve, depth)
    for i, href in enumerate(inner.hrefs):
        absolute = href if inner_base == base else resolve(inner_base, href, encoding) or ""
        kind = Kind.PAGE if inner.kinds[i] is Kind.CANONICAL else inner.kinds[i]
        harvest.add(absolute, kind, inner.tags[i], inner.attributes[i], inner.nodes[i])
    harvest.cut |= inner.cut


def _dropped_frames(markup: Markup, content: bytes, encoding: str, harvest: Harvest) -> None:
    if b"<frameset" not in content.lower() or markup.all("frameset"):
        return
    inside = False
    for token in tokenize(_text(content, encoding)):
        if token.tag == "frameset":
            inside = inside or token.type is TokenType.START_TAG
        elif inside and token.tag == "frame" and token.type is TokenType.START_TAG:
            harvest.add(token.attr("src") or "", Kind.PAGE, "frame", "src")


def _text(content: bytes, encoding: str) -> str:
    return content.decode(f"whatwg-{encoding}" if encoding != "utf-8" else "utf-8", "replace")
