"""When it will end: crawls of made-up sites, asked once a second, and held against when they ended."""

from __future__ import annotations

import random
import statistics
from typing import Any, NamedTuple

import pytest

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.frontier.scheduler import Scheduler
from nephila.stats.forecast import MOMENTS_MAX, Budgets, Forecast, History, Line, Moment, forecast
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer

A = "http://a.test"
FROM, HELD_MIN = 0.2, 0.9
"""From so much of the crawl's time on, so many of the ranges hold."""
Site = tuple[dict[str, Any], list[str]]


class Told(NamedTuple):
    """What was said, and when; `end`: when it was over."""

    end: float
    said: list[tuple[float, Forecast | None]]

    def held(self) -> float:
        late = [(self.end - at, said) for at, said in self.said if at >= FROM * self.end]
        return sum(said is not None and said.low_s <= left <= said.high_s for left, said in late) / len(late)

    def width(self) -> float:
        """Of the range, as a part of the time that was left: the median."""
        late = [(self.end - at, said) for at, said in self.said if at >= FROM * self.end and said is not None]
        return statistics.median((said.high_s - said.low_s) / max(left, 1.0) for left, said in late)


def tree(width: int, depth: int) -> Site:
    """It ends at once, and nothing tells beforehand: its last level is most of it."""
    pages = {}

    def grow(at: str, left: int) -> None:
        below = [f"{at}{n}/" for n in range(width)] if left else []
        pages[A + at] = sites.page(below, at)
        for path in below:
            grow(path, left - 1)

    grow("/", depth)
    return pages, [A + "/"]


def wide(seed: int, hosts: int = 40) -> Site:
    """Hosts that link to each other, small and large, quick and slow."""
    dice, pages = random.Random(seed), dict[str, Any]()
    names = [f"http://h{n}.test" for n in range(hosts)]
    for n, name in enumerate(names):
        size, slow = dice.choice([5, 10, 20, 40, 120]), dice.choice([0.05, 0.1, 0.3, 1.5])
        for i in range(size):
            links = [f"{name}/{j}" for j in (2 * i + 1, 2 * i + 2) if j < size]
            links += [dice.choice(names) + "/0" for _ in range(2)] + [names[(n + 1) % hosts] + "/0"]
            pages[f"{name}/{i}"] = Answer(sites.page(links, str(i)), delay_s=slow)
    return pages, [names[0] + "/0"]


def slowing(seed: int) -> Site:
    """Some pages are linked from everywhere, others hardly: less and less is new."""
    dice, pages = random.Random(seed), {}
    for i in range(600):
        links = [f"/p{min(int(dice.paretovariate(0.6) * 3), 599)}" for _ in range(5)]
        pages[f"{A}/p{i}"] = sites.page([*links, *(f"/p{dice.randrange(600)}" for _ in range(2))], str(i))
    return pages, [A + "/p0"]


def crawl(site: Site, **settings: Any) -> Told:
    clock, history, said = FakeClock(), History(), list[tuple[float, Forecast | None]]()
    c = Config(seeds=site[1], workers=0, connections=64, **settings)
    budgets = Budgets(c.max_pages, c.max_bytes, c.max_time, c.site_pages)
    last = [-1.0]

    def look(scheduler: Scheduler) -> bool:
        now = scheduler.gauge()
        if now.now - last[0] >= 1.0:
            last[0] = now.now
            hosts = {line.origin: Line(line.done, line.queued, line.request_s) for line in now.lines}
            found = now.visits + now.queued
            moment = Moment(now.seconds, now.visits, found, now.queued, now.kept, now.bytes, hosts)
            history.add(moment)
            said.append((now.seconds, forecast(history.moments, moment, budgets)))
        return False

    one = FakeCrawl(FakeWeb(clock, site[0]), clock, c, MemoryStore())
    one.run(look)
    return Told(one.scheduler.gauge().seconds, said)


@pytest.mark.parametrize(
    ("site", "settings"),
    [
        (tree(3, 4), {}),
        (wide(1, 12), {"scope": "any"}),
        pytest.param(wide(1), {"scope": "any"}, marks=pytest.mark.long),
        (slowing(1), {"max_pages": 250}),
        pytest.param(tree(2, 8), {}, marks=pytest.mark.long),
        pytest.param(tree(8, 3), {}, marks=pytest.mark.long),
        pytest.param(wide(2), {"scope": "any"}, marks=pytest.mark.long),
        pytest.param(wide(3), {"scope": "any"}, marks=pytest.mark.long),
        pytest.param(wide(1), {"scope": "any", "site_pages": 30}, marks=pytest.mark.long),
        pytest.param(slowing(1), {}, marks=pytest.mark.long),
        pytest.param(slowing(2), {}, marks=pytest.mark.long),
        pytest.param(slowing(2), {"max_time": 300}, marks=pytest.mark.long),
    ],
    ids=[
        "a tree", "wide", "wide 1", "pages", "two branches", "eight branches", "wide 2", "wide 3", "site", "slowing", "slowing 2", "time"
    ],
)  # fmt: skip
def test_the_true_end_lies_in_the_range(site: Site, settings: dict[str, Any]) -> None:
    told = crawl(site, **settings)
    print(f"held {told.held():.3f}, median width {told.width():.2f} of what was left, {told.end:.0f} s")
    assert told.held() >= HELD_MIN
    assert told.width() < 10


def test_nothing_is_said_before_there_is_enough() -> None:
    moments = [Moment(float(n), n, 3 * n, 2 * n, n, 0, {}) for n in range(4)]
    assert forecast(moments, moments[-1], Budgets()) is None
    assert forecast([], moments[0], Budgets()) is None


def test_a_history_stays_small_and_even() -> None:
    history = History()
    for n in range(100_000):
        history.add(Moment(float(n), n, n, 0, n, 0, {}))
    assert len(history.moments) < MOMENTS_MAX
    gaps = {b.seconds - a.seconds for a, b in zip(history.moments[1:-2], history.moments[2:-1], strict=True)}
    assert max(gaps) <= 2 * min(gaps)
    assert history.moments[0].seconds == 0.0


def test_a_budget_of_time_bounds_it() -> None:
    moments = [Moment(float(n), 2 * n, 1000, 1000 - 2 * n, 2 * n, 0, {}) for n in range(100)]
    told = forecast(moments, moments[-1], Budgets(seconds=120.0))
    assert told is not None
    assert 15 < told.low_s <= told.likely_s <= told.high_s <= 22.0
