"""Page *Now*: numbers, curves, what came last; and that nothing of a page is more than text in it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from ui.asking import DESK, OURS, Browser

from nephila import stats
from nephila.ui import crawl as crawl_module
from nephila.ui import desk as desk_module

A = "https://a.example"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202egnp.exe"


def pieces(browser: Browser, path: str, upto: int) -> list[dict[str, str]]:
    """What a stream has sent in its first `upto` pieces."""
    answer = asyncio.run(browser.asking("GET", path, b"", DESK, dict(OURS), upto))
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    return [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: ")]


def test_a_crawl_that_is_over_is_shown_from_its_database(job: Any, browser: Browser) -> None:
    job.con.execute("INSERT INTO meta VALUES ('state', 'finished'), ('seconds', '12')")
    job.page(f"{A}/", "x" * 1500, title="home")
    job.page(f"{A}/gone", outcome=job.Outcome.REFUSED, status=410, reason="http_410")
    text = browser.get("/").text
    assert '<span class="chip finished">finished</span>' in text
    assert "<dt>kept</dt><dd>1</dd>" in text
    assert "<dt>not kept</dt><dd>1</dd>" in text
    assert "<dd>1.5 kB</dd>" in text
    assert f'<a href="/page?url=https%3A//a.example/gone"><bdi>{A}/gone</bdi></a>' in text
    assert "http_410" in text
    assert 'value="pause"' not in text


def test_what_a_site_says_is_text(job: Any, browser: Browser) -> None:
    job.page(f"{A}/?q=%3Cscript%3E", "x", EVIL, title=EVIL)
    job.page(f"{A}/b", outcome=job.Outcome.REFUSED, reason=EVIL, status=500, media_type=EVIL)
    job.page("https://<b>.example/'\"><script>", "x")
    job.con.execute(
        "INSERT INTO host (id, origin, state, verdict, robots_state) VALUES (7, ?, ?, ?, ?)",
        (f"http://{EVIL}/", EVIL, EVIL, EVIL),
    )
    for path in ("/", "/hosts", "/archive", "/hosts?text=%3Cscript%3E&sort=%22%3E&shown=x&page=-1&heat=%3Cb%3E"):
        status, _, text = browser.get(path)
        assert status == 200, path
        assert "<script>alert" not in text, path
        assert "<img src=x" not in text, path
        assert "<script>" not in text.replace('<script src="/static/window.js" defer></script>', ""), path
        assert "\u202e" not in text, path
    (first,) = pieces(browser, "/live/now", 1)
    assert "&lt;script&gt;alert(1)" in first["recent"]
    assert "<script" not in "".join(first.values())


def running(monkeypatch: pytest.MonkeyPatch, job: Any, **more: Any) -> list[Any]:
    """A crawl that runs, as far as the control socket tells. Returns what it is told."""
    told: list[Any] = []
    status = stats.snapshot(job.con, folder=job.folder, running=True) | {"state": "running", "workers": 2} | more

    def ask(folder: object, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        told.append(request)
        return {"status": status, "hosts": {"hosts": more.get("live", [])}}.get(request["verb"], {"ok": "as told"})

    monkeypatch.setattr("nephila.control.ask", ask)
    return told


def test_only_parts_that_changed_are_sent_again(job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "LIVE_S", 0.01)
    running(monkeypatch, job)
    first, *others = pieces(browser, "/live/now", 4)
    assert {"state", "numbers", "speed", "recent", "orders"} <= first.keys()
    assert 'value="pause"' in first["orders"]
    assert all("numbers" not in other for other in others)


def test_warnings_forecast_and_limits_are_said(job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    running(
        monkeypatch,
        job,
        offline_since=1_700_000_000.0,
        forecast={"low_s": 60, "likely_s": 120, "high_s": 3600},
        limited_by=[{"what": "manners", "share": 0.75, "hosts": ["https://slow.example"]}],
        hosts=[{"origin": "https://bad.example", "queued": 3, "delay": 1.0, "failures": 5, "ms": 12}],
        warnings=[],
    )
    text = browser.get("/").text
    for said in (
        "No network since 2023-11-14 22:13:20 UTC",
        "https://bad.example has failed 5 times in a row.",
        "about 0:02:00 left",
        "between 0:01:00 and 1:00:00",
        "pauses between requests to a host",
        "https://slow.example",
        "75 %",
    ):
        assert said in text, said


def test_the_warnings_of_a_running_crawl_come_before_what_its_numbers_tell(
    job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_module, "FRESH_S", 0.0)
    kinds = "trap host failing disk network proxy reader worker login store"  # docs/steering.md
    for kind in kinds.split():
        running(
            monkeypatch,
            job,
            warnings=[{"kind": kind, "text": f"<i>{kind}", "since": 1_700_000_000.0, "name": kind, "facts": {}}],
        )
        text = browser.get("/").text
        assert f'<bdi>&lt;i&gt;{kind}</bdi> <span class="soft">since 2023-11-14 22:13:20 UTC' in text


def test_a_warning_is_said_in_chinese(job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"origin": "https://<i>.example", "failures": 4}
    running(
        monkeypatch, job, warnings=[{"kind": "failing", "text": "x", "since": 0, "name": "failing", "facts": facts}]
    )
    assert "https://&lt;i&gt;.example 已连续失败 4 次" in browser.get("/", accept_language="zh").text


def test_more_pages_than_that_are_not_live(job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "STREAMS_MAX", 0)
    assert browser.get("/live/now", **OURS).status == 503


def test_the_end_of_the_crawl_is_the_end_of_its_stream(job: Any, browser: Browser) -> None:
    crawl = browser.server.desk.crawl
    assert crawl is not None
    crawl.over = True
    answer = browser.get("/live/now", **OURS)
    assert answer.text.endswith("event: over\ndata: {}\n\n")
    assert f"nephila serve {job.folder}" in browser.get("/").text


def test_a_members_page_is_not_among_the_last(job: Any, browser: Browser) -> None:
    job.page(f"{A}/members", "x", access="me")
    job.page(f"{A}/open", "x")
    text = browser.get("/").text
    assert (f"{A}/open" in text, f"{A}/members" in text) == (True, False)


LIVE = {"origin": f"{A}", "queued": 1234, "in_flight": 3, "delay": 2.5, "ms": 40, "failures": 0, "state": "slow 2.5", "parked_until": 0.0, "verdict": ""}  # fmt: skip


def test_hosts_are_as_the_running_crawl_knows_them(job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    job.con.execute("INSERT INTO host (id, origin, robots_state, robots_status) VALUES (1, ?, 'present', 200)", (A,))
    running(monkeypatch, job, live=[LIVE])
    text = browser.get("/hosts").text
    for said in (">1,234<", ">2.5 s<", "slowed to 2.5 s", f'name="host" value="{A}"', "present"):
        assert said in text, said


def test_what_is_done_with_hosts_is_told_to_the_crawl(
    job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = running(monkeypatch, job)
    body = (
        "host=https%3A%2F%2Fa.example&host=https%3A%2F%2Fb.example&action=slow&seconds=2.5&back=%2Fhosts%3Fsort%3Dpages"
    )
    answer = browser.ask("POST", "/hosts/steer", body.encode(), **OURS)
    assert (answer.status, answer.headers["location"]) == (303, "/hosts?sort=pages&said=1")
    order = {"verb": "host", "action": "slow", "value": 2.5}
    assert told == [order | {"host": "https://a.example"}, order | {"host": "https://b.example"}]
    assert "Done: Slow: https://a.example, https://b.example" in browser.get("/hosts?said=1").text


@pytest.mark.parametrize("fields", [{"action": "drop"}, {"host": A}, {"host": A, "action": "burn"}])
def test_an_order_that_is_none_is_refused(
    job: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str]
) -> None:
    told = running(monkeypatch, job)
    assert browser.post("/hosts/steer", fields).status == 400
    assert told == []


def test_a_form_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.ask("POST", "/steer", b"x" * 70_000, **OURS).status == 413
