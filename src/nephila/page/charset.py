"""Which charset a body is written in: byte order mark, then HTTP, then what it says of itself, then a guess.

Source: https://encoding.spec.whatwg.org for labels and decoders (GBK, GB2312 and GB18030 all decode as gb18030, whose
table holds the others'), https://html.spec.whatwg.org section 13.2.3 for the order. Two labels are not believed:
`unicode`, which editors of the nineties wrote into pages of any charset, and `none`.
"""

from __future__ import annotations

import re

from turbohtml import Document, parse
from turbohtml.detect import detect

_DISBELIEVED = frozenset({"unicode", "none"})
_PRESCAN_BYTES = 1024
_GUESS_BYTES = 1 << 18
"""So much of a body is enough for a guess."""

_META_UNICODE = re.compile(rb"charset\s*=\s*[\"']?\s*(unicode)(?=[\s\"';/>])", re.I)
_CSS_CHARSET = re.compile(rb'@charset "([^"]{1,64})";')
_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:\-]{1,40})["']""")
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))


def canonical(label: str) -> str:
    """The WHATWG name of a charset label, lower case; "" when it is unknown or not to be believed."""
    name = label.strip("\t\n\x0c\r ").lower()
    if name not in _NAMES:
        if len(_NAMES) > 2048:  # labels come from the web: the table must not grow with it
            _NAMES.clear()
        _NAMES[name] = "" if name in _DISBELIEVED else _lookup(name)
    return _NAMES[name]


def document(content: bytes, declared: str) -> Document:
    """The tree of an HTML page. `declared` is the charset of its HTTP header, "" when none; a mark in the bytes wins."""
    if label := canonical(declared) or _wide(content):
        return parse(content, encoding=label, positions=False)
    content = _without_meta_unicode(content)
    tree = parse(content, positions=False, detect_encoding=True)
    if tree.encoding_confidence == "tentative" and tree.encoding != "UTF-8" and _mostly_utf8(content):
        return parse(content, encoding="utf-8", positions=False)
    return tree


def decode(content: bytes, declared: str) -> tuple[str, str]:
    """(text, charset) of a stylesheet, an XML file or plain text; errors become U+FFFD, a mark is removed."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return _text(content[len(mark) :], name), name
    name = canonical(declared) or _wide(content) or inner(content)
    if name:
        return _text(content, name), name
    try:
        return content.decode(), "utf-8"
    except UnicodeDecodeError:
        name = "utf-8" if _mostly_utf8(content) else canonical(detect(content[:_GUESS_BYTES]).encoding or "utf-8")
        return _text(content, name), name


_NAMES: dict[str, str] = {}


def _wide(content: bytes) -> str:
    """UTF-16 without a mark: its first characters are ASCII, and every other byte of them is zero."""
    if b"\0" not in content[:2]:
        return ""
    head = content[: len(_WIDE_LE)]
    return "utf-16le" if head[1::2] == _WIDE_LE[1::2] else "utf-16be" if head[::2] == _WIDE_LE[1::2] else ""


_WIDE_LE = b"<\0" * 4


def _lookup(label: str) -> str:
    try:
        return (parse(b"", encoding=label).encoding or "").lower()
    except LookupError:
        return ""


def _without_meta_unicode(content: bytes) -> bytes:
    """The page without a `charset=unicode` of its head: only the bytes can tell its charset."""
    if b"unicode" not in content[:_PRESCAN_BYTES].lower():  # the pattern is slow, the word is rare
        return content
    found = _META_UNICODE.search(content, 0, _PRESCAN_BYTES)
    return content if found is None else content[: found.start(1)] + b"none   " + content[found.end(1) :]


def inner(content: bytes) -> str:
    """What the first bytes of a stylesheet or an XML file say; UTF-16 there can only be meant as UTF-8."""
    found = _CSS_CHARSET.match(content) or _XML_ENCODING.match(content, 0, _PRESCAN_BYTES)
    name = canonical(found[1].decode("ascii", "replace")) if found else ""
    return "utf-8" if name.startswith("utf-16") else name


def _text(content: bytes, name: str) -> str:
    return content.decode("utf-8" if name == "utf-8" else f"whatwg-{name}", "replace")


def _mostly_utf8(content: bytes) -> bool:
    """UTF-8 but for a few broken bytes: one stray byte must not turn a page into another script."""
    text = content[:_GUESS_BYTES].decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return bad * 20 < len(text) - len(text.encode("ascii", "ignore"))
