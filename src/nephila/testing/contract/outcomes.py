"""Every admitted URL ends in exactly one outcome."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import Any

import pytest

from nephila.frontier import queues
from nephila.frontier.batch import Batch, Store
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, after_visits, config, robots_of, web_of
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer


class Outcomes(Bench):
    """Every admitted URL ends in exactly one outcome."""

    def test_each_url_ends_once(self) -> None:
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.kinds())
        run = self.crawl(web, clock, config(per_host=4))
        paths = {url.removeprefix(A) for url in run.outcomes()}
        assert run.reason == "finished"
        assert paths == set(sites.KINDS) - {"/robots.txt", "/form"} | {"/"}
        assert set(run.states().values()) <= {"done", "refused"}

    def test_each_kind_of_end(self) -> None:
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/": ["/ok", "/gone", "/moved", "/denied", "/reset"],
                A + "/ok": [""],
                A + "/gone": Answer(status=410),
                A + "/moved": sites.redirect("/ok"),
                A + "/reset": Answer(failure="conn_reset"),
                A + "/robots.txt": robots_of("Disallow: /denied"),
            },
        )
        run = self.crawl(web, clock, config(retry_wait_s=0.1))
        assert run.outcomes() == {
            A + "/": ("OK", ""),
            A + "/ok": ("OK", ""),
            A + "/gone": ("REFUSED", "status.410"),
            A + "/moved": ("MOVED", ""),
            A + "/denied": ("DENIED", "robots_disallow"),
            A + "/reset": ("UNREACHABLE", "conn_reset"),
        }
        assert run.scheduler.outcomes == {"OK": 2, "REFUSED": 1, "MOVED": 1, "DENIED": 1, "UNREACHABLE": 1}

    def test_a_url_met_many_times_is_fetched_once(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {f"{A}/{i or ''}": [f"/{j or ''}" for j in range(10)] for i in range(10)})
        self.crawl(web, clock, config(per_host=8))
        assert Counter(web.urls()) == Counter([f"{A}/{i or ''}" for i in range(10)] + [A + "/robots.txt"])

    @pytest.mark.parametrize("commit_visits", [1, 3, 500])
    def test_never_an_outcome_without_its_links(self, commit_visits: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """After each batch every page that is in the store has all its links there, too: with six hosts on one address,
        whose queues are longer than memory, over several kills, and with a seed that widens the scope."""
        monkeypatch.setattr(queues, "READY_MAX", 2)
        clock = FakeClock()
        hosts = [f"http://h{i}.test" for i in range(6)]

        def site(host: str, path: str, n: int) -> Answer:
            if path == "/robots.txt":
                return Answer(status=404, ip="9.8.7.6")
            if host == "a.test":
                return sites.redirect("http://www.a.test/0")
            i = int(path[1:])
            links = [f"{at}/{to}" for to in range(6 * i + 1, 6 * i + 7) if to <= 18 for at in hosts]
            return Answer(sites.page([*links, "http://other.test/"]), ip="9.8.7.6")

        web = FakeWeb(clock, site=site)
        seeds = (A + "/", *(host + "/0" for host in hosts))
        settings = config(*seeds, delay="1", commit_visits=commit_visits, commit_ms=7, per_host=2, per_address=1)
        store, met = self.make_store(settings), set[int]()
        for kill in range(6):
            self.watch_links(store, met)
            run = self.crawl(web, clock, settings, store=store, until=after_visits(7) if kill < 5 else None)
            store = self.reopen(settings)
        assert run.reason == "finished"
        assert len(run.outcomes()) > 40
        assert len(met) > 40

    def watch_links(self, store: Store, met: set[int]) -> None:
        commit = store.commit

        def watched(batch: Batch, done: Any) -> None:
            met.update(row[1] + (1 << 63) for row in batch.urls)
            pages = {visit[0] for visit in batch.visits if visit[4] in ("OK", "MOVED")}
            linking = {visit: edges for visit, _, edges in batch.links}
            assert linking.keys() <= pages
            for edges in linking.values():
                assert met.issuperset(array("Q", edges)), "a page is committed and one of its links is not"
            commit(batch, done)

        store.commit = watched  # type: ignore[method-assign]

    def test_no_seed_answers(self) -> None:
        clock = FakeClock()
        web = FakeWeb(clock)
        run = self.crawl(web, clock, config())
        assert run.reason == "finished"
        assert run.outcomes() == {A + "/": ("REFUSED", "status.404")}
