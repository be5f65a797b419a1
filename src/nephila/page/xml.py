"""A forgiving reader of XML-like text: tags and text in order, nothing expanded, nothing fetched, nothing refused.

Sitemaps and feeds of the web are cut, unclosed, badly escaped and bound to wrong namespaces; a conforming parser gives up at
the first of these. Here a document type declaration is stepped over with all it defines, so no entity but the five of
XML and numbers ever means anything, and no file is opened. One pass, linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from functools import lru_cache

OPEN, CLOSE, TEXT = "open", "close", "text"

_NAME = re.compile(r"[^\s/>]+")
_ATTRIBUTE = re.compile(r"""([^\s=/<>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_FIVE = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_DECLARATION = re.compile(r"""(?:[^<>"'\[]|"[^"]*"|'[^']*')*+""")
_SUBSET = re.compile(r"""(?:<!--(?s:.*?)-->|[^\]"'<]|<(?!!--)|"[^"]*"|'[^']*')*+\]?[^>]*>?""")


def events(text: str) -> Iterator[tuple[str, str, str]]:
    """(OPEN, name, attributes as written), (CLOSE, name, "") and (TEXT, characters, "") of `text`.

    An empty element gives OPEN and CLOSE. Names keep their prefix. A tag without end gives a nameless CLOSE and ends the
    reading; text that no tag follows may be cut and is not given.
    """
    at = 0
    while (start := text.find("<", at)) >= 0:
        if start > at:
            yield TEXT, unescaped(text[at:start]), ""
        lead = text[start + 1 : start + 2]
        if lead == "!":
            at = yield from _marked(text, start)
            if at < 0:
                return
            continue
        end = text.find(">", start)
        if end < 0:
            yield CLOSE, "", ""  # the cut tag ends what stood before it
            return
        at = end + 1
        if lead == "/":
            yield CLOSE, text[start + 2 : end].strip(), ""
        elif lead != "?" and (name := _NAME.match(text, start + 1, end + 1)):
            yield OPEN, name[0], text[name.end() : end]
            if text[end - 1] == "/":
                yield CLOSE, name[0], ""


def attribute(attributes: str, name: str) -> str:
    """The value of one attribute of an OPEN event, "" when it is not there."""
    for match in _ATTRIBUTE.finditer(attributes):
        if match[1] == name:
            return unescaped(match[2] if match[2] is not None else match[3])
    return ""


@lru_cache(maxsize=256)
def split_name(name: str) -> tuple[str, str]:
    """(prefix, local name in lower case)."""
    prefix, colon, local = name.rpartition(":")
    return (prefix, local.lower()) if colon else ("", name.lower())


def unescaped(text: str) -> str:
    """The text with the five entities and numbers replaced; any other `&` stands for itself."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return _FIVE[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"


def _marked(text: str, start: int) -> Generator[tuple[str, str, str], None, int]:
    """Step over a comment or declaration, give a CDATA section; returns where to go on, -1 at the end."""
    if text.startswith("<!--", start):
        end = text.find("-->", start + 4)
        return end + 3 if end >= 0 else -1
    if text.startswith("<![CDATA[", start):
        end = text.find("]]>", start)
        if end < 0:
            return -1
        yield TEXT, text[start + 9 : end], ""
        return end + 3
    return _declaration_end(text, start + 2)


def _declaration_end(text: str, at: int) -> int:
    match = _DECLARATION.match(text, at)
    at = match.end() if match else at
    if text[at : at + 1] != "[":
        end = text.find(">", at)
        return end + 1 if end >= 0 else -1
    subset = _SUBSET.match(text, at + 1)
    return subset.end() if subset and subset.end() > at + 1 else -1
