"""When it is our own network that is gone, nobody is blamed."""

from __future__ import annotations

from typing import Any

import pytest

from nephila.config import Config
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import SLACK_S, A, Bench, config, once, spacing, star, web_of
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer


class Network(Bench):
    """When it is our own network that is gone, nobody is blamed."""

    HOSTS = tuple(f"http://h{i}.test" for i in range(4))

    def four_hosts(self, clock: FakeClock, n: int = 30) -> FakeWeb:
        return web_of(clock, {url: page for host in self.HOSTS for url, page in star(n, host).items()})

    def four(self, **more: Any) -> Config:
        return config(*(host + "/" for host in self.HOSTS), **{"delay": "1", "connections": 16} | more)

    @pytest.mark.parametrize(
        ("reason", "from_s"),
        [
            ("timeout.connect", 0.12),
            ("timeout.connect", 5.0),
            ("timeout.connect", 10.3),
            ("dns.temporary", 0.12),
            ("timeout.dns", 5.0),
            ("connect.unreachable", 10.3),
        ],
    )
    def test_an_outage_changes_no_outcome(self, reason: str, from_s: float) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", from_s, from_s + 90, reason)
        run = self.crawl(web, clock, self.four())
        assert run.counts() == {("OK", ""): 124}
        (lost,) = run.said("network.lost")
        (back,) = run.said("network.back")
        assert 60 <= back["seconds"] <= 95
        assert lost["since"] > 0

    def test_no_attempt_is_counted_and_one_probe_per_five_seconds(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 10.0, 610.0, "timeout.connect")
        run = self.crawl(web, clock, self.four(max_time=60.0))
        began = web._born
        offline = [a.start - began for a in web.log if 80 < a.start - began < 610]
        assert [round(gap, 1) for gap in spacing(offline)] == [5.0] * (len(offline) - 1)
        assert 100 <= len(offline) <= 107
        attempts = [a["n"] for a in self.table(run.store, "attempt")]
        assert len(attempts) <= 24
        assert run.counts() == {("OK", ""): 124}
        assert run.reason == "finished"

    def test_one_host_that_fails_is_its_own_fault(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock, 100)
        web.down("h1.test", 5.0, 1e9, "timeout.connect")
        run = self.crawl(web, clock, self.four())
        assert run.said("network.lost") == []
        assert run.counts()["OK", ""] >= 303
        assert {end[0] for url, end in run.outcomes().items() if "h1" not in url} == {"OK"}

    def test_a_first_seed_that_is_down_is_not_offline(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {})
        web.down("*", 0, 1e9, "timeout.connect")
        run = self.crawl(web, clock, config())
        assert run.reason == "finished"
        assert run.said("network.lost") == []
        assert run.outcomes()[A + "/"][0] in ("UNREACHABLE", "DENIED")

    def test_the_only_host_counts_as_all(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(30))
        web.down("*", 10.0, 130.0, "connect.unreachable")
        run = self.crawl(web, clock, config(delay="1"))
        assert len(run.said("network.lost")) == 1
        assert run.counts() == {("OK", ""): 31}

    def test_a_probe_asks_for_robots_first(self) -> None:
        """The host that answered has nothing left; those that wait have not told us their rules."""
        clock = FakeClock()
        rest = {url: page for host in self.HOSTS for url, page in star(2, host).items()}
        web = web_of(clock, {A + "/": [host + "/" for host in self.HOSTS]} | rest)
        web.down("*", 0.12, 200.0, "timeout.connect")
        run = self.crawl(web, clock, config(scope="any", connections=16))
        assert run.counts() == {("OK", ""): 13}

    def test_offline_for_ever_gives_up(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 5.0, 1e9, "dns.temporary")
        before = clock.monotonic()
        run = self.crawl(web, clock, self.four(offline_max_s=1000.0))
        assert run.reason == "offline"
        assert 1000 <= clock.monotonic() - before <= 1100
        assert {outcome for outcome, _ in run.outcomes().values()} == {"OK"}

    def test_silence_that_was_asked_for_outlives_an_outage(self) -> None:
        clock = FakeClock()
        busy = Answer(status=429, headers=(("Retry-After", "300"),))
        web = self.four_hosts(clock)
        web.answer("http://h0.test/5", busy, Answer(b"x"))
        web.down("*", 15.0, 75.0, "timeout.connect")
        run = self.crawl(web, clock, self.four())
        said = next(a.end for a in web.log if a.status == 429)
        assert run.said("network.lost")
        assert min(a.start for a in web.log if a.host == "h0.test" and a.start > said) >= said + 300 - SLACK_S

    def test_the_pause_outlives_an_outage_and_a_sleep(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 15.0, 75.0, "timeout.connect")
        self.crawl(web, clock, self.four(delay="4"), until=once(80, lambda s: clock.wall_jump(7200)))
        assert min(gap for host in self.HOSTS for gap in web.gaps(host[7:])) >= 4 - SLACK_S

    @pytest.mark.parametrize("how", ["jump", "wall_jump"])
    def test_a_machine_that_slept(self, how: str) -> None:
        """What fails in the moments after is not counted, and hosts are not asked all at once."""
        clock = FakeClock()
        web = self.four_hosts(clock)
        run = self.crawl(web, clock, self.four(), until=once(40, lambda s: getattr(clock, how)(3600.0)))
        assert run.counts() == {("OK", ""): 124}
        assert min(gap for host in self.HOSTS for gap in web.gaps(host[7:])) >= 1 - SLACK_S
        assert self.table(run.store, "attempt") == []

    def test_failures_after_a_sleep_are_forgiven(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 15.0, 27.0, "timeout.connect")
        run = self.crawl(web, clock, self.four(), until=once(50, lambda s: clock.wall_jump(3600.0)))
        failed = [a for a in web.log if a.reason]
        jumped = run.said("clock.jumped")
        assert len(jumped) == 1
        assert run.counts() == {("OK", ""): 124}
        assert len(failed) >= 1
