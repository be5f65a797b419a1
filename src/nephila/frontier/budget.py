"""Budgets: how many pages a site may give, and how that grows with who links to it.

A site is a registrable domain: names below it cost its owner nothing, so a budget per host would be none. A new domain costs
money; so a site that many *other* sites link to is worth more pages (IRLbot's STAR, in one formula):

    budget = min(site_pages_max, site_pages × (1 + other sites that link to it))

Never more pages come of it: kept + leased ≤ budget. A host whose site has no room left is set aside and costs an id; its
URLs stay queued and go on when the budget grows, when a request brought no page after all, or when a resume raises the limit.
"""

from __future__ import annotations

import heapq
from collections import deque

from nephila.frontier.batch import Snapshot
from nephila.frontier.books import Books
from nephila.frontier.farms import Farms
from nephila.frontier.host import Host
from nephila.types import Outcome, Settlement
from nephila.url.parse import host_of
from nephila.url.site import registrable

NAMED_MAX = 3
"""Sites that the last sentence names."""
NO_LIMIT = 1 << 30


class Site:
    """What is known of one registrable domain."""

    __slots__ = ("aside", "leased", "linkers", "name", "pages", "told")

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages = self.leased = 0
        self.linkers: set[str] = set()
        """other sites that link to it, as far as they count"""
        self.aside: deque[int] = deque()
        """ids of hosts that wait for room"""
        self.told = False


class Budgets:
    """Counts what each site has given. Without `site_pages` nothing is counted."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._sites: dict[str, Site] = {}
        self._of: dict[int, Site] = {}
        self._aside: set[int] = set()
        self._farms = Farms(books)

    @property
    def on(self) -> bool:
        return self._books.config.site_pages > 0

    @property
    def waits(self) -> bool:
        """Hosts are set aside."""
        return bool(self._aside or self._farms.aside)

    def load(self, snapshot: Snapshot) -> None:
        """What the sites have given before, and who links to them."""
        if self._farms.on:
            self._farms.load(snapshot.sites()[0])
        if self.on:
            hosts, links = snapshot.sites()
            for id, origin, pages in hosts:
                self._site(id, origin).pages += pages
            for name, linker in links:
                self._named(name).linkers.add(linker)

    def follow(self) -> None:
        """The limits are others than before: who waited for room looks again."""
        for site in self._sites.values():
            self._release(site)
        self._farms.follow(self._wake)

    def room(self, host: Host) -> int:
        """How many more pages may be leased of a host."""
        return self._room(self._site(host.id, host.origin)) if self.on else NO_LIMIT

    def why(self, host: Host) -> str:
        """ "" or, when the host is over budget, the sentence that says so."""
        if not self.on or (site := self._site(host.id, host.origin)).pages < (budget := self._budget(site)):
            return ""
        c, links = self._books.config, len(site.linkers)
        grown = f" × (1 + {links} other sites that link to it), at most {c.site_pages_max}" if self._grows() else ""
        return f"over budget: {site.pages} pages of {site.name} are kept, {budget} may be (site_pages = {c.site_pages}{grown})"

    # --- a lease goes out, a visit comes back -----------------------------------------------------------------------

    def sent(self, host: Host) -> None:
        """A lease that may bring a page is out."""
        if self.on:
            self._site(host.id, host.origin).leased += 1

    def returned(self, host: Host) -> None:
        """It is back, whatever becomes of it."""
        if self.on:
            site = self._site(host.id, host.origin)
            site.leased -= 1
            self._release(site)

    def settled(self, host: Host, s: Settlement) -> None:
        """A visit to a page is final."""
        if self.on and s.outcome == Outcome.OK:
            self._site(host.id, host.origin).pages += 1

    def linked(self, host: Host, sites: list[str]) -> None:
        """A page of this host links to pages of these other sites. Before its visit is settled, so that one batch has both."""
        if not self._grows():
            return
        linker = self._site(host.id, host.origin).name
        for name in sites:
            site = self._named(name)
            if name != linker and linker not in site.linkers and self._budget(site) < self._books.config.site_pages_max:
                site.linkers.add(linker)
                self._books.batch.site_links.append((name, linker))
                self._release(site)

    # --- hosts set aside --------------------------------------------------------------------------------------------

    def holds(self, host: Host) -> bool:
        """The site has no room: the host is set aside. Not while another site's robots.txt is waited for there."""
        if host.extra or host.waiters:
            return False
        if self._farms.holds(host):
            return True
        if not self.on:
            return False
        site = self._site(host.id, host.origin)
        if self._room(site) > 0:
            self._aside.discard(host.id)
            return False
        if host.id not in self._aside:
            self._aside.add(host.id)
            site.aside.append(host.id)
        if not site.told and site.pages >= self._budget(site):
            site.told = True
            self._books.note("site.full", site=site.name, pages=site.pages, budget=self._budget(site))
        return True

    def is_aside(self, id: int) -> bool:
        return id in self._aside or id in self._farms.aside

    def urls_aside(self) -> int:
        """How many queued URLs wait for the budgets of their sites, and for nothing else."""
        return sum(map(self._queued, self._aside | self._farms.aside.keys()))

    def text(self) -> str:
        """What the sites that are over budget have given, or have too many of, and how much waits."""
        pages = self._pages_text() if any(map(self._queued, self._aside)) else ""
        hosts = self._farms.text(self._queued) if any(map(self._queued, self._farms.aside)) else ""
        return "; ".join(filter(None, (pages, hosts)))

    def _pages_text(self) -> str:
        """The longest queues first."""
        waiting = [(sum(map(self._queued, self._aside & {*site.aside})), site) for site in self._sites.values()]
        waiting = [(urls, site) for urls, site in waiting if urls]
        first = heapq.nlargest(NAMED_MAX, waiting, key=lambda one: one[0])
        said = [f"{site.name} ({site.pages} pages kept, {urls} URLs wait)" for urls, site in first]
        more = f" and {len(waiting) - NAMED_MAX} more" if len(waiting) > NAMED_MAX else ""
        total, names = sum(urls for urls, _ in waiting), ", ".join(said) + more
        return f"site_pages: {total} URLs of {len(waiting)} sites wait: {names}; a higher limit goes on"

    def _release(self, site: Site) -> None:
        """As many hosts as there is room for may try; they are set aside again if others were quicker."""
        room = self._room(site)
        while room > 0 and site.aside:
            id = site.aside.popleft()
            if id not in self._aside:
                continue
            self._aside.discard(id)
            site.told = False
            self._wake(id)
            room -= 1

    def _wake(self, id: int) -> None:
        """A host that was set aside may try."""
        if (host := self._books.by_id.get(id)) is not None:
            self._books.stirred[host] = None
        else:
            self._books.asleep.release(id, self._books.clock.monotonic())

    def _queued(self, id: int) -> int:
        host = self._books.by_id.get(id)
        if host is None:
            return self._books.asleep.queued[id]
        return 0 if host in self._books.parked else host.queued

    # --- sites ------------------------------------------------------------------------------------------------------

    def _room(self, site: Site) -> int:
        return self._budget(site) - site.pages - site.leased

    def _budget(self, site: Site) -> int:
        c = self._books.config
        if not self._grows():
            return c.site_pages
        return min(c.site_pages_max, c.site_pages * (1 + len(site.linkers)))

    def _grows(self) -> bool:
        return 0 < self._books.config.site_pages < self._books.config.site_pages_max

    def _site(self, id: int, origin: str) -> Site:
        site = self._of.get(id)
        if site is None:
            site = self._of[id] = self._named(registrable(host_of(origin + "/")))
        return site

    def _named(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = Site(name)
        return site
