"""robots.txt: first, alone, once, and obeyed."""

from __future__ import annotations

import itertools

import pytest

from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import (
    DAY_S,
    SLACK_S,
    A,
    Bench,
    config,
    robots_of,
    spacing,
    star,
    text,
    web_of,
)
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer
from nephila.types import Kind


class Robots(Bench):
    """robots.txt: first, alone, once, and obeyed."""

    def test_first_alone_and_once_per_origin(self) -> None:
        clock = FakeClock()
        hosts = [f"http://h{i}.test" for i in range(5)]
        web = web_of(clock, {url: page for host in hosts for url, page in star(20, host).items()})
        run = self.crawl(web, clock, config(*(host + "/" for host in hosts), per_host=4, connections=20))
        for host in hosts:
            name = host.removeprefix("http://")
            mine = sorted((a for a in web.log if a.host == name), key=lambda a: a.start)
            assert mine[0].url == host + "/robots.txt"
            assert mine[1].start >= mine[0].end
            assert web.times(host + "/robots.txt") == 1
        assert run.counts() == {("OK", ""): 105}
        assert run.scheduler.status()["found"] == 105

    def test_disallowed_urls_are_denied_without_a_request(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(6) | {A + "/robots.txt": robots_of("Disallow: /1\nDisallow: /2")})
        run = self.crawl(web, clock, config(per_host=4))
        assert {url for url, end in run.outcomes().items() if end == ("DENIED", "robots_disallow")} == {
            A + "/1",
            A + "/2",
        }
        assert web.times(A + "/1") + web.times(A + "/2") == 0

    def test_a_denied_url_costs_no_pause(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(50) | {A + "/robots.txt": robots_of("Disallow: /\nAllow: /$")})
        before = clock.monotonic()
        run = self.crawl(web, clock, config(delay="10"))
        assert run.counts() == {("OK", ""): 1, ("DENIED", "robots_disallow"): 50}
        assert clock.monotonic() - before < 30

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
    def test_a_missing_robots_allows_all(self, status: int) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3) | {A + "/robots.txt": Answer(status=status)})
        run = self.crawl(web, clock, config())
        assert run.counts() == {("OK", ""): 4}
        assert web.times(A + "/robots.txt") == 1

    def test_unreachable_robots_deny_all(self) -> None:
        clock = FakeClock()
        seeds = [f"{A}/{i}" for i in range(30)]
        web = web_of(clock, {A + "/robots.txt": Answer(status=503)})
        before = clock.monotonic()
        run = self.crawl(web, clock, config(*seeds))
        assert run.counts() == {("DENIED", "robots_unreachable"): 30}
        assert web.urls() == [A + "/robots.txt"] * 4
        assert clock.monotonic() - before < 600

    def test_robots_that_recovers_in_time(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3) | {A + "/robots.txt": [Answer(status=500)] * 3 + [robots_of("Disallow: /2")]})
        run = self.crawl(web, clock, config())
        assert run.counts() == {("OK", ""): 3, ("DENIED", "robots_disallow"): 1}

    def test_robots_failing_by_timeout_deny_all(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3) | {A + "/robots.txt": Answer(failure="timeout.headers")})
        run = self.crawl(web, clock, config())
        assert run.outcomes() == {A + "/": ("DENIED", "robots_unreachable")}
        assert web.times(A + "/robots.txt") == 4

    def test_rules_of_the_redirects_target_apply_to_who_asked(self) -> None:
        clock = FakeClock()
        s = "https://a.test"
        web = web_of(
            clock,
            {
                A + "/robots.txt": sites.redirect(s + "/robots.txt"),
                s + "/robots.txt": robots_of("Disallow: /2"),
                A + "/": ["/1", "/2", s + "/3", s + "/2"],
                A + "/1": [""],
                s + "/3": [""],
            },
        )
        run = self.crawl(web, clock, config(per_host=4))
        ok, denied = ("OK", ""), ("DENIED", "robots_disallow")
        assert run.outcomes() == {A + "/": ok, A + "/1": ok, A + "/2": denied, s + "/3": ok, s + "/2": denied}
        assert web.times(s + "/robots.txt") == web.times(A + "/robots.txt") == 1

    @pytest.mark.parametrize(("hops", "denied"), [(5, True), (6, False)])
    def test_five_redirects_are_followed_six_mean_absent(self, hops: int, denied: bool) -> None:
        """RFC 9309, 2.3.1.2."""
        clock = FakeClock()
        names = ["/robots.txt", *(f"/r{i}" for i in range(1, hops + 1))]
        chain = {A + here: sites.redirect(there) for here, there in itertools.pairwise(names)}
        web = web_of(clock, star(2) | chain | {A + names[-1]: robots_of("Disallow: /2")})
        run = self.crawl(web, clock, config())
        assert run.outcomes()[A + "/2"] == (("DENIED", "robots_disallow") if denied else ("OK", ""))
        assert web.times(A + names[-1]) == denied

    @pytest.mark.parametrize("places", [["a", "b"], ["a", "b", "c"], ["a"]])
    def test_robots_redirected_in_a_circle_are_absent(self, places: list[str]) -> None:
        clock = FakeClock()
        ring = [f"http://{name}.test/robots.txt" for name in places]
        web = web_of(
            clock,
            {url: sites.redirect(ring[(i + 1) % len(ring)]) for i, url in enumerate(ring)}
            | {f"http://{name}.test/": [""] for name in places},
        )
        run = self.crawl(web, clock, config(*(f"http://{name}.test/" for name in places)))
        assert run.counts() == {("OK", ""): len(places)}
        assert len(web.log) == 2 * len(places)

    def test_robots_redirected_from_host_to_host_for_ever_are_absent(self) -> None:
        clock = FakeClock()

        def site(host: str, path: str, n: int) -> Answer:
            number = int(host.partition(".")[0][1:])
            return sites.redirect(f"http://h{number + 1}.test/robots.txt") if path == "/robots.txt" else Answer(b"page")

        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config("http://h0.test/"))
        assert run.outcomes() == {"http://h0.test/": ("OK", "")}
        assert len(web.log) <= 8

    def test_robots_redirected_to_a_place_that_fails_are_unreachable(self) -> None:
        """The host itself answers: its URLs are denied, and the reason is not that of the other host."""
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/robots.txt": sites.redirect("http://dead.test/robots.txt"),
                A + "/": [""],
                "http://b.test/robots.txt": sites.redirect("http://dead.test/elsewhere"),
                "http://b.test/": [""],
                "http://dead.test/robots.txt": Answer(failure="connect.refused"),
                "http://dead.test/elsewhere": Answer(failure="connect.refused"),
            },
        )
        run = self.crawl(web, clock, config(A + "/", "http://b.test/"))
        assert run.counts() == {("DENIED", "robots_unreachable"): 2}

    def test_asked_again_after_a_day(self) -> None:
        """A crawl of 50 hours: at the beginning, after 24 and after 48, each time alone."""
        clock = FakeClock()
        web = web_of(clock, star(10 * 5))
        run = self.crawl(web, clock, config(delay="3600"))
        robots = [a.start for a in web.log if a.kind == Kind.ROBOTS]
        assert run.counts() == {("OK", ""): 51}
        assert [round(gap / DAY_S, 1) for gap in spacing(robots)] == [1.0, 1.0]
        assert min(web.gaps("a.test")) >= 3600 - SLACK_S

    def test_asked_again_within_the_limits_of_the_host(self) -> None:
        clock = FakeClock()
        age = (("Cache-Control", "max-age=120"),)
        web = web_of(clock, star(60) | {A + "/robots.txt": text("", headers=age)}, latency_s=5.0)
        run = self.crawl(web, clock, config())
        assert run.counts() == {("OK", ""): 61}
        assert web.times(A + "/robots.txt") >= 2
        assert web.max_in_flight("a.test") == 1

    def test_new_rules_count_from_then_on(self) -> None:
        clock = FakeClock()
        rules = [robots_of(""), robots_of("Disallow: /")]
        web = web_of(clock, star(40) | {A + "/robots.txt": rules})
        run = self.crawl(web, clock, config(delay="3600"))
        assert run.counts()["DENIED", "robots_disallow"] == 40 - run.counts()["OK", ""] + 1
        assert 20 <= run.counts()["OK", ""] <= 25

    def test_a_link_to_robots_fetches_it_no_second_time(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": ["/robots.txt", "http://b.test/robots.txt"]})
        run = self.crawl(web, clock, config(scope="any"))
        assert web.times(A + "/robots.txt") == 1
        assert web.times("http://b.test/robots.txt") == 1
        assert run.outcomes() == {A + "/": ("OK", "")}
        assert run.reason == "finished"

    def test_ignored_when_told_so(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2) | {A + "/robots.txt": robots_of("Disallow: /\nCrawl-delay: 100")})
        before = clock.monotonic()
        run = self.crawl(web, clock, config(no_robots=True))
        assert run.counts() == {("OK", ""): 3}
        assert web.times(A + "/robots.txt") == 0
        assert clock.monotonic() - before < 1
