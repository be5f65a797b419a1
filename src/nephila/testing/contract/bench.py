"""The bench: how crawls are run over a store, what is read off them, and small words for webs and times."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from nephila.config import Config
from nephila.frontier.batch import Store
from nephila.frontier.scheduler import Ended, Scheduler
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import Access, FakeWeb
from nephila.testing.sites import Answer
from nephila.types import Kind, Lease, Outcome, Settlement

A = "http://a.test"
SLACK_S = 1e-6
"""Fake seconds are sums of floats."""
DAY_S = 86_400.0


class Run:
    """One run of a crawl: how it ended, what was said, and what the store holds now."""

    def __init__(self, bench: Bench, crawl: FakeCrawl, store: Store, ended: Ended | None) -> None:
        self._bench, self.store, self.ended = bench, store, ended
        self.scheduler, self.notes = crawl.scheduler, crawl.notes

    @property
    def reason(self) -> str:
        return self.ended.reason if self.ended else "killed"

    def said(self, event: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.notes if name == event]

    def outcomes(self) -> dict[str, tuple[str, str]]:
        """URL → (outcome, reason) of all that ended; robots.txt is no page and not among them."""
        urls = {u["id"]: u["url"] for u in self.urls() if u["kind"] != "robots"}
        visits = [v for v in self._bench.table(self.store, "visit") if v["url"] in urls]
        found = {urls[v["url"]]: (v["outcome"], v["reason"]) for v in visits}
        assert len(found) == len(visits), "a URL with two outcomes"
        return found

    def kept(self) -> dict[str, int]:
        """Path → depth of every page that is OK."""
        ok = {url for url, (outcome, _) in self.outcomes().items() if outcome == "OK"}
        return {u["url"].partition("//")[2].partition("/")[2]: u["depth"] for u in self.urls() if u["url"] in ok}

    def counts(self) -> Counter[tuple[str, str]]:
        return Counter(self.outcomes().values())

    def urls(self) -> list[dict[str, Any]]:
        return self._bench.table(self.store, "url")

    def states(self) -> dict[str, str]:
        return {u["url"]: u["state"] for u in self.urls() if u["kind"] != "robots"}

    def attempts(self, url: str) -> list[str]:
        """Reasons of the tries of a URL that were not final."""
        ids = {u["id"] for u in self.urls() if u["url"] == url}
        return [a["reason"] for a in self._bench.table(self.store, "attempt") if a["url"] in ids]


class Bench:
    """What a store has to give, and how crawls are run over it."""

    def make_store(self, config: Config) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    def reopen(self, config: Config) -> Store:
        """The store made last, opened again after its scheduler died or ended."""
        raise NotImplementedError

    def table(self, store: Store, name: str) -> list[dict[str, Any]]:
        """Rows of the tables url, visit, attempt, host, rule, rule_host, cookie as dicts, also after the store was closed."""
        raise NotImplementedError

    def before_run(self, clock: FakeClock, store: Store) -> None:
        """For a store with threads of its own."""

    def start(self, web: FakeWeb, clock: FakeClock, config: Config, store: Store | None = None) -> FakeCrawl:
        store = self.make_store(config) if store is None else store
        self.before_run(clock, store)
        return FakeCrawl(web, clock, config, store)

    def crawl(
        self,
        web: FakeWeb,
        clock: FakeClock,
        config: Config,
        *,
        store: Store | None = None,
        until: Callable[[Scheduler], bool] | None = None,
    ) -> Run:
        crawl = self.start(web, clock, config, store)
        return Run(self, crawl, crawl.store, crawl.run(until))

    def resume(
        self, web: FakeWeb, clock: FakeClock, config: Config, until: Callable[[Scheduler], bool] | None = None
    ) -> Run:
        return self.crawl(web, clock, config, store=self.reopen(config), until=until)


def config(*seeds: str, **changes: Any) -> Config:
    """A crawl without pauses that waits for nobody, unless told otherwise."""
    settings: dict[str, Any] = {"seeds": list(seeds or [A + "/"]), "delay": "0", "connections": 8, "workers": 0}
    return Config(**settings | changes)


def web_of(clock: FakeClock, pages: dict[str, Any], latency_s: float = 0.05) -> FakeWeb:
    """URL → links (a list of strings), Answer, body or list of answers."""

    def answer(given: Any) -> Any:
        links = isinstance(given, list) and all(isinstance(one, str) for one in given)
        return sites.page(given) if links else given

    return FakeWeb(clock, {url: answer(given) for url, given in pages.items()}, latency_s=latency_s)


def star(n: int, origin: str = A) -> dict[str, Any]:
    """`/` links to `/1` … `/n`."""
    return {f"{origin}/": [f"/{i}" for i in range(1, n + 1)]} | {f"{origin}/{i}": [""] for i in range(1, n + 1)}


def after_visits(n: int) -> Callable[[Scheduler], bool]:
    """Stop at the n-th accepted visit."""
    count = itertools.count(1)
    return lambda scheduler: next(count) >= n


def once(n: int, act: Callable[[Scheduler], Any]) -> Callable[[Scheduler], bool]:
    """Do something at the n-th accepted visit, and go on."""
    count = itertools.count(1)

    def until(scheduler: Scheduler) -> bool:
        if next(count) == n:
            act(scheduler)
        return False

    return until


def pages_of(web: FakeWeb, host: str = "") -> list[Access]:
    """Requests that were not for robots.txt, in order of their start."""
    found = [a for a in web.log if a.kind != Kind.ROBOTS and host in ("", a.host)]
    return sorted(found, key=lambda access: access.start)


def starts(web: FakeWeb, host: str) -> list[float]:
    return sorted(access.start for access in web.log if access.host == host)


def spacing(times: Iterable[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(times)]


def overlap_max(log: list[Access]) -> int:
    """Most requests at the same moment."""
    marks = sorted([(a.start, 1) for a in log] + [(a.end, -1) for a in log])
    return max(itertools.accumulate(step for _, step in marks))


def text(body: str, **more: Any) -> Answer:
    return Answer(body.encode(), media_type="text/plain", **more)


def robots_of(body: str) -> Answer:
    return text("User-agent: *\n" + body)


def answered(lease: Lease, outcome: Outcome = Outcome.OK, **more: Any) -> Settlement:
    return Settlement(lease.id, outcome, requested=True, status=200, ip="9.9.9.9", **more)
