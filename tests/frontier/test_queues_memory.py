"""What of a queue is in memory does not grow with the queue, and the store is asked for many hosts at once."""

from __future__ import annotations

from typing import Any

import pytest

from nephila.config import Config
from nephila.frontier import queues
from nephila.frontier.batch import Ask
from nephila.frontier.memory import MemoryStore
from nephila.frontier.scheduler import Scheduler
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb

HOSTS, PAGES = 20, 60


class Asked(MemoryStore):
    """Remembers for how many hosts each question was."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def fetch(self, asked: list[Ask], limit: int, wall: float, done: Any) -> None:
        self.asked.append(len(asked))
        super().fetch(asked, limit, wall, done)


def test_rows_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,200 URLs wait, at most 2 × 200 of them are in memory; and each is fetched once."""
    monkeypatch.setattr(queues, "READY_ALL", 200)
    clock, most = FakeClock(), 0
    hosts = [f"http://h{n}.test" for n in range(HOSTS)]
    pages: dict[str, Any] = {f"{host}/": sites.page([f"/{n}" for n in range(1, PAGES)]) for host in hosts}
    pages |= {f"{host}/{n}": sites.page([]) for host in hosts for n in range(1, PAGES)}
    config = Config(seeds=[host + "/" for host in hosts], delay="0", workers=0, connections=4, no_robots=True)
    store = Asked()

    def look(scheduler: Scheduler) -> bool:
        nonlocal most
        most = max(most, sum(len(host.ready) for host in scheduler._books.by_id.values()))
        return False

    crawl = FakeCrawl(FakeWeb(clock, pages), clock, config, store)
    crawl.run(look)
    assert crawl.scheduler.outcomes == {"OK": HOSTS * PAGES}
    assert most <= 400
    assert sum(store.asked) / len(store.asked) > 2
