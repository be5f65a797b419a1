"""What a job wants, as of its settings: its seeds and its scope.

Also what its guard lets through. Asked by whoever runs a job (`front`, `resume`) and by whoever only tells what it would do (`explain`): one answer for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nephila.config import Config
from nephila.credentials import logins
from nephila.errors import ConfigError
from nephila.types import Request
from nephila.url.guard import is_private
from nephila.url.parse import PORTS, host_of, origin, seed, without_userinfo
from nephila.url.scope import ScopeSpec
from nephila.url.site import registrable
from nephila.url.traps import switched


def requests_of(config: Config) -> list[Request]:
    """The seeds as requests. Raises ConfigError for an address that cannot be one."""
    found = []
    for text in config.seeds:
        url, guessed = seed(text)
        found.append(Request(without_userinfo(url), guessed=guessed))  # a password is no part of what a page is called
    if not found:
        raise ConfigError("nothing to crawl: give at least one address (nephila crawl https://example.com)")
    return found


def scope_of(
    config: Config,
    seeds: Iterable[Request],
    widened: tuple[str, ...] = (),
    members: Iterable[str] = (),
    epoch: int | None = None,
) -> ScopeSpec:
    """The scope. `members`: hosts for which the user gave cookies; `epoch`: how often it has changed in this run."""
    urls = tuple(dict.fromkeys(without_userinfo(request.url) for request in seeds))
    if len(urls) > 1000:
        urls = tuple({origin(url): url for url in urls}.values()) if config.scope != "prefix" else urls
    return ScopeSpec(
        config.scope,
        urls,
        tuple(config.include),
        tuple(config.exclude),
        config.embeds,
        widened,
        int(bool(widened)) if epoch is None else epoch,
        tuple(sorted(switched(config.traps))),
        () if config.follow_logout else members_of(config, members),
        config.sitemaps,
        config.ignore_nofollow,
    )


def members_of(config: Config, hosts: Iterable[str]) -> tuple[str, ...]:
    """The sites where we are logged in."""
    return tuple(sorted({registrable(host) for host in (*hosts, *(host_of(one.url) for one in logins(config)))}))


def allowed_of(seeds: Iterable[Request]) -> list[tuple[str, int]]:
    """host:port of every seed that is private by its own name or address: these, and no other, may be connected. An IPv6 address is
    without its brackets, as a connection knows it."""
    pairs = set()
    for request in seeds:
        host = host_of(request.url)
        if is_private(host):
            pairs |= {(host.strip("[]"), port) for port in _ports(request)}
    return sorted(pairs)


def _ports(request: Request) -> list[int]:
    scheme, _, rest = origin(request.url).partition("://")
    given = re.search(r":(\d+)$", rest)
    if given:
        return [int(given[1])]
    return [443, 80] if request.guessed else [PORTS[scheme]]
