"""Ways out: which proxies a URL may go through, by the rules that the user wrote (`--proxy`). Pure.

A rule is `URL`, `SITE=URL` or `SITE=direct`. Of the rules whose SITE fits, the most specific counts alone: an origin
(`https://example.com:8443`) before a host (`example.com`) before `*.example.com` (any name below it; the longer one
first) before a rule without SITE. Several proxies of one SITE are a pool. Where a pool is named there is no other way:
nothing here ever answers "direct" because a proxy is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from nephila.errors import ConfigError
from nephila.url.parse import host_of, normalise, origin, without_userinfo

PORTS = {"http": 80, "https": 443, "socks4": 1080, "socks4a": 1080, "socks5": 1080, "socks5h": 1080}
"""Schemes of proxies, and where one listens that names no port."""
ORIGINS_MAX = 65_536
"""Origins whose way is remembered."""
FORM = (
    "SCHEME://HOST:PORT, SITE=SCHEME://HOST:PORT or SITE=direct is expected, with scheme http, https, socks4, socks4a, socks5 or"
    " socks5h, and an origin, a host or *.DOMAIN as SITE"
)
_SITE = re.compile(r"([^=@/]+|https?://[^=@/]+)=(direct\Z|env:|[a-z0-9]+://.*)", re.IGNORECASE | re.DOTALL)


class Proxy(NamedTuple):
    """One proxy. `host` without brackets; `user` and `password` decoded; `label` names it without its secret."""

    scheme: str
    host: str
    port: int
    user: str
    password: str
    label: str

    @property
    def socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def names_are_ours(self) -> bool:
        """Whether a target's name is ours to resolve; most proxies do it themselves."""
        return self.scheme in ("socks4", "socks5")


def split(text: str) -> tuple[str, str]:
    """(SITE or "", the rest) of a rule as written."""
    match = _SITE.match(text)
    return (match[1], match[2]) if match else ("", text)


class Ways:
    """The rules of a crawl, read. `proxies`: those of all rules, in the order in which they were given.

    Raises ConfigError for a text that is no rule, and when one SITE has proxies and `direct`.
    """

    def __init__(self, rules: Iterable[str]) -> None:
        self.proxies: list[Proxy] = []
        self._pools: dict[str, tuple[int, ...]] = {}
        for site, rest in map(split, rules):
            try:
                self._add(_site(site) if site else "", rest)
            except ValueError:  # what is wrong is not shown: it may be a secret
                raise ConfigError(f"proxy: a value is not of the right form; {FORM}") from None
        self.of: Callable[[str], tuple[int, ...]] = lru_cache(ORIGINS_MAX)(self._of) if self._pools else _direct
        """The proxies (their places in `proxies`) that an origin as of `url.parse` may go through; none: it goes direct."""

    def _add(self, site: str, rest: str) -> None:
        known = self._pools.get(site)
        if known is not None and (rest == "direct") != (not known):
            raise ConfigError(f"proxy: {site or 'the whole web'} has proxies and `direct`: one of the two can be meant")
        if rest == "direct":
            self._pools[site] = ()
            return
        proxy = _proxy(rest)
        same = sum(one.label.partition(" ")[0] == proxy.label for one in self.proxies)
        self._pools[site] = (*(known or ()), len(self.proxies))
        self.proxies.append(proxy._replace(label=f"{proxy.label} (no. {same + 1})") if same else proxy)

    @property
    def direct(self) -> bool:
        """Whether some URL may go without a proxy."""
        return not self._pools.get("") or () in self._pools.values()

    def _of(self, origin: str) -> tuple[int, ...]:
        url = origin + "/"
        host = host_of(url)
        below = [f"*{host[at:]}" for at, letter in enumerate(host) if letter == "." and at]
        return next((self._pools[site] for site in (origin, host, *below, "") if site in self._pools), ())


def _direct(origin: str) -> tuple[int, ...]:
    """Without rules there is nothing to remember for millions of origins."""
    return ()


def _site(text: str) -> str:
    """SITE as origins and hosts are spelled. Raises ValueError."""
    star, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    whole = "://" in name
    url = normalise(f"{name}/" if whole else f"http://{name}/")
    if url is None or "*" in name or (whole and star) or (not whole and ":" in name and not name.endswith("]")):
        raise ValueError(text)
    return origin(url) if whole else star + host_of(url)


def _proxy(text: str) -> Proxy:
    """Read a proxy's URL. Raises ValueError when it is none that can be used."""
    parts = urlsplit(text)
    scheme, host, port = parts.scheme, (parts.hostname or "").lower(), parts.port
    if scheme not in PORTS or not host or port == 0 or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("not a proxy's URL")
    label = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port or PORTS[scheme]}"
    return Proxy(
        scheme, host, port or PORTS[scheme], unquote(parts.username or ""), unquote(parts.password or ""), label
    )


def without_secret(rule: str) -> str:
    """A rule as written, without user and password."""
    site, rest = split(rule)
    return f"{site}={without_userinfo(rest)}" if site else without_userinfo(rest)
