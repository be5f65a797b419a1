"""What a page says of things in words made for machines: JSON-LD, microdata, RDFa and OpenGraph, all in one form.

The parser reads microdata and RDFa; here its answers, JSON-LD and the `<meta>`s of OpenGraph become `Thing`s. No JSON-LD
processor (https://www.w3.org/TR/json-ld11/): a context is not fetched, names are taken by their last part, and JSON as people
write it (comments, commas at ends, line ends in texts, several values in one script) is read as it was meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from turbohtml import Document

from nephila.url.parse import resolve

DEPTH_MAX = 32
"""Things inside things, and lists inside lists."""
VALUES_MAX = 20_000
"""Values of one page, all its things together."""
TEXT_CHARS = 100_000
NESTED_REFS_MAX = 16
"""`itemref`s of things that stand in things: each level of them multiplies what the next one holds."""

_MARKERS = (b"ld+json", b"itemscope", b"typeof", b"og:", b"product:", b"article:")
_OPENGRAPH = re.compile(r"(og|article|book|business|music|place|product|profile|video):\S")
_ADDRESSES = frozenset({"url", "image", "logo", "sameAs", "contentUrl", "thumbnailUrl", "embedUrl", "thumbnail"})
_BLANK = " \t\r\n;"
_OPEN = re.compile(r"(?:(?://|/\*)[ \t]*)?(?:<!--|<!\[CDATA\[)(?:[ \t]*\*/)?")
_CLOSE = ("*/", "-->", "]]>", "/*", "//")
"""What scripts are wrapped in for the sake of readers of the nineties."""
_GAP = re.compile(r"[\s;,]*+")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*+")|//[^\n]*|/\*(?:.*?\*/|.*)', re.S)
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*+[}\],])', re.S)


class Thing(NamedTuple):
    """`types` as their last parts (`Product`); `properties`: name → values in order, each a text, number, flag or Thing."""

    types: tuple[str, ...]
    id: str
    properties: dict[str, list[Any]]


class Found(NamedTuple):
    """The things of a page, each with the kind of markup that says so (`json-ld`, `microdata`, `rdfa`, `opengraph`).
    `broken`: kinds of markup that could not be read in a place; `cut`: more values than `VALUES_MAX`."""

    things: list[tuple[str, Thing]]
    broken: list[str]
    cut: bool


def likely(content: bytes) -> bool:
    """False: no use in parsing these bytes, they hold no such markup (in a charset that holds ASCII)."""
    content = content.lower()
    return any(marker in content for marker in _MARKERS) or b"\0" in content[:4096]


def read(document: Document, base: str) -> Found:
    """All things of a page; addresses are made absolute with `base`. The tree is changed: use it for nothing else after."""
    reading = _Reading(base)
    things: list[tuple[str, Thing]] = []
    broken: list[str] = []
    parts: dict[str, Callable[[Document], Iterator[Thing]]] = {
        "json-ld": reading.json_ld,
        "microdata": reading.microdata,
        "rdfa": reading.rdfa,
        "opengraph": reading.opengraph,
    }
    for markup, part in parts.items():
        try:
            for thing in part(document):
                things.append((markup, thing))
        except (ValueError, RecursionError):  # the parser's own limits, and JSON that nobody can read
            broken.append(markup)
    return Found(things, broken + reading.broken, reading.left <= 0)


class _Reading:
    """One page: how many values may still be taken."""

    def __init__(self, base: str) -> None:
        self._base, self.left, self.broken = base, VALUES_MAX, list[str]()

    def json_ld(self, document: Document) -> Iterator[Thing]:
        for script in document.select('script[type*="ld+json" i]'):
            try:
                values = lenient(script.text)
            except (ValueError, RecursionError):
                self.broken.append("json-ld")
                continue
            for value in self._values("", values, 0):
                if isinstance(value, Thing):
                    yield from self._members(value)

    def _members(self, thing: Thing) -> Iterator[Thing]:
        """The things of a `@graph`, which is a list and no thing; or the thing itself."""
        graph = thing.properties.pop("@graph", [])
        if thing.types or thing.properties:
            yield thing
        for member in graph:
            if isinstance(member, Thing):
                yield from self._members(member)

    def _values(self, name: str, value: Any, depth: int) -> Iterator[Any]:
        """The values of one property in a JSON-LD object."""
        if value is None or depth > DEPTH_MAX:
            return
        if isinstance(value, list):
            for one in value:
                yield from self._values(name, one, depth + 1)
        elif not isinstance(value, dict):
            yield from self._scalar(name, value)
        elif keyword := next((key for key in ("@value", "@list", "@set") if key in value), ""):
            yield from self._values(name, value[keyword], depth + 1)
        elif value.keys() == {"@id"}:
            yield from self._scalar("url", value["@id"])
        elif self._take():
            yield self._object(value, depth)

    def _object(self, value: dict[str, Any], depth: int) -> Thing:
        properties: dict[str, list[Any]] = {}
        for key, inner in value.items():
            if key == "@graph" or not key.startswith("@"):
                name = key if key == "@graph" else short(key)
                if found := list(self._values(name, inner, depth + 1)):
                    properties.setdefault(name, []).extend(found)
        id = value.get("@id")
        return Thing(_types(value.get("@type")), self._absolute(id) if isinstance(id, str) else "", properties)

    def microdata(self, document: Document) -> Iterator[Thing]:
        for node in document.select("[itemprop][content]:not(meta):not([itemscope])"):
            node.set_text(
                node.attr("content") or ""
            )  # the standard wants it of <meta> only, everybody writes it everywhere
        nested = document.select("[itemprop][itemref]")
        if sum(len((node.attr("itemref") or "").split()) for node in nested) > NESTED_REFS_MAX:
            raise ValueError("itemref")
        for item in document.microdata(self._base):
            yield self._item((item.type or "").split(), item.id, item.properties)

    def rdfa(self, document: Document) -> Iterator[Thing]:
        for item in document.rdfa(self._base):
            yield self._item(item.type, item.resource, item.properties)

    def _item(self, types: Any, id: str | None, found: dict[str, list[Any]]) -> Thing:
        properties: dict[str, list[Any]] = {}
        for key, values in found.items():
            name = short(key)
            for value in values:
                if isinstance(value, str):
                    properties.setdefault(name, []).extend(self._scalar(name, value))
                elif self._take():
                    inner = value.type.split() if isinstance(value.type, str) else value.type or []
                    id_of = value.resource if hasattr(value, "resource") else value.id
                    properties.setdefault(name, []).append(self._item(inner, id_of, value.properties))
        return Thing(_types(types), id or "", {name: values for name, values in properties.items() if values})

    def opengraph(self, document: Document) -> Iterator[Thing]:
        """https://ogp.me: one thing per page."""
        properties: dict[str, list[Any]] = {}
        for node in document.find_all("meta"):
            name = (node.attr("property") or node.attr("name") or "").strip().lower()
            if _OPENGRAPH.match(name):
                name = name.removeprefix("og:")
                properties.setdefault(name, []).extend(self._scalar(name, node.attr("content") or ""))
        properties = {name: values for name, values in properties.items() if values}
        if properties:
            yield Thing(("OpenGraph",), "", properties)

    def _scalar(self, name: str, value: Any) -> Iterator[Any]:
        if isinstance(value, str):
            value = " ".join(value[:TEXT_CHARS].split())
            if name in _ADDRESSES and not value.startswith(("http://", "https://")):
                value = self._absolute(value)
            if not value:
                return
        if self._take():
            yield value

    def _absolute(self, href: str) -> str:
        if not href or href.startswith("_:"):
            return href
        address, mark, fragment = href.partition("#")
        absolute = resolve(self._base, address) if address else self._base
        return f"{absolute}{mark}{fragment}" if absolute else href

    def _take(self) -> bool:
        self.left -= 1
        return self.left > 0


