"""The depth rule on 200 random graphs in memory: the real frontier, a web of functions, fake time, no kills."""

from __future__ import annotations

import asyncio
import random
import re
from array import array

import pytest

from nephila.config import Config
from nephila.frontier.local import LocalFrontier
from nephila.frontier.memory import MemoryStore
from nephila.frontier.scheduler import Scheduler
from nephila.frontier.seen.keytree import KeyTree
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.types import Found, Kind, Lease, NewLink, Outcome, Request, Response, Settlement
from nephila.url.key import Fingerprints
from nephila.url.scope import ScopeSpec

NODES, DEGREE, CONNECTIONS, HOST = 60, 2, 3, "http://a.test"
HREF = re.compile(rb'href="([^"]+)"')


@pytest.mark.parametrize("order", ["bfs", "dfs"])
def test_two_hundred_graphs_in_memory(order: str) -> None:
    wrong = {}
    for seed in range(100):
        depth_max = random.Random(f"memory {seed}").randint(0, 9)
        wanted = sites.within(seed, NODES, DEGREE, depth_max)
        if (kept := crawl(seed, depth_max, order)) != wanted:
            wrong[seed] = (depth_max, kept.items() ^ wanted.items())
    assert wrong == {}


def crawl(seed: int, depth_max: int, order: str) -> dict[str, int]:
    """path → depth of every page kept."""
    clock = FakeClock()
    # Pages come after 10 to 90 ms, so that what was asked for first does not come first.
    dice, graph = random.Random(f"latency {seed}"), sites.graph(seed, NODES, DEGREE)
    web = FakeWeb(clock, site=lambda host, path, n: sites.late(graph(host, path, n), dice.randint(1, 9) / 100))
    config = Config(max_depth=depth_max, order=order, delay="0", per_host=CONNECTIONS, no_robots=True)
    store, fingerprint = MemoryStore(order, depth_max), Fingerprints(7)

    async def main() -> None:
        scheduler = Scheduler(
            config,
            store,
            store.load(None),
            seen=KeyTree(payload=True),
            scope=ScopeSpec("host", (f"{HOST}/0",)),
            fingerprint=fingerprint,
            clock=clock,
            rng=random.Random(seed),
        )
        frontier = LocalFrontier(scheduler)
        await frontier.put([Request(f"{HOST}/0")])
        async with asyncio.TaskGroup() as crew:
            for _ in range(CONNECTIONS):
                crew.create_task(work(frontier, web, fingerprint))

    clock.run(main())
    return {row["url"].removeprefix(HOST): row["depth"] for row in store.urls.values() if row["state"] == "done"}


async def work(frontier: LocalFrontier, web: FakeWeb, fingerprint: Fingerprints) -> None:
    """The life of one URL, in small."""
    while lease := await frontier.take():
        response = await web(lease)
        assert isinstance(response, Response)
        await frontier.settle(
            Settlement(
                lease.id,
                Outcome.OK,
                requested=True,
                status=200,
                ip=response.ip,
                found=links(lease, response, fingerprint),
            )
        )


def links(lease: Lease, response: Response, fingerprint: Fingerprints) -> Found:
    urls = dict.fromkeys(HOST + href.decode() for href in HREF.findall(response.body.head(1 << 20)))
    new = [NewLink(fingerprint(url), url, Kind.PAGE) for url in urls]
    return Found(array("Q", (link.fp for link in new)).tobytes(), 0, new)
