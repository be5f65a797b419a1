"""Links that nobody declares: addresses in scripts, comments, text and attributes that are no links by any standard.

A guess, and off by default (`--guess-links`): it finds pages that a browser reaches only by running scripts, and it finds
addresses that were never meant to be asked for. It looks at the source and at no tree, so it is the same whether a page was
scanned or parsed. What a script sends by another method than GET is written down as a form and never asked for.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from nephila.page.harvest import Harvest
from nephila.page.markup import bare
from nephila.types import Kind

SCRIPT_TYPES = frozenset(
    {
        "text/javascript",
        "application/javascript",
        "application/x-javascript",
        "application/ecmascript",
        "text/ecmascript",
    }
)
TEXT_TYPES = frozenset({"text/plain", "application/json", "application/ld+json", "application/manifest+json"})

_URL_CHARS_MAX = 2048
_CALL_CHARS = 200
"""So far from its address a call names its method."""

_QUOTED = r"[^\s\"'`<>(){}\[\]|\\^*$]*+"
_BARE = r"(?:[^\s\"'`<>(){}\[\]|\\^*$,;]|(?<=&amp);)*+"
"""What an address goes on with: in quotes, and in running text."""
_PAGES = r"(?:[sx]?html?|php\d?|aspx?|jspx?|cgi|pdf|xml|json|txt|csv|docx?|xlsx?|pptx?|odt|ods|odp|rtf|epub)"
_IN_SCRIPT = rf"""
    (?P<mark>["'`]) (?P<quoted> (?:https?:)?//[\w\[]{_QUOTED} | \.{{0,2}}/[\w~%]{_QUOTED}
                    | [\w~%\-]++ (?:[./][\w~%\-]++)*? \.{_PAGES} (?:\?{_QUOTED})? ) (?P=mark)
  | (?P<absolute> https?://[\w\[]{_BARE} )
"""
_SCRIPT = re.compile(_IN_SCRIPT, re.X | re.I)
_TEXT = re.compile(rf"{_IN_SCRIPT} | (?<![^\s\"'`(>=]) (?P<path> \.{{0,2}}/[\w~%]{_BARE} )", re.X | re.I)
_PATH = re.compile(r"\.{0,2}/[^/?]+(?:/[^/]|\.\w)")
"""A path in running text has two parts or a file's ending: `/h` in `km /h` has neither."""
_NAMES = ("http://www.w3.org/", "http://schema.org", "https://schema.org", "http://ogp.me/", "http://purl.org/")
"""Addresses that are names: of namespaces and vocabularies."""

_SENT_BEFORE = re.compile(
    r"(?:\b(?:post|put|delete|patch)\(|[\"'`](?:POST|PUT|DELETE|PATCH)[\"'`]\s{0,5},)\s{0,5}\Z", re.I
)
_SENT_AFTER = re.compile(r"[^;]*?\b(?:method|type)[\"']?\s*:\s*[\"'`](?:POST|PUT|DELETE|PATCH)\b", re.I)
_OPENING = re.compile(r"<script\b[^>]*+>?", re.I | re.A)
_CLOSING = re.compile(r"</script", re.I | re.A)
_REPORTS = re.compile(r"report-uri\s+([^\s;\"'<>]+)", re.I)


def guess(source: str, harvest: Harvest, *, script: bool = False) -> None:
    """Put addresses that `source` holds, and `harvest` does not yet, into it. `script`: it is one, and no page or text."""
    known = set().union(*harvest.seen.values())
    for href, kind in _addresses(source, script, known):
        known.add(href)
        harvest.add(href, kind, "", "guess")
        if harvest.cut:
            return


def _addresses(source: str, script: bool, known: set[str]) -> Iterator[tuple[str, Kind]]:
    """What looks like an address and is not in `known`, which grows meanwhile."""
    for href in _REPORTS.findall(source) if not script else ():
        yield bare(href), Kind.FORM
    for is_script, part in [(True, source)] if script else _parts(source):
        part = part.replace("\\/", "/")
        for found in (_SCRIPT if is_script else _TEXT).finditer(part):
            href = _address(found, is_script)
            if href and href not in known:
                yield href, Kind.FORM if _sent(part, found) else Kind.SCRIPT


def _address(found: re.Match[str], is_script: bool) -> str:
    """The address of a match, "" when it is more likely none."""
    text = found["quoted"] or (found["absolute"] or found["path"]).rstrip(".:!?")
    if found.lastgroup == "path" and not _PATH.match(text):
        return ""
    href = bare(text if is_script or "&" not in text else html.unescape(text))
    return "" if len(href) > _URL_CHARS_MAX or href.startswith(_NAMES) else href


def _sent(part: str, found: re.Match[str]) -> bool:
    """The call that the address stands in sends something: no address to be asked for."""
    start, end = found.span()
    before = part[max(start - _CALL_CHARS, 0) : start]
    return bool(_SENT_BEFORE.search(before[-40:]) or _SENT_AFTER.match(part, end, end + _CALL_CHARS))


def _parts(source: str) -> Iterator[tuple[bool, str]]:
    """(is it a script, text) of a page, in order."""
    at = 0
    while opening := _OPENING.search(source, at):
        closing = _CLOSING.search(source, opening.end())
        end = closing.start() if closing else len(source)
        yield False, source[at : opening.end()]
        yield True, source[opening.end() : end]
        at = end
    yield False, source[at:]
