"""The library as a program meets it: pages as they are committed, hooks, folders that are carried on, nothing left over."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands.stranger import FINISHED, Listener, Prompt, SiteServer, chain, rows, sites, until

import nephila
from nephila.errors import ConfigError, JobError

QUICK: dict[str, Any] = {"delay": "0", "min_free": 0}


@pytest.fixture
def site(serve: Callable[..., SiteServer]) -> SiteServer:
    """A start page and 40 more."""
    return serve(
        {"/": sites.page([f"/{i}" for i in range(40)], "start")} | {f"/{i}": sites.page([], str(i)) for i in range(40)}
    )


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    return place


async def urls(pages: Any) -> list[str]:
    return [page.url async for page in pages]


def test_all_pages_and_a_temporary_folder_that_goes(site: SiteServer, temporary: Path) -> None:
    found = asyncio.run(urls(nephila.crawl(site.url(), **QUICK)))
    assert sorted(found) == sorted([site.url(), *(site.url(f"/{i}") for i in range(40))])
    assert list(temporary.iterdir()) == []


def test_what_a_page_is(serve: Callable[..., SiteServer]) -> None:
    text = "<!doctype html><title>蜘蛛</title><p class=a>one<p>two<a href='/x#f'>x</a>".encode()
    site = serve({"/": sites.Answer(text, headers=(("X-Seen", "yes"),))})

    async def first() -> nephila.Page:
        async for page in nephila.crawl(site.url(), **QUICK):
            assert (page.bytes(), page.html.count("<p")) == (text, 2)
            assert [element.text for element in page.select("p.a")] == ["one"]
            assert [link.url for link in page.links] == [site.url("/x")]
            assert "one" in page.text
            return page
        raise AssertionError("no page")

    page = asyncio.run(first())
    assert (page.url, page.status, page.title, page.headers["x-seen"]) == (site.url(), 200, "蜘蛛", "yes")


def test_leaving_early_stops_cleanly_and_can_be_carried_on(serve: Callable[..., SiteServer], tmp_path: Path) -> None:
    site = serve(chain(25, 0.03))

    async def some() -> list[str]:
        seen: list[str] = []
        crawler = nephila.Crawler(site.url(), folder=tmp_path / "job", **QUICK)
        async for page in crawler:
            seen.append(page.url)
            if len(seen) == 3:
                break
        await asyncio.sleep(0)
        return seen

    first = asyncio.run(some())
    assert len(first) == 3
    states = dict(rows(tmp_path / "job", "SELECT key, value FROM meta"))
    assert (states["state"], states["clean"]) == ("interrupted", "1")
    second = asyncio.run(urls(nephila.crawl(site.url(), folder=tmp_path / "job", **QUICK)))
    done = [
        url
        for (url,) in rows(tmp_path / "job", "SELECT u.url FROM visit v JOIN url u ON u.id = v.url WHERE kind = 'page'")
    ]
    assert len(done) == len(set(done)) == 25
    assert set(second) < set(done)
    paths = [hit.path for hit in site.hits()]
    assert len(set(paths)) == 26
    assert len(paths) <= 27, "more than the request under way was sent again"


def test_a_slow_consumer_slows_the_crawl(serve: Callable[..., SiteServer]) -> None:
    n = 600
    site = serve(
        {"/": sites.page([f"/{i}" for i in range(n)], "start")} | {f"/{i}": sites.page([], str(i)) for i in range(n)}
    )

    async def slowly() -> tuple[int, int]:
        seen, ahead = 0, 0
        async for _ in nephila.crawl(site.url(), per_host=8, **QUICK):
            seen += 1
            if seen in (20, 40):
                await asyncio.sleep(0.3)
                ahead = max(ahead, len(site.hits()) - seen)
        return seen, ahead

    seen, ahead = asyncio.run(slowly())
    assert seen == n + 1
    assert ahead < 350, "it went on without us"


def test_twice_and_several_at_once(site: SiteServer, serve: Callable[..., SiteServer]) -> None:
    other = serve({"/": sites.page(["/a"], "start"), "/a": sites.page([], "a")})

    async def run() -> list[Any]:
        one, two = (nephila.Crawler(s.url(), **QUICK) for s in (site, other))
        first = await asyncio.gather(urls(one), urls(two), urls(nephila.crawl(other.url(), **QUICK)))
        again = await one.run()
        return [*map(len, first), again.code]

    assert asyncio.run(run()) == [41, 2, 2, FINISHED]
    assert len(site.hits()) == 84


def test_a_folder_in_use_or_of_something_else(site: SiteServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(JobError, match="is a file, not a folder"):
        asyncio.run(nephila.Crawler(site.url(), folder=tmp_path / "file", **QUICK).run())
    with pytest.raises(ConfigError, match="did you mean"):
        nephila.Crawler(site.url(), max_page=3)
    with pytest.raises(ConfigError, match="on_pages is not a hook"):
        nephila.Crawler(site.url(), on_pages=print)
    assert site.hits() == []


def test_hooks_by_moment(site: SiteServer, tmp_path: Path) -> None:
    """Items are stored and exported; a refused request is SKIPPED; a hook that raises changes no outcome."""
    told: list[Any] = []

    class Spider(nephila.Crawler):
        def on_request(self, request: Any) -> bool | None:
            return False if request.url.endswith("/7") else None

        def on_response(self, page: Any) -> None:
            told.append(("response", page.status))

        def on_page(self, page: Any) -> Any:
            if page.url.endswith("/5"):
                raise ValueError("five")
            if page.url.endswith("/6"):
                yield page.follow("/more")
            yield {"title": page.title, "n": [1, None, "é"]}

        def on_outcome(self, url: str, outcome: str, reason: str) -> None:
            told.append((url.rpartition("/")[2], outcome, reason))

        def on_done(self, ending: Any) -> None:
            told.append(ending)

    job = tmp_path / "job"
    spider = Spider(site.url(), folder=job, **QUICK)
    ending = asyncio.run(spider.run())
    assert ending.code == FINISHED
    assert told[-1] is ending
    outcomes = dict(rows(job, "SELECT u.url, v.outcome || ' ' || v.reason FROM visit v JOIN url u ON u.id = v.url"))
    assert outcomes[site.url("/7")] == "SKIPPED on_request"
    assert outcomes[site.url("/5")] == "OK "
    assert outcomes[site.url("/more")] == "REFUSED status.404"
    assert not any(hit.path == "/7" for hit in site.hits())
    errors = rows(job, "SELECT u.url, a.reason FROM attempt a JOIN url u ON u.id = a.url")
    assert errors == [(site.url("/5"), "handler_error")]
    assert '"event":"handler.error"' in (job / "log.jsonl").read_text()
    assert ("7", "SKIPPED", "on_request") in told
    assert ("response", 200) in told
    prompt = Prompt(tmp_path)
    lines = [json.loads(line) for line in prompt.here("export", "jsonl", "job", "--to", "-").out.splitlines()]
    items = {line["url"]: line["items"] for line in lines}
    assert items[site.url("/3")] == [{"title": "3", "n": [1, None, "é"]}]
    assert items[site.url("/5")] == []


def test_a_hook_that_returns_what_json_cannot_hold(site: SiteServer, tmp_path: Path) -> None:
    """The item is not stored, the page is kept, and the log says so."""
    spider = nephila.Crawler(site.url(), folder=tmp_path / "job", on_page=lambda page: [object()], max_pages=3, **QUICK)
    assert asyncio.run(spider.run()).code == 3
    assert rows(tmp_path / "job", "SELECT count(*) FROM item") == [(0,)]
    assert '"event":"handler.error"' in (tmp_path / "job" / "log.jsonl").read_text()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A spider in a file of its own, as a program has it."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "my_own_spider.py").write_text(
        textwrap.dedent(
            """
            import os

            import nephila


            class Spider(nephila.Crawler):
                def on_page(self, page):
                    return [{"title": page.title, "pid": os.getpid()}]

                def on_request(self, request):
                    return not request.url.endswith("/7")
            """
        )
    )
    monkeypatch.syspath_prepend(str(folder))
    import my_own_spider  # type: ignore[import-not-found]

    yield my_own_spider
    del sys.modules["my_own_spider"]


def test_hooks_in_workers(site: SiteServer, module: Any, tmp_path: Path) -> None:
    import os

    async def run() -> list[Any]:
        spider = module.Spider(site.url(), folder=tmp_path / "job", workers=2, per_host=4, **QUICK)
        return [page async for page in spider]

    pages = asyncio.run(run())
    assert len(pages) == 40
    assert all(page.items[0]["title"] in page.title for page in pages)
    pids = {page.items[0]["pid"] for page in pages}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2
    assert rows(tmp_path / "job", "SELECT count(*) FROM item") == [(40,)]


def test_hooks_that_workers_cannot_import(site: SiteServer) -> None:
    class Local(nephila.Crawler):
        def on_page(self, page: Any) -> Any:
            return None

    with pytest.raises(ConfigError, match="module that can be imported"):
        Local(site.url(), workers=2)
    with pytest.raises(ConfigError, match="module that can be imported"):
        nephila.Crawler(site.url(), workers=2, on_page=print)
    assert nephila.Crawler(site.url(), workers=2).config.workers == 2


def test_a_task_that_is_cancelled_leaves_a_sound_folder(serve: Callable[..., SiteServer], tmp_path: Path) -> None:
    site = serve({"/": sites.page(["/slow"], "start"), "/slow": sites.Answer(b"late", delay_s=0.3)})

    async def run() -> None:
        task = asyncio.create_task(nephila.Crawler(site.url(), folder=tmp_path / "job", drain_s=0.1, **QUICK).run())
        await asyncio.to_thread(until, lambda: len(site.hits()) == 3, "the slow page")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert (tmp_path / "job" / "lock").read_text() == ""
    assert len(asyncio.run(urls(nephila.crawl(site.url(), folder=tmp_path / "job", **QUICK)))) == 1
    assert rows(tmp_path / "job", "SELECT count(*) FROM visit WHERE outcome = 'OK'") == [(2,)]


def test_no_signal_handler_and_no_thread_is_left(site: SiteServer) -> None:
    import signal
    import threading

    before: list[Any] = []
    during: list[Any] = []

    async def run() -> None:
        before[:] = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        async for _ in nephila.crawl(site.url(), max_pages=2, **QUICK):
            during[:] = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    asyncio.run(run())
    assert during == before
    until(lambda: not [t for t in threading.enumerate() if t.name == "crawl.db"], "the writer's thread is gone")


def test_a_secret_of_the_library_is_asked_for_again(tmp_path: Path) -> None:
    with Listener({"/": sites.page(["/a"], "start"), "/a": sites.page([], "a")}) as site:
        given: dict[str, Any] = {"folder": tmp_path / "job", "header": ["Authorization: s3cr3t"], **QUICK}
        assert asyncio.run(nephila.Crawler(site.url(), max_pages=1, **given).run()).code == 3
        del given["header"]
        with pytest.raises(ConfigError, match="was started with a secret that is not stored"):
            nephila.Crawler(site.url(), max_pages=0, **given)
