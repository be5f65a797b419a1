"""Kill it at any moment: the same command carries on."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from nephila.config import Config
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import (
    DAY_S,
    SLACK_S,
    A,
    Bench,
    after_visits,
    config,
    pages_of,
    robots_of,
    star,
    web_of,
)
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer


class Resumes(Bench):
    """Kill it at any moment: the same command carries on."""

    def settings(self, **more: Any) -> Config:
        return config(per_host=2, max_depth=3, retry_wait_s=0.2, **more)

    def test_killed_at_every_visit(self) -> None:
        clock = FakeClock()
        whole = self.crawl(FakeWeb(clock, site=sites.kinds()), clock, self.settings())
        wanted, depths = whole.outcomes(), whole.kept()
        for k in range(1, len(wanted) + 2):
            clock = FakeClock()
            web = FakeWeb(clock, site=sites.kinds())
            assert self.crawl(web, clock, self.settings(), until=after_visits(k)).reason == "killed"
            run = self.resume(web, clock, self.settings())
            assert (run.reason, run.outcomes(), run.kept()) == ("finished", wanted, depths), k
            assert max(Counter(url for url in web.urls() if "flaky" not in url).values()) <= 2

    def test_killed_again_and_again(self) -> None:
        clock = FakeClock()
        wanted = self.crawl(FakeWeb(clock, site=sites.kinds()), clock, self.settings(commit_ms=1)).outcomes()
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.kinds())
        settings = self.settings(commit_ms=1)
        run = self.crawl(web, clock, settings, until=after_visits(6))
        kills = 1
        while run.reason == "killed" and kills < 40:
            run = self.resume(web, clock, settings, until=after_visits(6))
            kills += 1
        assert (run.reason, run.outcomes()) == ("finished", wanted)
        assert max(Counter(web.urls()).values()) <= 1 + kills

    def test_killed_before_robots_came(self) -> None:
        """One URL is queued, in the store alone, and its host has no robots.txt yet."""
        clock = FakeClock()
        web = web_of(clock, star(3))
        crawl = self.start(web, clock, config())
        crawl.scheduler.put(crawl.seeds)
        run = self.resume(web, clock, config())
        assert run.counts() == {("OK", ""): 4}

    @pytest.mark.parametrize("others", [1, 5, 40])
    def test_killed_while_a_retry_waits(self, others: int) -> None:
        """After the restart one URL of the host is due later and the others now."""
        clock = FakeClock()
        web = web_of(clock, star(others) | {A + "/x": [Answer(failure="conn_reset"), Answer(b"x")]})
        settings = config(A + "/x", A + "/", retry_wait_s=100.0, commit_ms=1)
        self.crawl(web, clock, settings, until=after_visits(3))
        run = self.resume(web, clock, settings)
        assert run.counts() == {("OK", ""): others + 2}
        first, second = [a.start for a in web.log if a.url == A + "/x"]
        assert second - first >= 50

    def test_one_full_pause_after_a_kill(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10) | star(10, "http://b.test"))
        settings = config(A + "/", "http://b.test/", delay="20")
        self.crawl(web, clock, settings, until=after_visits(6))
        taken = clock.monotonic()
        self.resume(web, clock, settings)
        assert min(a.start for a in web.log if a.start > taken) >= taken + 20 - SLACK_S
        assert min(web.gaps("a.test") + web.gaps("b.test")) >= 20 - SLACK_S

    def test_a_clean_end_keeps_the_clocks(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10))
        self.crawl(web, clock, config(delay="20", max_pages=3))
        clock.jump(5.0)
        self.resume(web, clock, config(delay="20"))
        assert 20 - SLACK_S <= min(web.gaps("a.test")) <= max(web.gaps("a.test")) < 21

    def test_retry_after_survives_a_kill(self) -> None:
        clock = FakeClock()
        b = "http://b.test"
        busy = Answer(status=429, headers=(("Retry-After", "600"),))
        web = web_of(clock, star(4) | star(40, b) | {A + "/2": [busy, Answer(b"x")]})
        settings = config(A + "/", b + "/", delay="1")
        self.crawl(web, clock, settings, until=after_visits(20))
        said = next(a.end for a in web.log if a.status == 429)
        assert clock.monotonic() - said > 1
        run = self.resume(web, clock, settings)
        assert run.counts() == {("OK", ""): 46}
        assert min(a.start for a in web.log if a.host == "a.test" and a.start > said) >= said + 600 - 1

    def test_robots_are_not_asked_again_after_a_restart(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10) | {A + "/robots.txt": robots_of("Disallow: /3\nCrawl-delay: 4")})
        self.crawl(web, clock, config(), until=after_visits(4))
        run = self.resume(web, clock, config())
        assert web.times(A + "/robots.txt") == 1
        assert run.outcomes()[A + "/3"] == ("DENIED", "robots_disallow")
        assert min(web.gaps("a.test")) >= 4 - SLACK_S

    def test_robots_are_asked_again_the_next_day(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10) | {A + "/robots.txt": [robots_of(""), robots_of("Disallow: /9")]})
        self.crawl(web, clock, config(), until=after_visits(4))
        clock.jump(DAY_S + 60)
        run = self.resume(web, clock, config())
        assert web.times(A + "/robots.txt") == 2
        assert run.outcomes()[A + "/9"] == ("DENIED", "robots_disallow")

    def test_a_paused_crawl_is_paused_after_a_restart(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5))
        crawl = self.start(web, clock, config())
        crawl.scheduler.put(crawl.seeds)
        crawl.scheduler.pause()
        again = self.start(web, clock, config(), self.reopen(config()))
        assert again.scheduler.paused
        assert again.scheduler.grant(8) == []
        again.scheduler.resume()
        assert [lease.request.url for lease in again.scheduler.grant(8)] == [A + "/robots.txt"]

    def test_cookies_survive_and_go_to_their_host_alone(self) -> None:
        clock = FakeClock()
        set_cookie = Answer(
            sites.page(["/1", "http://sub.a.test/"]),
            headers=(("Set-Cookie", "k=v"), ("Set-Cookie", "d=w; Domain=a.test")),
        )
        web = web_of(clock, {A + "/": set_cookie, A + "/1": [""], "http://sub.a.test/": [""]})
        self.crawl(web, clock, config(scope="site", commit_ms=1, delay="1"), until=after_visits(3))
        self.resume(web, clock, config(scope="site", delay="1"))
        sent = {a.url: set(a.cookie.split("; ")) for a in pages_of(web)}
        assert sent == {A + "/": {""}, A + "/1": {"k=v", "d=w"}, "http://sub.a.test/": {"d=w"}}

    def test_a_deleted_cookie_stays_deleted(self) -> None:
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/": Answer(sites.page(["/1"]), headers=(("Set-Cookie", "k=v"),)),
                A + "/1": Answer(sites.page(["/2"]), headers=(("Set-Cookie", "k=; Max-Age=0"),)),
                A + "/2": ["/3"],
                A + "/3": [""],
            },
        )
        self.crawl(web, clock, config(commit_ms=1, delay="1"), until=after_visits(4))
        self.resume(web, clock, config())
        assert {a.url: a.cookie for a in pages_of(web)} == {A + "/": "", A + "/1": "k=v", A + "/2": "", A + "/3": ""}

    def test_a_guessed_scheme_falls_back_after_a_kill_too(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        for url in ("https://a.test/", "https://a.test/robots.txt"):
            web.fail(url, "connect.refused")
        crawl = self.start(web, clock, config("a.test"))
        crawl.scheduler.put(crawl.seeds)
        run = self.resume(web, clock, config("a.test"))
        assert run.counts()["OK", ""] == 3

    def test_a_link_to_robots_queued_before_a_kill_does_not_hang(self) -> None:
        """Every moment of a page that links to robots.txt of its own and of another host."""
        for k in range(1, 5):
            clock = FakeClock()
            web = web_of(
                clock, {A + "/": ["/robots.txt", "http://b.test/robots.txt", "http://b.test/"], "http://b.test/": [""]}
            )
            self.crawl(web, clock, config(scope="any", commit_ms=1, delay="1"), until=after_visits(k))
            run = self.resume(web, clock, config(scope="any"))
            assert (run.reason, run.counts()) == ("finished", {("OK", ""): 2})

    def test_a_finished_crawl_sends_nothing(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5))
        self.crawl(web, clock, config())
        sent = len(web.log)
        assert self.resume(web, clock, config()).reason == "finished"
        assert len(web.log) == sent
