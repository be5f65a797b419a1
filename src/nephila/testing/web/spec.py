"""What can be said about a made-up web: how many hosts and pages, how large, how linked, and what is wrong with how many.

The defaults are what the web looks like from a crawler: pages of 14 kB and 50 links in the median, both lognormal; one link in
ten leads to another host; one page in a hundred is empty (BUbiNG's random graph server has the same last two).
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import msgspec
import xxhash

QUANTILES = 4096
LAST, MIDDLE = 254, 256
"""Numbers of a loopback address's last and middle parts; .0 and .255 are left out, one of them is a broadcast address."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """A web. Two with equal fields are equal byte for byte, except that `names` and `port` are written into its URLs.

    Shares lie between 0 and 1. Shares of pages are met on the average; each page is decided by itself.
    """

    seed: int = 1
    hosts: int = 100
    pages: int = 50
    """Pages of a host in the mean, the start page included."""
    pages_sigma: float = 0.0
    """How much the number of pages differs between hosts (lognormal); 0: not at all."""
    depth: float = 4.0
    """Clicks from the start page to the last page of a host, in the median (lognormal)."""
    size: int = 14_000
    """Bytes of a page, in the median."""
    size_sigma: float = 0.7
    degree: float = 50.0
    """Links of a page, in the median."""
    degree_sigma: float = 0.5
    external: float = 0.1
    """Share of the links that lead to other hosts."""
    images: int = 4
    """Images of a host; each of its pages shows up to three."""

    moved: float = 0.03
    """Share of pages whose parent links to an address that redirects to them."""
    twins: float = 0.02
    """Share of pages with the same body under a second address."""
    dead: float = 0.05
    """Share of pages with a link to a page that is not there (404)."""
    variants: float = 0.03
    """Share of pages with a second version, whose query holds a word in the charset of the host."""
    null: float = 0.01
    """Share of the pages without children that are empty."""
    private: float = 0.02
    """Share of pages with a link to a page that robots.txt forbids."""

    robots: float = 0.7
    """Share of hosts with a robots.txt; the others answer 404."""
    legacy: float = 0.15
    """Share of hosts whose pages are not in UTF-8: GBK, Shift_JIS, Big5, EUC-KR, windows-1251, windows-1252."""
    slow: float = 0.0
    """Share of hosts that take long to answer."""
    slow_s: float = 1.0
    """How long, in the median (lognormal)."""
    gzip: float = 0.0
    """Share of hosts that compress what they send, when asked to."""
    traps: float = 0.0
    """Share of hosts with an endless calendar."""

    names: str = ""
    """"": hosts are loopback addresses from 127.0.0.1 on; or a pattern of names such as `h{}.example`."""
    port: int = 80

    def name(self, number: int) -> str:
        """Name or address of a host, without port."""
        if self.names:
            return self.names.format(number)
        rest, last = divmod(number, LAST)
        return f"127.{rest // MIDDLE}.{rest % MIDDLE}.{last + 1}"

    def number(self, name: str) -> int:
        """Which host has this name; -1: none."""
        try:
            if self.names:
                before, _, after = self.names.partition("{}")
                number = int(name.removeprefix(before).removesuffix(after))
            else:
                _, high, middle, last = map(int, name.split("."))
                number = (high * MIDDLE + middle) * LAST + last - 1
        except ValueError:
            return -1
        return number if 0 <= number < self.hosts and self.name(number) == name else -1

    def origin(self, number: int) -> str:
        """`http://NAME:PORT` of a host; without port 80."""
        return f"http://{self.name(number)}" + (f":{self.port}" if self.port != 80 else "")


def digest(seed: int, host: int, page: int = -1) -> int:
    """128 bits that decide everything about a page, or (page -1) about a host."""
    return xxhash.xxh3_128_intdigest(b"%d/%d" % (host, page), seed)


def happens(bits: int, share: float) -> bool:
    """Whether the lowest 16 bits say yes, which they do with this probability."""
    return (bits & 0xFFFF) < share * 0x10000


@functools.lru_cache(64)
def lognormal(median: float, sigma: float) -> list[float]:
    """4,096 quantiles of a lognormal distribution: twelve bits pick a value."""
    normal = NormalDist()
    return [median * math.exp(sigma * normal.inv_cdf((k + 0.5) / QUANTILES)) for k in range(QUANTILES)]


def mean_of(sigma: float) -> float:
    """Mean of a lognormal distribution over its median, as `lognormal` has it."""
    values = lognormal(1.0, sigma)
    return sum(values) / len(values)
