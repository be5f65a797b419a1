"""Which other sites a page links to. Asked only when the budgets of sites grow with who links to them."""

from __future__ import annotations

import re
from collections import OrderedDict

from nephila.types import Kind, Links
from nephila.url.parse import host_of, resolve
from nephila.url.site import registrable

PAIRS_MAX = 1 << 16
"""Pairs of sites that are remembered as told; one that is told again costs a few bytes and changes nothing."""
_NOT_LINKS = frozenset({Kind.EMBED, Kind.FORM, Kind.LOGIN, Kind.ROBOTS, Kind.SCRIPT})
"""A picture, a form or a guess is no recommendation."""
_ABSOLUTE = re.compile(r"\s*(?:https?:|[/\\]{2})", re.IGNORECASE)
_AUTHORITY = re.compile(r"\s*(?:https?:)?//([A-Za-z0-9.-]+)(?::\d*)?(?:[/?#]|\Z)", re.IGNORECASE)


class Abroad:
    """One worker's: tells each pair of sites about once."""

    def __init__(self, pairs_max: int = PAIRS_MAX) -> None:
        self._pairs_max = pairs_max
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    def __call__(self, links: Links) -> list[str]:
        """Registrable domains, other than its own, that the page links to and that were not told for its site before. Links
        that say nofollow do not count."""
        own, found = registrable(host_of(links.base)), dict[str, None]()
        for i, (href, kind) in enumerate(zip(links.hrefs, links.kinds, strict=True)):
            if not _ABSOLUTE.match(href) or kind in _NOT_LINKS or i in links.nofollow:
                continue
            if host := _host(links, href):
                found[registrable(host)] = None
        found.pop(own, None)
        return [site for site in found if not self._known(own, site)]

    def _known(self, own: str, site: str) -> bool:
        pair = (own, site)
        if pair in self._told:
            return True
        self._told[pair] = None
        if len(self._told) > self._pairs_max:
            self._told.popitem(last=False)
        return False


def _host(links: Links, href: str) -> str:
    """The host of an absolute href. Plain ones are read at once, all others as they are resolved for fetching."""
    if match := _AUTHORITY.match(href):
        return match[1].lower()
    url = resolve(links.base, href, links.charset)
    return host_of(url) if url else ""
