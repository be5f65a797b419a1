"""How often a host is asked, and when not at all."""

from __future__ import annotations

import itertools

import pytest

from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import (
    SLACK_S,
    A,
    Bench,
    config,
    overlap_max,
    pages_of,
    robots_of,
    spacing,
    star,
    starts,
    web_of,
)
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer


class Manners(Bench):
    """How often a host is asked, and when not at all."""

    def test_the_pause_runs_from_one_visits_end_to_the_next_start(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(12), latency_s=0.7)
        self.crawl(web, clock, config(delay="2"))
        gaps = web.gaps("a.test")
        assert len(gaps) == 13
        assert min(gaps) >= 2 - SLACK_S
        assert max(gaps) < 2.5

    def test_with_more_at_once_starts_are_apart(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(20), latency_s=5.0)
        self.crawl(web, clock, config(delay="1", per_host=3))
        assert web.max_in_flight("a.test") == 3
        assert min(spacing(starts(web, "a.test"))) >= 1 - SLACK_S

    def test_never_more_than_per_host_at_once(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(40))
        self.crawl(web, clock, config(per_host=4, connections=16))
        assert web.max_in_flight("a.test") == 4

    @pytest.mark.parametrize(("latency_s", "low", "high"), [(0.02, 1.0, 1.05), (0.5, 2.5, 2.6), (20.0, 60.0, 60.1)])
    def test_automatic_pause_of_a_public_host(self, latency_s: float, low: float, high: float) -> None:
        """Five times the time to first byte, at least one second, at most sixty."""
        clock = FakeClock()
        web = web_of(clock, star(8), latency_s=latency_s)
        self.crawl(web, clock, config(delay="auto"))
        gaps = web.gaps("a.test")[1:]  # a missing robots.txt tells nothing of how fast pages are
        assert min(gaps) >= low - SLACK_S
        assert max(gaps) <= high

    def test_automatic_pause_of_our_own_host_has_no_lower_bound(self) -> None:
        clock = FakeClock()
        home = "http://127.0.0.1:8000"
        web = web_of(clock, star(10, home), latency_s=0.002)
        self.crawl(web, clock, config(home + "/", delay="auto"))
        assert max(web.gaps("127.0.0.1:8000")) < 0.05

    @pytest.mark.parametrize(("asked", "pause"), [("7", 7.0), ("90", 90.0), ("1000000000", 300.0)])
    @pytest.mark.parametrize("delay", ["auto", "0.5"])
    def test_crawl_delay(self, delay: str, asked: str, pause: float) -> None:
        clock = FakeClock()
        web = web_of(clock, star(4) | {A + "/robots.txt": robots_of(f"Crawl-delay: {asked}")})
        self.crawl(web, clock, config(delay=delay))
        gaps = web.gaps("a.test")
        assert min(gaps) >= pause - SLACK_S
        assert max(gaps) < pause + 1

    @pytest.mark.parametrize("status", [404, 500])
    def test_quick_errors_do_not_shorten_the_pause(self, status: int) -> None:
        clock = FakeClock()
        slow = {f"{A}/{i}": sites.late(Answer(b"x"), 2.0) for i in range(1, 4)}
        quick = {f"{A}/{i}": sites.late(Answer(status=status), 0.001) for i in range(4, 12)}
        web = web_of(clock, star(11) | slow | quick)
        self.crawl(web, clock, config(delay="auto", tries=1))
        order = pages_of(web)
        first = next(i for i, access in enumerate(order) if access.status == status)
        gaps = [after.start - before.end for before, after in itertools.pairwise(order)]
        before, after = gaps[first - 1], gaps[first:]
        assert before > 3
        assert min(after) >= before - SLACK_S

    def test_retry_after_silences_that_host_alone(self) -> None:
        clock = FakeClock()
        site = sites.retry429(20, "slow.test", 30)
        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config("http://slow.test/", "http://quick.test/", delay="0.5"))
        slow = pages_of(web, "slow.test")
        at = next(i for i, a in enumerate(slow) if a.status == 429)
        assert 30 - SLACK_S <= slow[at + 1].start - slow[at].end < 32
        assert max(web.gaps("quick.test")) < 1.0
        assert run.counts() == {("OK", ""): 40}
        assert run.said("host.refused")[0]["status"] == 429

    def test_retry_after_as_a_date(self) -> None:
        clock = FakeClock()
        busy = Answer(status=503, headers=(("Retry-After", "Tue, 11 Sep 2001 12:47:36 GMT"),))
        web = web_of(clock, star(5) | {A + "/2": [busy, Answer(b"x")]})
        assert clock.wall() == 1_000_212_366.0  # 12:46:06 that day
        self.crawl(web, clock, config())
        after = [a.start for a in web.log if a.end > next(a.end for a in web.log if a.status == 503)]
        assert min(after) - clock.monotonic() + clock.wall() >= 1_000_212_456 - SLACK_S

    @pytest.mark.parametrize("value", ["", "soon", "-5", "Mon, 01 Jan 1990 00:00:00 GMT", "nan", "0", "1e-9", "1"])
    def test_retry_after_never_makes_faster(self, value: str) -> None:
        """Our own wait before the next try is 5 s ± 50 %; what asks for less gets no less."""
        clock = FakeClock()
        busy = Answer(status=429, headers=(("Retry-After", value),) if value else ())
        web = web_of(clock, star(3) | {A + "/1": [busy, busy, Answer(b"x")]})
        run = self.crawl(web, clock, config())
        waits = spacing(starts(web, "a.test"))[2:4]
        assert [a.status for a in pages_of(web)][1:4] == [429, 429, 200]
        assert waits[0] >= 2.5 + 0.05 - SLACK_S if value != "1" else waits[0] >= 1
        assert run.counts() == {("OK", ""): 4}

    def test_a_request_under_way_does_not_break_the_silence(self) -> None:
        """The second connection fails to connect during the 60 s of silence that the first was asked for."""
        clock = FakeClock()
        busy = sites.late(Answer(status=429, headers=(("Retry-After", "60"),)), 0.1)
        lost = sites.late(Answer(failure="timeout.connect"), 1.0)
        web = web_of(clock, star(4) | {A + "/1": [busy, Answer(b"x")], A + "/2": [lost, Answer(b"x")]})
        run = self.crawl(web, clock, config(per_host=2))
        said = next(a.end for a in web.log if a.status == 429)
        assert min(a.start for a in web.log if a.start > said) >= said + 60 - SLACK_S
        assert run.counts() == {("OK", ""): 5}

    def test_a_host_that_wants_hours_is_parked_and_the_rest_goes_on(self) -> None:
        clock = FakeClock()
        busy = Answer(status=503, headers=(("Retry-After", "7200"),))
        web = web_of(clock, star(5) | star(30, "http://b.test") | {A + "/3": busy})
        began = clock.wall()
        run = self.crawl(web, clock, config(A + "/", "http://b.test/"))
        assert run.reason == "parked"
        assert clock.wall() - began < 60
        assert run.counts() == {("OK", ""): 34}
        (parked,) = run.scheduler.status()["parked"]
        assert parked["origin"] == A
        assert 7200 <= parked["until"] - began < 7260
        assert run.ended is not None
        assert A in run.ended.text
        again = self.resume(web, clock, config(A + "/", "http://b.test/"))
        assert again.reason == "parked"
        assert len(web.log) == 3 + 2 + 32
        clock.jump(7300)
        web.answer(A + "/3", b"well again")
        assert self.resume(web, clock, config(A + "/", "http://b.test/")).counts() == {("OK", ""): 37}

    def test_a_host_that_refuses_for_ever_gets_slower_and_is_parked(self) -> None:
        clock = FakeClock()
        web = FakeWeb(clock, site=lambda host, path, n: Answer(status=404 if path == "/robots.txt" else 429))
        run = self.crawl(web, clock, config(*(f"{A}/{i}" for i in range(100))))
        gaps = web.gaps("a.test")
        assert run.reason == "parked"
        assert 20 <= len(pages_of(web)) <= 21
        assert sum(gaps[-5:]) > 10 * sum(gaps[1:3])

    def test_the_second_clock(self) -> None:
        """Twenty hosts on one address: eight requests at once, starts a quarter of the pause apart."""
        clock = FakeClock()

        def site(host: str, path: str, n: int) -> Answer:
            page = sites.page([f"/{i}" for i in range(1, 6)])
            return sites.late(Answer(page if path != "/robots.txt" else b"", ip="9.8.7.6"), 10.0)

        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config(*(f"http://h{i}.test/" for i in range(20)), delay="2", connections=32))
        pages = pages_of(web)
        assert run.counts() == {("OK", ""): 120}
        assert overlap_max(pages) == 8
        assert min(spacing(a.start for a in pages)) >= 0.5 - SLACK_S

    @pytest.mark.parametrize("order", ["bfs", "dfs"])
    def test_no_host_waits_for_another_to_finish(self, order: str) -> None:
        clock = FakeClock()
        hosts = [f"http://h{i}.test" for i in range(10)]
        web = web_of(clock, {url: page for host in hosts for url, page in star(20, host).items()})
        self.crawl(web, clock, config(*(host + "/" for host in hosts), order=order, connections=1))
        seen = [a.host for a in pages_of(web)]
        assert all(len(set(seen[at : at + 10])) == 10 for at in range(0, len(seen), 10))

    def test_a_host_without_pause_does_not_starve_one_with_a_pause(self) -> None:
        clock = FakeClock()
        b = "http://b.test"
        web = web_of(clock, star(300) | star(3, b) | {b + "/robots.txt": robots_of("Crawl-delay: 1")})
        self.crawl(web, clock, config(A + "/", b + "/", connections=1))
        last_b = max(a.end for a in web.log if a.host == "b.test")
        last_a = max(a.end for a in web.log if a.host == "a.test")
        assert last_b < last_a - 5
