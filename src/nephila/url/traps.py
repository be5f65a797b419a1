"""Traps that an address shows by itself: it repeats or grows, as the addresses of pages that link to themselves do.

A trap is a rule like any other: `trap:NAME` refuses an address, which is stored with it and comes back when the rule is
switched off. What cannot be seen in one address is decided elsewhere, under the same names: session ids in `sessions`,
templates that bring nothing new in the frontier.

A good page lost is worse than a few requests wasted. So every rule waits until a thing has happened three times, numbers
may repeat more often (dates, chapters), and what is not sure is left to the template's own pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from urllib.parse import unquote

from nephila.errors import ConfigError

TRAPS = {
    "repeated_segment": "the same part of the path three times in a row, or parts of it over and over",
    "growing_path": "a path of more than 50 parts, or of empty or escaped slashes that add up",
    "growing_query": "a query that holds the same parameter three times, also inside its own values, or escapes of escapes",
    "session_id": "an address that differs from a known one only in its session",
    "calendar": "dates without end whose pages say nothing new",
    "template": "addresses of one form whose pages say nothing new",
    "soft_404": "links of a page that says 'not found' with status 200",
}
"""Every trap, as the key `traps` names it, and what it means."""
PREFIX = "trap:"
"""How the rules of traps begin."""

SEGMENTS_MAX = 50
IN_A_ROW = 3
"""A block of segments, a parameter: so many times is a trap."""
NUMBERS_IN_A_ROW = 6
"""/2001/01/01/01/ is a date and an hour."""
DUPLICATES_MAX = 5
"""Segments of a path that stand in it before. Source trees have up to four (/kafka/…/main/java/org/apache/kafka/…/main)."""
NAMES_MAX = 20
"""Parameters of one name. Lists have a name of their own (`a[]`), and search forms repeat a filter now and then."""
_DECODED_MAX = 4
"""Levels of percent-encoding that are looked through."""
_SLASHES = 5
"""A URL with fewer has no room for a path that repeats: two belong to the scheme."""
_QUERY = 8
"""Nor has a query that is no longer."""
_GROWN = re.compile(r"%252525|(?:%2F){4}|(?:%5C){4}|(?:&|%26)(?:amp(?:;|%3B)){3}", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,4}")


def switched(text: str) -> frozenset[str]:
    """The traps that a setting switches on: `on`, `off`, names (`calendar,template`: these only) or names with `no-` in front
    (all but these). Raises ConfigError for anything else."""
    names = [name.strip() for name in text.split(",")]
    if names in (["on"], ["off"]):
        return frozenset(TRAPS) if names == ["on"] else frozenset()
    bare = {name.removeprefix("no-") for name in names}
    if wrong := sorted(bare - TRAPS.keys()):
        raise ConfigError(f"traps: {wrong[0]!r} is not on, off, or one of {', '.join(TRAPS)} (no-NAME: all but this)")
    without = [name.startswith("no-") for name in names]
    if any(without) and not all(without):
        raise ConfigError("traps: name those that are on, or with no- those that are off, not both")
    return frozenset(TRAPS.keys() - bare if any(without) else bare)


def trap_of(rule: str) -> str:
    """The trap that a rule belongs to, or "": `trap:template http://a.test/x?*` → `template`."""
    return rule.removeprefix(PREFIX).partition(" ")[0] if rule.startswith(PREFIX) else ""


class Shapes:
    """The traps that show in an address, as far as they are switched on."""

    def __init__(self, on: Iterable[str]) -> None:
        on = frozenset(on)
        self._repeated, self._path = "repeated_segment" in on, "growing_path" in on
        self._query = "growing_query" in on

    def refusal(self, url: str) -> str:
        """ "" or the rule that refuses a serialised URL."""
        at = url.find("?")
        path = url if at < 0 else url[:at]
        if path.count("/") >= _SLASHES or "%" in path:
            if self._path and _grown_path(path):
                return PREFIX + "growing_path"
            if self._repeated and _repeats(_segments(path)):
                return PREFIX + "repeated_segment"
        if at >= 0 and self._query and len(url) - at > _QUERY and _grown_query(url[at + 1 :]):
            return PREFIX + "growing_query"
        return ""


def _segments(path: str) -> list[str]:
    """The parts of a URL's path between its slashes, escaped slashes included, without the last empty one."""
    path = path[path.find("/", 8) + 1 :]
    if "%2F" in path or "%2f" in path or "%25" in path:
        path = _decoded(path)
    return path.removesuffix("/").split("/")


def _decoded(text: str) -> str:
    for _ in range(_DECODED_MAX):
        before, text = text, unquote(text, errors="replace")
        if text == before:
            break
    return text


def _grown_path(path: str) -> bool:
    return "////" in path[8:] or path.count("/") > SEGMENTS_MAX + 2 or ("%" in path and bool(_GROWN.search(path)))


def _repeats(segments: list[str]) -> bool:
    """A block of segments stands three times in a row, or words stand in the path that stood in it before, over and over."""
    if len(set(segments)) + 1 >= len(segments):
        return False
    if len(segments) > 2 * SEGMENTS_MAX:
        return True
    words = [segment for segment in segments if not _NUMBER.fullmatch(segment)]
    if len(words) - len(set(words)) > DUPLICATES_MAX:
        return True
    return any(_in_a_row(segments, size) for size in range(1, len(segments) // IN_A_ROW + 1))


def _in_a_row(segments: list[str], size: int) -> bool:
    """A block of `size` segments follows upon itself often enough: the segments equal those `size` before them for long."""
    same = (a == b and (a, bool(_NUMBER.fullmatch(a))) for a, b in zip(segments, segments[size:], strict=False))
    for equal, run in groupby(same, key=bool):
        if equal:
            block = list(run)
            often = NUMBERS_IN_A_ROW if all(number for _, number in block) else IN_A_ROW  # type: ignore[misc]
            if len(block) >= size * (often - 1):
                return True
    return False


def _grown_query(query: str) -> bool:
    """The same parameter (name and value) again and again, whether side by side or each in the value of the one before."""
    if "%" in query:
        if _GROWN.search(query):
            return True
        if "%3D" in query or "%3d" in query or "%253" in query:
            query = _decoded(query)
    elif "amp;amp;amp;" in query:
        return True
    if query.count("=") < IN_A_ROW:
        return False
    parameters = [one for one in query.replace("?", "&").split("&") if one and not one.endswith("=")]
    if len(set(parameters)) + 1 < len(parameters) and max(Counter(parameters).values()) >= IN_A_ROW:
        return True
    if len(parameters) <= NAMES_MAX:
        return False
    names = Counter(one.partition("=")[0] for one in parameters)
    return any(n > NAMES_MAX and not name.endswith(("[]", "%5B%5D")) for name, n in names.items())
