"""What may pass by itself is tried again, a bounded number of times."""

from __future__ import annotations

import pytest

from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, config, overlap_max, pages_of, spacing, star, web_of
from nephila.testing.sites import Answer


class Retries(Bench):
    """What may pass by itself is tried again, a bounded number of times."""

    def test_an_error_that_stays(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2) | {A + "/1": Answer(status=500)})
        run = self.crawl(web, clock, config(tries=4))
        assert web.times(A + "/1") == 4
        assert run.outcomes()[A + "/1"] == ("REFUSED", "status.500")
        assert run.attempts(A + "/1") == ["status.500"] * 3

    def test_an_error_that_passes(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2) | {A + "/1": [Answer(status=503), Answer(status=503), Answer(b"well")]})
        run = self.crawl(web, clock, config())
        assert run.outcomes()[A + "/1"] == ("OK", "")
        assert run.attempts(A + "/1") == ["status.503"] * 2
        (row,) = [u for u in run.urls() if u["url"] == A + "/1"]
        assert row["attempts"] == 3

    def test_waits_double(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": Answer(status=500)})
        self.crawl(web, clock, config(tries=6, retry_wait_s=4.0, retry_wait_max_s=20.0))
        waits = spacing(a.start for a in pages_of(web))
        for wait, middle in zip(waits, [4, 8, 16, 20, 20], strict=True):
            assert middle / 2 <= wait <= min(middle * 1.5, 20) + 0.1

    def test_other_urls_do_not_wait_for_a_retry(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5) | {A + "/1": [Answer(failure="conn_reset"), Answer(b"x")]})
        self.crawl(web, clock, config())
        assert web.urls()[-1] == A + "/1"

    def test_a_dead_host_is_probed_and_not_asked_for_each_url(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {})
        web.down("a.test", 0, 1e9)
        run = self.crawl(web, clock, config(*(f"{A}/{i}" for i in range(200))))
        assert {outcome for outcome, _ in run.outcomes().values()} == {"UNREACHABLE"}
        assert len(run.outcomes()) == 200
        assert len(web.log) <= 5
        assert web.max_in_flight("a.test") == 1

    def test_a_host_that_dies_for_good_is_probed_with_one_request(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(200))
        web.down("a.test", 1.0, 1e9)
        run = self.crawl(web, clock, config(per_host=4))
        dead = [a for a in web.log if a.reason]
        assert len(run.outcomes()) == 201
        assert len(dead) <= 8 + 4
        assert overlap_max(dead[4:]) == 1

    @pytest.mark.parametrize("reason", ["connect.refused", "timeout.connect"])
    def test_a_host_that_comes_back_after_five_minutes_loses_nothing(self, reason: str) -> None:
        clock = FakeClock()
        web = web_of(clock, star(20) | star(80, "http://b.test"))
        web.down("a.test", 12.0, 312.0, reason)
        run = self.crawl(web, clock, config(A + "/", "http://b.test/", delay="5"))
        assert run.counts() == {("OK", ""): 102}

    def test_a_url_that_always_fails_to_connect_is_given_up(self) -> None:
        """Its neighbours answer: it is the URL that is tried again a bounded number of times."""
        clock = FakeClock()
        web = web_of(clock, star(100) | {A + "/1": Answer(failure="timeout.connect")})
        run = self.crawl(web, clock, config(per_host=2))
        assert run.outcomes()[A + "/1"] == ("UNREACHABLE", "timeout.connect")
        assert run.counts()["OK", ""] == 100
        assert 4 <= web.times(A + "/1") <= 8

    def test_a_name_that_does_not_exist_is_final(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": ["http://nobody.test/1", "http://nobody.test/2"]})
        web.down("nobody.test", 0, 1e9, "dns.not_found")
        run = self.crawl(web, clock, config(scope="any"))
        assert run.counts() == {("OK", ""): 1, ("UNREACHABLE", "dns.not_found"): 2}
        assert len([a for a in web.log if a.host == "nobody.test"]) <= 4

    def test_a_guessed_scheme_falls_back_at_once(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        for url in ("https://a.test/", "https://a.test/robots.txt"):
            web.fail(url, "connect.refused")
        before = clock.monotonic()
        run = self.crawl(web, clock, config("a.test"))
        assert run.outcomes().pop("https://a.test/")[0] == "UNREACHABLE"
        assert run.counts()["OK", ""] == 3
        assert clock.monotonic() - before < 1
        assert sum(a.url.startswith("https:") for a in web.log) == 1

    def test_a_scheme_that_was_given_is_not_changed(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        for url in ("https://a.test/", "https://a.test/robots.txt"):
            web.fail(url, "connect.refused")
        run = self.crawl(web, clock, config("https://a.test/"))
        assert list(run.outcomes()) == ["https://a.test/"]

    def test_a_bad_certificate_is_no_reason_to_fall_back(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        web.down("a.test", 0, 1e9, "tls.invalid")
        run = self.crawl(web, clock, config("a.test"))
        assert not [a for a in web.log if a.url.startswith("http:")]
        assert list(run.outcomes()) == ["https://a.test/"]

    def test_a_cookie_wall_is_asked_once_more(self) -> None:
        clock = FakeClock()
        wall = Answer(status=302, headers=(("Location", A + "/"), ("Set-Cookie", "pass=1; Path=/")))
        web = web_of(clock, {A + "/": [wall, Answer(b"inside")]})
        run = self.crawl(web, clock, config())
        assert run.outcomes() == {A + "/": ("OK", "")}
        assert [a.cookie for a in pages_of(web)] == ["", "pass=1"]

    def test_a_cookie_wall_that_stays_is_a_loop(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": Answer(status=302, headers=(("Location", "/"), ("Set-Cookie", "a=1")))})
        run = self.crawl(web, clock, config())
        assert run.outcomes() == {A + "/": ("REFUSED", "redirect_loop")}
        assert web.times(A + "/") == 2
