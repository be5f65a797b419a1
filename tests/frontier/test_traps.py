"""Traps and what is none, in whole crawls: requests wasted are bounded, good pages lost are counted and there are none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from benchmarks.servers import Missing, postgres_docs, python_docs  # noqa: E402

from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.testing import mazes, sites  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.contract.bench import A, Bench, Run, config  # noqa: E402
from nephila.testing.crawls import FakeCrawl  # noqa: E402
from nephila.testing.fakeweb import FakeWeb  # noqa: E402
from nephila.testing.mazes import Maze  # noqa: E402
from nephila.testing.sites import Answer, Site  # noqa: E402
from nephila.url.traps import trap_of  # noqa: E402

TOKEN = re.compile(r"\?sid=.*|/\(S\([^)]*\)\)")
OFTEN = 4_000
"""A crawl of a maze that is not stopped ends here."""


class Memory(Bench):
    def __init__(self, store: MemoryStore | None = None) -> None:
        self._store = store

    def make_store(self, settings: object) -> MemoryStore:
        return self._store or MemoryStore()

    def table(self, store: object, name: str) -> list[dict[str, object]]:
        assert isinstance(store, MemoryStore)
        return store.table(name)


def crawl(site: Site, store: MemoryStore | None = None, **settings: object) -> Run:
    clock = FakeClock()
    bench, web = Memory(store), FakeWeb(clock, site=site, latency_s=0.01)
    it = config(**{"max_pages": OFTEN, "connections": 4} | settings)  # type: ignore[arg-type]
    run = FakeCrawl(web, clock, it, MemoryStore(it.order) if store is None else store, digests=True)
    return Run(bench, run, run.store, run.run())


def kept(run: Run) -> list[str]:
    return [url.removeprefix(A) for url, (outcome, _) in run.outcomes().items() if outcome == "OK"]


def traps(run: Run) -> Counter[str]:
    return Counter({trap_of(trap["rule"]): trap["count"] for trap in run.scheduler.status()["traps"]})


def lost_and_wasted(maze: Maze, run: Run) -> tuple[set[str], int]:
    bare = [TOKEN.sub("", path) for path in kept(run)]
    return maze.good - set(bare), len(bare) - len(maze.good & set(bare))


ORDERS = [(name, order) for name in mazes.TRAPS for order in ("bfs", "dfs") if (name, order) != ("facets", "dfs")]


@pytest.mark.parametrize(("name", "order"), ORDERS)
def test_a_trap_comes_to_its_end_and_costs_no_good_page(name: str, order: str) -> None:
    maze = mazes.TRAPS[name]()
    run = crawl(maze.site, order=order)
    lost, wasted = lost_and_wasted(maze, run)
    print(
        f"{name} ({order}): {wasted} requests wasted, {len(lost)} of {len(maze.good)} good pages lost, {dict(traps(run))}"
    )
    assert (run.reason, lost) == ("finished", set())
    assert wasted <= maze.wasted_max
    assert traps(run) or name == "grows by a slash"


@pytest.mark.long
def test_filters_met_depth_first_come_to_their_end() -> None:
    """The worst order: the longest addresses first, most of them over empty lists, which prove nothing."""
    maze = mazes.facets()
    run = crawl(maze.site, order="dfs", max_pages=12_000)
    lost, wasted = lost_and_wasted(maze, run)
    assert (run.reason, lost) == ("finished", set())
    assert wasted < 5_000


@pytest.mark.parametrize("name", ["calendar", "sessions", "not_found", "grows by an escaped slash"])
def test_without_rules_it_has_no_end(name: str) -> None:
    """What the rules are worth: the same site with all of them switched off."""
    run = crawl(mazes.TRAPS[name]().site, traps="off", max_pages=500)
    assert run.reason == "limit"


@pytest.mark.parametrize("order", ["bfs", pytest.param("dfs", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", mazes.GOOD)
def test_a_site_that_only_looks_so_is_kept_whole(name: str, order: str) -> None:
    maze = mazes.GOOD[name]()
    run = crawl(maze.site, order=order)
    assert lost_and_wasted(maze, run) == (set(), 0)
    assert not traps(run)
    assert [reason for _, reason in run.outcomes().values()].count("probe") <= 1


def documentation(folder: Callable[[], Path]) -> Site:
    """The HTML pages of an installed package as a site."""
    try:
        root = folder()
    except Missing as missing:
        pytest.skip(f"system: {missing}")

    def site(host: str, path: str, n: int) -> Answer:
        file = root / path.partition("?")[0].lstrip("/")
        if file.suffix != ".html" or not file.is_file():
            return sites.NOT_FOUND
        return Answer(file.read_bytes())

    return site


@pytest.mark.long
@pytest.mark.parametrize("folder", [postgres_docs, python_docs])
def test_a_real_site_is_kept_whole(folder: Callable[[], Path]) -> None:
    site = documentation(folder)
    with_rules = crawl(site, seeds=[A + "/index.html"])
    without = crawl(site, seeds=[A + "/index.html"], traps="off")
    assert len(kept(without)) > 400
    assert sorted(kept(with_rules)) == sorted(kept(without))
    assert not traps(with_rules)


def test_what_a_dry_form_refused_comes_back_when_it_is_switched_off() -> None:
    """And the rule holds from the start of the next run, without new statistics."""
    maze, store = mazes.calendar(40), MemoryStore()
    first = crawl(maze.site, store)
    (suspected, *_) = first.said("trap.suspected")
    assert suspected["samples"]
    assert suspected["form"] in ("/day?d,m,y", "/cal?m,y")
    before = len(kept(first))
    refused = {url for url, state in first.states().items() if state == "refused"}
    assert len(refused) > 100
    for row in store.urls.values():  # as a resume does that changes something else
        if row["state"] == "refused" and row["url"].endswith("d=9"):
            row.update(state="queued", rule=0)
    second = crawl(maze.site, store)
    assert len(kept(second)) == before
    assert {url for url, state in second.states().items() if state == "refused"} == refused


def test_pages_that_were_not_found_are_flagged_and_their_links_refused() -> None:
    maze = mazes.not_found(echo=True)
    run = crawl(maze.site)
    flagged = [url for url, (outcome, reason) in run.outcomes().items() if (outcome, reason) == ("OK", "soft_404")]
    assert len(flagged) > 50
    assert not {url.removeprefix(A) for url in flagged} & maze.good
    probes = [u for u in run.urls() if u["kind"] == "probe"]
    assert 1 <= len(probes) <= 5
    assert {run.outcomes()[u["url"]] for u in probes} == {("SKIPPED", "probe")}
    assert traps(run)["soft_404"] > 50


def test_a_host_with_few_pages_is_not_looked_at() -> None:
    """No form, no sketch, no probe: wide crawls pay nothing."""

    def site(host: str, path: str, n: int) -> Answer:
        return mazes.page([f"/{i}" for i in range(1, 30)], "the same") if path != "/robots.txt" else sites.NOT_FOUND

    run = crawl(site)
    assert run.counts() == {("OK", ""): 30}
    assert not run.scheduler._templates._sites


def test_robots_forbid_a_probe_too() -> None:
    maze = mazes.not_found(echo=False)

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/robots.txt":
            return Answer(b"User-agent: *\nDisallow: /docs/sub\nDisallow: /docs/x", media_type="text/plain")
        return maze.site(host, path, n)

    run = crawl(site)
    assert {run.outcomes()[u["url"]][1] for u in run.urls() if u["kind"] == "probe"} <= {"probe", "robots"}


def test_a_mirror_is_no_trap() -> None:
    """The same pages on two hosts: those of the second have the bytes of the first."""

    def site(host: str, path: str, n: int) -> Answer:
        i = int(path[1:] or 0) if path[1:].isdecimal() or path == "/" else 999
        links = [f"/{j}" for j in range(i + 1, min(i + 4, 200))] + ["http://b.test/"]
        return mazes.leaf(path, links) if i < 200 else sites.NOT_FOUND

    run = crawl(site, seeds=[A + "/", "http://b.test/"])
    assert run.counts() == {("OK", ""): 400}
    assert not traps(run)


def test_soft_404s_do_not_speak_for_the_pages_that_are_there() -> None:
    """Good and missing pages have one form: when only a few good ones are left, the missing ones do not make it dry."""
    good = [f"/p/{i}.html" for i in range(60)]

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/robots.txt":
            return sites.NOT_FOUND
        if path in ("/", *good):
            i = good.index(path) if path != "/" else -1
            return mazes.leaf(path, [*good[i + 1 : i + 2], *(f"/p/gone-{i}-{j}.html" for j in range(8))])
        return mazes.page(["/p/never.html"], "nothing", f"<p>no {path}</p><p>try to</p><p>search for it</p>")

    run = crawl(site)
    assert {path for path in kept(run) if path in good} == set(good)
    assert run.counts()["OK", "soft_404"] > 300
