"""Who links to whom: hosts, pages and paths as numbers, without a byte of HTML.

The pages of a host are the nodes of a tree: page 0 is the start page, page i has the children i·f+1 … i·f+f. Every page links to
its children, so that a crawl from the start page finds all of them whatever else is drawn; the same holds for hosts, of which
host h names h·8+1 … h·8+8. All other links are drawn from the page's digest: runs of eight neighbours inside, as menus
have them, and rings of four addresses outside.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from nephila.testing.web.spec import Spec, digest, happens, lognormal, mean_of
from nephila.testing.web.words import EVERYWHERE, LEGACY, SLUGS, Language

RUN = 8
RING = 4
NAV = 10
HOST_FANOUT = 8
SHOWN = 3
"""Images on a page, if the host has so many."""
FOLDERS_CACHED = 1 << 18
POPULAR = 16
"""Links from other hosts lead to one of so many first pages of a host."""
MASK = (1 << 64) - 1


class Host(NamedTuple):
    """What holds for all pages of a host. `declared`: in the header (0), in the page (1) or in both (2) it says its charset."""

    number: int
    origin: str
    pages: int
    fanout: int
    language: Language
    declared: int
    delay_s: float
    robots: bool
    gzip: bool
    trap: bool


class Page(NamedTuple):
    """What is drawn for one page. `dice`: 64 bits for everything else."""

    number: int
    dice: int
    size: int
    degree: int
    null: bool
    twin: bool
    dead: bool
    variant: bool
    private: bool


class Graph:
    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.host = functools.lru_cache(1 << 16)(self._host)
        self._folder = functools.lru_cache(FOLDERS_CACHED)(self._folder_of)
        self._sizes, self._degrees = lognormal(spec.size, spec.size_sigma), lognormal(spec.degree, spec.degree_sigma)
        self._pages = lognormal(spec.pages / mean_of(spec.pages_sigma), spec.pages_sigma)
        self._depths, self._delays = lognormal(spec.depth, 0.35), lognormal(spec.slow_s, 0.5)

    def _host(self, number: int) -> Host:
        spec, bits = self.spec, digest(self.spec.seed, number)
        pages = max(1, round(self._pages[bits & 4095]))
        depth = max(1.0, self._depths[bits >> 12 & 4095])
        languages = LEGACY if happens(bits >> 24, spec.legacy) else EVERYWHERE
        language = languages[(bits >> 40 & 0xFFFF) % len(languages)]
        return Host(
            number,
            spec.origin(number),
            pages,
            max(2, round(pages ** (1 / depth))),
            language,
            2 if language.charset == "utf-8" else (bits >> 56 & 0xFF) % 3,
            self._delays[bits >> 36 & 4095] if happens(bits >> 64, spec.slow) else 0.0,
            happens(bits >> 80, spec.robots),
            happens(bits >> 96, spec.gzip),
            happens(bits >> 112, spec.traps),
        )

    def page(self, host: Host, number: int) -> Page:
        """A page's traits. An empty page has no links, so no start page and no page with children is empty."""
        spec, bits = self.spec, digest(self.spec.seed, host.number, number)
        null = number > 0 and happens(bits >> 48, spec.null) and not self.children(host, number)
        whole = not null
        return Page(
            number,
            bits & MASK,
            int(self._sizes[bits & 4095]),
            int(self._degrees[bits >> 12 & 4095]),
            null,
            whole and happens(bits >> 64, spec.twins),
            whole and happens(bits >> 80, spec.dead),
            whole and happens(bits >> 96, spec.variants),
            whole and host.robots and happens(bits >> 24, spec.private),
        )

    def moved(self, host: Host, number: int) -> bool:
        """Whether the page's parent knows it by an address that redirects."""
        return number > 0 and happens(digest(self.spec.seed, host.number, number) >> 112, self.spec.moved)

    def children(self, host: Host, number: int) -> range:
        first = number * host.fanout + 1
        return range(first, max(first, min(host.pages, first + host.fanout)))

    def nav(self, host: Host) -> range:
        """What every page of the host links to: the start page and the first pages below it."""
        return range(min(host.pages, host.fanout + 1, NAV))

    def runs(self, host: Host, page: Page) -> list[int]:
        """Numbers of the runs of eight neighbouring pages that the page links to. A host has pages/8 of them."""
        wanted = page.degree - len(self.nav(host)) - host.fanout - self._external(page) - SHOWN
        count, x = -(-host.pages // RUN), page.dice
        chosen = []
        for _ in range(min(count, max(1, (wanted + RUN // 2) // RUN))):
            x = (x * 6364136223846793005 + 1442695040888963407) & MASK
            chosen.append((x >> 33) % count)
        return chosen

    def run(self, host: Host, number: int) -> range:
        return range(number * RUN, min(host.pages, (number + 1) * RUN))

    def rings(self, page: Page) -> list[int]:
        """Numbers of the rings that the page links to: four addresses each, of which there are as many as hosts."""
        if self.spec.hosts < 2:
            return []
        return [(page.dice >> 8 * k) % self.spec.hosts for k in range((self._external(page) + RING // 2) // RING)]

    def ring(self, number: int) -> list[tuple[int, int]]:
        """(host, page) of a ring: two start pages and two pages near the start."""
        bits = digest(self.spec.seed, number, -2)
        hosts = [(bits >> 24 * k) % self.spec.hosts for k in range(RING)]
        return [(host, (bits >> 96) % min(POPULAR, self.host(host).pages) * (k % 2)) for k, host in enumerate(hosts)]

    def below(self, host: Host) -> range:
        """The hosts that the start page of a host names."""
        first = host.number * HOST_FANOUT + 1
        return range(first, max(first, min(self.spec.hosts, first + HOST_FANOUT)))

    def shown(self, page: Page) -> list[int]:
        """Images of the page."""
        images = self.spec.images
        return [(page.dice + k) % images for k in range(min(SHOWN, images))]

    def _external(self, page: Page) -> int:
        return round(page.degree * self.spec.external)

    # paths

    def path(self, host: Host, number: int) -> str:
        """Path of a page: a folder if it has children, else a file in its parent's folder."""
        if number == 0 or number * host.fanout + 1 < host.pages:
            return self._folder(host.number, number)
        return f"{self._folder(host.number, (number - 1) // host.fanout)}{slug(host.number, number)}-{number}.html"

    def paths(self, host: Host, numbers: range) -> list[str]:
        return [self.path(host, number) for number in numbers]

    def _folder_of(self, host_number: int, number: int) -> str:
        if number == 0:
            return "/"
        above = self._folder(host_number, (number - 1) // self.host(host_number).fanout)
        return f"{above}{slug(host_number, number)}-{number}/"

    def at(self, host: Host, path: str) -> int:
        """Number of the page with this path; -1: there is none."""
        if path == "/":
            return 0
        last = path.rstrip("/").rpartition("/")[2].removesuffix(".html").rpartition("-")[2]
        if not last.isdecimal() or not 0 < (number := int(last[:12])) < host.pages:
            return -1
        return number if self.path(host, number) == path else -1


def slug(host: int, number: int) -> str:
    return SLUGS[(host * 104_729 + number * 7_919) % len(SLUGS)]
