"""What every frontier has to do, as tests: whole crawls of a web in memory under a clock that jumps.

A store's test file says how to make one and gets all of it:

    class TestMyStore(FrontierContract):
        def make_store(self, config): ...
        def reopen(self, config): ...
        def table(self, store, name): ...

The right values come from the rules a crawl follows (manners, depths, moments of a visit) and never from the code.
"""

from __future__ import annotations

import itertools
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from nephila.config import Config
from nephila.errors import DiskFull
from nephila.frontier import scheduler as scheduler_module
from nephila.frontier.batch import Batch, Store
from nephila.frontier.scheduler import Ended, Scheduler
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import Access, FakeWeb
from nephila.testing.sites import Answer, Site
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


class Outcomes(Bench):
    """Every admitted URL ends in exactly one outcome."""

    def test_each_url_ends_once(self) -> None:
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.kinds())
        run = self.crawl(web, clock, config(per_host=4))
        paths = {url.removeprefix(A) for url in run.outcomes()}
        assert run.reason == "finished"
        assert paths == set(sites.KINDS) - {"/robots.txt", "/form"} | {"/"}
        assert set(run.states().values()) <= {"done", "refused"}

    def test_each_kind_of_end(self) -> None:
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/": ["/ok", "/gone", "/moved", "/denied", "/reset"],
                A + "/ok": [""],
                A + "/gone": Answer(status=410),
                A + "/moved": sites.redirect("/ok"),
                A + "/reset": Answer(failure="conn_reset"),
                A + "/robots.txt": robots_of("Disallow: /denied"),
            },
        )
        run = self.crawl(web, clock, config(retry_wait_s=0.1))
        assert run.outcomes() == {
            A + "/": ("OK", ""),
            A + "/ok": ("OK", ""),
            A + "/gone": ("REFUSED", "status.410"),
            A + "/moved": ("MOVED", ""),
            A + "/denied": ("DENIED", "robots_disallow"),
            A + "/reset": ("UNREACHABLE", "conn_reset"),
        }
        assert run.scheduler.outcomes == {"OK": 2, "REFUSED": 1, "MOVED": 1, "DENIED": 1, "UNREACHABLE": 1}

    def test_a_url_met_many_times_is_fetched_once(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {f"{A}/{i or ''}": [f"/{j or ''}" for j in range(10)] for i in range(10)})
        self.crawl(web, clock, config(per_host=8))
        assert Counter(web.urls()) == Counter([f"{A}/{i or ''}" for i in range(10)] + [A + "/robots.txt"])

    @pytest.mark.parametrize("commit_visits", [1, 3, 500])
    def test_never_an_outcome_without_its_links(self, commit_visits: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """After each batch every page that is in the store has all its links there, too: with six hosts on one address,
        whose queues are longer than memory, over several kills, and with a seed that widens the scope."""
        monkeypatch.setattr(scheduler_module, "READY_MAX", 2)
        monkeypatch.setattr(scheduler_module, "ADDRESS_MAX", 1)
        clock = FakeClock()
        hosts = [f"http://h{i}.test" for i in range(6)]

        def site(host: str, path: str, n: int) -> Answer:
            if path == "/robots.txt":
                return Answer(status=404, ip="9.8.7.6")
            if host == "a.test":
                return sites.redirect("http://www.a.test/0")
            i = int(path[1:])
            links = [f"{at}/{to}" for to in range(6 * i + 1, 6 * i + 7) if to <= 18 for at in hosts]
            return Answer(sites.page([*links, "http://other.test/"]), ip="9.8.7.6")

        web = FakeWeb(clock, site=site)
        seeds = (A + "/", *(host + "/0" for host in hosts))
        settings = config(*seeds, delay="1", commit_visits=commit_visits, commit_ms=7, per_host=2)
        store, met = self.make_store(settings), set[int]()
        for kill in range(6):
            self.watch_links(store, met)
            run = self.crawl(web, clock, settings, store=store, until=after_visits(7) if kill < 5 else None)
            store = self.reopen(settings)
        assert run.reason == "finished"
        assert len(run.outcomes()) > 40
        assert len(met) > 40

    def watch_links(self, store: Store, met: set[int]) -> None:
        commit = store.commit

        def watched(batch: Batch, done: Any) -> None:
            met.update(row[1] + (1 << 63) for row in batch.urls)
            pages = {visit[1] for visit in batch.visits if visit[4] in ("OK", "MOVED")}
            linking = {link[0]: link[3] for link in batch.links}
            assert linking.keys() <= pages
            for edges in linking.values():
                assert met.issuperset(array("Q", edges)), "a page is committed and one of its links is not"
            commit(batch, done)

        store.commit = watched  # type: ignore[method-assign]

    def test_no_seed_answers(self) -> None:
        clock = FakeClock()
        web = FakeWeb(clock)
        run = self.crawl(web, clock, config())
        assert run.reason == "finished"
        assert run.outcomes() == {A + "/": ("REFUSED", "status.404")}


class Robots(Bench):
    """robots.txt: first, alone, once, and obeyed."""

    def test_first_alone_and_once_per_origin(self) -> None:
        clock = FakeClock()
        hosts = [f"http://h{i}.test" for i in range(5)]
        web = web_of(clock, {url: page for host in hosts for url, page in star(20, host).items()})
        run = self.crawl(web, clock, config(*(host + "/" for host in hosts), per_host=4, connections=20))
        for host in hosts:
            name = host.removeprefix("http://")
            mine = sorted((a for a in web.log if a.host == name), key=lambda a: a.start)
            assert mine[0].url == host + "/robots.txt"
            assert mine[1].start >= mine[0].end
            assert web.times(host + "/robots.txt") == 1
        assert run.counts() == {("OK", ""): 105}
        assert run.scheduler.status()["found"] == 105

    def test_disallowed_urls_are_denied_without_a_request(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(6) | {A + "/robots.txt": robots_of("Disallow: /1\nDisallow: /2")})
        run = self.crawl(web, clock, config(per_host=4))
        assert {url for url, end in run.outcomes().items() if end == ("DENIED", "robots_disallow")} == {
            A + "/1",
            A + "/2",
        }
        assert web.times(A + "/1") + web.times(A + "/2") == 0

    def test_a_denied_url_costs_no_pause(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(50) | {A + "/robots.txt": robots_of("Disallow: /\nAllow: /$")})
        before = clock.monotonic()
        run = self.crawl(web, clock, config(delay="10"))
        assert run.counts() == {("OK", ""): 1, ("DENIED", "robots_disallow"): 50}
        assert clock.monotonic() - before < 30

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
    def test_a_missing_robots_allows_all(self, status: int) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3) | {A + "/robots.txt": Answer(status=status)})
        run = self.crawl(web, clock, config())
        assert run.counts() == {("OK", ""): 4}
        assert web.times(A + "/robots.txt") == 1

    def test_unreachable_robots_deny_all(self) -> None:
        clock = FakeClock()
        seeds = [f"{A}/{i}" for i in range(30)]
        web = web_of(clock, {A + "/robots.txt": Answer(status=503)})
        before = clock.monotonic()
        run = self.crawl(web, clock, config(*seeds))
        assert run.counts() == {("DENIED", "robots_unreachable"): 30}
        assert web.urls() == [A + "/robots.txt"] * 4
        assert clock.monotonic() - before < 600

    def test_robots_that_recovers_in_time(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3) | {A + "/robots.txt": [Answer(status=500)] * 3 + [robots_of("Disallow: /2")]})
        run = self.crawl(web, clock, config())
        assert run.counts() == {("OK", ""): 3, ("DENIED", "robots_disallow"): 1}

    def test_robots_failing_by_timeout_deny_all(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3) | {A + "/robots.txt": Answer(failure="timeout.headers")})
        run = self.crawl(web, clock, config())
        assert run.outcomes() == {A + "/": ("DENIED", "robots_unreachable")}
        assert web.times(A + "/robots.txt") == 4

    def test_rules_of_the_redirects_target_apply_to_who_asked(self) -> None:
        clock = FakeClock()
        s = "https://a.test"
        web = web_of(
            clock,
            {
                A + "/robots.txt": sites.redirect(s + "/robots.txt"),
                s + "/robots.txt": robots_of("Disallow: /2"),
                A + "/": ["/1", "/2", s + "/3", s + "/2"],
                A + "/1": [""],
                s + "/3": [""],
            },
        )
        run = self.crawl(web, clock, config(per_host=4))
        ok, denied = ("OK", ""), ("DENIED", "robots_disallow")
        assert run.outcomes() == {A + "/": ok, A + "/1": ok, A + "/2": denied, s + "/3": ok, s + "/2": denied}
        assert web.times(s + "/robots.txt") == web.times(A + "/robots.txt") == 1

    @pytest.mark.parametrize(("hops", "denied"), [(5, True), (6, False)])
    def test_five_redirects_are_followed_six_mean_absent(self, hops: int, denied: bool) -> None:
        """RFC 9309, 2.3.1.2."""
        clock = FakeClock()
        names = ["/robots.txt", *(f"/r{i}" for i in range(1, hops + 1))]
        chain = {A + here: sites.redirect(there) for here, there in itertools.pairwise(names)}
        web = web_of(clock, star(2) | chain | {A + names[-1]: robots_of("Disallow: /2")})
        run = self.crawl(web, clock, config())
        assert run.outcomes()[A + "/2"] == (("DENIED", "robots_disallow") if denied else ("OK", ""))
        assert web.times(A + names[-1]) == denied

    @pytest.mark.parametrize("places", [["a", "b"], ["a", "b", "c"], ["a"]])
    def test_robots_redirected_in_a_circle_are_absent(self, places: list[str]) -> None:
        clock = FakeClock()
        ring = [f"http://{name}.test/robots.txt" for name in places]
        web = web_of(
            clock,
            {url: sites.redirect(ring[(i + 1) % len(ring)]) for i, url in enumerate(ring)}
            | {f"http://{name}.test/": [""] for name in places},
        )
        run = self.crawl(web, clock, config(*(f"http://{name}.test/" for name in places)))
        assert run.counts() == {("OK", ""): len(places)}
        assert len(web.log) == 2 * len(places)

    def test_robots_redirected_from_host_to_host_for_ever_are_absent(self) -> None:
        clock = FakeClock()

        def site(host: str, path: str, n: int) -> Answer:
            number = int(host.partition(".")[0][1:])
            return sites.redirect(f"http://h{number + 1}.test/robots.txt") if path == "/robots.txt" else Answer(b"page")

        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config("http://h0.test/"))
        assert run.outcomes() == {"http://h0.test/": ("OK", "")}
        assert len(web.log) <= 8

    def test_robots_redirected_to_a_place_that_fails_are_unreachable(self) -> None:
        """The host itself answers: its URLs are denied, and the reason is not that of the other host."""
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/robots.txt": sites.redirect("http://dead.test/robots.txt"),
                A + "/": [""],
                "http://b.test/robots.txt": sites.redirect("http://dead.test/elsewhere"),
                "http://b.test/": [""],
                "http://dead.test/robots.txt": Answer(failure="connect.refused"),
                "http://dead.test/elsewhere": Answer(failure="connect.refused"),
            },
        )
        run = self.crawl(web, clock, config(A + "/", "http://b.test/"))
        assert run.counts() == {("DENIED", "robots_unreachable"): 2}

    def test_asked_again_after_a_day(self) -> None:
        """A crawl of 50 hours: at the beginning, after 24 and after 48, each time alone."""
        clock = FakeClock()
        web = web_of(clock, star(10 * 5))
        run = self.crawl(web, clock, config(delay="3600"))
        robots = [a.start for a in web.log if a.kind == Kind.ROBOTS]
        assert run.counts() == {("OK", ""): 51}
        assert [round(gap / DAY_S, 1) for gap in spacing(robots)] == [1.0, 1.0]
        assert min(web.gaps("a.test")) >= 3600 - SLACK_S

    def test_asked_again_within_the_limits_of_the_host(self) -> None:
        clock = FakeClock()
        age = (("Cache-Control", "max-age=120"),)
        web = web_of(clock, star(60) | {A + "/robots.txt": text("", headers=age)}, latency_s=5.0)
        run = self.crawl(web, clock, config())
        assert run.counts() == {("OK", ""): 61}
        assert web.times(A + "/robots.txt") >= 2
        assert web.max_in_flight("a.test") == 1

    def test_new_rules_count_from_then_on(self) -> None:
        clock = FakeClock()
        rules = [robots_of(""), robots_of("Disallow: /")]
        web = web_of(clock, star(40) | {A + "/robots.txt": rules})
        run = self.crawl(web, clock, config(delay="3600"))
        assert run.counts()["DENIED", "robots_disallow"] == 40 - run.counts()["OK", ""] + 1
        assert 20 <= run.counts()["OK", ""] <= 25

    def test_a_link_to_robots_fetches_it_no_second_time(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": ["/robots.txt", "http://b.test/robots.txt"]})
        run = self.crawl(web, clock, config(scope="any"))
        assert web.times(A + "/robots.txt") == 1
        assert web.times("http://b.test/robots.txt") == 1
        assert run.outcomes() == {A + "/": ("OK", "")}
        assert run.reason == "finished"

    def test_ignored_when_told_so(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2) | {A + "/robots.txt": robots_of("Disallow: /\nCrawl-delay: 100")})
        before = clock.monotonic()
        run = self.crawl(web, clock, config(no_robots=True))
        assert run.counts() == {("OK", ""): 3}
        assert web.times(A + "/robots.txt") == 0
        assert clock.monotonic() - before < 1


