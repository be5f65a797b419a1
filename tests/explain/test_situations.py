"""The table: the deciding rule and the sentence are right, and what is said to change it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from explain.made import Made
from explain.situations import CRAWLS, TABLE, Crawl, Situation

from nephila.testing.fakeweb import FakeWeb
from nephila.views.source import Source

BY_NAME = [pytest.param(one, id=one.name) for one in TABLE]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """The crawls of the table, each made when it is asked for."""
    base = tmp_path_factory.mktemp("jobs")

    class Jobs(dict[str, Made]):
        def __missing__(self, name: str) -> Made:
            crawl = CRAWLS[name]
            self[name] = Made(base / name, crawl.web, crawl.config(), crawl.until)
            return self[name]

    return Jobs()


def test_there_are_forty() -> None:
    assert len(TABLE) >= 40
    assert len({one.name for one in TABLE}) == len(TABLE)


@pytest.mark.parametrize("situation", BY_NAME)
def test_the_rule_and_the_sentence(jobs: dict[str, Made], situation: Situation) -> None:
    answer = jobs[situation.crawl].explain(situation.url)
    assert (answer.verdict, answer.rule) == (situation.verdict, situation.rule)
    assert situation.sentence in answer.sentence
    name, text = situation.step
    assert [step.text for step in answer.steps if step.name == name and text in step.text] or not answer.steps


@pytest.mark.parametrize("situation", BY_NAME)
def test_what_would_change_it(jobs: dict[str, Made], situation: Situation) -> None:
    if situation.would is not None:
        assert [would.set for would in jobs[situation.crawl].explain(situation.url).would] == situation.would


def changes() -> list[Any]:
    """Every change of the table that is promised to have it fetched."""
    found = []
    for one in TABLE:
        found += [pytest.param(one, n, id=f"{one.name} {n}") for n in range(len(one.would or ()))]
    return found


@pytest.mark.long
@pytest.mark.parametrize(("situation", "n"), changes())
def test_a_crawl_with_the_change_asks_for_it(tmp_path: Path, situation: Situation, n: int) -> None:
    """And without it, it did not. What was never met is linked from the first page then, if it is to be met by a link."""
    crawl = CRAWLS[situation.crawl]
    job = Made(tmp_path / "job", crawl.web, crawl.config(), crawl.until)
    answer = job.explain(situation.url)
    would = answer.would[n]
    if not would.fetched:
        pytest.skip("nothing is promised")
    assert job.web.times(answer.url) == 0
    if answer.verdict != "unseen" or "seeds" in would.set:
        assert job.carry_on(would.set, would.retry).times(answer.url) > 0
    else:
        assert linked(tmp_path / "without", crawl, answer.url, {}) == 0
        assert linked(tmp_path / "with", crawl, answer.url, would.set) > 0


def linked(folder: Path, crawl: Crawl, url: str, set: dict[str, Any]) -> int:
    """How often the URL is asked for by a crawl whose first page links to it."""

    def web(fake: FakeWeb) -> None:
        crawl.web(fake)
        fake.page(crawl.config().seeds[0], [url])

    return Made(folder, web, msgspec.structs.replace(crawl.config(), **set)).web.times(url)


def test_what_is_not_looked_up_in_time_is_not_said_to_be_missing(
    jobs: dict[str, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Source,
        "within",
        lambda source, seconds, query, *values: None if "known" in query else source.rows(query, *values),
    )
    answer = jobs["plain"].explain("http://a.test/ok")
    assert (answer.verdict, answer.unknown) == ("unknown", ["addresses"])
    assert answer.sentence == "It could not be looked up in two seconds: ask again."
