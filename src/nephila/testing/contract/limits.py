"""Budgets: where a crawl stops."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from nephila.errors import DiskFull
from nephila.frontier import queues
from nephila.frontier.batch import Ask, Batch, Store
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, config, star, web_of
from nephila.testing.sites import Answer


class Limits(Bench):
    """Budgets: where a crawl stops."""

    @pytest.mark.parametrize("connections", [1, 16])
    def test_max_pages_is_never_exceeded(self, connections: int) -> None:
        clock = FakeClock()
        web = web_of(clock, star(60) | {f"{A}/{i}": Answer(status=404) for i in range(1, 60, 3)})
        run = self.crawl(web, clock, config(max_pages=20, per_host=16, connections=connections))
        assert run.reason == "limit"
        assert run.counts()["OK", ""] == 20
        assert "max_pages" in (run.ended.text if run.ended else "")

    def test_a_limit_that_is_not_reached(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5))
        assert self.crawl(web, clock, config(max_pages=6)).reason == "finished"

    def test_the_same_limit_again_sends_nothing_and_a_higher_one_goes_on(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(60))
        self.crawl(web, clock, config(max_pages=20, per_host=4))
        sent = len(web.log)
        assert self.resume(web, clock, config(max_pages=20, per_host=4)).reason == "limit"
        assert len(web.log) == sent
        run = self.resume(web, clock, config(max_pages=30, per_host=4))
        assert (run.reason, run.counts()["OK", ""]) == ("limit", 30)
        assert max(Counter(web.urls()).values()) == 1

    def test_max_bytes(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(50) | {f"{A}/{i}": Answer(b"x" * 1000) for i in range(1, 51)})
        run = self.crawl(web, clock, config(max_bytes=10_000))
        assert run.reason == "limit"
        assert 5 <= run.counts()["OK", ""] <= 11

    def test_max_time(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(1000), latency_s=1.0)
        before = clock.monotonic()
        run = self.crawl(web, clock, config(max_time=100.0, per_host=2))
        assert run.reason == "limit"
        assert 100 <= clock.monotonic() - before <= 102

    def test_a_failed_commit_ends_it_and_nothing_is_accepted_after(self) -> None:
        """One commit fails, and only that one: what came after it would depend on it, and must not be stored."""
        for error in (DiskFull("no space left"), OSError("input/output error")):
            clock = FakeClock()
            web = web_of(clock, star(200))
            settings = config(per_host=8, commit_visits=5)
            store = self.make_store(settings)
            self.fail_commit(store, 6, error)
            run = self.crawl(web, clock, settings, store=store)
            assert run.reason == "disk"
            assert run.scheduler.error is not None
            done = len(run.outcomes())
            assert done < 40
            assert sum(run.scheduler.outcomes.values()) == done
            again = self.resume(web, clock, settings)
            assert again.counts() == {("OK", ""): 201}

    def test_a_queue_that_cannot_be_read_ends_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(queues, "READY_MAX", 8)
        clock = FakeClock()
        web = web_of(clock, star(100))
        settings = config()
        store = self.make_store(settings)
        fetch, count = store.fetch, itertools.count(1)

        def failing(asked: list[Ask], limit: int, wall: float, done: Any) -> None:
            fetch(asked, limit, wall, done if next(count) < 3 else lambda found: done(OSError("input/output error")))

        with monkeypatch.context() as patch:
            patch.setattr(store, "fetch", failing)
            run = self.crawl(web, clock, settings, store=store)
        assert run.reason == "disk"
        assert 0 < len(run.outcomes()) < 101
        assert self.resume(web, clock, settings).reason == "finished"

    def fail_commit(self, store: Store, n: int, error: Exception) -> None:
        commit, count = store.commit, itertools.count(1)

        def failing(batch: Batch, done: Any) -> None:
            if next(count) == n:
                done(error)
            else:
                commit(batch, done)

        store.commit = failing  # type: ignore[method-assign]