class Manners(Bench):
    """How often a host is asked, and when not at all."""

    def test_the_pause_runs_from_one_visits_end_to_the_next_start(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(12), latency_s=0.7)
        self.crawl(web, clock, config(delay="2"))
        gaps = web.gaps("a.test")
        assert len(gaps) == 13
        assert min(gaps) >= 2 - SLACK_S
        assert max(gaps) < 2.5

    def test_with_more_at_once_starts_are_apart(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(20), latency_s=5.0)
        self.crawl(web, clock, config(delay="1", per_host=3))
        assert web.max_in_flight("a.test") == 3
        assert min(spacing(starts(web, "a.test"))) >= 1 - SLACK_S

    def test_never_more_than_per_host_at_once(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(40))
        self.crawl(web, clock, config(per_host=4, connections=16))
        assert web.max_in_flight("a.test") == 4

    @pytest.mark.parametrize(("latency_s", "low", "high"), [(0.02, 1.0, 1.05), (0.5, 2.5, 2.6), (20.0, 60.0, 60.1)])
    def test_automatic_pause_of_a_public_host(self, latency_s: float, low: float, high: float) -> None:
        """Five times the time to first byte, at least one second, at most sixty."""
        clock = FakeClock()
        web = web_of(clock, star(8), latency_s=latency_s)
        self.crawl(web, clock, config(delay="auto"))
        gaps = web.gaps("a.test")[1:]  # a missing robots.txt tells nothing of how fast pages are
        assert min(gaps) >= low - SLACK_S
        assert max(gaps) <= high

    def test_automatic_pause_of_our_own_host_has_no_lower_bound(self) -> None:
        clock = FakeClock()
        home = "http://127.0.0.1:8000"
        web = web_of(clock, star(10, home), latency_s=0.002)
        self.crawl(web, clock, config(home + "/", delay="auto"))
        assert max(web.gaps("127.0.0.1:8000")) < 0.05

    @pytest.mark.parametrize(("asked", "pause"), [("7", 7.0), ("90", 90.0), ("1000000000", 300.0)])
    @pytest.mark.parametrize("delay", ["auto", "0.5"])
    def test_crawl_delay(self, delay: str, asked: str, pause: float) -> None:
        clock = FakeClock()
        web = web_of(clock, star(4) | {A + "/robots.txt": robots_of(f"Crawl-delay: {asked}")})
        self.crawl(web, clock, config(delay=delay))
        gaps = web.gaps("a.test")
        assert min(gaps) >= pause - SLACK_S
        assert max(gaps) < pause + 1

    @pytest.mark.parametrize("status", [404, 500])
    def test_quick_errors_do_not_shorten_the_pause(self, status: int) -> None:
        clock = FakeClock()
        slow = {f"{A}/{i}": sites.late(Answer(b"x"), 2.0) for i in range(1, 4)}
        quick = {f"{A}/{i}": sites.late(Answer(status=status), 0.001) for i in range(4, 12)}
        web = web_of(clock, star(11) | slow | quick)
        self.crawl(web, clock, config(delay="auto", tries=1))
        order = pages_of(web)
        first = next(i for i, access in enumerate(order) if access.status == status)
        gaps = [after.start - before.end for before, after in itertools.pairwise(order)]
        before, after = gaps[first - 1], gaps[first:]
        assert before > 3
        assert min(after) >= before - SLACK_S

    def test_retry_after_silences_that_host_alone(self) -> None:
        clock = FakeClock()
        site = sites.retry429(20, "slow.test", 30)
        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config("http://slow.test/", "http://quick.test/", delay="0.5"))
        slow = pages_of(web, "slow.test")
        at = next(i for i, a in enumerate(slow) if a.status == 429)
        assert 30 - SLACK_S <= slow[at + 1].start - slow[at].end < 32
        assert max(web.gaps("quick.test")) < 1.0
        assert run.counts() == {("OK", ""): 40}
        assert run.said("host.refused")[0]["status"] == 429

    def test_retry_after_as_a_date(self) -> None:
        clock = FakeClock()
        busy = Answer(status=503, headers=(("Retry-After", "Tue, 11 Sep 2001 12:47:36 GMT"),))
        web = web_of(clock, star(5) | {A + "/2": [busy, Answer(b"x")]})
        assert clock.wall() == 1_000_212_366.0  # 12:46:06 that day
        self.crawl(web, clock, config())
        after = [a.start for a in web.log if a.end > next(a.end for a in web.log if a.status == 503)]
        assert min(after) - clock.monotonic() + clock.wall() >= 1_000_212_456 - SLACK_S

    @pytest.mark.parametrize("value", ["", "soon", "-5", "Mon, 01 Jan 1990 00:00:00 GMT", "nan", "0", "1e-9", "1"])
    def test_retry_after_never_makes_faster(self, value: str) -> None:
        """Our own wait before the next try is 5 s ± 50 %; what asks for less gets no less."""
        clock = FakeClock()
        busy = Answer(status=429, headers=(("Retry-After", value),) if value else ())
        web = web_of(clock, star(3) | {A + "/1": [busy, busy, Answer(b"x")]})
        run = self.crawl(web, clock, config())
        waits = spacing(starts(web, "a.test"))[2:4]
        assert [a.status for a in pages_of(web)][1:4] == [429, 429, 200]
        assert waits[0] >= 2.5 + 0.05 - SLACK_S if value != "1" else waits[0] >= 1
        assert run.counts() == {("OK", ""): 4}

    def test_a_request_under_way_does_not_break_the_silence(self) -> None:
        """The second connection fails to connect during the 60 s of silence that the first was asked for."""
        clock = FakeClock()
        busy = sites.late(Answer(status=429, headers=(("Retry-After", "60"),)), 0.1)
        lost = sites.late(Answer(failure="timeout.connect"), 1.0)
        web = web_of(clock, star(4) | {A + "/1": [busy, Answer(b"x")], A + "/2": [lost, Answer(b"x")]})
        run = self.crawl(web, clock, config(per_host=2))
        said = next(a.end for a in web.log if a.status == 429)
        assert min(a.start for a in web.log if a.start > said) >= said + 60 - SLACK_S
        assert run.counts() == {("OK", ""): 5}

    def test_a_host_that_wants_hours_is_parked_and_the_rest_goes_on(self) -> None:
        clock = FakeClock()
        busy = Answer(status=503, headers=(("Retry-After", "7200"),))
        web = web_of(clock, star(5) | star(30, "http://b.test") | {A + "/3": busy})
        began = clock.wall()
        run = self.crawl(web, clock, config(A + "/", "http://b.test/"))
        assert run.reason == "parked"
        assert clock.wall() - began < 60
        assert run.counts() == {("OK", ""): 34}
        (parked,) = run.scheduler.status()["parked"]
        assert parked["origin"] == A
        assert 7200 <= parked["until"] - began < 7260
        assert run.ended is not None
        assert A in run.ended.text
        again = self.resume(web, clock, config(A + "/", "http://b.test/"))
        assert again.reason == "parked"
        assert len(web.log) == 3 + 2 + 32
        clock.jump(7300)
        web.answer(A + "/3", b"well again")
        assert self.resume(web, clock, config(A + "/", "http://b.test/")).counts() == {("OK", ""): 37}

    def test_a_host_that_refuses_for_ever_gets_slower_and_is_parked(self) -> None:
        clock = FakeClock()
        web = FakeWeb(clock, site=lambda host, path, n: Answer(status=404 if path == "/robots.txt" else 429))
        run = self.crawl(web, clock, config(*(f"{A}/{i}" for i in range(100))))
        gaps = web.gaps("a.test")
        assert run.reason == "parked"
        assert 20 <= len(pages_of(web)) <= 21
        assert sum(gaps[-5:]) > 10 * sum(gaps[1:3])

    def test_the_second_clock(self) -> None:
        """Twenty hosts on one address: eight requests at once, starts a quarter of the pause apart."""
        clock = FakeClock()

        def site(host: str, path: str, n: int) -> Answer:
            page = sites.page([f"/{i}" for i in range(1, 6)])
            return sites.late(Answer(page if path != "/robots.txt" else b"", ip="9.8.7.6"), 10.0)

        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config(*(f"http://h{i}.test/" for i in range(20)), delay="2", connections=32))
        pages = pages_of(web)
        assert run.counts() == {("OK", ""): 120}
        assert overlap_max(pages) == 8
        assert min(spacing(a.start for a in pages)) >= 0.5 - SLACK_S

    @pytest.mark.parametrize("order", ["bfs", "dfs"])
    def test_no_host_waits_for_another_to_finish(self, order: str) -> None:
        clock = FakeClock()
        hosts = [f"http://h{i}.test" for i in range(10)]
        web = web_of(clock, {url: page for host in hosts for url, page in star(20, host).items()})
        self.crawl(web, clock, config(*(host + "/" for host in hosts), order=order, connections=1))
        seen = [a.host for a in pages_of(web)]
        assert all(len(set(seen[at : at + 10])) == 10 for at in range(0, len(seen), 10))

    def test_a_host_without_pause_does_not_starve_one_with_a_pause(self) -> None:
        clock = FakeClock()
        b = "http://b.test"
        web = web_of(clock, star(300) | star(3, b) | {b + "/robots.txt": robots_of("Crawl-delay: 1")})
        self.crawl(web, clock, config(A + "/", b + "/", connections=1))
        last_b = max(a.end for a in web.log if a.host == "b.test")
        last_a = max(a.end for a in web.log if a.host == "a.test")
        assert last_b < last_a - 5


