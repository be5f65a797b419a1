"""Which attribute of which element is a link, and of which kind.

Asking for the elements of one tag costs the same whether a page is long or short, while one walk over all its elements
costs a sixth of the parse: everything that hangs on a tag is asked by tag, and only what may hang on any element (style,
lazy images, backgrounds) shares a single walk. The price is the order:
links come grouped (the document's own, anchors, other pages, forms, parts), each group in the order of the page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from turbohtml import Element, Namespace

from nephila.page import css, srcset
from nephila.page.harvest import Harvest, fetched
from nephila.page.markup import Markup
from nephila.types import Kind

P, E, F = Kind.PAGE, Kind.EMBED, Kind.FORM

FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})

_Split = Callable[[str], list[str]] | None
_words: _Split = str.split

_PAGES: tuple[tuple[str, tuple[tuple[str, Kind, _Split], ...]], ...] = (
    ("iframe", (("src", P, None),)),
    ("frame", (("src", P, None), ("longdesc", P, None))),
    ("blockquote", (("cite", P, None),)),
    ("q", (("cite", P, None),)),
    ("ins", (("cite", P, None),)),
    ("del", (("cite", P, None),)),
    ("form", (("action", F, None),)),
    ("button", (("formaction", F, None),)),
    ("isindex", (("action", F, None),)),
)
_PARTS: tuple[tuple[str, tuple[tuple[str, Kind, _Split], ...]], ...] = (
    ("script", (("src", E, None),)),
    (
        "img",
        (
            ("src", E, None),
            ("srcset", E, srcset.urls),
            ("longdesc", P, None),
            ("lowsrc", E, None),
            ("dynsrc", E, None),
        ),
    ),
    ("source", (("src", E, None), ("srcset", E, srcset.urls))),
    ("video", (("src", E, None), ("poster", E, None))),
    ("audio", (("src", E, None),)),
    ("track", (("src", E, None),)),
    ("embed", (("src", E, None),)),
    ("object", (("data", E, None), ("archive", E, _words))),
    ("applet", (("archive", E, None), ("code", E, None))),
    ("bgsound", (("src", E, None),)),
)
_SVG_LINKS = {"image": E, "use": E, "feImage": E, "script": E, "a": P}
_SVG_TAGS = frozenset(_SVG_LINKS)

_PARTS_RELS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "fluid-icon", "manifest"}
    | {"preload", "modulepreload", "image_src", "apple-touch-startup-image"}
)
_IDLE_RELS = frozenset({"dns-prefetch", "preconnect"})
_ENDPOINT_RELS = frozenset({"pingback", "webmention"})


@lru_cache(maxsize=1024)
def link_kind(rel: str, media_type: str, *, sitemaps: bool) -> Kind | None:
    """What a `<link>` or a Link header is, by its relations (lower case, blanks between) and type; None: not a link."""
    rels = set(rel.split())
    if "canonical" in rels:
        return Kind.CANONICAL
    if rels & _PARTS_RELS:
        return E
    if "sitemap" in rels:
        return Kind.SITEMAP if sitemaps else None
    if rels & {"alternate", "feed"} and (media_type.partition(";")[0].strip() in FEED_TYPES):
        return Kind.FEED
    if rels & _ENDPOINT_RELS:
        return F
    return None if rels and rels <= _IDLE_RELS else P


def anchors(markup: Markup, harvest: Harvest) -> None:
    """Every `a` and `area`. Written out, since most links of most pages pass here."""
    for tag in ("a", "area"):
        found = markup.anchors(tag)
        harvest.cut |= not found.whole
        if found.hrefs:
            first = len(harvest.hrefs)
            _keep_anchors(harvest, tag, found.hrefs, found.nodes)
            if found.nofollow:
                kept = range(first, len(harvest.hrefs))
                harvest.nofollow |= frozenset(i for i in kept if harvest.hrefs[i] in found.nofollow)


def _keep_anchors(harvest: Harvest, tag: str, found: list[str], nodes: list[Element]) -> None:
    hrefs, kept, seen, limit = harvest.hrefs, harvest.nodes, harvest.seen[P], harvest.limit
    start = len(hrefs)
    for href, node in zip(found, nodes, strict=True):
        if not href or href in seen or (":" in href and href[:4] != "http" and not fetched(href)):
            continue
        if len(hrefs) >= limit:
            harvest.cut = True
            break
        seen.add(href)
        hrefs.append(href)
        kept.append(node)
    count = len(hrefs) - start
    harvest.kinds += [P] * count
    harvest.tags += [tag] * count
    harvest.attributes += ["href"] * count


def pages(markup: Markup, harvest: Harvest) -> None:
    """Other pages and forms: frames, citations, form targets."""
    _table(markup, harvest, _PAGES)


def parts(markup: Markup, harvest: Harvest) -> None:
    """What the page is made of: images, scripts, media, styles, backgrounds."""
    if root := markup.root:
        harvest.add(root.attr("manifest") or "", E, "html", "manifest", root)
    _table(markup, harvest, _PARTS)
    for node in markup.all("input"):
        if (node.attr("type") or "").lower() == "image":
            harvest.add(node.attr("src") or "", E, "input", "src", node)
        harvest.add(node.attr("formaction") or "", F, "input", "formaction", node)
    for node in markup.all("param"):
        if (node.attr("name") or "").lower() in ("movie", "src", "ref", "filename", "url"):
            harvest.add(node.attr("value") or "", E, "param", "value", node)
    for node in markup.all("style"):
        for url, attribute in css.urls(node.text):
            harvest.add(url, E, "style", attribute)
    _anywhere(markup, harvest)
    for svg in markup.pictures():
        _svg(svg, harvest)


def _table(
    markup: Markup, harvest: Harvest, table: tuple[tuple[str, tuple[tuple[str, Kind, _Split], ...]], ...]
) -> None:
    for tag, attributes in table:
        for node in markup.all(tag):
            for attribute, kind, split in attributes:
                value = node.attr(attribute)
                if not value:
                    continue
                if split is None:
                    harvest.add(value, kind, tag, attribute, node)
                    continue
                for href in split(value):
                    harvest.add(href, kind, tag, attribute, node)


def _anywhere(markup: Markup, harvest: Harvest) -> None:
    for node in markup.anywhere():
        tag = node.tag
        if style := node.attr("style"):
            for url, _ in css.urls(style):
                harvest.add(url, E, tag, "style", node)
        lazy = P if tag == "iframe" else E
        for attribute, kind in (("background", E), ("data-src", lazy), ("data-original", lazy)):
            harvest.add(node.attr(attribute) or "", kind, tag, attribute, node)
        for href in srcset.urls(node.attr("data-srcset") or ""):
            harvest.add(href, E, tag, "data-srcset", node)
        for href in (node.attr("ping") or "").split():
            harvest.add(href, F, tag, "ping", node)  # a browser would POST there: recorded, never fetched


def _svg(svg: Element, harvest: Harvest) -> None:
    for node in svg.iter_elements(_SVG_TAGS):
        if node.namespace is Namespace.SVG:
            for attribute in ("href", "xlink:href"):
                harvest.add(node.attr(attribute) or "", _SVG_LINKS[node.tag], node.tag, attribute, node)
