"""Depth is the length of the shortest path, whatever came first."""

from __future__ import annotations

import zlib

import pytest

from nephila.frontier.batch import Store
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, after_visits, config, text, web_of
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer, Site


class Depths(Bench):
    """Depth is the length of the shortest path, whatever came first."""

    @pytest.mark.parametrize("order", ["bfs", "dfs"])
    def test_a_page_with_a_shorter_path_is_not_lost(self, order: str) -> None:
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.tree())
        run = self.crawl(web, clock, config(max_depth=2, order=order))
        assert run.kept() == {"": 0} | dict.fromkeys("BCDEF", 1) | {"G": 2, "H": 2}
        assert run.states()[A + "/I"] == "too_deep"

    @pytest.mark.parametrize("order", ["bfs", "dfs"])
    @pytest.mark.parametrize("kills", [0, 4])
    def test_random_graphs(self, order: str, kills: int) -> None:
        for seed in range(order == "dfs", 10, 2):  # of both orders every depth of 2 to 6
            clock = FakeClock()
            graph = sites.graph(seed, 50, 2)

            def site(host: str, path: str, n: int, graph: Site = graph) -> Answer:
                return sites.late(graph(host, path, n), (zlib.crc32(path.encode()) % 7 + 1) / 50)

            web = FakeWeb(clock, site=site)
            depth_max = 2 + seed % 5
            settings = config(A + "/0", max_depth=depth_max, order=order, per_host=3)
            store: Store | None = None
            for kill in range(kills):
                self.crawl(web, clock, settings, store=store, until=after_visits(3 + kill + seed))
                store = self.reopen(settings)
            run = self.crawl(web, clock, settings, store=store)
            assert {f"/{path}": depth for path, depth in run.kept().items()} == sites.within(seed, 50, 2, depth_max)

    def test_parts_of_a_page_and_redirects_add_no_depth(self) -> None:
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/": sites.page(["/moved"], more='<img src="/pic.png"><link rel=stylesheet href="/s.css">'),
                A + "/moved": sites.redirect("/there"),
                A + "/there": ["/deeper"],
                A + "/deeper": [""],
                A + "/pic.png": Answer(b"png", media_type="image/png"),
                A + "/s.css": Answer(b"p{background:url(/in.png)}", media_type="text/css"),
                A + "/in.png": Answer(b"png", media_type="image/png"),
            },
        )
        run = self.crawl(web, clock, config(max_depth=1))
        assert run.kept() == {"": 0, "pic.png": 0, "s.css": 0, "in.png": 0, "there": 1}
        assert run.states()[A + "/deeper"] == "too_deep"

    def test_urls_of_a_sitemap_have_depth_one(self) -> None:
        clock = FakeClock()
        xml = "application/xml"
        index = f"<sitemapindex><sitemap><loc>{A}/map.xml</loc></sitemap></sitemapindex>".encode()
        urls = f"<urlset><url><loc>{A}/x</loc></url></urlset>".encode()
        web = web_of(
            clock,
            {
                A + "/robots.txt": text(f"Sitemap: {A}/index.xml"),
                A + "/index.xml": Answer(index, media_type=xml),
                A + "/map.xml": Answer(urls, media_type=xml),
                A + "/": [""],
                A + "/x": ["/y"],
            },
        )
        run = self.crawl(web, clock, config(sitemaps=True, max_depth=1))
        assert run.kept()["x"] == 1
        assert run.states()[A + "/y"] == "too_deep"