def lenient(text: str) -> list[Any]:
    """The JSON values in a script, written as people do it. Raises ValueError when there is no reading it."""
    text = _unwrapped(text.strip("\ufeff" + _BLANK))
    if not text:
        return []
    try:
        return [_load(text)]
    except ValueError:
        text = _COMMENT.sub(lambda found: found[1] or " ", text)
        text = _COMMA.sub(lambda found: found[1] or "", text).strip()
    values, at = [], 0
    while at < len(text):
        value, end = _DECODER.raw_decode(text, at)
        values.append(value)
        at = _GAP.match(text, end).end()  # type: ignore[union-attr]
    return values


def _unwrapped(text: str) -> str:
    if opened := _OPEN.match(text):
        text = text[opened.end() :].strip(_BLANK)
        for end in _CLOSE:
            text = text.removesuffix(end).strip(_BLANK)
    return text


_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda name: None)
_load = _DECODER.decode


def short(name: str) -> str:
    """The last part of a name: `https://schema.org/price`, `schema:price` → `price`. An underscore in front is ours."""
    return re.split(r"[/#:]", name.rstrip("/#:"))[-1].strip().lstrip("_")[:100] or "value"


def _types(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value] if value else []
    return tuple(dict.fromkeys(short(name) for name in names if isinstance(name, str) and name.strip()))
