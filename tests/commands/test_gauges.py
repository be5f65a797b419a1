"""What holds a crawl up, and what somebody should know: each is provoked, told, and taken back when it is over."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from nephila import gauges
from nephila.config import Config
from nephila.frontier.gauge import Gauge, Line
from nephila.gauges import Gauges

CALM = Gauge(0.0, 10.0, 5, 5, 100, 3, 1, False, None, False, False, 0, [Line("http://a.test", 5, 3, 2.0)], [])


class Crawl:
    """Gauges over a crawl that is what its test says."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self.now, self.told = 0.0, CALM
        self.config = Config(**{"min_free": 0} | config)
        self.gauges = Gauges(folder, self.look, lambda: self.config, lambda: 8, lambda: [])

    def look(self) -> Gauge:
        return self.told._replace(now=self.now)

    def sample(self, seconds: int = 1, **told: Any) -> None:
        for _ in range(seconds):
            self.now += 1000.0  # no processor is busy for so long
            self.told = CALM._replace(**told)
            self.gauges.sample()

    def limits(self) -> dict[str, float]:
        return {one["what"]: one["share"] for one in self.gauges.status()["limited_by"]}

    def warnings(self) -> list[tuple[str, str]]:
        return [(one["kind"], one["text"]) for one in self.gauges.status()["warnings"]]


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ({}, "manners"),
        ({"paused": True, "leases": 8}, "paused"),
        ({"offline_since": 5.0}, "network"),
        ({"full": True, "leases": 8}, "disk"),
        ({"leases": 8}, "connections"),
        ({"leases": 0, "looked_up": 3}, "dns"),
        ({"lines": [], "looked_up": 3}, "dns"),
        ({"lines": [], "queued": 0}, "nothing"),
    ],
)
def test_each_is_told(crawl: Crawl, told: dict[str, Any], what: str) -> None:
    crawl.sample(3, **told)
    assert crawl.limits() == {what: 1.0}
    hosts = crawl.gauges.status()["limited_by"][0]["hosts"]
    assert hosts == (["http://a.test"] if what == "manners" else [])


def test_hosts_that_somebody_paused(crawl: Crawl) -> None:
    """They hold a crawl up only when nothing else is left."""
    crawl.sample(held=["http://b.test"], queued=0, leases=0, lines=[])
    assert crawl.gauges.status()["limited_by"] == [{"what": "paused", "share": 1.0, "hosts": ["http://b.test"]}]
    crawl.sample(held=["http://b.test"], queued=3, leases=0)
    assert crawl.limits() == {"paused": 0.5, "manners": 0.5}


def test_a_processor_that_is_used_up(crawl: Crawl) -> None:
    end = time.process_time() + 0.15
    crawl.gauges.sample()
    while time.process_time() < end:
        pass
    crawl.now += 0.15
    crawl.gauges.sample()
    assert crawl.limits() == {"manners": 0.5, "cpu": 0.5}
    assert gauges.processor_s(os.getpid()) is not None
    assert gauges.processor_s(1 << 30) is None


def test_shares_are_of_the_last_minute(crawl: Crawl) -> None:
    crawl.sample(500, paused=True)
    crawl.sample(45)
    assert crawl.limits() == {"manners": 0.75, "paused": 0.25}


def test_a_host_that_fails_and_answers_again(crawl: Crawl) -> None:
    crawl.sample(failing=[("http://a.test", 3)])
    (since,) = [one["since"] for one in crawl.gauges.status()["warnings"]]
    crawl.sample(failing=[("http://a.test", 5)])
    assert crawl.warnings() == [("failing", "http://a.test has failed 5 times in a row")]
    assert [one["since"] for one in crawl.gauges.status()["warnings"]] == [since]
    crawl.sample()
    assert crawl.warnings() == []


def test_no_network_since(crawl: Crawl) -> None:
    crawl.sample(offline_since=123.0)
    assert crawl.gauges.status()["warnings"][0] == {
        "kind": "network", "text": "no network: waiting, nothing is counted as failed", "since": 123.0, "name": "network", "facts": {}
    }  # fmt: skip
    crawl.sample()
    assert crawl.warnings() == []


def test_a_disk_with_little_left(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, min_free=1 << 60)
    crawl.sample()
    assert [kind for kind, _ in crawl.warnings()] == ["disk"]


def test_a_disk_that_fills(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter(range(10**9, 0, -(10**6)))
    monkeypatch.setattr(gauges.shutil, "disk_usage", lambda path: type("Usage", (), {"free": next(free)}))
    crawl.config = Config(min_free=10)
    crawl.sample()
    assert crawl.warnings() == []
    for _ in range(70):
        crawl.now += 1.0 - 1000.0
        crawl.sample()
    assert [kind for kind, _ in crawl.warnings()] == ["disk"]


def test_a_reader_that_holds_the_log_back(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    with open(tmp_path / "crawl.db-wal", "wb") as log:
        log.truncate(gauges.LOG_BYTES_MAX + 1)
    crawl.sample()
    assert crawl.warnings() == []
    crawl.sample()
    assert [kind for kind, _ in crawl.warnings()] == ["reader"]
    os.truncate(tmp_path / "crawl.db-wal", 0)
    crawl.sample()
    assert crawl.warnings() == []


def test_events_that_are_worth_a_warning(crawl: Crawl) -> None:
    crawl.gauges.heard(
        "trap.suspected", {"pages": 70, "origin": "http://a.test", "form": "/?a", "rule": "", "samples": []}
    )
    for _ in range(2):
        crawl.gauges.heard("worker.died", {"worker": 2, "pid": 7, "status": -9})
    crawl.gauges.heard("limit.reached", {})
    assert crawl.warnings() == [
        ("trap", "70 addresses like http://a.test/?a say nothing new: the rest is refused"),
        ("worker", "worker 2 ended unasked and was replaced"),
    ]


def test_there_are_never_many(crawl: Crawl) -> None:
    crawl.sample(failing=[(f"http://h{n}.test", 4) for n in range(500)])
    assert len(crawl.warnings()) == gauges.WARNINGS_MAX
