"""Replay: what an address shows at a time."""

from __future__ import annotations

from typing import Any

from nephila.types import Outcome
from nephila.views.replay import Replay, moment
from nephila.views.source import Source

A = "https://a.example"


def shown(job: Any, url: str, at: str, **more: Any) -> tuple[int, str, str] | None:
    """(status, content type or where it leads, body) of an address at a time."""
    with Source(job.folder, job.decode, **more) as source:
        replay = Replay(source)
        found = replay.show(url, moment(at), "/t", "<!--lead-->")
        replay.close()
        return found and (found.status, found.location or found.content_type, b"".join(found.blocks).decode())


def test_the_nearest_capture_is_shown(job: Any) -> None:
    job.page(f"{A}/", "old", "text/plain", started=moment("20200101"))
    job.page(f"{A}/", "new", "text/plain", round=2, started=moment("20220101"))
    assert [shown(job, f"{A}/", at)[2] for at in ("2019", "20200801", "20210801", "2030")] == [
        "old",
        "old",
        "new",
        "new",
    ]  # type: ignore[index]


def test_every_address_of_a_page_leads_into_the_archive(job: Any) -> None:
    job.page(
        f"{A}/d/", '<head><base href="/e/"><a href=x>x</a><img src="//b.example/i.png?q#f"><a href="mailto:a@b">m</a>'
    )
    job.page(f"{A}/s.css", "p { background: url(i.png) }", "text/css")
    page, sheet = shown(job, f"{A}/d/", "2020"), shown(job, f"{A}/s.css", "2020")
    assert page is not None
    assert sheet is not None
    assert page[2].startswith('<head><meta charset="utf-8"/><!--lead-->')
    at = "/t/20200101000000"
    for wanted in (f'href="{at}/{A}/e/x"', f'src="{at}/https://b.example/i.png?q#f"', 'href="mailto:a@b"'):
        assert wanted in page[2]
    assert sheet[1:] == ("text/css; charset=utf-8", f'p {{ background: url("{at}/{A}/i.png") }}')


def test_charsets_redirects_and_errors_are_as_they_were(job: Any) -> None:
    job.page(f"{A}/gbk", "<p>中文".encode("gbk"), charset="gbk")
    job.moved(f"{A}/old", f"{A}/gbk")
    job.page(f"{A}/gone", "no more", "text/plain", outcome=Outcome.REFUSED, status=410)
    job.page(f"{A}/down", outcome=Outcome.UNREACHABLE, length=0, reason="dns.nxdomain")
    assert "中文" in (shown(job, f"{A}/gbk", "2020") or ())[2]
    assert shown(job, f"{A}/old", "2020") == (301, f"/t/20200101000000/{A}/gbk", "")
    assert shown(job, f"{A}/gone", "2020") == (410, "text/plain", "no more")
    assert shown(job, f"{A}/down", "2020") is None
    assert shown(job, "http://a.example/gbk", "2020") is not None  # as it was met over https


def test_a_member_is_shown_to_those_who_name_the_credential(job: Any) -> None:
    job.page(f"{A}/in", "inside", "text/plain", access="me")
    assert shown(job, f"{A}/in", "2020") is None
    assert shown(job, f"{A}/in", "2020", access=frozenset({"me"})) is not None


def test_what_a_running_crawl_adds_is_found(job: Any) -> None:
    with Source(job.folder, job.decode) as source:
        replay = Replay(source)
        assert replay.captures(f"{A}/later") == []
        job.page(f"{A}/later", "x")
        assert len(replay.captures(f"{A}/later")) == 1
        replay.close()