class Retries(Bench):
    """What may pass by itself is tried again, a bounded number of times."""

    def test_an_error_that_stays(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2) | {A + "/1": Answer(status=500)})
        run = self.crawl(web, clock, config(tries=4))
        assert web.times(A + "/1") == 4
        assert run.outcomes()[A + "/1"] == ("REFUSED", "status.500")
        assert run.attempts(A + "/1") == ["status.500"] * 3

    def test_an_error_that_passes(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2) | {A + "/1": [Answer(status=503), Answer(status=503), Answer(b"well")]})
        run = self.crawl(web, clock, config())
        assert run.outcomes()[A + "/1"] == ("OK", "")
        assert run.attempts(A + "/1") == ["status.503"] * 2
        (row,) = [u for u in run.urls() if u["url"] == A + "/1"]
        assert row["attempts"] == 3

    def test_waits_double(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": Answer(status=500)})
        self.crawl(web, clock, config(tries=6, retry_wait_s=4.0, retry_wait_max_s=20.0))
        waits = spacing(a.start for a in pages_of(web))
        for wait, middle in zip(waits, [4, 8, 16, 20, 20], strict=True):
            assert middle / 2 <= wait <= min(middle * 1.5, 20) + 0.1

    def test_other_urls_do_not_wait_for_a_retry(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5) | {A + "/1": [Answer(failure="conn_reset"), Answer(b"x")]})
        self.crawl(web, clock, config())
        assert web.urls()[-1] == A + "/1"

    def test_a_dead_host_is_probed_and_not_asked_for_each_url(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {})
        web.down("a.test", 0, 1e9)
        run = self.crawl(web, clock, config(*(f"{A}/{i}" for i in range(200))))
        assert {outcome for outcome, _ in run.outcomes().values()} == {"UNREACHABLE"}
        assert len(run.outcomes()) == 200
        assert len(web.log) <= 5
        assert web.max_in_flight("a.test") == 1

    def test_a_host_that_dies_for_good_is_probed_with_one_request(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(200))
        web.down("a.test", 1.0, 1e9)
        run = self.crawl(web, clock, config(per_host=4))
        dead = [a for a in web.log if a.reason]
        assert len(run.outcomes()) == 201
        assert len(dead) <= 8 + 4
        assert overlap_max(dead[4:]) == 1

    @pytest.mark.parametrize("reason", ["connect.refused", "timeout.connect"])
    def test_a_host_that_comes_back_after_five_minutes_loses_nothing(self, reason: str) -> None:
        clock = FakeClock()
        web = web_of(clock, star(20) | star(80, "http://b.test"))
        web.down("a.test", 12.0, 312.0, reason)
        run = self.crawl(web, clock, config(A + "/", "http://b.test/", delay="5"))
        assert run.counts() == {("OK", ""): 102}

    def test_a_url_that_always_fails_to_connect_is_given_up(self) -> None:
        """Its neighbours answer: it is the URL that is tried again a bounded number of times."""
        clock = FakeClock()
        web = web_of(clock, star(100) | {A + "/1": Answer(failure="timeout.connect")})
        run = self.crawl(web, clock, config(per_host=2))
        assert run.outcomes()[A + "/1"] == ("UNREACHABLE", "timeout.connect")
        assert run.counts()["OK", ""] == 100
        assert 4 <= web.times(A + "/1") <= 8

    def test_a_name_that_does_not_exist_is_final(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": ["http://nobody.test/1", "http://nobody.test/2"]})
        web.down("nobody.test", 0, 1e9, "dns.not_found")
        run = self.crawl(web, clock, config(scope="any"))
        assert run.counts() == {("OK", ""): 1, ("UNREACHABLE", "dns.not_found"): 2}
        assert len([a for a in web.log if a.host == "nobody.test"]) <= 4

    def test_a_guessed_scheme_falls_back_at_once(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        for url in ("https://a.test/", "https://a.test/robots.txt"):
            web.fail(url, "connect.refused")
        before = clock.monotonic()
        run = self.crawl(web, clock, config("a.test"))
        assert run.outcomes().pop("https://a.test/")[0] == "UNREACHABLE"
        assert run.counts()["OK", ""] == 3
        assert clock.monotonic() - before < 1
        assert sum(a.url.startswith("https:") for a in web.log) == 1

    def test_a_scheme_that_was_given_is_not_changed(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        for url in ("https://a.test/", "https://a.test/robots.txt"):
            web.fail(url, "connect.refused")
        run = self.crawl(web, clock, config("https://a.test/"))
        assert list(run.outcomes()) == ["https://a.test/"]

    def test_a_bad_certificate_is_no_reason_to_fall_back(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        web.down("a.test", 0, 1e9, "tls.invalid")
        run = self.crawl(web, clock, config("a.test"))
        assert not [a for a in web.log if a.url.startswith("http:")]
        assert list(run.outcomes()) == ["https://a.test/"]

    def test_a_cookie_wall_is_asked_once_more(self) -> None:
        clock = FakeClock()
        wall = Answer(status=302, headers=(("Location", A + "/"), ("Set-Cookie", "pass=1; Path=/")))
        web = web_of(clock, {A + "/": [wall, Answer(b"inside")]})
        run = self.crawl(web, clock, config())
        assert run.outcomes() == {A + "/": ("OK", "")}
        assert [a.cookie for a in pages_of(web)] == ["", "pass=1"]

    def test_a_cookie_wall_that_stays_is_a_loop(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {A + "/": Answer(status=302, headers=(("Location", "/"), ("Set-Cookie", "a=1")))})
        run = self.crawl(web, clock, config())
        assert run.outcomes() == {A + "/": ("REFUSED", "redirect_loop")}
        assert web.times(A + "/") == 2


class Orders(Bench):
    """What next, inside a host; and queues that are longer than memory."""

    @pytest.fixture(autouse=True)
    def small_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scheduler_module, "READY_MAX", 8)

    def test_bfs_goes_level_by_level(self) -> None:
        """341 pages with a fanout of 4."""
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.synthetic(341, 4, 200))
        run = self.crawl(web, clock, config(connections=1))
        level = {u["url"]: u["depth"] for u in run.urls()}
        depths = [level[a.url] for a in pages_of(web)]
        assert len(depths) == 341
        assert depths == sorted(depths)

    def test_bfs_goes_in_order_of_discovery(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(300))
        self.crawl(web, clock, config(connections=1))
        assert [a.url for a in pages_of(web)] == [A + "/", *(f"{A}/{i}" for i in range(1, 301))]

    def test_dfs_takes_the_newest_first(self) -> None:
        clock = FakeClock()
        pages = {
            "/": ["/1", "/2", "/3"],
            "/3": ["/31", "/32"],
            "/32": [""],
            "/31": [""],
            "/2": ["/21"],
            "/21": [""],
            "/1": [""],
        }
        web = web_of(clock, {A + path: links for path, links in pages.items()})
        self.crawl(web, clock, config(order="dfs", connections=1))
        assert [a.url.removeprefix(A) for a in pages_of(web)] == ["/", "/3", "/32", "/31", "/2", "/21", "/1"]

    def test_dfs_with_a_queue_longer_than_memory(self) -> None:
        clock = FakeClock()
        pages = star(100) | {f"{A}/{i}": [f"/{i}/a", f"/{i}/b"] for i in range(1, 101)}
        web = web_of(clock, pages | {f"{A}/{i}/{x}": [""] for i in range(1, 101) for x in "ab"})
        self.crawl(web, clock, config(order="dfs", connections=1))
        wanted = ["/", *itertools.chain.from_iterable((f"/{i}", f"/{i}/b", f"/{i}/a") for i in range(100, 0, -1))]
        assert [a.url.removeprefix(A) for a in pages_of(web)] == wanted

    @pytest.mark.parametrize("order", ["bfs", "dfs"])
    @pytest.mark.parametrize("seed", range(4))
    def test_a_queue_longer_than_memory_loses_nothing(self, order: str, seed: int) -> None:
        clock = FakeClock()
        graph = sites.graph(seed, 250, 5)

        def site(host: str, path: str, n: int) -> Answer:
            flaky = path[1:].isdecimal() and int(path[1:]) % 17 == 3 and n == 1
            return Answer(status=500) if flaky else sites.late(graph(host, path, n), (len(path) * 7 + seed) % 5 / 50)

        web = FakeWeb(clock, site=site)
        run = self.crawl(web, clock, config(A + "/0", order=order, per_host=12, connections=12))
        wanted = {f"{A}{path}": ("OK", "") for path in sites.within(seed, 250, 5, 1000)}
        assert run.outcomes() == wanted
        assert max(web.times(url) for url in wanted) <= 2


class Limits(Bench):
    """Budgets: where a crawl stops."""

    @pytest.mark.parametrize("connections", [1, 16])
    def test_max_pages_is_never_exceeded(self, connections: int) -> None:
        clock = FakeClock()
        web = web_of(clock, star(60) | {f"{A}/{i}": Answer(status=404) for i in range(1, 60, 3)})
        run = self.crawl(web, clock, config(max_pages=20, per_host=16, connections=connections))
        assert run.reason == "limit"
        assert run.counts()["OK", ""] == 20
        assert "max_pages" in (run.ended.text if run.ended else "")

    def test_a_limit_that_is_not_reached(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5))
        assert self.crawl(web, clock, config(max_pages=6)).reason == "finished"

    def test_the_same_limit_again_sends_nothing_and_a_higher_one_goes_on(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(60))
        self.crawl(web, clock, config(max_pages=20, per_host=4))
        sent = len(web.log)
        assert self.resume(web, clock, config(max_pages=20, per_host=4)).reason == "limit"
        assert len(web.log) == sent
        run = self.resume(web, clock, config(max_pages=30, per_host=4))
        assert (run.reason, run.counts()["OK", ""]) == ("limit", 30)
        assert max(Counter(web.urls()).values()) == 1

    def test_max_bytes(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(50) | {f"{A}/{i}": Answer(b"x" * 1000) for i in range(1, 51)})
        run = self.crawl(web, clock, config(max_bytes=10_000))
        assert run.reason == "limit"
        assert 5 <= run.counts()["OK", ""] <= 11

    def test_max_time(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(1000), latency_s=1.0)
        before = clock.monotonic()
        run = self.crawl(web, clock, config(max_time=100.0, per_host=2))
        assert run.reason == "limit"
        assert 100 <= clock.monotonic() - before <= 102

    def test_a_failed_commit_ends_it_and_nothing_is_accepted_after(self) -> None:
        """One commit fails, and only that one: what came after it would depend on it, and must not be stored."""
        for error in (DiskFull("no space left"), OSError("input/output error")):
            clock = FakeClock()
            web = web_of(clock, star(200))
            settings = config(per_host=8, commit_visits=5)
            store = self.make_store(settings)
            self.fail_commit(store, 6, error)
            run = self.crawl(web, clock, settings, store=store)
            assert run.reason == "disk"
            assert run.scheduler.error is not None
            done = len(run.outcomes())
            assert done < 40
            assert sum(run.scheduler.outcomes.values()) == done
            again = self.resume(web, clock, settings)
            assert again.counts() == {("OK", ""): 201}

    def fail_commit(self, store: Store, n: int, error: Exception) -> None:
        commit, count = store.commit, itertools.count(1)

        def failing(batch: Batch, done: Any) -> None:
            if next(count) == n:
                done(error)
            else:
                commit(batch, done)

        store.commit = failing  # type: ignore[method-assign]


class Depths(Bench):
    """Depth is the length of the shortest path, whatever came first."""

    @pytest.mark.parametrize("order", ["bfs", "dfs"])
    def test_a_page_with_a_shorter_path_is_not_lost(self, order: str) -> None:
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.tree())
        run = self.crawl(web, clock, config(max_depth=2, order=order))
        assert run.kept() == {"": 0} | dict.fromkeys("BCDEF", 1) | {"G": 2, "H": 2}
        assert run.states()[A + "/I"] == "too_deep"

    @pytest.mark.parametrize("order", ["bfs", "dfs"])
    @pytest.mark.parametrize("kills", [0, 4])
    def test_random_graphs(self, order: str, kills: int) -> None:
        for seed in range(8):
            clock = FakeClock()
            graph = sites.graph(seed, 50, 2)

            def site(host: str, path: str, n: int, graph: Site = graph) -> Answer:
                return sites.late(graph(host, path, n), (zlib.crc32(path.encode()) % 7 + 1) / 50)

            web = FakeWeb(clock, site=site)
            depth_max = 2 + seed % 5
            settings = config(A + "/0", max_depth=depth_max, order=order, per_host=3)
            store: Store | None = None
            for kill in range(kills):
                self.crawl(web, clock, settings, store=store, until=after_visits(3 + kill + seed))
                store = self.reopen(settings)
            run = self.crawl(web, clock, settings, store=store)
            assert {f"/{path}": depth for path, depth in run.kept().items()} == sites.within(seed, 50, 2, depth_max)

    def test_parts_of_a_page_and_redirects_add_no_depth(self) -> None:
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/": sites.page(["/moved"], more='<img src="/pic.png"><link rel=stylesheet href="/s.css">'),
                A + "/moved": sites.redirect("/there"),
                A + "/there": ["/deeper"],
                A + "/deeper": [""],
                A + "/pic.png": Answer(b"png", media_type="image/png"),
                A + "/s.css": Answer(b"p{background:url(/in.png)}", media_type="text/css"),
                A + "/in.png": Answer(b"png", media_type="image/png"),
            },
        )
        run = self.crawl(web, clock, config(max_depth=1))
        assert run.kept() == {"": 0, "pic.png": 0, "s.css": 0, "in.png": 0, "there": 1}
        assert run.states()[A + "/deeper"] == "too_deep"

    def test_urls_of_a_sitemap_have_depth_one(self) -> None:
        clock = FakeClock()
        xml = "application/xml"
        index = f"<sitemapindex><sitemap><loc>{A}/map.xml</loc></sitemap></sitemapindex>".encode()
        urls = f"<urlset><url><loc>{A}/x</loc></url></urlset>".encode()
        web = web_of(
            clock,
            {
                A + "/robots.txt": text(f"Sitemap: {A}/index.xml"),
                A + "/index.xml": Answer(index, media_type=xml),
                A + "/map.xml": Answer(urls, media_type=xml),
                A + "/": [""],
                A + "/x": ["/y"],
            },
        )
        run = self.crawl(web, clock, config(sitemaps=True, max_depth=1))
        assert run.kept()["x"] == 1
        assert run.states()[A + "/y"] == "too_deep"


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


