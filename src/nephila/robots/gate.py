"""May we ask for this URL? The robots.txt of every origin a worker was told of, and the answer for each URL.

Kept per origin is only what speaks to our token; the compiled form, larger and slower to make, only for the origins asked
for last.
"""

from __future__ import annotations

from collections import OrderedDict

from protego import Protego

from nephila.robots.rules import Rules, allows, compiled
from nephila.types import RobotsFile

_COMPILED_MAX = 1_000


class Gate:
    """Robots rules of up to `origins_max` origins, the least recently used forgotten first. Disabled, it denies nothing."""

    def __init__(self, token: str = "nephila", enabled: bool = True, origins_max: int = 5_120) -> None:
        self._token, self._enabled, self._origins_max = token, enabled, origins_max
        self._origins: OrderedDict[str, str | None] = OrderedDict()
        self._compiled: OrderedDict[str, Protego] = OrderedDict()

    def learn(self, origin: str, robots: RobotsFile) -> None:
        """What is known of the origin's robots.txt; replaces what was known before."""
        if not self._enabled:
            return
        self._origins[origin] = None if robots.state == "unreachable" else _lines(robots, self._token)
        self._origins.move_to_end(origin)
        self._compiled.pop(origin, None)
        if len(self._origins) > self._origins_max:
            forgotten, _ = self._origins.popitem(last=False)
            self._compiled.pop(forgotten, None)

    def denial(self, origin: str, url: str) -> str:
        """ "" when the URL may be requested, else `robots_disallow` or `robots_unreachable`.

        Raises KeyError for an origin that was never learnt: its first lease brings the rules, so that is a bug of ours.
        """
        if not self._enabled:
            return ""
        self._origins.move_to_end(origin)
        lines = self._origins[origin]
        if lines is None:
            return "robots_unreachable"
        return "" if not lines or allows(self._matcher(origin, lines), url) else "robots_disallow"

    def _matcher(self, origin: str, lines: str) -> Protego:
        matcher = self._compiled.get(origin)
        if matcher is None:
            matcher = self._compiled[origin] = compiled(lines)
            if len(self._compiled) > _COMPILED_MAX:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(origin)
        return matcher


def _lines(robots: RobotsFile, token: str) -> str:
    return Rules.parse(robots.text).lines(token) if robots.state == "found" else ""
