"""A host whose pages cost much to read is asked less often, so that others have the processor."""

from __future__ import annotations

import itertools

import pytest

from nephila.config import Config
from nephila.engine import Effort
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.testing.crawls import FakeCrawl
from nephila.testing.sites import Answer

A, B = "http://a.test", "http://b.test"
PAGES_A, PAGES_B = 6, 400


def starts(cost_s: float, other_s: float = 0.0, **settings: int) -> dict[str, list[float]]:
    """When each page of `a.test` (which costs `cost_s` of the processor) and of `b.test` (which takes a second to answer) was
    asked for."""
    clock = FakeClock()

    def site(host: str, path: str, n: int) -> Answer:
        pages, delay_s = (PAGES_A, 0.01) if host == "a.test" else (PAGES_B, 1.0)
        return Answer(sites.page([f"/{i}" for i in range(pages)] if path == "/" else []), delay_s=delay_s)

    web = FakeWeb(clock, site=site)
    config = Config(seeds=[f"{A}/", f"{B}/"], workers=0, delay="0", no_robots=True, **settings)
    crawl = Costly(web, clock, config, MemoryStore(config.order, config.max_depth))
    crawl.costs_s = {A: cost_s, B: other_s}
    crawl.run()
    found: dict[str, list[float]] = {A: [], B: []}
    for access in web.log:
        found[access.url[: len(A)]].append(access.start)
    return found


class Costly(FakeCrawl):
    """Its engine says what visits to each host took of the processor."""

    costs_s: dict[str, float]

    def tell(self, engine: object) -> None:
        worked = [0.0]
        keep = engine.keep  # type: ignore[attr-defined]

        def kept(visit: object) -> object:
            worked[0] += self.costs_s[visit.lease.origin]  # type: ignore[attr-defined]
            return keep(visit)

        engine.keep = kept  # type: ignore[attr-defined]
        engine.effort.passed_s = engine.effort.worked_s = lambda: worked[0]  # type: ignore[attr-defined]


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def test_a_host_of_costly_pages_waits() -> None:
    """0.1 s each: at 2 percent that is a page in 5 s; the other host is asked as before."""
    found = starts(0.1)
    assert len(found[A]) == PAGES_A + 1
    assert min(gaps(found[A])) == pytest.approx(5.0, abs=0.2)
    assert max(gaps(found[B])) < 1.5


def test_the_share_is_a_setting() -> None:
    assert min(gaps(starts(0.1, read_percent=20)[A])) == pytest.approx(0.5, abs=0.1)


def test_an_ordinary_page_costs_no_wait() -> None:
    assert max(gaps(starts(0.02)[A])) < 1.5


def test_no_page_silences_its_host_for_long() -> None:
    assert max(gaps(starts(1_000.0)[A])) == pytest.approx(60.0, abs=1.0)


def test_where_all_pages_are_costly_nobody_waits() -> None:
    assert max(gaps(starts(0.1, other_s=0.1)[A][2:])) < 1.5


def test_a_page_that_waited_for_the_processor_costs_its_host_nothing() -> None:
    """The first page that takes long is not counted; the next one is, by what it took of the processor."""
    effort, now = Effort(), {"passed": 0.0, "worked": 0.0}
    effort.passed_s, effort.worked_s = lambda: now["passed"], lambda: now["worked"]

    def page(passed_s: float, worked_s: float) -> int:
        effort.begin(A)
        now["passed"] += passed_s
        now["worked"] += worked_s
        return effort.ms(A)

    assert page(0.0105, 0.001) == 10
    assert page(0.3, 0.001) == 0
    assert page(0.3, 0.0015) == 1
    assert page(0.3, 0.25) == 0
    assert page(0.3, 0.2505) == 250
    assert page(0.3, 0.2505) == 250
