"""What is not wanted is stored once, with its rule, and may be wanted later."""

from __future__ import annotations

import pytest

from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.contract.bench import A, Bench, config, web_of
from nephila.testing.sites import Answer


class Refusals(Bench):
    """What is not wanted is stored once, with its rule, and may be wanted later."""

    def test_stored_once_with_its_rule(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": ["/1", "http://b.test/x", "/no"], A + "/1": ["http://b.test/x", "/no"]})
        run = self.crawl(web, clock, config(exclude=["/no$"]))
        rules = {row["id"]: row["text"] for row in self.table(run.store, "rule")}
        refused = [(u["url"], rules[u["rule"]]) for u in run.urls() if u["state"] == "refused"]
        assert sorted(refused) == [(A + "/no", "exclude:/no$"), ("http://b.test/x", "scope.host")]
        assert {row["text"]: row["count"] for row in self.table(run.store, "rule")} == {
            "exclude:/no$": 1,
            "scope.host": 1,
        }

    def test_wanted_later_as_a_part_of_a_page(self) -> None:
        clock = FakeClock()
        picture = "http://cdn.test/a.png"
        web = web_of(
            clock,
            {
                A + "/": [picture, "/1"],
                A + "/1": sites.page(more=f'<img src="{picture}">'),
                picture: Answer(b"png", media_type="image/png"),
            },
        )
        run = self.crawl(web, clock, config(embeds=True))
        assert run.outcomes()[picture] == ("OK", "")

    def test_nofollow_and_then_linked_by_another_page(self) -> None:
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/": ["/nofollow", "/plain"],
                A + "/nofollow": sites.page(["/both", "/hidden"], more='<meta name="robots" content="nofollow">'),
                A + "/plain": ["/both"],
                A + "/both": [""],
                A + "/hidden": [""],
            },
        )
        run = self.crawl(web, clock, config(connections=1))
        assert run.outcomes()[A + "/both"] == ("OK", "")
        assert run.states()[A + "/hidden"] == "refused"
        assert web.times(A + "/hidden") == 0

    def test_too_many_are_counted_with_three_examples(self) -> None:
        """Five are stored; of the other 25 three examples per rule and host remain, over any number of batches."""
        clock = FakeClock()
        elsewhere = [[f"http://b.test/{i}-{j}" for j in range(3)] for i in range(10)]
        web = web_of(
            clock, {A + "/": [f"/{i}" for i in range(10)]} | {f"{A}/{i}": links for i, links in enumerate(elsewhere)}
        )
        run = self.crawl(web, clock, config(refused_max=5, commit_ms=1, connections=1))
        assert sum(u["state"] == "refused" for u in run.urls()) == 5
        (counted,) = self.table(run.store, "rule_host")
        assert (counted["host"], counted["count"], len(counted["examples"])) == ("http://b.test", 25, 3)
        assert {row["text"]: row["count"] for row in self.table(run.store, "rule")} == {"scope.host": 30}

    @pytest.mark.parametrize("max_depth", [-1, 3])
    def test_only_counted_and_wanted_later(self, max_depth: int) -> None:
        clock = FakeClock()
        picture = "http://cdn.test/a.png"
        web = web_of(
            clock,
            {
                A + "/": ["http://x.test/", picture, "/1"],
                A + "/1": sites.page(more=f'<img src="{picture}">'),
                picture: Answer(b"png", media_type="image/png"),
            },
        )
        run = self.crawl(web, clock, config(embeds=True, refused_max=1, max_depth=max_depth))
        assert run.outcomes()[picture] == ("OK", "")
