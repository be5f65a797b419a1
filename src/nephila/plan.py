"""What a job is, as data: its seeds and scope, what a worker has to know, and how it can end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from nephila.config import Config
from nephila.credentials import logins
from nephila.errors import ConfigError
from nephila.frontier import patience
from nephila.types import Request
from nephila.url.parse import PORTS, host_of, origin, seed, without_userinfo
from nephila.url.scope import ScopeSpec
from nephila.url.site import registrable
from nephila.url.traps import switched

CODES = {"finished": 0, "limit": 3, "interrupted": 4, "parked": 4, "offline": 4, "no_seed": 5, "disk": 6}
Step = Callable[[str], None]
Note = Callable[[str], None]


@dataclass(frozen=True)
class Ending:
    """How a crawl ended: exit code (0–6), reason, one sentence."""

    code: int
    reason: str
    text: str


class WorkerSpec(msgspec.Struct, frozen=True, array_like=True):
    """All that a worker has to know; crosses the wire as its first message."""

    folder: str
    name: str
    worker: int
    workers: int
    config: Config
    scope: ScopeSpec
    fingerprint_seed: int
    allowed: list[tuple[str, int]]
    serial_min: int = 0
    hooks: str = ""
    """`module:Class` of a program's hooks, made anew in each worker."""


# --- seeds ----------------------------------------------------------------------------------------------------------


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
    config: Config, seeds: Iterable[Request], widened: tuple[str, ...] = (), members: Iterable[str] = ()
) -> ScopeSpec:
    """The scope. `members`: hosts for which the user gave cookies."""
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
        int(bool(widened)),
        tuple(sorted(switched(config.traps))),
        () if config.follow_logout else _members(config, members),
    )


def _members(config: Config, hosts: Iterable[str]) -> tuple[str, ...]:
    """The sites where we are logged in."""
    return tuple(sorted({registrable(host) for host in (*hosts, *(host_of(one.url) for one in logins(config)))}))


def allowed_of(seeds: Iterable[Request]) -> list[tuple[str, int]]:
    """host:port of every seed that is private by its own name or address: these, and no other, may be connected. An IPv6 address is
    without its brackets, as a connection knows it."""
    pairs = set()
    for request in seeds:
        host = host_of(request.url)
        if patience.is_private(host):
            pairs |= {(host.strip("[]"), port) for port in _ports(request)}
    return sorted(pairs)


def _ports(request: Request) -> list[int]:
    scheme, _, rest = origin(request.url).partition("://")
    given = re.search(r":(\d+)$", rest)
    if given:
        return [int(given[1])]
    return [443, 80] if request.guessed else [PORTS[scheme]]


def archive_name(seeds: list[Request]) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", host_of(seeds[0].url))[:60].strip(".-_") or "crawl"
