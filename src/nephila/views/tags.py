"""The tags of a page that hold addresses: where they stand, and how one is changed with every other byte left as it is.

A scan in C (tags.c) walks the bytes as the tokenizer of the HTML standard does (section 13.2.5): comments, raw text and quoted
values hide what looks like a tag. Where it was not built, the parser's own tokenizer does it, ten times slower; the tests hold
them against each other. What only a tree builder can know is not known here: in a drawing inside a page, `style` and `title`
count as raw text.
"""

from __future__ import annotations

import ctypes
import re
from array import array
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from pathlib import Path
from typing import NamedTuple

from turbohtml import TokenType, tokenize

from nephila import native

TAG, ADDRESS, STYLE, NOSCRIPT = range(4)
"""What a record is: a tag that may hold addresses; the value of an attribute that is one, where its tag holds no other and it is
written as most are; the text of a `style` element; the markup in a `noscript`."""

Record = tuple[int, int, int]
"""(what, start, stop)"""

HOLDERS = frozenset(
    [
        "action",
        "background",
        "charset",
        "cite",
        "crossorigin",
        "data",
        "data-href",
        "data-original",
        "data-src",
        "data-srcset",
        "dynsrc",
        "formaction",
        "href",
        "imagesrcset",
        "integrity",
        "longdesc",
        "lowsrc",
        "manifest",
        "nonce",
        "ping",
        "poster",
        "src",
        "srcdoc",
        "srcset",
        "style",
        "xlink:href",
    ]
)
"""Attributes that hold addresses, or are dropped."""
_ALWAYS = frozenset({"base", "head", "meta", "param"})
_CONTENTS = {"style": STYLE, "noscript": NOSCRIPT}

_FIELDS, _RECORDS = 3, 4096


_scan = native.scan(
    Path(__file__).with_name("tags.c"),
    ctypes.c_char_p,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
)
_records = array("i", bytes(4 * _FIELDS * _RECORDS))
_records_at = _records.buffer_info()[0]
_from = ctypes.c_int64()
_from_at = ctypes.addressof(_from)


def records(page: bytes) -> list[Record]:
    """The tags of a page (in any charset that holds ASCII) that may hold an address, in order."""
    if _scan is None or len(page) > 0x7FFF_FFFF:
        return list(_tokenized(page))
    found: list[int] = []
    _from.value = 0
    while _from.value < len(page):
        count = _scan(page, len(page), _from_at, _records_at, _RECORDS)
        found += _records[: _FIELDS * count].tolist()
    return list(zip(*[iter(found)] * _FIELDS, strict=True))


def _tokenized(page: bytes) -> Iterator[Record]:
    """The same from the parser's tokenizer. One character per byte: only ASCII decides (and it would fold a CR and LF into one)."""
    text = page.decode("latin-1").replace("\r", " ")
    at, content = 0, TAG
    for token in tokenize(text, resolve_references=False, capture_source=True):
        if not token.source:
            continue  # text
        start = text.find(token.source, at)
        if content and start > at:
            yield content, at, start
        at, content = start + len(token.source), TAG
        if token.type is TokenType.START_TAG:
            if token.tag in _ALWAYS or any(name in HOLDERS for name, _ in token.attrs or ()):
                yield _one(page[start:at], start) or (TAG, start, at)
            content = _CONTENTS.get(token.tag or "", TAG)
    if content and at < len(text):
        yield content, at, len(text)


def _one(tag: bytes, start: int) -> Record | None:
    """The value of the only attribute that holds an address, when that is href or src, in double quotes, without references."""
    held = [found for found in _written(tag) if found[1].lower().decode("latin-1") in HOLDERS]
    if len(held) != 1 or held[0][1].lower() not in (b"href", b"src") or name_of(tag) in _ALWAYS:
        return None
    value = held[0][2] or b""
    if value[:1] != b'"' or len(value) < 3 or b"&" in value:
        return None
    return ADDRESS, start + held[0].start(2) + 1, start + held[0].end(2) - 1


class Attribute(NamedTuple):
    """One attribute of a tag: where it begins, where its value stands (`at` 0: it has none) and where it ends."""

    name: str
    value: str
    start: int
    at: int
    stop: int


def attributes(tag: bytes) -> list[Attribute]:
    """The attributes of a start tag in order, the first of each name, names in lower case."""
    found: dict[str, Attribute] = {}
    for each in _written(tag):
        name = each[1].lower().decode("latin-1")
        if name not in found:
            value = each[2] or b""
            text = (value[1:-1] if value[:1] in b"\"'" else value).decode("utf-8", "surrogateescape")
            found[name] = Attribute(name, _dereferenced(text), each.start(), max(each.start(2), 0), each.end())
    return list(found.values())


def _written(tag: bytes) -> Iterator[re.Match[bytes]]:
    return _ATTRIBUTE.finditer(tag, len(name_of(tag)) + 1, len(tag) - 1)


def name_of(tag: bytes) -> str:
    """The element's name in lower case; that of `<?xml-stylesheet` begins with a question mark."""
    found = _NAME.match(tag)
    return found[1].lower().decode("latin-1") if found else ""


def edited(tag: bytes, changes: list[tuple[Attribute, str | None]]) -> bytes:
    """The tag with some of its attributes changed, or left out (None). `changes` are in order."""
    parts, kept = [], 0
    for attribute, value in changes:
        if value is None:
            parts.append(tag[kept : attribute.start])
        else:
            quote = b"'" if tag[attribute.at : attribute.at + 1] == b"'" else b'"'
            parts += (tag[kept : attribute.at], quote, quoted(value, quote), quote)
        kept = attribute.stop
    return b"".join((*parts, tag[kept:]))


def quoted(value: str, quote: bytes = b'"') -> bytes:
    """A value as it stands between quotes."""
    text = value.replace("&", "&amp;").encode("utf-8", "surrogateescape")
    return text.replace(quote, b"&quot;" if quote == b'"' else b"&#39;")


_NAME = re.compile(rb"<([A-Za-z?][^\t\n\f\r />]*+)")
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"""
    rb"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+("[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+))?+"""
)
_REFERENCE = re.compile(r"&(?:#[0-9]{1,9}+;?|#[xX][0-9A-Fa-f]{1,9}+;?|[A-Za-z][A-Za-z0-9]*+(?:;|(?!=)))")


def _dereferenced(value: str) -> str:
    """Character references in an attribute: without a semicolon and before `=` or a letter they are none (section 13.2.5.73)."""
    if "&" not in value:
        return value
    return _REFERENCE.sub(lambda found: _meant(found[0]), value)


def _meant(reference: str) -> str:
    if reference[1] == "#" or reference[-1] == ";" or reference[1:] in html5:
        return unescape(reference)
    return reference


def drawn(page: bytes) -> Iterator[Record]:
    """The tags of an XML page (a drawing) and the text of its stylesheets. XML allows no `<` in a value."""
    for found in _DRAWN.finditer(page):
        if found["tag"]:
            yield TAG, *found.span("tag")
        if found["css"]:
            yield STYLE, *found.span("css")


_DRAWN = re.compile(
    rb"""<!--(?s:.)*?(?:-->|\Z) | <!\[CDATA\[(?s:.)*?(?:\]\]>|\Z)
    | (?P<tag> <(?:(?P<style>style(?=[\s>]))|[A-Za-z?]) (?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+ > )
      (?(style) (?<!/>) (?P<css> (?:[^<]|<(?!/style))*+ ) )""",
    re.X,
)
