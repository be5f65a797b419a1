"""Templates: what the pages of each form of address were worth, and which forms are not asked for any more.

A host is looked at from its thirty-third page on, so that the many small ones cost nothing. Its pages are counted by the form of
their address (`url.template`), some of them are watched (`novelty`), and a form whose pages say nothing new is *dry*: what
is queued of it, and what is met of it later, is refused by the rule `trap:template` or, for dates, `trap:calendar`, which names
the form. A form that feeds another one which is worth something (a list of pictures without a word) is not dry; one
whose pages lead to others that nobody has come to yet is given time.

The rule is what is remembered across restarts. The statistics are not: a form that was not judged yet begins anew.

When the same bytes, or nothing new, come under several addresses of a host, it may answer 200 for what is not there. Then it
is asked for a name that nobody has (`probe`), beside one of those pages. If that is a page, too, pages that say the same
are *soft 404*: their visits say so, and their links are not followed.
"""

from __future__ import annotations

import random
import string
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from nephila.frontier.batch import ROBOTS, Row
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.frontier.novelty import FED_MAX, KNOWN_LITTLE, Novelty
from nephila.types import Kind, NewLink, Outcome, Settlement
from nephila.url.parse import origin
from nephila.url.template import PAGES, DryForms, coarser, combined, dated, parameters, template
from nephila.url.traps import PREFIX, switched

FORMS_MAX = 1_000
"""Forms of one host; more are joined by leaving out the names of their directories, or counted as one."""
HOSTS_MAX = 4_096
"""Hosts with statistics; the one that was looked at least recently begins anew."""
KNOWN_ALL = 2_000_000
"""Texts remembered of all forms together (some 200 MB); past it the host that was looked at least recently begins anew."""
PATIENCE = 1_000
"""Watched pages after which a form that leads to others nobody has come to is dry all the same."""
ALONE_MAX = 8
"""Sets of parameters of one path that are counted alone in any case."""
SETS_MAX = 64
"""Of those that are remembered to find out whether they are combined freely."""
BODIES_MAX = 4_096
"""Bodies of one host that came again."""
SAMPLES_MAX = 3
PROBES_MAX = 5
"""Requests for a name that nobody has, per host."""
TWINS, TWINS_GROW = 3, 4
"""Pages with the bytes of another one before a host is probed, and how many times as many before the next time."""
STALE_MANY = 6
"""Stale pages, among the last eight that were watched of a form, or of those with few pages, before a host is probed."""
YOUNG_EVERY = 16
"""Of forms that have few pages, one in so many is watched."""
NAME_LENGTH = 25

PROBE = Kind.PROBE.value
_REST = "*"
"""The form that stands for all young ones of a host."""


class Watch(NamedTuple):
    """What a lease is looked at for: its form, and the statistics that it counts in."""

    form: str
    novelty: Novelty
    watched: bool
    soft: tuple[int, ...]
    """sketches of pages that were not found, for the worker that reads the page"""


class Site:
    """What is known of one host."""

    __slots__ = ("asked", "bodies", "forms", "pages", "probes", "queries", "soft", "twins", "twins_next")

    def __init__(self) -> None:
        self.forms: dict[str, Novelty] = {}
        self.queries: dict[str, list[str]] = {}
        """combined form → forms of that path that are counted alone"""
        self.pages = self.probes = self.twins = 0
        self.twins_next = TWINS
        self.asked: set[str] = set()
        """forms for which a probe was made"""
        self.soft: tuple[int, ...] = ()
        """sketches (as one number each) of what the host says for names that nobody has"""
        self.bodies: set[int] = set()

    def sets(self, together: str) -> list[str]:
        """Forms of the path that `together` stands for, as far as they are counted alone."""
        if together not in self.queries and len(self.queries) >= FORMS_MAX:
            return []
        return self.queries.setdefault(together, [])

    def again(self, digest: str) -> bool:
        """A body that was met before, perhaps on another host: mirrors are no traps. From its second time here on it is a twin."""
        number = hash(digest)
        if number in self.bodies:
            return True
        if len(self.bodies) < BODIES_MAX:
            self.bodies.add(number)
        return False


