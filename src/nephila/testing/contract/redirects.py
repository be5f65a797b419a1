"""A redirect is a visit with one link, judged like any other."""

from __future__ import annotations

from collections import Counter

import pytest

from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, after_visits, config, star, web_of


class Redirects(Bench):
    """A redirect is a visit with one link, judged like any other."""

    def test_a_chain_of_ten_is_followed_and_of_eleven_refused(self) -> None:
        clock = FakeClock()
        chains = {f"{A}/{n}/{i}": sites.redirect(f"/{n}/{i + 1}") for n in (10, 11) for i in range(n)}
        web = web_of(clock, {A + "/": ["/10/0", "/11/0"], A + "/10/10": [""], A + "/11/11": [""]} | chains)
        run = self.crawl(web, clock, config())
        ends = run.outcomes()
        assert ends[A + "/10/10"] == ("OK", "")
        assert ends[A + "/11/10"] == ("REFUSED", "too_many_redirects")
        assert A + "/11/11" not in ends

    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_a_loop_ends(self, length: int) -> None:
        clock = FakeClock()
        loop = {f"{A}/l{i}": sites.redirect(f"/l{(i + 1) % length}") for i in range(length)}
        web = web_of(clock, {A + "/": ["/l0"]} | loop)
        run = self.crawl(web, clock, config())
        assert run.outcomes()[f"{A}/l{length - 1}"] == ("REFUSED", "redirect_loop")
        assert max(Counter(web.urls()).values()) == 1

    def test_a_loop_ends_after_a_kill_too(self) -> None:
        for kill in range(1, 5):
            clock = FakeClock()
            loop = {f"{A}/l{i}": sites.redirect(f"/l{(i + 1) % 3}") for i in range(3)}
            web = web_of(clock, {A + "/": ["/l0"]} | loop)
            self.crawl(web, clock, config(), until=after_visits(kill))
            run = self.resume(web, clock, config())
            assert run.outcomes()[A + "/l2"] == ("REFUSED", "redirect_loop")

    def test_a_target_already_known_is_not_fetched_twice(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": ["/x", "/moved"], A + "/moved": sites.redirect("/x"), A + "/x": [""]})
        run = self.crawl(web, clock, config(connections=1))
        assert web.times(A + "/x") == 1
        assert run.outcomes()[A + "/moved"] == ("MOVED", "")

    def test_the_seeds_own_redirect_widens_the_scope(self) -> None:
        clock = FakeClock()
        www = "http://www.a.test"
        web = web_of(clock, star(5, www) | {A + "/": sites.redirect(www + "/")})
        run = self.crawl(web, clock, config())
        assert run.counts() == {("MOVED", ""): 1, ("OK", ""): 6}
        assert run.said("scope.widened") == [{"seed": A + "/", "target": www + "/"}]

    def test_links_refused_before_the_scope_was_widened_are_wanted_now(self) -> None:
        """Accepted a moment before the redirect, perhaps not committed yet; the rule nofollow stands."""
        clock = FakeClock()
        www = "http://www.a.test"
        web = web_of(
            clock,
            star(3, www)
            | {
                A + "/links": [www + "/early", "http://other.test/"],
                A + "/nofollow": sites.page(["/hidden"], more='<meta name="robots" content="nofollow">'),
                A + "/": sites.redirect(www + "/"),
                www + "/early": [""],
                A + "/hidden": [""],
            },
            latency_s=0.001,
        )
        run = self.crawl(web, clock, config(A + "/links", A + "/nofollow", A + "/"))
        ends = run.outcomes()
        assert ends[www + "/early"] == ("OK", "")
        assert run.states()["http://other.test/"] == "refused"
        assert run.states()[A + "/hidden"] == "refused"
        (early,) = [u for u in run.urls() if u["url"] == www + "/early"]
        assert early["parent"] != 0

    def test_a_seed_that_redirects_elsewhere_is_said(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": sites.redirect("http://other.org/")})
        run = self.crawl(web, clock, config())
        assert run.said("seed.elsewhere") == [{"seed": A + "/", "target": "http://other.org/"}]
        assert run.said("scope.widened") == []
        assert run.outcomes() == {A + "/": ("MOVED", "")}
        assert run.states()["http://other.org/"] == "refused"

    def test_another_pages_redirect_widens_nothing(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": ["/moved"], A + "/moved": sites.redirect("http://www.a.test/")})
        run = self.crawl(web, clock, config())
        assert run.states()["http://www.a.test/"] == "refused"
