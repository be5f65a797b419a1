"""What next, inside a host; and queues that are longer than memory."""

from __future__ import annotations

import itertools

import pytest

from nephila.frontier import queues
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, config, pages_of, star, web_of
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer


class Orders(Bench):
    """What next, inside a host; and queues that are longer than memory."""

    @pytest.fixture(autouse=True)
    def small_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(queues, "READY_MAX", 8)

    def test_bfs_goes_level_by_level(self) -> None:
        """341 pages with a fanout of 4."""
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.synthetic(341, 4, 200))
        run = self.crawl(web, clock, config(connections=1))
        level = {u["url"]: u["depth"] for u in run.urls()}
        depths = [level[a.url] for a in pages_of(web)]
        assert len(depths) == 341
        assert depths == sorted(depths)

    def test_bfs_goes_in_order_of_discovery(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(300))
        self.crawl(web, clock, config(connections=1))
        assert [a.url for a in pages_of(web)] == [A + "/", *(f"{A}/{i}" for i in range(1, 301))]

    def test_hosts_are_asked_in_the_order_in_which_they_were_met(self) -> None:
        clock = FakeClock()
        seeds = [f"http://h{i * 7 % 40}.test/" for i in range(40)]
        web = web_of(clock, {seed: [""] for seed in seeds})
        self.crawl(web, clock, config(*seeds, connections=1))
        assert [a.url for a in web.log][:40] == [seed + "robots.txt" for seed in seeds]

    def test_dfs_takes_the_newest_first(self) -> None:
        clock = FakeClock()
        pages = {
            "/": ["/1", "/2", "/3"],
            "/3": ["/31", "/32"],
            "/32": [""],
            "/31": [""],
            "/2": ["/21"],
            "/21": [""],
            "/1": [""],
        }
        web = web_of(clock, {A + path: links for path, links in pages.items()})
        self.crawl(web, clock, config(order="dfs", connections=1))
        assert [a.url.removeprefix(A) for a in pages_of(web)] == ["/", "/3", "/32", "/31", "/2", "/21", "/1"]

    def test_dfs_with_a_queue_longer_than_memory(self) -> None:
        clock = FakeClock()
        pages = star(100) | {f"{A}/{i}": [f"/{i}/a", f"/{i}/b"] for i in range(1, 101)}
        web = web_of(clock, pages | {f"{A}/{i}/{x}": [""] for i in range(1, 101) for x in "ab"})
        self.crawl(web, clock, config(order="dfs", connections=1))
        wanted = ["/", *itertools.chain.from_iterable((f"/{i}", f"/{i}/b", f"/{i}/a") for i in range(100, 0, -1))]
        assert [a.url.removeprefix(A) for a in pages_of(web)] == wanted

    @pytest.mark.parametrize(("seed", "order"), [(0, "bfs"), (1, "dfs"), (2, "bfs"), (3, "dfs")])
    def test_a_queue_longer_than_memory_loses_nothing(self, order: str, seed: int) -> None:
        clock = FakeClock()
        graph = sites.graph(seed, 250, 5)

        def site(host: str, path: str, n: int) -> Answer:
            flaky = path[1:].isdecimal() and int(path[1:]) % 17 == 3 and n == 1
            return Answer(status=500) if flaky else sites.late(graph(host, path, n), (len(path) * 7 + seed) % 5 / 50)

        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config(A + "/0", order=order, per_host=12, connections=12))
        wanted = {f"{A}{path}": ("OK", "") for path in sites.within(seed, 250, 5, 1000)}
        assert run.outcomes() == wanted
        assert max(web.times(url) for url in wanted) <= 2
