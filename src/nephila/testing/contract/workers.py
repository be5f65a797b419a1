"""Workers that die, and what it means for the pages they held."""

from __future__ import annotations

from typing import Any

import pytest

from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, Run, answered, config, star, web_of
from nephila.testing.crawls import FakeCrawl
from nephila.types import Lease


class Workers(Bench):
    """Workers that die, and what it means for the pages they held."""

    def granted(self, crawl: FakeCrawl, n: int) -> list[Lease]:
        """Robots are done; n pages are out."""
        scheduler = crawl.scheduler
        scheduler.put(crawl.seeds)
        return scheduler.grant(n)

    def ready(self, n: int, **more: Any) -> FakeCrawl:
        clock = FakeClock()
        web = web_of(clock, {f"{A}/{i}": [""] for i in range(n)})
        return self.start(web, clock, config(*(f"{A}/{i}" for i in range(n)), no_robots=True, per_host=8, **more))

    def test_leases_of_a_dead_worker_are_given_out_again(self) -> None:
        crawl = self.ready(6)
        leases = self.granted(crawl, 6)
        crawl.scheduler.give_back([lease.id for lease in leases], suspect=False)
        again = crawl.scheduler.grant(8)
        assert {lease.id for lease in again} == {lease.id for lease in leases}
        assert {lease.attempt for lease in again} == {1}

    def test_suspects_go_out_one_at_a_time(self) -> None:
        crawl = self.ready(3)
        scheduler = crawl.scheduler
        leases = self.granted(crawl, 3)
        scheduler.give_back([lease.id for lease in leases], suspect=True)
        order = []
        for _ in range(3):
            (alone,) = scheduler.grant(8, 1)
            assert scheduler.grant(8, 1) == []
            order.append(alone.id)
            scheduler.accept([answered(alone)], 1)
        assert sorted(order) == sorted(lease.id for lease in leases)
        assert scheduler.grant(8, 1) == []
        assert scheduler.ended is not None

    def test_other_workers_go_on_while_a_suspect_is_out(self) -> None:
        crawl = self.ready(8)
        scheduler = crawl.scheduler
        leases = self.granted(crawl, 3)
        scheduler.give_back([lease.id for lease in leases], suspect=True)
        (alone,) = scheduler.grant(8, 1)
        assert alone.id in {lease.id for lease in leases}
        others = scheduler.grant(8, 2)
        assert len(others) == 5
        assert not {lease.id for lease in others} & {lease.id for lease in leases}

    def test_suspects_keep_the_manners_of_their_host(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3))
        crawl = self.start(web, clock, config(no_robots=True, delay="10"))
        (lease,) = self.granted(crawl, 1)
        clock.jump(1.0)
        crawl.scheduler.give_back([lease.id], suspect=True)
        assert crawl.scheduler.grant(1) == []
        due = crawl.scheduler.next_due()
        assert due is not None
        assert due == pytest.approx(clock.monotonic() + 10)
        clock.jump(10.0)
        assert [again.id for again in crawl.scheduler.grant(1)] == [lease.id]

    def test_two_deaths_alone_make_it_unreadable(self) -> None:
        crawl = self.ready(1)
        scheduler = crawl.scheduler
        (lease,) = self.granted(crawl, 1)
        for _ in range(3):  # the first one was in company
            scheduler.give_back([lease.id], suspect=True)
            scheduler.grant(1)
        run = Run(self, crawl, crawl.store, scheduler.ended)
        assert run.outcomes() == {A + "/0": ("UNREADABLE", "read_crash")}
        assert run.reason == "finished"

    def test_blame_means_unread_once_and_then_the_end(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        crawl = self.start(web, clock, config(no_robots=True))
        (lease,) = self.granted(crawl, 1)
        crawl.scheduler.blame(lease.id, "read_time")
        run = Run(self, crawl, crawl.store, crawl.run())
        assert run.outcomes() == {A + "/": ("UNREADABLE", "read_time")}
        assert web.times(A + "/") == 1
        assert run.said("worker.blamed")[0]["reason"] == "read_time"

    def test_blamed_while_unread(self) -> None:
        crawl = self.ready(1)
        (lease,) = self.granted(crawl, 1)
        crawl.scheduler.blame(lease.id, "read_memory")
        (lease,) = crawl.scheduler.grant(1)
        assert lease.unread == "read_memory"
        crawl.scheduler.blame(lease.id, "read_crash")
        run = Run(self, crawl, crawl.store, crawl.scheduler.ended)
        assert run.outcomes() == {A + "/0": ("UNREADABLE", "read_memory")}

    def test_the_blame_survives_a_kill(self) -> None:
        crawl = self.ready(1)
        (lease,) = self.granted(crawl, 1)
        crawl.scheduler.blame(lease.id, "read_time")
        again = self.start(crawl.web, FakeClock(), crawl.config, self.reopen(crawl.config))
        (lease,) = again.scheduler.grant(1)
        assert lease.unread == "read_time"
