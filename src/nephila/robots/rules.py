"""What a robots.txt allows (RFC 9309), read from its bytes in one pass.

The lines are ours, because that is where files are broken and where libraries differ: line ends, BOM, limits, groups, names.
What is left is the rules of the group that speaks to us; matching them against a path (wildcards, percent-escapes, longest
match) is Protego's work, and done only when somebody asks.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from protego import Protego

from nephila.url.parse import path_of

BYTES_MAX = 512_000
"""More is not read (RFC 9309, 2.5 asks for at least 500 KiB)."""
_SITEMAPS_MAX = 1_000

_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
"""An error page served as robots.txt: nothing in it is a rule, not even in its examples."""
_NAMES = {
    **dict.fromkeys(("user-agent", "useragent", "user agent", "useg-agent"), "user-agent"),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "desallow", "diasllow", "disallaw"), "disallow"),
    **dict.fromkeys(("allow",), "allow"),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), "crawl-delay"),
    **dict.fromkeys(("sitemap", "sitemaps", "site-map"), "sitemap"),
}
"""Names of the directives and their commonest misspellings."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]*")
_BOM = re.compile(rb"\A\xef(?:\xbb\xbf?)?")
"""A byte order mark, or what an editor left of it: no line of text begins so."""
_DELAY = re.compile(r"\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}")
_BREAK = re.compile("\r\n|\r|\n")
_LINE_BREAKS = re.compile("[\\x0b\\x0c\\x1c-\\x1e\\x85\\u2028\\u2029]")
"""No line ends in robots.txt, but they are to Protego: written as percent-escapes, which mean the same in a rule."""


class Line(NamedTuple):
    """An allow or disallow line of the file, as it is understood. `number` counts from 1."""

    number: int
    text: str


class Rules:
    """A robots.txt. A group is the list of its allow and disallow lines; each name knows its groups."""

    def __init__(self) -> None:
        self._sitemaps: dict[str, None] = {}
        self._groups: dict[str, list[list[Line]]] = {}
        self._delays: dict[str, float] = {}
        self._matchers: dict[str, Protego] = {}

    @classmethod
    def parse(cls, data: bytes) -> Rules:
        """The rules in `data`, whatever it holds. Never raises.

        Only a rule ends the list of names of a group (RFC 9309, 2.1). A Crawl-delay, which is not of the RFC, speaks to the
        names just above it: `A: 10, B: 20` on four lines are two delays, and still one group of rules.
        """
        rules = cls()
        group: list[Line] = []
        slowed: list[str] = []
        in_rules, in_names = True, False
        for number, name, value in _directives(data):
            if name == "user-agent":
                group = [] if in_rules else group
                slowed = slowed if in_names else []
                slowed.append(rules._name(group, value))
                in_rules, in_names = False, True
            elif name == "sitemap":
                rules._sitemaps[value] = None
            elif name == "crawl-delay":
                rules._slow_down(slowed, value)
                in_names = False
            else:
                group.append(Line(number, f"{name}: {value}"))
                in_rules, in_names = True, False
        return rules

    @property
    def sitemaps(self) -> list[str]:
        """Addresses of sitemaps as written in the file, in order, without repeats; at most 1,000."""
        return [sitemap for sitemap in islice(self._sitemaps, _SITEMAPS_MAX) if sitemap]

    def allowed(self, url: str, token: str) -> bool:
        """Whether the crawler with this product token may fetch the URL."""
        matcher = self._matchers.get(token)
        if matcher is None:
            matcher = self._matchers[token] = compiled(self.lines(token))
        return allows(matcher, url)

    def lines(self, token: str) -> str:
        """The allow and disallow lines that speak to the token: those of all groups of that name, else those of `*`."""
        return "\n".join(line.text for line in self._lines(token))

    def deciding(self, url: str, token: str) -> tuple[str, Line | None]:
        """(name of the group that speaks to the token, the line in it that decides about the URL). No name: there is none;
        no line: none of it is about the URL, which is allowed then.

        Which line it is, is asked of the matcher that decides, too: the one that stands against every line to the contrary."""
        group = self._name_of(token)
        if group not in self._groups:
            return "", None
        about = [line for line in self._lines(token) if _matches(line, url)]
        verb = "allow" if self.allowed(url, token) else "disallow"
        with_it = [line for line in about if line.text.startswith(verb)]
        against = [line for line in about if not line.text.startswith(verb)]
        for line in with_it:
            if all(allows(compiled(f"{line.text}\n{other.text}"), url) is (verb == "allow") for other in against):
                return group, line
        return group, None

    def _lines(self, token: str) -> Iterator[Line]:
        return (line for group in self._groups.get(self._name_of(token), ()) for line in group)

    def crawl_delay(self, token: str) -> float:
        """Seconds between requests that the site asks of the token; -1.0 when it does not. Of several the longest."""
        return self._delays.get(self._name_of(token), -1.0)

    def _name_of(self, token: str) -> str:
        """RFC 9309, 2.2.1: names are compared whole and without case."""
        return token.lower() if token.lower() in self._groups else "*"

    def _name(self, group: list[Line], value: str) -> str:
        """The name on a User-agent line, `*` included; "" when there is none, and the group then speaks to nobody."""
        found = _TOKEN.match(value)
        name = "*" if value[:2].strip() == "*" else found[0].lower() if found else ""
        known = self._groups.setdefault(name, []) if name else []
        if not known or known[-1] is not group:
            known.append(group)
        return name

    def _slow_down(self, names: list[str], value: str) -> None:
        if found := _DELAY.match(value):
            for name in names:
                self._delays[name] = max(self._delays.get(name, -1.0), float(found[0]))


