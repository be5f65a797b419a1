"""The links of one page while they are being gathered: columns, each (href, kind) once, up to a limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from nephila.page.markup import bare
from nephila.types import Kind, Links

Resolve = Callable[[str, str, str], str | None]
"""(base, href, charset) → absolute URL without fragment, or None when it is none."""

_NOT_FETCHED = frozenset(
    {"javascript", "data", "mailto", "tel", "about", "blob", "sms", "vbscript", "callto", "whatsapp"}
)

_ANCHOR_CHARS = 300


class Harvest:
    """Columns of links that grow; `cut` says that the limit was met."""

    __slots__ = ("attributes", "cut", "hrefs", "kinds", "limit", "nodes", "nofollow", "seen", "tags")

    def __init__(self, limit: int) -> None:
        self.hrefs: list[str] = []
        self.kinds: list[Kind] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.nodes: list[Any] = []
        self.nofollow: frozenset[int] = frozenset()
        self.seen: defaultdict[Kind, set[str]] = defaultdict(set)
        self.limit, self.cut = limit, False

    def add(self, href: str, kind: Kind, tag: str, attribute: str, node: Any = None) -> None:
        """Keep one link, unless it is empty, leads into its own page, needs no request, or is here already."""
        href = bare(href)
        seen = self.seen[kind]
        if not href or href in seen or (":" in href and not fetched(href)):
            return
        if len(self.hrefs) >= self.limit:
            self.cut = True
            return
        seen.add(href)
        self.hrefs.append(href)
        self.kinds.append(kind)
        self.tags.append(tag)
        self.attributes.append(attribute)
        self.nodes.append(node)

    def links(
        self, base: str, charset: str, resolve: Resolve, details: Callable[[int], tuple[str, str]] | None = None
    ) -> Links:
        return Links(
            base,
            charset,
            self.hrefs,
            self.kinds,
            self.tags,
            self.attributes,
            self.nofollow,
            resolve=resolve,
            details=details or self.details,
        )

    def details(self, i: int) -> tuple[str, str]:
        """(anchor text, rel) of link i, of the first element that names it; the text of an image is its alt."""
        node = self.nodes[i]
        if node is None:
            return "", ""
        text = " ".join(node.text.split())[:_ANCHOR_CHARS] if self.tags[i] in ("a", "button") else ""
        image = None if text else node if self.tags[i] in ("img", "area") else node.find("img")
        return text or (image.attr("alt") or "" if image else ""), node.attr("rel") or ""


def fetched(href: str) -> bool:
    """The scheme is one that a request may follow (a colon in a path or query is no scheme)."""
    scheme = href[: href.find(":")]
    return scheme.translate(_SQUEEZED).lower() not in _NOT_FETCHED


_SQUEEZED = {ord(c): None for c in "\t\n\r"}
"""Tabs and line ends inside a URL do not count, so `java\\nscript:` is one too."""
