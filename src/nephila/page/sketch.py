"""A sketch of a page: which texts stand on it, as numbers. Two pages with the same texts say the same.

A text is what stands between two tags, without digits, white space and punctuation: a date or a counter makes no other page, and
neither do links. What a page says of its own address (that it was not found) is left out. A few passes in C and no
tree, so that it is linear whatever the page holds: about 10 µs per kB, and only pages that somebody wants to compare are
sketched.
"""

from __future__ import annotations

import re
from array import array
from html import escape
from urllib.parse import unquote
from zlib import crc32

BYTES_MAX = 256 << 10
"""Of a longer page only the beginning is looked at."""
TEXTS_MAX = 512
"""Texts of one page; of more, those with the smallest numbers, which are the same ones on another page."""
LENGTH_MIN, LENGTH_LONG = 3, 80
"""Bytes. Less is a bullet or a currency, more is a sentence and not a heading."""
OWN_MIN = 5
"""A shorter name may be a word of every page's text."""

_TEXT = re.compile(rb">([^<>]{3,})<")
"""Without `>` inside, so that it is linear."""
_RAW = (b"script", b"style", b"SCRIPT", b"STYLE")
_DATA = b"json"
"""A script of such a type holds data: some pages consist of nothing else."""
_DROPPED = bytes(byte for byte in range(1, 128) if not chr(byte).isalpha())
_FOLDED = bytes(range(256)).lower()


def sketch(content: bytes, url: str) -> bytes:
    """Native unsigned 32-bit numbers, sorted, one for each text of the decoded page `content` that was fetched from `url`. An odd
    number stands for a long text. Empty: nothing is said there."""
    content = content[:BYTES_MAX]
    for tag in _RAW:
        content = _without(content, tag)
    texts = b"\0".join(_TEXT.findall(content))
    for own in _own(url):
        texts = texts.replace(own, b"")
    lines = set(texts.translate(_FOLDED, _DROPPED).split(b"\0"))
    numbers = sorted({crc32(line) & ~1 | (len(line) >= LENGTH_LONG) for line in lines if len(line) >= LENGTH_MIN})
    return array("I", numbers[:TEXTS_MAX]).tobytes()


def _own(url: str) -> list[bytes]:
    """The page's own address as its text may spell it, the longest spelling first: whole, without its host, its last part."""
    path = url[url.find("/", 8) :]
    name = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    spellings = [spelling for own in (url, path, name) for spelling in (own, unquote(own), escape(own))]
    return [own.encode() for own in dict.fromkeys(spellings) if len(own) >= OWN_MIN]


def _without(content: bytes, tag: bytes) -> bytes:
    """The page without what stands in these elements."""
    parts, at, search = list[bytes](), 0, 0
    while (start := content.find(b"<" + tag, search)) >= 0:
        end = content.find(b"</" + tag, start)
        head = content[start : content.find(b">", start) + 1]
        search = end if end >= 0 else len(content)
        if _DATA not in head:
            parts.append(content[at:start])
            at = search
    return b"".join((*parts, content[at:]))
