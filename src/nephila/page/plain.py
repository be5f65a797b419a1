"""The markup of a plain page without a tree: a scan of its bytes in C, a tenth of the parser's time.

Most pages are plain: UTF-8, and nothing in them that only a tree builder can decide. The scan (plain.c) says where their
links stand and refuses every page that it cannot be sure of; such a page is parsed. So is every page where the scan was
not built for want of a compiler: the answers are the same, and the tests hold them against each other. Tags other than
anchors are read one by one, the unusual ones by the parser itself, and remembered, since the pages of a site repeat them.
"""

from __future__ import annotations

import ctypes
import re
from array import array
from collections import defaultdict
from pathlib import Path

from turbohtml import Document, Element, Namespace, parse

from nephila import native
from nephila.page import charset
from nephila.page.markup import Anchors, bare

_RECORDS_MAX = 20_000
"""A page with more of them is parsed."""
_FIELDS, _SLOTS = 4, 4096
_ANCHOR, _AREA, _TAG, _ANYWHERE, _TITLE, _STYLE = range(6)
_AS_IS, _REFERENCES = 0, 1
_KNOWN_MAX, _KNOWN_BYTES = 1024, 512

_SIMPLE = re.compile(rb'<([a-z]+)(?:[ \n\t]+[a-z][a-z\-]*="[^"&\r]*")*[ \n\t]*/?>')
_ATTRIBUTE = re.compile(rb'([a-z\-]+)="([^"]*)"')
_TAG_NAME = re.compile(rb"<([A-Za-z][^ \t\n\f\r/>]*)")
_ODD_REFERENCE = re.compile(r"&(?!amp;|[A-Za-z0-9]+=|[^A-Za-z0-9#])")
"""A character reference other than `&amp;`; `&name=` in a query is none (html.spec.whatwg.org section 13.2.5.73)."""
_META = re.compile(rb"<meta\s[^>]*>", re.I)
_HIDING = re.compile(rb"<!--|<script|<style|<title[^>]*>[^<]*<meta")
"""What a meta may stand in without being one."""
_start = [b"<no page yet"]
"""How the last page began that named UTF-8: the pages of a site begin alike, and only the first such meta counts."""
_PRESCAN_BYTES = 1024


_scan = native.scan(
    Path(__file__).with_name("plain.c"),
    ctypes.c_char_p,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
)
_records = array("i", bytes(4 * _FIELDS * _RECORDS_MAX))
_slots = array("i", bytes(4 * _SLOTS))
_records_at, _slots_at = _records.buffer_info()[0], _slots.buffer_info()[0]
_known: dict[bytes, Tag] = {}


def available() -> bool:
    return _scan is not None


def markup(content: bytes, declared: str) -> Plain | None:
    """The markup of an HTML page, None when it has to be parsed. `declared`: the charset of its HTTP header, "" when none."""
    if _scan is None or not _is_utf8(content, declared):
        return None
    count = _scan(content, len(content), _records_at, _RECORDS_MAX, _slots_at)
    if count < 0:
        return None
    page = Plain(content, declared, _records[: _FIELDS * count].tolist())
    refresh = any((node.attr("http-equiv") or "").lower() == "refresh" for node in page.all("meta"))
    return None if refresh and b"<noscript" in content.lower() else page


def _is_utf8(content: bytes, declared: str) -> bool:
    """The charset is UTF-8 beyond doubt: by the header, or by the first meta that speaks of it."""
    if content[:1] >= b"\xef":  # a byte order mark
        return False
    name = charset.canonical(declared)
    return name == "utf-8" if name else content.startswith(_start[0]) or _says_utf8(content[:_PRESCAN_BYTES])


def _says_utf8(head: bytes) -> bool:
    """A meta names the charset, in plain sight (html.spec.whatwg.org section 13.2.3.2)."""
    low = head.lower()
    at = low.find(b"charset")
    start = low.rfind(b"<", 0, max(at, 0))
    found = _META.match(head, start) if start >= 0 else None
    if found is None or _HIDING.search(low, 0, start) or charset.inner(head) not in ("", "utf-8"):
        return False
    meta = _tag(found[0])
    label = meta.attr("charset")
    if label is None and (meta.attr("http-equiv") or "").lower() == "content-type":
        label = (meta.attr("content") or "").lower().partition("charset")[2].strip(" \t\r\n\f=\"'")
    if charset.canonical(label or "") != "utf-8":
        return False
    _start[0] = head[: found.end()]
    return True


