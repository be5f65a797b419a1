"""What the HTTP header says of a page: links, a refresh, orders to robots.

Source: RFC 8288 (Link), https://html.spec.whatwg.org "shared declarative refresh steps" (Refresh and meta refresh),
https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag (X-Robots-Tag).
"""

from __future__ import annotations

import re

import msgspec

AGENT = "nephila"
"""The token by which a page may speak to this crawler alone: `<meta name=nephila>`, `X-Robots-Tag: nephila: noindex`."""

LINKS_MAX = 100
"""A header that names more links is not meant for a reader."""

_TARGET = re.compile(r"<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([^\s=;,"<>]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*+)"?|([^\s;,"]*)))?""")
_REFRESH = re.compile(r"\s*(?:(\d+)[\d.]*|(?=\.)[\d.]+)(.*)", re.S)
_REFRESH_URL = re.compile(r"(?:\s*[;,]\s*|\s+)(.*)", re.S)
_URL_KEY = re.compile(r"url\s*=\s*", re.I)

_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_DIRECTIVE = re.compile(r"[a-z][a-z_\-]{0,40}")


class HeaderLink(msgspec.Struct, frozen=True):
    """One target of a Link header; `rel` and `type` lower case, `anchored` when it speaks of another page."""

    href: str
    rel: str
    type: str = ""
    anchored: bool = False


def links(value: str) -> list[HeaderLink]:
    """The targets of a Link header (several joined by ", "); what does not parse is stepped over."""
    found: list[HeaderLink] = []
    at = 0
    while len(found) < LINKS_MAX and (at := value.find("<", at)) >= 0:
        target = _TARGET.match(value, at)
        if target is None:
            at += 1
            continue
        at, parameters = _parameters(value, target.end())
        rel, kind = parameters.get("rel", "").lower(), parameters.get("type", "").lower()
        found.append(HeaderLink(target[1].strip(), rel, kind, "anchor" in parameters))
    return found


def refresh(value: str) -> tuple[int, str] | None:
    """(seconds, URL) of a refresh, None when it does not parse; the URL is "" when the page only reloads itself."""
    match = _REFRESH.fullmatch(value)
    if match is None:
        return None
    delay_s = int(match[1][:9]) if match[1] else 0
    rest = _REFRESH_URL.fullmatch(match[2])
    if rest is None:
        return None if match[2].strip() else (delay_s, "")
    url = rest[1]
    if key := _URL_KEY.match(url):
        url = url[key.end() :]
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return delay_s, url.strip()


def robots(value: str) -> frozenset[str]:
    """The directives of one X-Robots-Tag value that are meant for everybody or for us, lower case.

    `none` is spelled out as noindex and nofollow. A name before a colon says whom the rest of the value is for.
    """
    found: set[str] = set()
    ours = True
    for part in value.lower().split(","):
        name, colon, rest = (piece.strip() for piece in part.partition(":"))
        if colon and name in _VALUED:
            if ours:
                found.add(f"{name}:{rest}")
            continue
        if colon:
            ours, name = name in (AGENT, "robots", "*"), rest
        if ours and name == "none":
            found |= {"noindex", "nofollow"}
        elif ours and _DIRECTIVE.fullmatch(name):
            found.add(name)
    return frozenset(found)


def _parameters(value: str, at: int) -> tuple[int, dict[str, str]]:
    found: dict[str, str] = {}
    while match := _PARAMETER.match(value, at):
        name, quoted, bare = match.groups()
        text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else bare or ""
        found.setdefault(name.lower(), text)
        at = match.end()
    return at, found
