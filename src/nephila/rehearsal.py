"""`crawl --dry-run`: what a crawl would begin with. Asks each seed for robots.txt and the page itself; stores nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from nephila import settings
from nephila.config import Config
from nephila.corridor import TOKEN, reader_of
from nephila.fetch.client import Client
from nephila.fetch.decode import decode
from nephila.robots.gate import Gate
from nephila.robots.reader import read_robots
from nephila.types import Failure, Kind, Lease, Request, Response, RobotsFile
from nephila.url.parse import from_header, origin, resolve
from nephila.url.scope import Scope
from nephila.wanted import allowed_of, requests_of, scope_of

SEEDS_MAX = 20
LINKS_SHOWN = 10


def lines(config: Config) -> Iterator[str]:
    """The effective configuration, then for each seed its robots.txt, its sitemaps and its first links with the rule that
    decides about them."""
    seeds = requests_of(config)
    yield "Settings that are not the default:"
    default = Config()
    for key, value in settings.public(config)[0].items():
        if value != getattr(default, key):
            yield f"  {key} = {value!r}"
    yield from asyncio.run(_seeds(config, seeds))


async def _seeds(config: Config, seeds: list[Request]) -> list[str]:
    client = Client(config, allowed=frozenset(allowed_of(seeds)))
    scope = Scope(scope_of(config, seeds))
    said: list[str] = []
    try:
        for request in seeds[:SEEDS_MAX]:
            said += ["", request.url, *await _seed(config, client, scope, request)]
    finally:
        await client.close()
    if len(seeds) > SEEDS_MAX:
        said += ["", f"and {len(seeds) - SEEDS_MAX} more seeds"]
    return said


async def _seed(config: Config, client: Client, scope: Scope, request: Request) -> list[str]:
    place = origin(request.url)
    gate = Gate(TOKEN, enabled=not config.no_robots)
    answer = await client(Lease(1, Request(f"{place}/robots.txt", Kind.ROBOTS), 0, origin=place, last=True))
    said, robots = _robots(answer)
    gate.learn(place, robots)
    if reason := gate.denial(place, request.url):
        return [*said, f"  the seed itself: {reason} (--no-robots would fetch it)"]
    answer = await client(Lease(2, request, 0, origin=place, last=True))
    return said + _page(config, gate, scope, request, answer)


def _robots(answer: Response | Failure) -> tuple[list[str], RobotsFile]:
    if isinstance(answer, Failure):
        return [f"  robots.txt: {answer.reason} {answer.detail}".rstrip()], RobotsFile("unreachable")
    content = decode(answer.payload, answer.header("content-encoding"), 512_000, 1000).content
    page = read_robots(answer.url, answer.status, content, TOKEN)
    robots = page.robots_file or RobotsFile("unreachable")
    said = [f"  robots.txt: status {answer.status}, {robots.state}"]
    if robots.crawl_delay >= 0:
        said.append(f"  Crawl-delay: {robots.crawl_delay:g} s")
    said += [f"  sitemap: {link.url}" for link in list(page.links or ())[:LINKS_SHOWN]]
    return said, robots


def _page(config: Config, gate: Gate, scope: Scope, request: Request, answer: Response | Failure) -> list[str]:
    if isinstance(answer, Failure):
        return [f"  the seed itself: {answer.outcome.value} {answer.reason} {answer.detail}".rstrip()]
    said = [
        f"  the seed itself: status {answer.status}, {answer.header('content-type') or 'no type'}, {answer.payload.size:,} bytes"
    ]
    if location := answer.header("location"):
        return [*said, f"  moved to {resolve(answer.url, from_header(location)) or location}"]
    content = decode(answer.payload, answer.header("content-encoding"), config.page_bytes_max, config.decode_ratio_max)
    page = reader_of(config)(Lease(2, request, 0), answer, content.content)
    links = list((page.links or [])[:LINKS_SHOWN]) if page.links else []
    said.append(f"  links: {len(page.links or ())}, the first {len(links)}:")
    for link in links:
        rule = scope.refusal(link.url, link.kind) if link.url else "not an address"
        if not rule and origin(link.url) == origin(request.url):
            rule = gate.denial(origin(request.url), link.url)
        said.append(f"    {rule or 'wanted':20} {link.kind.value:9} {link.url or link.href}")
    return said