def compiled(lines: str) -> Protego:
    """A matcher for allow and disallow lines. 20,000 rules take 0.1 s, and then 3 ms per question."""
    return Protego.parse("User-agent: *\n" + _LINE_BREAKS.sub(_escaped, lines))


def allows(matcher: Protego, url: str) -> bool:
    """The matcher's answer. Only the path counts, so a fixed host stands in for whatever the real one is."""
    return bool(matcher.can_fetch("http://h" + path_of(url), "*"))


def _matches(line: Line, url: str) -> bool:
    """The line is about the URL: alone it forbids it, or is the exception from a rule that forbids all."""
    if line.text.startswith("allow"):
        return allows(compiled(f"disallow: /\n{line.text}"), url)
    return not allows(compiled(line.text), url)


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def _directives(data: bytes) -> Iterator[tuple[int, str, str]]:
    """(number, name, value) of each line that is one: lines end in LF, CR or CRLF, comments and blanks are gone."""
    text = _text(data)
    if _HTML.match(text):
        return
    for number, line in enumerate(_BREAK.split(text), 1):
        line = line.partition("#")[0].strip()
        field, colon, value = line.partition(":")
        name = _NAMES.get(field.strip().lower())
        if colon and name:
            yield number, name, value.strip()
        elif line and not name:
            yield from ((number, *found) for found in _without_colon(line))


def _without_colon(line: str) -> Iterator[tuple[str, str]]:
    """`Disallow /path`: understood as Google does, when exactly two words stand there; and a sitemap's bare address."""
    words = line.split()
    name = _NAMES.get(words[0].lower())
    if name and len(words) == 2:
        yield name, words[1]
    elif len(words) == 1 and re.match(r"https?://.*sitemap.*\.(?:xml|txt)(?:\.gz)?$", line, re.IGNORECASE):
        yield "sitemap", line


def _text(data: bytes) -> str:
    data = whole_lines(data)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return _BOM.sub(b"", data).decode("utf-8", "replace")


def whole_lines(data: bytes) -> bytes:
    """At most the first 512,000 bytes, without the line that is cut by that limit."""
    if len(data) <= BYTES_MAX:
        return data
    data = data[:BYTES_MAX]
    return data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]
