"""One question for the links of many pages: the answers are those of asking page by page."""

from __future__ import annotations

import random
from array import array
from typing import Any

import numpy as np
import pytest

from nephila.config import Config
from nephila.frontier.batch import BIAS, Batch
from nephila.frontier.memory import MemoryStore
from nephila.frontier.scheduler import Scheduler
from nephila.frontier.seen.keytree import KeyTree
from nephila.testing.clock import FakeClock
from nephila.types import FLAT_KINDS, Found, Kind, NewLink, Outcome, Request, Settlement
from nephila.url.key import Fingerprints
from nephila.url.scope import ScopeSpec

A = "http://a.test"
FP = Fingerprints(7)


class Counting(KeyTree):
    """Remembers how many keys each question had."""

    def __init__(self, payload: bool = False) -> None:
        super().__init__(payload=payload)
        self.asked: list[int] = []

    def add_many(self, keys: Any, *depth: Any) -> Any:
        self.asked.append(len(keys))
        return super().add_many(keys, *depth)


class Watched(MemoryStore):
    """Remembers what came in each batch."""

    def __init__(self, max_depth: int = -1) -> None:
        super().__init__(max_depth=max_depth)
        self.batches: list[Batch] = []

    def commit(self, batch: Batch, done: Any) -> None:
        self.batches.append(batch)
        super().commit(batch, done)


def link(path: str, kind: Kind = Kind.PAGE, rule: str = "") -> NewLink:
    return NewLink(FP(A + path), A + path, kind, rule)


def found(*links: NewLink) -> Found:
    flat = [one for one in links if one.kind in FLAT_KINDS]
    edges = array("Q", [one.fp for one in [*flat, *(one for one in links if one.kind not in FLAT_KINDS)]])
    return Found(edges.tobytes(), len(flat), list(links))


class Run:
    """A frontier with some seeds, all of them leased."""

    def __init__(self, seeds: int, **settings: Any) -> None:
        settings = {"delay": "0", "no_robots": True, "per_host": 1000, "seeds": [A + "/s0"]} | settings
        config = Config(**settings)
        deep = config.max_depth >= 0
        self.store, self.seen, clock = Watched(config.max_depth), Counting(payload=deep), FakeClock()
        self.scheduler = Scheduler(
            config,
            self.store,
            self.store.load(self.seen),
            seen=self.seen,
            scope=ScopeSpec("host", (A + "/s0",)),
            fingerprint=FP,
            clock=clock,
            rng=random.Random(1),
        )
        self.scheduler.put([Request(f"{A}/s{n}") for n in range(seeds)])
        self.leases = {lease.request.url: lease.id for lease in self.scheduler.grant(1000)}
        self.seen.asked.clear()
        self.store.batches.clear()

    def accept(self, *pages: Found, together: bool = True) -> None:
        """Page n is what seed n brought."""
        settled = [
            Settlement(self.leases[f"{A}/s{n}"], Outcome.OK, requested=True, status=200, found=page)
            for n, page in enumerate(pages)
        ]
        for some in [settled] if together else [[one] for one in settled]:
            self.scheduler.accept(some)

    def rows(self) -> list[tuple[Any, ...]]:
        """What was made of the links, in order; the seeds left out."""
        rows = sorted(self.store.urls.values(), key=lambda u: u["id"])
        told = [(u["id"], u["url"], u["depth"], u["state"], u["parent"]) for u in rows]
        return [row for row in told if "/s" not in row[1]]


PAGES = (
    found(link("/1"), link("/2"), link("/1")),
    found(link("/2"), link("/3", Kind.EMBED)),
    Found(),
    found(link("/4", rule="exclude"), link("/1")),
    found(link("/4"), link("/5")),
)


def test_one_question_per_call() -> None:
    run = Run(5)
    run.accept(*PAGES)
    assert run.seen.asked == [9]


def test_one_question_per_call_with_depths() -> None:
    run = Run(5, max_depth=3)
    run.accept(*PAGES)
    assert run.seen.asked == [5]


@pytest.mark.parametrize("max_depth", [-1, 0, 1, 3])
def test_the_rows_are_those_of_one_page_after_the_other(max_depth: int) -> None:
    together, single = Run(5, max_depth=max_depth), Run(5, max_depth=max_depth)
    together.accept(*PAGES)
    single.accept(*PAGES, together=False)
    assert together.rows() == single.rows()
    assert len(together.rows()) == 5


def test_what_is_only_counted_is_new_again_on_the_next_page() -> None:
    pages = [found(link("/x", rule="exclude"))] * 3
    together, single = Run(3, refused_max=0), Run(3, refused_max=0)
    together.accept(*pages)
    single.accept(*pages, together=False)
    for run in (together, single):
        assert list(run.store.rule_counts.values()) == [3]
        assert not run.seen.contains_many(np.array([FP(A + "/x")], np.uint64))[0]


def test_what_was_only_counted_is_wanted_by_a_later_page_of_the_same_call() -> None:
    run = Run(2, refused_max=0)
    run.accept(found(link("/x", rule="exclude")), found(link("/x")))
    assert [row[1:4] for row in run.rows()] == [(A + "/x", 1, "queued")]
    assert run.seen.contains_many(np.array([FP(A + "/x")], np.uint64))[0]


def test_a_later_page_of_the_same_call_is_nearer() -> None:
    """Depth 2 at the first sighting, depth 1 (a part of a seed) at the second."""
    run = Run(1, max_depth=1)
    run.accept(found(link("/deep")))
    deep = next(lease.id for lease in run.scheduler.grant(10))
    run.scheduler.put([Request(A + "/s9")])
    seed = next(lease.id for lease in run.scheduler.grant(10))
    settled = [Settlement(id, Outcome.OK, status=200, requested=True, found=found(link("/x"))) for id in (deep, seed)]
    run.scheduler.accept(settled)
    assert [row[2:4] for row in run.rows() if row[1] == A + "/x"] == [(1, "queued")]


def test_never_the_outcome_without_the_links() -> None:
    """Whenever a batch was cut, each of its visits came with its links."""
    run = Run(5, commit_visits=2)
    run.accept(*PAGES)
    seen = set[int]()
    for batch in run.store.batches:
        seen |= {row[1] + BIAS for row in batch.urls}
        for visit in batch.visits:
            page = PAGES[int(run.store.urls[visit[1]]["url"].partition("/s")[2])]
            assert {one.fp for one in page.new} <= seen
