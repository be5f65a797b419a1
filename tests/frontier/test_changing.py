"""Rules that change while a crawl runs: it ends as if it had begun with the last ones, but for what was asked for before."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nephila.changes import are_rules
from nephila.config import Config
from nephila.engine import Engine
from nephila.frontier import sqlite_look
from nephila.frontier.changing import Effect
from nephila.frontier.scheduler import Scheduler
from nephila.frontier.sqlite import SqliteStore
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer
from nephila.wanted import requests_of, scope_of

A, B = "http://a.test", "http://b.test"


def tree(width: int, depth: int, at: str = "/") -> dict[str, Any]:
    """A page and, below it, `width` others down to `depth`; every page links to its twin on another host, too."""
    below = [f"{at}{n}/" for n in range(width)] if depth else []
    pages = {A + at: sites.page([*below, B + at], at), B + at: sites.page([], "twin")}
    for path in below:
        pages |= tree(width, depth - 1, path)
    return pages


SITE = tree(3, 4)
"""121 pages on each of two hosts."""


class Killed(BaseException):
    pass


class Job:
    """A crawl whose settings change at given visits."""

    def __init__(self, folder: Path, pages: dict[str, Any], **settings: Any) -> None:
        self.clock, self.path, self.visits = FakeClock(), folder / "crawl.db", 0
        self.web = FakeWeb(self.clock, pages)
        self.config = Config(**{"seeds": [A + "/"], "delay": "0", "workers": 0, "connections": 4} | settings)
        self.effects: list[Effect] = []

    def change(self, scheduler: Scheduler, **settings: Any) -> None:
        old, self.config = self.config, msgspec.structs.replace(self.config, **settings)
        now = scheduler.scope
        scope = scope_of(self.config, requests_of(self.config), now.widened, (), now.epoch + 1)
        scheduler.change(self.config, scope if are_rules(old, self.config) else None, self.effects.append)

    def run(
        self,
        changes: dict[int, dict[str, Any]] | None = None,
        step: Callable[[str], None] = lambda name: None,
        watch: Callable[[Scheduler], None] = lambda scheduler: None,
        crawl: type[FakeCrawl] = FakeCrawl,
    ) -> str:
        """Crawl to the end. `changes`: number of a visit → settings from then on."""
        c, left = self.config, dict(changes or {})
        store = SqliteStore(self.path, order_name=c.order, max_depth=c.max_depth, step=step)

        def after(scheduler: Scheduler) -> bool:
            self.visits += 1
            if found := left.pop(self.visits, None):
                self.change(scheduler, **found)
            watch(scheduler)
            return False

        try:
            one = crawl(self.web, self.clock, c, store)
            if one.scheduler.unfinished:
                one.scheduler.change(c, one.scheduler.scope, self.effects.append)
            ended = one.run(after)
        except BaseException:
            store._con.close()
            raise
        assert ended is not None
        return ended.reason

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        store = SqliteStore(self.path)
        found = store.query(sql)
        store.close()
        return found

    def states(self) -> dict[str, str]:
        return dict(self.rows("SELECT url, state FROM url WHERE kind != 'robots'"))

    def rules(self) -> dict[str, str]:
        return dict(self.rows("SELECT u.url, r.text FROM url u JOIN rule r ON r.id = u.rule"))

    def visited(self) -> set[str]:
        return {url for url, state in self.states().items() if state == "done"}


def asked(job: Job) -> set[str]:
    return {line.url for line in job.web.log if not line.url.endswith("robots.txt")}


def pages(host: str, *, below: str = "/", depth: int = 9) -> set[str]:
    return {url for url in SITE if url.startswith(host + below) and url.count("/") - 3 <= depth}


def test_an_exclusion_takes_out_what_is_queued_and_refuses_what_is_met(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE)
    assert job.run({20: {"exclude": ["/1/"]}}) == "finished"
    late = {line.url for line in job.web.log[40:]}
    assert not {url for url in late if "/1/" in url}
    assert job.visited() >= {url for url in pages(A) if "/1/" not in url}
    excluded = {url for url, rule in job.rules().items() if rule == "exclude:/1/"}
    assert excluded == {url for url, state in job.states().items() if "/1/" in url and state == "refused" and A in url}
    (effect,) = job.effects
    assert effect.gone > 0
    assert (effect.back, effect.near, effect.far) == (0, 0, 0)
    ((count,),) = job.rows("SELECT count FROM rule WHERE text = 'exclude:/1/'")
    assert count == len(excluded)


def test_a_wider_scope_brings_back_what_was_refused(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE)
    assert job.run({60: {"scope": "any"}}) == "finished"
    assert job.visited() == pages(A) | pages(B)
    assert job.effects[0].back > 0
    assert len(job.web.log) == len({line.url for line in job.web.log})
    assert job.rows("SELECT sum(count) FROM rule") == [(0,)]


def test_depth_in_both_directions(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, max_depth=3, per_host=4)
    assert job.run({6: {"max_depth": 1}, 7: {"max_depth": 2}}) == "finished"
    assert pages(A, depth=2) <= job.visited()
    assert {url for url, state in job.states().items() if state == "too_deep"} == pages(A, depth=3) - job.visited()
    assert job.effects[0].far > 0
    assert job.effects[1].near > 0


def test_no_limit_of_depth_any_more(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, max_depth=1)
    job.run({3: {"max_depth": -1}})
    assert job.visited() == pages(A)


class Deaf(FakeCrawl):
    """Its engine never hears of other rules."""

    def tell(self, engine: Engine) -> None:
        engine.frontier.on_scope = lambda scope: None  # type: ignore[attr-defined]


@pytest.mark.parametrize("crawl", [FakeCrawl, Deaf])
def test_nofollow_sitemaps_and_traps_from_now_on(tmp_path: Path, crawl: type[FakeCrawl]) -> None:
    """Whatever a worker judged by the rules of before is judged again."""
    site = {
        A + "/slow": Answer(sites.page([]), delay_s=3),
        A + "/": sites.page(["/x", "/2", "/3"], more='<meta name="robots" content="nofollow">'),
        A + "/x": sites.page(["/y"], more='<meta name="robots" content="nofollow">'),
        A + "/y": sites.page([]),
        A + "/robots.txt": Answer(f"Sitemap: {A}/map.xml".encode(), media_type="text/plain"),
        A + "/map.xml": Answer(
            f"<urlset><url><loc>{A}/m/m/m/m/m/</loc></url></urlset>".encode(), media_type="application/xml"
        ),
        A + "/m/m/m/m/m/": sites.page([]),
        A + "/2": sites.page([]),
        A + "/3": sites.page([]),
    }
    job = Job(tmp_path, site, seeds=[A + "/", A + "/slow"], per_host=4)
    job.run({2: {"ignore_nofollow": True, "sitemaps": True, "traps": "off"}}, crawl=crawl)
    assert job.visited() == set(site) - {A + "/robots.txt"}


def test_what_is_being_asked_for_ends_and_does_not_come_back(tmp_path: Path) -> None:
    """Four are under way when the rules come to refuse them: those that are answered count, one that fails is not tried again."""
    site = SITE | {A + "/2/": Answer(status=503, delay_s=9.0)}
    job = Job(tmp_path, site, per_host=4)
    job.run({3: {"exclude": ["/2/"]}})
    assert job.web.times(A + "/2/") == 1
    assert job.states()[A + "/2/"] == "refused"
    assert job.rows("SELECT value FROM meta WHERE key = 'changing'") == [("0",)]


def test_what_is_said_of_queues_is_what_the_store_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many random changes, looked at a few rows at a time: at every visit memory and store agree, and the end is that of the last
    rules."""
    monkeypatch.setattr(sqlite_look, "ROWS_MAX", 17)
    monkeypatch.setattr(sqlite_look, "CHANGED_MAX", 5)
    dice = random.Random(5)
    choices: list[dict[str, Any]] = [{"exclude": [f"/{n}/{n}/"]} for n in range(3)] + [
        {"exclude": []},
        {"scope": "any"},
        {"scope": "host"},
        {"max_depth": 3},
        {"max_depth": 4},
    ]
    changes = {n: dice.choice(choices) for n in range(2, 28, 2)}
    job = Job(tmp_path, SITE, max_depth=3)
    seen = set[tuple[int, int]]()

    def watch(scheduler: Scheduler) -> None:
        if scheduler.changing is None:
            scheduler._ledger.cut()
            con = scheduler._queues._store._con  # type: ignore[attr-defined]
            (held,) = con.execute("SELECT count(*) FROM url WHERE state = 'queued' AND kind != 'robots'").fetchone()
            (found,) = con.execute(
                "SELECT count(*) FROM url WHERE state IN ('queued', 'done') AND kind != 'robots'"
            ).fetchone()
            status = scheduler.status()
            seen.add((status["queued"] - held, status["found"] - found))

    job.run(changes | {29: {"exclude": ["/0/"], "scope": "any", "max_depth": 2}}, watch=watch)
    assert len(job.effects) == len(changes) + 1, "it ended before the last change"
    assert seen == {(0, 0)}
    wanted = {url for url in pages(A, depth=2) if "/0/" not in url}
    twins = {B + url.removeprefix(A) for url in wanted if url.count("/") - 2 <= 2}
    assert job.visited() >= wanted | twins
    left = {url: state for url, state in job.states().items() if state != "done"}
    assert set(left.values()) <= {"refused", "too_deep"}
    assert all("/0/" in url for url, state in left.items() if state == "refused")


