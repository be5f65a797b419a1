"""What a person may tell a running crawl about one host."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter

import pytest

from nephila.frontier.scheduler import Scheduler
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import SLACK_S, A, Bench, config, once, star, web_of


class Steering(Bench):
    """What a person may tell a running crawl about one host."""

    def test_pause_and_resume(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(20) | star(60, "http://b.test"))
        count = itertools.count(1)

        def steer(scheduler: Scheduler) -> bool:
            n = next(count)
            if n == 20:
                assert scheduler.host_command("a.test", "pause") == "pause: http://a.test"
            if n == 50:
                scheduler.host_command(A, "resume")
            return False

        run = self.crawl(web, clock, config(A + "/", "http://b.test/", connections=2), until=steer)
        order = [a.host for a in web.log]
        assert run.counts() == {("OK", ""): 82}
        assert order[24:50].count("a.test") == 0
        assert order[50:].count("a.test") > 5

    def test_a_host_that_is_paused_is_waited_for(self) -> None:
        """It is the only one left, and stays so for an hour: no limit in time counts meanwhile."""
        clock = FakeClock()
        web = web_of(clock, star(20))
        settings = config(max_time=600)
        said = list[float]()

        def steer(scheduler: Scheduler) -> bool:
            if len(web.log) == 6:
                scheduler.host_command(A, "pause")
                asyncio.get_running_loop().call_later(3600, resume, scheduler)
            return False

        def resume(scheduler: Scheduler) -> None:
            said.extend([scheduler.status()["seconds"], float(scheduler.status()["queued"])])
            assert (scheduler.ended, scheduler.gauge().held, scheduler.gauge().lines) == (None, [A], [])
            assert scheduler.status()["parked"] == []
            scheduler.host_command(A, "resume")

        crawl = self.start(web, clock, settings)
        assert crawl.run(steer) is not None
        assert crawl.scheduler.ended is not None
        assert (crawl.scheduler.ended.reason, crawl.scheduler.outcomes) == ("finished", {"OK": 21})
        assert said[0] < 60
        assert [fields for event, fields in crawl.notes if event == "hosts.paused"] == [
            {"queued": int(said[1]), "origin": A}
        ]

    def test_a_host_that_is_paused_is_waited_for_after_a_restart(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(20))
        crawl = self.start(web, clock, config())
        crawl.scheduler.put(crawl.seeds)
        crawl.scheduler.host_command(A, "pause")
        again = self.start(web, clock, config(), self.reopen(config()))
        again.scheduler.put(again.seeds)
        assert (again.scheduler.ended, again.scheduler.grant(8)) == (None, [])
        again.scheduler.host_command(A, "resume")
        assert len(again.scheduler.grant(8)) == 1

    @pytest.mark.parametrize("no_robots", [False, True])
    def test_slow(self, no_robots: bool) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10))
        settings = config(no_robots=no_robots)
        self.crawl(web, clock, settings, until=once(5, lambda s: s.host_command("a.test", "slow", 9.0)))
        assert min(web.gaps("a.test")[5:]) >= 9 - SLACK_S
        assert max(web.gaps("a.test")[:4]) < 1

    def test_drop(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(30) | star(10, "http://b.test"))
        run = self.crawl(
            web, clock, config(A + "/", "http://b.test/"), until=once(12, lambda s: s.host_command("a.test", "drop"))
        )
        assert run.reason == "finished"
        states = Counter(state for url, state in run.states().items() if url.startswith(A))
        assert states["dropped"] + states["done"] == 31
        assert states["dropped"] > 20
        assert len(run.outcomes()) == states["done"] + 11

    def test_hosts_are_told_by_name(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(30))
        told: list[dict[str, object]] = []

        def look(scheduler: Scheduler) -> bool:
            scheduler.host_command("a.test", "slow", 9.0)
            told.extend(scheduler.hosts([A, "http://nobody.test"]))
            return True

        self.crawl(web, clock, config(A + "/", no_robots=True), until=once(5, look))
        (host,) = told
        assert host.pop("queued") in range(20, 30)
        assert host.pop("in_flight") in (0, 1)
        assert {
            "origin": A,
            "delay": 9.0,
            "state": "slow 9",
            "failures": 0,
            "verdict": "",
            "parked_until": 0.0,
        }.items() <= host.items()

    def test_an_unknown_host(self) -> None:
        clock = FakeClock()
        crawl = self.start(web_of(clock, star(1)), clock, config())
        assert crawl.scheduler.host_command("nobody.test", "drop") == "no such host: nobody.test"

    def test_draining(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(30))
        run = self.crawl(web, clock, config(per_host=4), until=once(10, lambda s: s.drain()))
        assert run.reason == "interrupted"
        assert len(run.outcomes()) < 16
        assert self.resume(web, clock, config(per_host=4)).counts() == {("OK", ""): 31}
        assert max(Counter(web.urls()).values()) == 1
