"""Fairness: one host with very many pages and very many hosts with a few, and not enough connections for all."""

from __future__ import annotations

import sys
from collections import deque

import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.contract.bench import answered, config, pages_of, star, web_of  # noqa: E402
from nephila.testing.crawls import FakeCrawl  # noqa: E402
from nephila.testing.fairness import jain, while_all_have_work  # noqa: E402
from nephila.testing.fakeweb import FakeWeb  # noqa: E402
from nephila.types import Lease  # noqa: E402

SMALL, EACH, GIANT = 40, 6, 160


def crawl_of_one_giant_and_many_small(order: str, delay: str, per_host: int) -> FakeWeb:
    """The giant is the first seed."""
    clock = FakeClock()
    hosts = {"http://giant.test": GIANT} | {f"http://small{i}.test": EACH for i in range(SMALL)}
    pages = {}
    for origin, count in hosts.items():
        pages |= star(count - 1, origin)
    web = web_of(clock, pages)
    settings = config(
        *(f"{origin}/" for origin in hosts),
        order=order,
        delay=delay,
        per_host=per_host,
        connections=16,
        no_robots=True,
    )
    run = FakeCrawl(web, clock, settings, MemoryStore(order))
    ended = run.run()
    assert ended is not None
    assert ended.reason == "finished"
    assert len(web.log) == sum(hosts.values())
    return web


@pytest.mark.parametrize("per_host", [1, 64])
@pytest.mark.parametrize("delay", ["0", "0.1"])
@pytest.mark.parametrize("order", ["bfs", "dfs"])
def test_hosts_are_served_alike_as_long_as_all_have_work(order: str, delay: str, per_host: int) -> None:
    web = crawl_of_one_giant_and_many_small(order, delay, per_host)
    shares = while_all_have_work(web.log, {"giant.test": GIANT} | {f"small{i}.test": EACH for i in range(SMALL)})
    assert len(shares) == SMALL + 1
    assert jain(list(shares.values())) >= 0.95
    ends = {access.host: access.end for access in pages_of(web)}
    alike = SMALL * EACH + EACH  # requests until the small ones are done, if all are served alike
    done = sum(access.end <= max(e for h, e in ends.items() if h != "giant.test") for access in web.log)
    assert done <= 1.2 * alike


def settled_shares(per_host: int, room: int, held: int, steady: bool) -> list[int]:
    """Pages per host when the first small host has none left, as a desk would deal: `room` leases at a time, `held` out."""
    origins = ["http://giant.test", *(f"http://small{i}.test" for i in range(SMALL))]
    seeds = [f"{origin}/{n}" for origin in origins for n in range(GIANT if origin == origins[0] else 4 * EACH)]
    settings = config(*seeds, per_host=per_host, no_robots=True, per_address=0)
    crawl = FakeCrawl(web_of(clock := FakeClock(), {}), clock, settings, MemoryStore())
    crawl.scheduler.put(crawl.seeds)
    shares = dict.fromkeys(origins, 0)
    out: deque[Lease] = deque()
    while max(count for origin, count in shares.items() if origin != origins[0]) < 4 * EACH:
        while len(out) < held and (leases := crawl.scheduler.grant(min(room, held - len(out)))):
            out += leases
        for _ in range(1 if steady else len(out)):
            lease = out.popleft()
            shares[lease.origin] += 1
            crawl.scheduler.accept([answered(lease)])
    return [min(count, 4 * EACH) for count in shares.values()]  # with the small ones done the giant may have all


@pytest.mark.parametrize("steady", [True, False])
@pytest.mark.parametrize(("per_host", "room", "held"), [(1, 32, 32), (64, 1, 16), (64, 32, 32), (64, 64, 256)])
def test_leases_dealt_in_batches_are_spread_over_all_hosts(per_host: int, room: int, held: int, steady: bool) -> None:
    assert jain(settled_shares(per_host, room, held, steady)) >= 0.95


@pytest.mark.long
@pytest.mark.parametrize("per_host", [1, 64])
@pytest.mark.parametrize("delay", ["0", "0.1"])
def test_one_giant_and_two_hundred_small_ones(delay: str, per_host: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SMALL", 200)
    monkeypatch.setattr(sys.modules[__name__], "GIANT", 3000)
    test_hosts_are_served_alike_as_long_as_all_have_work("bfs", delay, per_host)
