"""Farms: one domain with a name for everything (wildcard DNS), whose pages lead to ever more names of it.

Names below a domain cost its owner nothing, so there may be millions, each with a clock and a budget of its own. Of one site
(registrable domain) at most `site_hosts` hosts are asked; the others are set aside and cost an id, their URLs stay
queued, and a resume with a higher limit goes on with them.

Which domain can be registered takes the public suffix list, some 100 ms to load and 3 µs per name. So half of the limit is counted by
the last two labels of the names, in a table of fixed size where several may meet, and only past it the list is asked, and
the other half is counted exactly. A farm gets the whole limit; a site whose two labels are shared (`co.uk`,
`github.io`, or by chance) at least half of it.
"""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Callable, Iterable

from xxhash import xxh3_64_intdigest

from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.url.parse import host_of
from nephila.url.site import registrable

SLOTS = 1 << 18
"""Of the table: 1 MiB."""
NAMED_MAX = 3


class Farms:
    """Counts the hosts of each site that are asked, and keeps out those beyond the limit."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._counts = array("I", (0,)) * SLOTS
        self._exact: Counter[str] = Counter()
        self._asked = bytearray()
        """by host id: 1 for one that is asked"""
        self.aside: dict[int, str] = {}
        """hosts that are kept out → their site"""
        self._told: set[str] = set()

    @property
    def on(self) -> bool:
        return self._books.config.site_hosts > 0

    def load(self, hosts: Iterable[tuple[int, str, int]]) -> None:
        """Hosts (id, origin, pages) that were asked before. Another run may be over the limit of today."""
        for id, origin, pages in hosts:
            if pages:
                self._ask(id)
                self._full(origin)

    def holds(self, host: Host) -> bool:
        """The host is not asked, because so many of its site are."""
        if not self.on or (host.id < len(self._asked) and self._asked[host.id]):
            return False
        if host.id in self.aside:
            return True
        if site := self._full(host.origin):
            self.aside[host.id] = site
            self._tell(site, host.origin)
            return True
        self._ask(host.id)
        return False

    def follow(self, wake: Callable[[int], None]) -> None:
        """The limit is another one: those that were kept out may try again."""
        aside, self.aside = self.aside, {}
        self._told.clear()
        for id in aside:
            wake(id)

    def _ask(self, id: int) -> None:
        if id >= len(self._asked):
            self._asked.extend(bytes(id + 1 - len(self._asked)))
        self._asked[id] = 1

    def _full(self, origin: str) -> str:
        """The site of the host if it is full; else "", and the host is counted."""
        name = host_of(f"{origin}/").removesuffix(".")
        two = ".".join(name.rsplit(".", 2)[-2:])
        slot, limit = xxh3_64_intdigest(two.encode()) & (SLOTS - 1), self._books.config.site_hosts
        if self._counts[slot] < limit // 2:
            self._counts[slot] += 1
            return ""
        site = registrable(name)
        if self._exact[site] >= limit - limit // 2:
            return site
        self._exact[site] += 1
        return ""

    def _tell(self, site: str, origin: str) -> None:
        if site not in self._told:
            self._told.add(site)
            self._books.note("site.hosts", site=site, hosts=self._books.config.site_hosts, origin=origin)

    def text(self, queued: Callable[[int], int]) -> str:
        """Which sites have more hosts than are asked, and how much waits."""
        hosts, urls = Counter[str](), Counter[str]()
        for id, site in self.aside.items():
            if n := queued(id):
                hosts[site] += 1
                urls[site] += n
        first = heapq.nlargest(NAMED_MAX, hosts, key=lambda site: hosts[site])
        said = ", ".join(f"{site} ({hosts[site]} hosts, {urls[site]} URLs wait)" for site in first)
        more = f" and {len(hosts) - NAMED_MAX} more" if len(hosts) > NAMED_MAX else ""
        return f"site_hosts: of some sites {self._books.config.site_hosts} hosts were asked: {said}{more}; a higher limit goes on"