def test_a_kill_at_any_step_of_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at each durable step in turn, and carried on under the new rules: nothing is lost and nothing too much."""
    monkeypatch.setattr(sqlite_look, "ROWS_MAX", 9)
    site = tree(3, 2)
    new = {"exclude": ["/1/"], "scope": "any"}
    steps = 0
    for kill_at in range(1, 22):
        folder = tmp_path / str(kill_at)
        folder.mkdir()
        job = Job(folder, site)
        count = [0]

        def step(name: str, job: Job = job, count: list[int] = count, kill_at: int = kill_at) -> None:
            count[0] += job.config.scope == "any"
            if count[0] == kill_at:
                raise Killed(name)

        try:
            job.run({6: new}, step)
        except (Killed, BaseExceptionGroup):
            steps += 1
            marked = job.rows("SELECT value FROM meta WHERE key = 'changing'")
            if marked != [("1",)] and count[0] < 3:
                job.config = msgspec.structs.replace(job.config, exclude=[], scope="host")  # it was never said
            else:
                assert job.run() == "finished"
                assert job.visited() >= {url for url in site if "/1/" not in url}
                assert {url for url in job.visited() if "/1/" in url} <= asked(job)
                assert not {line.url for line in job.web.log[12:] if "/1/" in line.url}
                assert "queued" not in job.states().values()
    assert steps == 21


def test_a_limit_that_is_raised_lets_a_site_go_on(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, site_pages=10)
    assert job.run({9: {"site_pages": 30}}) == "limit"
    assert len(job.visited()) == 30


def test_a_shorter_pause_counts_at_once(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, delay="1000")
    begun = job.clock.monotonic()
    job.run({2: {"delay": "1"}})
    assert job.visited() == pages(A)
    assert job.clock.monotonic() - begun < 2_500
