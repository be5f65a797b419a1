"""The crawl behind the window: asked in time, counted anew only when something changed."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import pytest

from nephila import control, stats
from nephila.ui import crawl as module
from nephila.ui.crawl import Crawl

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_a_question_that_takes_too_long_is_given_up(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_S_MAX", 0.05)
    with Crawl(job.folder) as crawl:
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            asyncio.run(crawl.ask(lambda con: con.execute(ENDLESS).fetchone()))
        assert asyncio.run(crawl.ask(lambda con: con.execute("SELECT 1").fetchone())) == (1,)


def test_the_window_never_writes(job: Any) -> None:
    with Crawl(job.folder) as crawl, pytest.raises(sqlite3.OperationalError, match="readonly"):
        asyncio.run(crawl.ask(lambda con: con.execute("DELETE FROM meta")))


def test_a_crawl_that_is_over_is_counted_anew_when_something_was_committed(
    job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    counted, real = [], stats.snapshot
    monkeypatch.setattr(stats, "snapshot", lambda *words, **more: counted.append(1) or real(*words, **more))

    async def three() -> list[int]:
        with Crawl(job.folder) as crawl:
            found = [(await crawl.status())["found"], (await crawl.status())["found"]]
            job.page("https://a.example/", "x")
            return [*found, (await crawl.status())["found"]]

    assert asyncio.run(three()) == [0, 0, 1]
    assert len(counted) == 2


def test_a_crawl_that_does_not_answer_keeps_its_last_numbers(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    answers = iter([{"state": "running", "found": 7}])

    def ask(*words: object) -> dict[str, Any]:
        if answer := next(answers, None):
            return answer
        raise TimeoutError

    monkeypatch.setattr(control, "ask", ask)

    async def twice() -> list[int]:
        with Crawl(job.folder) as crawl:
            return [(await crawl.status())["found"] for _ in range(2)]

    assert asyncio.run(twice()) == [7, 7]
