"""When a batch is cut: after so many visits, or so much time; and no more wait for their commit than allowed."""

from __future__ import annotations

import pytest

from nephila.config import Config
from nephila.frontier.batch import Batch
from nephila.frontier.memory import MemoryStore
from nephila.testing import FakeClock, FakeWeb, sites
from nephila.testing.crawls import FakeCrawl
from nephila.types import Found, Kind, NewLink, Outcome, Request, RobotsFile, Settlement

A = "http://a.test"


class Watched(MemoryStore):
    """Remembers how many visits each batch had, and when it came."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__("bfs", -1)
        self._clock, self.cut = clock, list[tuple[float, int]]()

    def commit(self, batch: Batch, done: object) -> None:  # type: ignore[override]
        self.cut.append((self._clock.monotonic(), len(batch.pages)))
        super().commit(batch, done)  # type: ignore[arg-type]


def batches(latency_s: float, **settings: int) -> list[tuple[float, int]]:
    """(time, visits) of every batch of a crawl of 60 pages, eight at a time."""
    clock = FakeClock()
    pages = {"/": sites.page([f"/{i}" for i in range(60)])} | {f"/{i}": b"x" for i in range(60)}
    web = FakeWeb(clock, site=sites.table(pages), latency_s=latency_s)
    config = Config(seeds=[f"{A}/"], workers=0, delay="0", per_host=8, no_robots=True, **settings)
    store = Watched(clock)
    FakeCrawl(web, clock, config, store).run()
    assert sum(visits for _, visits in store.cut) == 61
    return store.cut


@pytest.mark.parametrize("most", [1, 7])
def test_a_batch_is_cut_after_so_many_visits(most: int) -> None:
    assert max(visits for _, visits in batches(0.001, commit_visits=most, commit_ms=10_000)) == most


def test_a_batch_is_cut_after_so_much_time() -> None:
    times = [when for when, visits in batches(0.1, commit_visits=10_000, commit_ms=50) if visits]
    assert len(times) >= 8
    assert max(visits for _, visits in batches(0.1, commit_visits=10_000, commit_ms=50)) <= 8


def test_a_long_wait_makes_one_batch_of_many() -> None:
    assert max(visits for _, visits in batches(0.001, commit_visits=10_000, commit_ms=10_000)) >= 50


@pytest.mark.parametrize(
    ("found", "robots"),
    [
        (Found(bytes(8 * 200)), b""),
        (Found(bytes(8), 0, [NewLink(5, f"{A}/{'x' * 1_500}", Kind.PAGE)]), b""),
        (Found(), b"x" * 1_600),
    ],
)
def test_no_more_bytes_wait_than_allowed(found: Found, robots: bytes) -> None:
    """A few visits may weigh as much as thousands: the front reads no more until they are committed."""
    clock = FakeClock()
    web = FakeWeb(clock, site=sites.table({}))
    config = Config(
        seeds=[f"{A}/"], workers=0, delay="0", no_robots=not robots, pending_bytes_max=1_500, commit_visits=1
    )
    store = Held(clock)
    scheduler = FakeCrawl(web, clock, config, store).scheduler
    scheduler.attach(lambda wait_s, call: None)
    scheduler.put([Request(f"{A}/")])
    (lease,) = scheduler.grant(1)
    assert not scheduler.full()
    rules = RobotsFile("found", robots, 200) if robots else None
    scheduler.accept([Settlement(lease.id, Outcome.OK, requested=True, status=200, found=found, robots=rules)])
    assert scheduler.full()
    store.release()
    assert not scheduler.full()


class Held(Watched):
    """Commits nothing until it is released."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self._held: list[tuple[Batch, object]] = []

    def commit(self, batch: Batch, done: object) -> None:
        self._held.append((batch, done))

    def release(self) -> None:
        held, self._held = self._held, []
        for batch, done in held:
            super().commit(batch, done)