class Templates:
    """Statistics of hosts by form, and the forms that are dry."""

    def __init__(self, books: Books) -> None:
        self._books, self._free = books, books.config.trap_pages
        self._sites: OrderedDict[int, Site] = OrderedDict()
        self._known = 0
        self._probes: dict[int, int] = {}
        """url id of each probe under way → host id"""
        self.probe: Callable[[str, Row], int] = lambda url, row: 0
        """Asks for a URL, because of the page of this row; returns its id (0: it is known)."""
        self.follow()

    def follow(self) -> None:
        """These traps are looked for from now on."""
        self._on = switched(self._books.config.traps)
        self._looks = bool(self._on & {"template", "calendar", "soft_404"})
        self.dry = DryForms(self._on)
        for rule in self._books.rules:
            self.dry.remember(rule)

    # --- what is refused --------------------------------------------------------------------------------------------

    def refusal(self, name: str, url: str, kind: str) -> str:
        """ "" or the rule of the dry form that a URL of this origin has."""
        return self.dry.refusal(name, url, kind)

    # --- a lease goes out, a visit comes back -----------------------------------------------------------------------

    def look(self, host: Host, row: Row) -> Watch | None:
        """What a lease of this row will be looked at for; None: the host has few pages, or it is no page."""
        if host.pages < self._free or row.kind == ROBOTS or not self._looks:
            return None
        site = self._site(host)
        form = self._form(site, row.url)
        novelty = site.forms.get(form)
        if novelty is None:
            novelty = site.forms[form] = Novelty(parameters(form), dated(form, row.url))
        if row.parent == 0 or row.kind not in PAGES:
            return Watch(form, novelty, False, ())
        watched = novelty.wants(self._free) or (novelty.pages < self._free and site.pages % YOUNG_EVERY == 0)
        return Watch(form, novelty, watched, site.soft)

    def settled(self, host: Host, row: Row, s: Settlement, watch: Watch | None) -> None:
        """A visit is final: count it."""
        if row.kind == PROBE:
            self._probed(row, s)
        elif watch is not None and s.outcome == Outcome.OK and (site := self._sites.get(host.id)) is not None:
            self._count(host, site, row, s, watch)

    def _count(self, host: Host, site: Site, row: Row, s: Settlement, watch: Watch) -> None:
        form, novelty, watched, _ = watch
        if s.reason == "soft_404":  # it proves nothing about the pages that are there
            return
        twin = bool(s.record and s.record.same_as and site.again(s.record.digest))
        young = novelty.pages < self._free
        novelty.pages += 1
        site.pages += 1
        site.twins += twin
        if row.kind not in PAGES:
            novelty.mark(twin)
            return
        judge = self._rest(site) if young else novelty
        if watched:
            before = len(judge.known)
            stale = judge.watch(s.sketch, twin)
            self._known += len(judge.known) - before
            if stale and not young:
                self._sample(site, novelty, form, host, row, s.found.new)
            self._judge(host, form, novelty)
            self._forget_some(host.id)
        if watched or twin:
            self._doubt(site, form, row, judge)

    def _sample(self, site: Site, novelty: Novelty, form: str, host: Host, row: Row, links: list[NewLink]) -> None:
        """A stale page: an example, and what it leads to that its own form is not."""
        novelty.samples = [*novelty.samples[1 - SAMPLES_MAX :], row.url]
        for link in links:
            if link.rule or len(novelty.fed) >= FED_MAX:
                continue
            other = self._form(site, link.url) if link.url.startswith(host.origin + "/") else ""
            if other != form:
                novelty.fed.add(other)

    def _judge(self, host: Host, form: str, novelty: Novelty) -> None:
        """Is the form dry now?"""
        trap = "calendar" if novelty.dated else "template"
        if trap not in self._on or not novelty.dry() or self._feeds(self._sites[host.id], novelty):
            return
        rule = f"{PREFIX}{trap} {host.origin}{form}"
        if form in self.dry.get(host.origin, {}):
            return
        self.dry.remember(rule)
        self._known -= len(novelty.known)
        novelty.rich = True
        novelty.known.clear()
        self._books.note(
            "trap.suspected", rule=rule, origin=host.origin, form=form, pages=novelty.pages, samples=novelty.samples
        )

    def _feeds(self, site: Site, novelty: Novelty) -> bool:
        """What its pages led to is worth something; or nobody knows yet, and it is not too long that nobody does."""
        for form in novelty.fed:
            other = site.forms.get(form)
            if other is None or other.watched < KNOWN_LITTLE:
                if novelty.watched < PATIENCE:
                    return True
            elif other.alive():
                return True
        return False

    # --- pages that were not found ----------------------------------------------------------------------------------

    def _doubt(self, site: Site, form: str, row: Row, judge: Novelty) -> None:
        """Does what was met give reason to ask for a name that nobody has?"""
        if "soft_404" not in self._on or site.probes >= PROBES_MAX or form in site.asked:
            return
        if site.twins >= site.twins_next:
            site.twins_next = site.twins * TWINS_GROW
        elif (judge.recent & 0xFF).bit_count() < STALE_MANY:
            return
        site.asked.add(form)
        site.probes += 1
        if id := self.probe(_nobody(row.url, self._books.rng), row):
            self._probes[id] = self._books.ids[origin(row.url)]

    def _probed(self, row: Row, s: Settlement) -> None:
        """What the host says for a name that nobody has."""
        site = self._sites.get(self._probes.pop(row.id, 0))
        if site is not None and 200 <= s.status < 300 and s.sketch:
            self._books.note("soft_404", url=row.url, digest=s.record.digest if s.record else "")
            site.soft = (*site.soft, xxh3_64_intdigest(s.sketch))

    # --- memory -----------------------------------------------------------------------------------------------------

    def _site(self, host: Host) -> Site:
        site = self._sites.get(host.id)
        if site is None:
            site = self._sites[host.id] = Site()
            if len(self._sites) > HOSTS_MAX:
                self._forget(next(iter(self._sites)))
        else:
            self._sites.move_to_end(host.id)
        return site

    def _form(self, site: Site, url: str) -> str:
        form = template(url)
        if form in site.forms:
            return form
        if (together := combined(form)) and _crossed(site.sets(together), form):
            return together
        if len(site.forms) < FORMS_MAX:
            return form
        form = coarser(form)
        return form if form in site.forms or len(site.forms) < 2 * FORMS_MAX else _REST

    def _rest(self, site: Site) -> Novelty:
        return site.forms.setdefault(_REST, Novelty())

    def _forget_some(self, but: int) -> None:
        while self._known > KNOWN_ALL and (first := next(iter(self._sites))) != but:
            self._forget(first)

    def _forget(self, id: int) -> None:
        self._known -= sum(len(novelty.known) for novelty in self._sites.pop(id).forms.values())


def _crossed(forms: list[str], form: str) -> bool:
    """The parameters of one path are combined freely, as filters are: there are more sets of names than names. Each set by itself
    would come to its end too late. Else the form joins those that are counted alone."""
    names = {name for one in forms for name in one.partition("?")[2].split(",")}
    if len(forms) >= max(ALONE_MAX, len(names) + 1):
        return True
    if len(forms) < SETS_MAX:
        forms.append(form)
    return False


def _nobody(url: str, rng: random.Random) -> str:
    """The address beside `url` whose name nobody has; with its extension, or its last slash."""
    path = url.partition("?")[0]
    bare = path.removesuffix("/") if path.count("/") > 3 else path
    cut = bare.rfind("/") + 1
    name = "".join(rng.choices(string.ascii_lowercase, k=NAME_LENGTH))
    dot = bare.rfind(".")
    return bare[:cut] + name + (bare[dot:] if dot > cut else "") + path[len(bare) :]