class Resumes(Bench):
    """Kill it at any moment: the same command carries on."""

    def settings(self, **more: Any) -> Config:
        return config(per_host=2, max_depth=3, retry_wait_s=0.2, **more)

    def test_killed_at_every_visit(self) -> None:
        clock = FakeClock()
        whole = self.crawl(FakeWeb(clock, site=sites.kinds()), clock, self.settings())
        wanted, depths = whole.outcomes(), whole.kept()
        for k in range(1, len(wanted) + 2):
            clock = FakeClock()
            web = FakeWeb(clock, site=sites.kinds())
            assert self.crawl(web, clock, self.settings(), until=after_visits(k)).reason == "killed"
            run = self.resume(web, clock, self.settings())
            assert (run.reason, run.outcomes(), run.kept()) == ("finished", wanted, depths), k
            assert max(Counter(url for url in web.urls() if "flaky" not in url).values()) <= 2

    def test_killed_again_and_again(self) -> None:
        clock = FakeClock()
        wanted = self.crawl(FakeWeb(clock, site=sites.kinds()), clock, self.settings(commit_ms=1)).outcomes()
        clock = FakeClock()
        web = FakeWeb(clock, site=sites.kinds())
        settings = self.settings(commit_ms=1)
        run = self.crawl(web, clock, settings, until=after_visits(6))
        kills = 1
        while run.reason == "killed" and kills < 40:
            run = self.resume(web, clock, settings, until=after_visits(6))
            kills += 1
        assert (run.reason, run.outcomes()) == ("finished", wanted)
        assert max(Counter(web.urls()).values()) <= 1 + kills

    def test_killed_before_robots_came(self) -> None:
        """One URL is queued, in the store alone, and its host has no robots.txt yet."""
        clock = FakeClock()
        web = web_of(clock, star(3))
        crawl = self.start(web, clock, config())
        crawl.scheduler.put(crawl.seeds)
        run = self.resume(web, clock, config())
        assert run.counts() == {("OK", ""): 4}

    @pytest.mark.parametrize("others", [1, 5, 40])
    def test_killed_while_a_retry_waits(self, others: int) -> None:
        """After the restart one URL of the host is due later and the others now."""
        clock = FakeClock()
        web = web_of(clock, star(others) | {A + "/x": [Answer(failure="conn_reset"), Answer(b"x")]})
        settings = config(A + "/x", A + "/", retry_wait_s=100.0, commit_ms=1)
        self.crawl(web, clock, settings, until=after_visits(3))
        run = self.resume(web, clock, settings)
        assert run.counts() == {("OK", ""): others + 2}
        first, second = [a.start for a in web.log if a.url == A + "/x"]
        assert second - first >= 50

    def test_one_full_pause_after_a_kill(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10) | star(10, "http://b.test"))
        settings = config(A + "/", "http://b.test/", delay="20")
        self.crawl(web, clock, settings, until=after_visits(6))
        taken = clock.monotonic()
        self.resume(web, clock, settings)
        assert min(a.start for a in web.log if a.start > taken) >= taken + 20 - SLACK_S
        assert min(web.gaps("a.test") + web.gaps("b.test")) >= 20 - SLACK_S

    def test_a_clean_end_keeps_the_clocks(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10))
        self.crawl(web, clock, config(delay="20", max_pages=3))
        clock.jump(5.0)
        self.resume(web, clock, config(delay="20"))
        assert 20 - SLACK_S <= min(web.gaps("a.test")) <= max(web.gaps("a.test")) < 21

    def test_retry_after_survives_a_kill(self) -> None:
        clock = FakeClock()
        b = "http://b.test"
        busy = Answer(status=429, headers=(("Retry-After", "600"),))
        web = web_of(clock, star(4) | star(40, b) | {A + "/2": [busy, Answer(b"x")]})
        settings = config(A + "/", b + "/", delay="1")
        self.crawl(web, clock, settings, until=after_visits(20))
        said = next(a.end for a in web.log if a.status == 429)
        assert clock.monotonic() - said > 1
        run = self.resume(web, clock, settings)
        assert run.counts() == {("OK", ""): 46}
        assert min(a.start for a in web.log if a.host == "a.test" and a.start > said) >= said + 600 - 1

    def test_robots_are_not_asked_again_after_a_restart(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10) | {A + "/robots.txt": robots_of("Disallow: /3\nCrawl-delay: 4")})
        self.crawl(web, clock, config(), until=after_visits(4))
        run = self.resume(web, clock, config())
        assert web.times(A + "/robots.txt") == 1
        assert run.outcomes()[A + "/3"] == ("DENIED", "robots_disallow")
        assert min(web.gaps("a.test")) >= 4 - SLACK_S

    def test_robots_are_asked_again_the_next_day(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10) | {A + "/robots.txt": [robots_of(""), robots_of("Disallow: /9")]})
        self.crawl(web, clock, config(), until=after_visits(4))
        clock.jump(DAY_S + 60)
        run = self.resume(web, clock, config())
        assert web.times(A + "/robots.txt") == 2
        assert run.outcomes()[A + "/9"] == ("DENIED", "robots_disallow")

    def test_a_paused_crawl_is_paused_after_a_restart(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5))
        crawl = self.start(web, clock, config())
        crawl.scheduler.put(crawl.seeds)
        crawl.scheduler.pause()
        again = self.start(web, clock, config(), self.reopen(config()))
        assert again.scheduler.paused
        assert again.scheduler.grant(8) == []
        again.scheduler.resume()
        assert [lease.request.url for lease in again.scheduler.grant(8)] == [A + "/robots.txt"]

    def test_cookies_survive_and_go_to_their_host_alone(self) -> None:
        clock = FakeClock()
        set_cookie = Answer(
            sites.page(["/1", "http://sub.a.test/"]),
            headers=(("Set-Cookie", "k=v"), ("Set-Cookie", "d=w; Domain=a.test")),
        )
        web = web_of(clock, {A + "/": set_cookie, A + "/1": [""], "http://sub.a.test/": [""]})
        self.crawl(web, clock, config(scope="site", commit_ms=1, delay="1"), until=after_visits(3))
        self.resume(web, clock, config(scope="site", delay="1"))
        sent = {a.url: set(a.cookie.split("; ")) for a in pages_of(web)}
        assert sent == {A + "/": {""}, A + "/1": {"k=v", "d=w"}, "http://sub.a.test/": {"d=w"}}

    def test_a_deleted_cookie_stays_deleted(self) -> None:
        clock = FakeClock()
        web = web_of(
            clock,
            {
                A + "/": Answer(sites.page(["/1"]), headers=(("Set-Cookie", "k=v"),)),
                A + "/1": Answer(sites.page(["/2"]), headers=(("Set-Cookie", "k=; Max-Age=0"),)),
                A + "/2": ["/3"],
                A + "/3": [""],
            },
        )
        self.crawl(web, clock, config(commit_ms=1, delay="1"), until=after_visits(4))
        self.resume(web, clock, config())
        assert {a.url: a.cookie for a in pages_of(web)} == {A + "/": "", A + "/1": "k=v", A + "/2": "", A + "/3": ""}

    def test_a_guessed_scheme_falls_back_after_a_kill_too(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        for url in ("https://a.test/", "https://a.test/robots.txt"):
            web.fail(url, "connect.refused")
        crawl = self.start(web, clock, config("a.test"))
        crawl.scheduler.put(crawl.seeds)
        run = self.resume(web, clock, config("a.test"))
        assert run.counts()["OK", ""] == 3

    def test_a_link_to_robots_queued_before_a_kill_does_not_hang(self) -> None:
        """Every moment of a page that links to robots.txt of its own and of another host."""
        for k in range(1, 5):
            clock = FakeClock()
            web = web_of(
                clock, {A + "/": ["/robots.txt", "http://b.test/robots.txt", "http://b.test/"], "http://b.test/": [""]}
            )
            self.crawl(web, clock, config(scope="any", commit_ms=1, delay="1"), until=after_visits(k))
            run = self.resume(web, clock, config(scope="any"))
            assert (run.reason, run.counts()) == ("finished", {("OK", ""): 2})

    def test_a_finished_crawl_sends_nothing(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(5))
        self.crawl(web, clock, config())
        sent = len(web.log)
        assert self.resume(web, clock, config()).reason == "finished"
        assert len(web.log) == sent


class Network(Bench):
    """When it is our own network that is gone, nobody is blamed."""

    HOSTS = tuple(f"http://h{i}.test" for i in range(4))

    def four_hosts(self, clock: FakeClock, n: int = 30) -> FakeWeb:
        return web_of(clock, {url: page for host in self.HOSTS for url, page in star(n, host).items()})

    def four(self, **more: Any) -> Config:
        return config(*(host + "/" for host in self.HOSTS), **{"delay": "1", "connections": 16} | more)

    @pytest.mark.parametrize("reason", ["timeout.connect", "dns.temporary", "timeout.dns", "connect.unreachable"])
    @pytest.mark.parametrize("from_s", [0.12, 5.0, 10.3])
    def test_an_outage_changes_no_outcome(self, reason: str, from_s: float) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", from_s, from_s + 90, reason)
        run = self.crawl(web, clock, self.four())
        assert run.counts() == {("OK", ""): 124}
        (lost,) = run.said("network.lost")
        (back,) = run.said("network.back")
        assert 60 <= back["seconds"] <= 95
        assert lost["since"] > 0

    def test_no_attempt_is_counted_and_one_probe_per_five_seconds(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 10.0, 610.0, "timeout.connect")
        run = self.crawl(web, clock, self.four(max_time=60.0))
        began = web._born
        offline = [a.start - began for a in web.log if 80 < a.start - began < 610]
        assert [round(gap, 1) for gap in spacing(offline)] == [5.0] * (len(offline) - 1)
        assert 100 <= len(offline) <= 107
        attempts = [a["n"] for a in self.table(run.store, "attempt")]
        assert len(attempts) <= 24
        assert run.counts() == {("OK", ""): 124}
        assert run.reason == "finished"

    def test_one_host_that_fails_is_its_own_fault(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock, 100)
        web.down("h1.test", 5.0, 1e9, "timeout.connect")
        run = self.crawl(web, clock, self.four())
        assert run.said("network.lost") == []
        assert run.counts()["OK", ""] >= 303
        assert {end[0] for url, end in run.outcomes().items() if "h1" not in url} == {"OK"}

    def test_a_first_seed_that_is_down_is_not_offline(self) -> None:
        clock = FakeClock()
        web = web_of(clock, {})
        web.down("*", 0, 1e9, "timeout.connect")
        run = self.crawl(web, clock, config())
        assert run.reason == "finished"
        assert run.said("network.lost") == []
        assert run.outcomes()[A + "/"][0] in ("UNREACHABLE", "DENIED")

    def test_the_only_host_counts_as_all(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(30))
        web.down("*", 10.0, 130.0, "connect.unreachable")
        run = self.crawl(web, clock, config(delay="1"))
        assert len(run.said("network.lost")) == 1
        assert run.counts() == {("OK", ""): 31}

    def test_a_probe_asks_for_robots_first(self) -> None:
        """The host that answered has nothing left; those that wait have not told us their rules."""
        clock = FakeClock()
        rest = {url: page for host in self.HOSTS for url, page in star(2, host).items()}
        web = web_of(clock, {A + "/": [host + "/" for host in self.HOSTS]} | rest)
        web.down("*", 0.12, 200.0, "timeout.connect")
        run = self.crawl(web, clock, config(scope="any", connections=16))
        assert run.counts() == {("OK", ""): 13}

    def test_offline_for_ever_gives_up(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 5.0, 1e9, "dns.temporary")
        before = clock.monotonic()
        run = self.crawl(web, clock, self.four(offline_max_s=1000.0))
        assert run.reason == "offline"
        assert 1000 <= clock.monotonic() - before <= 1100
        assert {outcome for outcome, _ in run.outcomes().values()} == {"OK"}

    def test_silence_that_was_asked_for_outlives_an_outage(self) -> None:
        clock = FakeClock()
        busy = Answer(status=429, headers=(("Retry-After", "300"),))
        web = self.four_hosts(clock)
        web.answer("http://h0.test/5", busy, Answer(b"x"))
        web.down("*", 15.0, 75.0, "timeout.connect")
        run = self.crawl(web, clock, self.four())
        said = next(a.end for a in web.log if a.status == 429)
        assert run.said("network.lost")
        assert min(a.start for a in web.log if a.host == "h0.test" and a.start > said) >= said + 300 - SLACK_S

    def test_the_pause_outlives_an_outage_and_a_sleep(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 15.0, 75.0, "timeout.connect")
        self.crawl(web, clock, self.four(delay="4"), until=once(80, lambda s: clock.wall_jump(7200)))
        assert min(gap for host in self.HOSTS for gap in web.gaps(host[7:])) >= 4 - SLACK_S

    @pytest.mark.parametrize("how", ["jump", "wall_jump"])
    def test_a_machine_that_slept(self, how: str) -> None:
        """What fails in the moments after is not counted, and hosts are not asked all at once."""
        clock = FakeClock()
        web = self.four_hosts(clock)
        run = self.crawl(web, clock, self.four(), until=once(40, lambda s: getattr(clock, how)(3600.0)))
        assert run.counts() == {("OK", ""): 124}
        assert min(gap for host in self.HOSTS for gap in web.gaps(host[7:])) >= 1 - SLACK_S
        assert self.table(run.store, "attempt") == []

    def test_failures_after_a_sleep_are_forgiven(self) -> None:
        clock = FakeClock()
        web = self.four_hosts(clock)
        web.down("*", 15.0, 27.0, "timeout.connect")
        run = self.crawl(web, clock, self.four(), until=once(50, lambda s: clock.wall_jump(3600.0)))
        failed = [a for a in web.log if a.reason]
        jumped = run.said("clock.jumped")
        assert len(jumped) == 1
        assert run.counts() == {("OK", ""): 124}
        assert len(failed) >= 1


class Workers(Bench):
    """Workers that die, and what it means for the pages they held."""

    def granted(self, crawl: FakeCrawl, n: int) -> list[Lease]:
        """Robots are done; n pages are out."""
        scheduler = crawl.scheduler
        scheduler.put(crawl.seeds)
        return scheduler.grant(n)

    def ready(self, n: int, **more: Any) -> FakeCrawl:
        clock = FakeClock()
        web = web_of(clock, {f"{A}/{i}": [""] for i in range(n)})
        return self.start(web, clock, config(*(f"{A}/{i}" for i in range(n)), no_robots=True, per_host=8, **more))

    def test_leases_of_a_dead_worker_are_given_out_again(self) -> None:
        crawl = self.ready(6)
        leases = self.granted(crawl, 6)
        crawl.scheduler.give_back([lease.id for lease in leases], suspect=False)
        again = crawl.scheduler.grant(8)
        assert {lease.id for lease in again} == {lease.id for lease in leases}
        assert {lease.attempt for lease in again} == {1}

    def test_suspects_go_out_one_at_a_time(self) -> None:
        crawl = self.ready(3)
        scheduler = crawl.scheduler
        leases = self.granted(crawl, 3)
        scheduler.give_back([lease.id for lease in leases], suspect=True)
        order = []
        for _ in range(3):
            (alone,) = scheduler.grant(8, 1)
            assert scheduler.grant(8, 1) == []
            order.append(alone.id)
            scheduler.accept([answered(alone)], 1)
        assert sorted(order) == sorted(lease.id for lease in leases)
        assert scheduler.grant(8, 1) == []
        assert scheduler.ended is not None

    def test_other_workers_go_on_while_a_suspect_is_out(self) -> None:
        crawl = self.ready(8)
        scheduler = crawl.scheduler
        leases = self.granted(crawl, 3)
        scheduler.give_back([lease.id for lease in leases], suspect=True)
        (alone,) = scheduler.grant(8, 1)
        assert alone.id in {lease.id for lease in leases}
        others = scheduler.grant(8, 2)
        assert len(others) == 5
        assert not {lease.id for lease in others} & {lease.id for lease in leases}

    def test_suspects_keep_the_manners_of_their_host(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(3))
        crawl = self.start(web, clock, config(no_robots=True, delay="10"))
        (lease,) = self.granted(crawl, 1)
        clock.jump(1.0)
        crawl.scheduler.give_back([lease.id], suspect=True)
        assert crawl.scheduler.grant(1) == []
        due = crawl.scheduler.next_due()
        assert due is not None
        assert due == pytest.approx(clock.monotonic() + 10)
        clock.jump(10.0)
        assert [again.id for again in crawl.scheduler.grant(1)] == [lease.id]

    def test_two_deaths_alone_make_it_unreadable(self) -> None:
        crawl = self.ready(1)
        scheduler = crawl.scheduler
        (lease,) = self.granted(crawl, 1)
        for _ in range(3):  # the first one was in company
            scheduler.give_back([lease.id], suspect=True)
            scheduler.grant(1)
        run = Run(self, crawl, crawl.store, scheduler.ended)
        assert run.outcomes() == {A + "/0": ("UNREADABLE", "read_crash")}
        assert run.reason == "finished"

    def test_blame_means_unread_once_and_then_the_end(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(2))
        crawl = self.start(web, clock, config(no_robots=True))
        (lease,) = self.granted(crawl, 1)
        crawl.scheduler.blame(lease.id, "read_time")
        run = Run(self, crawl, crawl.store, crawl.run())
        assert run.outcomes() == {A + "/": ("UNREADABLE", "read_time")}
        assert web.times(A + "/") == 1
        assert run.said("worker.blamed")[0]["reason"] == "read_time"

    def test_blamed_while_unread(self) -> None:
        crawl = self.ready(1)
        (lease,) = self.granted(crawl, 1)
        crawl.scheduler.blame(lease.id, "read_memory")
        (lease,) = crawl.scheduler.grant(1)
        assert lease.unread == "read_memory"
        crawl.scheduler.blame(lease.id, "read_crash")
        run = Run(self, crawl, crawl.store, crawl.scheduler.ended)
        assert run.outcomes() == {A + "/0": ("UNREADABLE", "read_memory")}

    def test_the_blame_survives_a_kill(self) -> None:
        crawl = self.ready(1)
        (lease,) = self.granted(crawl, 1)
        crawl.scheduler.blame(lease.id, "read_time")
        again = self.start(crawl.web, FakeClock(), crawl.config, self.reopen(crawl.config))
        (lease,) = again.scheduler.grant(1)
        assert lease.unread == "read_time"


class Steering(Bench):
    """What a person may tell a running crawl about one host."""

    def test_pause_and_resume(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(20) | star(60, "http://b.test"))
        count = itertools.count(1)

        def steer(scheduler: Scheduler) -> bool:
            n = next(count)
            if n == 20:
                assert scheduler.host_command("a.test", "pause") == "pause: http://a.test"
            if n == 50:
                scheduler.host_command(A, "resume")
            return False

        run = self.crawl(web, clock, config(A + "/", "http://b.test/", connections=2), until=steer)
        order = [a.host for a in web.log]
        assert run.counts() == {("OK", ""): 82}
        assert order[24:50].count("a.test") == 0
        assert order[50:].count("a.test") > 5

    @pytest.mark.parametrize("no_robots", [False, True])
    def test_slow(self, no_robots: bool) -> None:
        clock = FakeClock()
        web = web_of(clock, star(10))
        settings = config(no_robots=no_robots)
        self.crawl(web, clock, settings, until=once(5, lambda s: s.host_command("a.test", "slow", 9.0)))
        assert min(web.gaps("a.test")[5:]) >= 9 - SLACK_S
        assert max(web.gaps("a.test")[:4]) < 1

    def test_drop(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(30) | star(10, "http://b.test"))
        run = self.crawl(
            web, clock, config(A + "/", "http://b.test/"), until=once(12, lambda s: s.host_command("a.test", "drop"))
        )
        assert run.reason == "finished"
        states = Counter(state for url, state in run.states().items() if url.startswith(A))
        assert states["dropped"] + states["done"] == 31
        assert states["dropped"] > 20
        assert len(run.outcomes()) == states["done"] + 11

    def test_an_unknown_host(self) -> None:
        clock = FakeClock()
        crawl = self.start(web_of(clock, star(1)), clock, config())
        assert crawl.scheduler.host_command("nobody.test", "drop") == "no such host: nobody.test"

    def test_draining(self) -> None:
        clock = FakeClock()
        web = web_of(clock, star(30))
        run = self.crawl(web, clock, config(per_host=4), until=once(10, lambda s: s.drain()))
        assert run.reason == "interrupted"
        assert len(run.outcomes()) < 16
        assert self.resume(web, clock, config(per_host=4)).counts() == {("OK", ""): 31}
        assert max(Counter(web.urls()).values()) == 1


class FrontierContract(
    Outcomes, Robots, Manners, Retries, Orders, Limits, Depths, Redirects, Refusals, Resumes, Network, Workers, Steering
):
    """All of it, for one store."""
