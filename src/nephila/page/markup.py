"""What the readers of a page ask its markup for, and the answer that a parsed tree gives.

The parser keeps an index by tag, so asking for the elements of one tag costs the same whether a page is long or short.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from turbohtml import Document, Element, Namespace

BLANK = "".join(map(chr, range(33)))
"""C0 controls and space: stripped from both ends of a URL (https://url.spec.whatwg.org section 4.4)."""

_ANCHORS_MAX = 100_000
"""Each is an object while it is looked at: of a page with a million, so many."""
_ANYWHERE = '[style*="("],[background],[data-src],[data-srcset],[data-original],[ping]'


class Anchors(NamedTuple):
    """The anchors of one tag. `hrefs` are bare, each once, in order; `nodes` the first element of each, None where nobody
    made one; `nofollow`: hrefs that no anchor names without rel=nofollow."""

    hrefs: list[str]
    nodes: list[Any]
    nofollow: frozenset[str]
    whole: bool = True
    """False: there are more than are looked at."""


class Node(Protocol):
    """An element, as far as reading goes."""

    @property
    def tag(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def namespace(self) -> Namespace: ...
    def attr(self, name: str) -> str | None: ...
    def closest(self, selector: str) -> Any: ...


class Markup(Protocol):
    encoding: str
    """WHATWG name of the charset, lower case."""

    @property
    def root(self) -> Node | None: ...
    def all(self, tag: str) -> Sequence[Node]: ...
    def anchors(self, tag: str) -> Anchors: ...
    def anywhere(self) -> Sequence[Node]:
        """Elements with an address in an attribute that any element may have (style, lazy images, backgrounds, pings)."""
        ...

    def pictures(self) -> list[Element]:
        """`<svg>` elements that stand in no other."""
        ...

    def title(self) -> str: ...
    def document(self) -> Document:
        """The tree, for whoever wants more."""
        ...


def bare(href: str) -> str:
    """An href without blanks around it and without its fragment: what one request answers is one link."""
    href = href.strip(BLANK)
    if "#" in href:
        head = href[: href.find("#")]
        return head if not head or head[-1] > " " else href  # a blank before the mark belongs to the path
    return href


class Tree:
    """A page's markup as a parsed tree."""

    def __init__(self, document: Document) -> None:
        self._document, self.root = document, document.root
        self.encoding = (document.encoding or "utf-8").lower()

    def all(self, tag: str) -> list[Element]:
        return self._document.find_all(tag)

    def anchors(self, tag: str) -> Anchors:
        nodes = self._document.find_all(tag, href=True, limit=_ANCHORS_MAX)
        if not nodes:
            return Anchors([], [], frozenset())
        values = [node.attr("href") or "" for node in nodes]
        spelled = dict(zip(reversed(values), reversed(nodes), strict=True))
        first: dict[str, Element] = {}
        for value in dict.fromkeys(values):
            first.setdefault(bare(value), spelled[value])
        nofollow: frozenset[str] = frozenset()
        if refused := frozenset(self._document.select(f'{tag}[rel~="nofollow" i]')):
            followed = {bare(value) for value, node in zip(values, nodes, strict=True) if node not in refused}
            nofollow = frozenset(first) - followed
        return Anchors(list(first), list(first.values()), nofollow, len(nodes) < _ANCHORS_MAX)

    def anywhere(self) -> list[Element]:
        return self._document.select(_ANYWHERE)

    def pictures(self) -> list[Element]:
        return [svg for svg in self._document.find_all("svg") if not (svg.parent and svg.parent.closest("svg"))]

    def title(self) -> str:
        node: Element | None = self._document.find("title")
        if node is not None and node.namespace is not Namespace.HTML:
            node = next((n for n in self._document.find_all("title") if n.namespace is Namespace.HTML), None)
        return node.text if node is not None else ""

    def document(self) -> Document:
        return self._document
