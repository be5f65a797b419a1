"""The benchmarks over the made-up web: fairness, pace without the time of a kill, and what does not pass."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from benchmarks.million import Result, judge, paces, plot, report
from benchmarks.watch import Look, Tally, expected, kept
from benchmarks.wide import Polite

from nephila.testing.fairness import jain
from nephila.testing.web import MadeUpWeb, Spec

MB = 1_000_000


def test_jain_index() -> None:
    assert jain([3.0, 3.0, 3.0]) == 1.0
    assert jain([6.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    assert jain([]) == 0.0


def test_share_of_the_bound() -> None:
    polite = Polite(500, 2.0, [250, 200, 240], 1.0, [2.0], 1.0, 1, 1)
    assert polite.share == pytest.approx(0.92)


def result(rates: list[int], **more: object) -> Result:
    """A crawl of 10,000 pages, one look every second; killed at half and away for 30 seconds."""
    looks, visits, at, k = [], 0, 0.0, 0
    killed = 0.0
    while visits < 10_000:
        looks.append(
            Look(at, visits, visits, 50 * MB, (60 * MB, 70 * MB), 4 * MB, visits * 1000, visits * 7000, visits * 0.001)
        )
        if visits >= 5_000 and not killed:
            killed, at = at, at + 30
        visits, at, k = visits + rates[k % len(rates)], at + 1, k + 1
    tally = Tally({"OK": 9_000}, {"OK": 1})
    whole = Result(looks, killed, killed + 30, at, tally, tally, visits, visits, {}, [], 1.0, [1.0, 2.0, 2.0])
    return whole._replace(**more)  # type: ignore[arg-type]


def test_the_time_of_the_kill_is_no_pace() -> None:
    assert paces(result([50])) == pytest.approx([50] * 10, rel=0.05)
    assert judge(result([50])) == []


def test_what_does_not_pass() -> None:
    good = result([50])
    looks = [look._replace(wal=400 * MB) for look in good.looks]
    lost, other = Tally({"OK": 8_999}, {"OK": 2}), Tally({"OK": 9_000}, {"OK": 2})
    assert judge(good._replace(got=lost)) == ["OK: 8999 in place of 9000"]
    assert judge(good._replace(got=other)) == ["the counts are right, the URLs are not"]
    assert judge(good._replace(got=Tally({"OK": 9_000, "UNREACHABLE": 1}, {}))) == ["UNREACHABLE: 1 in place of 0"]
    assert judge(good._replace(trouble={"worker.died": 2})) == ["worker.died (2 times)"]
    assert judge(good._replace(left=["tmp"])) == ["left behind: tmp"]
    assert judge(good._replace(looks=looks)) == ["the write-ahead log grew to 400 MB"]


def test_links_that_lead_nowhere_are_no_pages() -> None:
    good = result([50])
    last = good.looks[-1]
    dead = [last._replace(time=last.time + s, visits=last.visits + 200 * s, pages=good.pages) for s in range(1, 60)]
    assert judge(good._replace(looks=good.looks + dead, visits=dead[-1].visits, end_s=dead[-1].time)) == []


def test_a_slow_tenth_does_not_pass() -> None:
    rates = [50] * 100 + [20] * 25 + [50] * 100
    assert [fault.startswith("a tenth is") for fault in judge(result(rates))] == [True]


def test_equal_tallies_mean_equal_sets(tmp_path: Path) -> None:
    web = MadeUpWeb(Spec(hosts=3, pages=5))
    names = {200: "OK", 301: "MOVED", 302: "MOVED", 404: "REFUSED", 0: "DENIED"}
    con = sqlite3.connect(tmp_path / "crawl.db")
    con.execute("CREATE TABLE url (id INTEGER PRIMARY KEY, url TEXT, kind TEXT)")
    con.execute("CREATE TABLE visit (url INTEGER, outcome TEXT)")
    for id, (url, status) in enumerate(reversed(list(web.everything())), 1):
        con.execute("INSERT INTO url VALUES (?, ?, 'page')", (id, url))
        con.execute("INSERT INTO visit VALUES (?, ?)", (id, names[status]))
    con.execute("INSERT INTO url VALUES (0, 'http://127.0.0.1/robots.txt', 'robots')")
    con.execute("INSERT INTO visit VALUES (0, 'OK')")
    con.commit()
    assert kept(tmp_path) == expected(web)
    con.execute("UPDATE visit SET outcome = 'REFUSED' WHERE url = 5")
    con.commit()
    con.close()
    assert kept(tmp_path) != expected(web)


def test_the_report_says_what_was_found(tmp_path: Path) -> None:
    text = report(10_000, result([50]), [])
    assert "**50 a second**" in text
    assert "every expected URL has its outcome once" in text
    assert "| 10 | 50 | 1,000 | 50 | 70 | 4 | 10 | 70 |" in text


@pytest.mark.long
def test_the_plot_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        plot(result([50]), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