class Plain:
    """A page's markup as the scan found it."""

    encoding = "utf-8"

    def __init__(self, content: bytes, declared: str, records: list[int]) -> None:
        self._content, self._declared = content, declared
        self._tags: defaultdict[str, list[Tag]] = defaultdict(list)
        self._anywhere: list[Tag] = []
        self._anchors: dict[int, list[tuple[int, int, int]]] = {_ANCHOR: [], _AREA: []}
        self._title: tuple[int, int] | None = None
        self._document: Document | None = None
        for what, how, start, stop in zip(*[iter(records)] * _FIELDS, strict=True):
            if what <= _AREA:
                self._anchors[what].append((how, start, stop))
            elif what == _TITLE:
                self._title = self._title or (start, stop)
            elif what == _STYLE:
                self._tags["style"].append(_tag(b"<style>%b</style>" % content[start:stop]))
            else:
                node = _tag(content[start:stop])
                (self._tags[node.tag] if what == _TAG else self._anywhere).append(node)
        self.root: Tag | None = next(iter(self._tags.get("html", ())), None)

    def all(self, tag: str) -> list[Tag]:
        return self._tags.get(tag, [])

    def anchors(self, tag: str) -> Anchors:
        content = self._content
        followed: dict[str, bool] = {}
        for how, start, stop in self._anchors[_ANCHOR if tag == "a" else _AREA]:
            value = content[start:stop]
            if how == _AS_IS:
                followed[value.decode("utf-8", "replace")] = True
            elif how == _REFERENCES:
                followed[bare(_dereferenced(value))] = True
            else:
                node = _tag(value)
                href = bare(node.attr("href") or "")
                follow = "nofollow" not in (node.attr("rel") or "").lower().split()
                followed[href] = follow or followed.get(href, False)
        nofollow = frozenset(href for href, follow in followed.items() if not follow)
        return Anchors(list(followed), [None] * len(followed), nofollow)

    def anywhere(self) -> list[Tag]:
        return self._anywhere

    def pictures(self) -> list[Element]:
        return []

    def title(self) -> str:
        if self._title is None:
            return ""
        start, stop = self._title
        text = self._content[start:stop]
        if b"&" not in text:
            return text.decode("utf-8", "replace")
        node = parse(b"<title>%b</title>" % text, encoding="utf-8", positions=False).find("title")
        return node.text if node is not None else ""

    def document(self) -> Document:
        if self._document is None:
            self._document = charset.document(self._content, self._declared)
        return self._document


class Tag:
    """A tag by itself, as an element of a tree would answer."""

    __slots__ = ("_attributes", "tag", "text")
    namespace = Namespace.HTML

    def __init__(self, tag: str, attributes: dict[str, str | None], text: str = "") -> None:
        self.tag, self._attributes, self.text = tag, attributes, text

    def attr(self, name: str) -> str | None:
        return self._attributes.get(name)

    def closest(self, selector: str) -> None:
        """What stands in a template or a noscript that matters is on no plain page."""
        return None


def _tag(markup: bytes) -> Tag:
    """The element that a tag (or a whole `style` element) makes."""
    tag = _known.get(markup)
    if tag is None:
        tag = _simple(markup) or _parsed(markup)
        if len(markup) <= _KNOWN_BYTES:
            if len(_known) >= _KNOWN_MAX:
                _known.clear()
            _known[markup] = tag
    return tag


def _simple(markup: bytes) -> Tag | None:
    """Most tags are written as everybody would write them."""
    found = _SIMPLE.fullmatch(markup)
    if found is None:
        return None
    attributes: dict[str, str | None] = {}
    for name, value in _ATTRIBUTE.findall(markup, found.end(1)):
        attributes.setdefault(name.decode(), value.decode("utf-8", "replace"))
    return Tag(found[1].decode(), attributes)


def _parsed(markup: bytes) -> Tag:
    name = _TAG_NAME.match(markup)
    assert name is not None
    tag = name[1].decode("utf-8", "replace").lower()
    document = parse(markup, encoding="utf-8", positions=False)
    node = document.root if tag == "html" else document.find(tag)
    assert node is not None
    return Tag(tag, {name: node.attr(name) for name in node.attrs}, node.text if tag == "style" else "")


def _dereferenced(value: bytes) -> str:
    """An attribute's value with its character references resolved."""
    text = value.decode("utf-8", "replace")
    if not _ODD_REFERENCE.search(text):
        return text.replace("&amp;", "&")
    quote = b'"' if b'"' not in value else b"'" if b"'" not in value else b""
    return _tag(b"<a href=%b%b%b>" % (quote, value, quote)).attr("href") or ""
