"""Replay: an address at a time, and a server that shows it to nobody but the one who was given its address."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from nephila import cli
from nephila.job import source
from nephila.types import Outcome
from nephila.ui.library import Library
from nephila.ui.serve import Server
from nephila.views.replay import Replay, moment
from nephila.views.source import Source

A = "https://a.example"
PORT = 4321
DESK, ARCHIVE = f"127.0.0.1:{PORT}", f"replay.localhost:{PORT}"


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


class Served:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.root = server.address.partition(DESK)[2]
        frame = self.get(f"{self.root}view/2020/{A}/")[2]
        self.inside = (re.search(rf"{ARCHIVE}(/[^/]+/)boot", frame) or ["", ""])[1]

    def get(self, path: str, host: str = DESK, **headers: str) -> tuple[int, dict[str, str], str]:
        """(status, headers, body), asked of the application itself."""
        raw, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": raw,
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (b"host", host.encode()),
                *((n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()),
            ],
        }
        told = list[Any]()

        async def receive() -> Any:
            await asyncio.sleep(3600)

        async def send(message: Any) -> None:
            told.append(message)

        asyncio.run(self.server(scope, receive, send))
        found = {name.decode(): value.decode() for name, value in told[0]["headers"]}
        return told[0]["status"], found, b"".join(one.get("body", b"") for one in told[1:]).decode()


@pytest.fixture
def site(job: Any) -> Iterator[Served]:
    job.page(f"{A}/", "<title>首页</title><p>hello", title="首页<b>")
    job.con.execute("UPDATE url SET parent = 0, kind = 'page'")
    job.page(f"{A}/x?a=b", "x", "text/plain", parent=1)
    with Library(source(job.folder)) as library:
        yield Served(Server(library, "a.example", PORT))


def test_pages_of_ours_name_seeds_times_and_what_is_missing(site: Served) -> None:
    assert "首页&lt;b&gt;" in site.get(site.root)[2]
    assert f"view/20231114221320/{A}/x?a=b" in site.get(f"{site.root}times/{A}/x?a=b")[2]
    assert site.get(f"{site.root}go?url=a.example/x%3Fa=b")[1]["location"] == f"{site.root}times/{A}/x?a=b"
    status, _, text = site.get(f"{site.root}view/2020/{A}/nowhere")
    assert (status, f"Nothing is kept of {A}/nowhere" in text, f'href="{A}/nowhere"' in text) == (404, True, True)


def test_a_kept_page_is_on_the_other_host_and_may_load_from_there_only(site: Served) -> None:
    status, headers, text = site.get(f"{site.inside}2020/{A}/", ARCHIVE, sec_fetch_dest="iframe")
    assert (status, "hello" in text, f'<script src="{site.inside}page.js">' in text) == (200, True, True)
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; ")
    assert f"frame-ancestors http://{DESK} 'self'" in policy
    assert "allow-top-navigation" not in policy + site.get(f"{site.root}view/2020/{A}/")[2]
    assert "set-cookie" not in headers
    assert site.root not in text


@pytest.mark.parametrize("host", ["evil.example", f"localhost:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_another_host_name_opens_nothing(site: Served, host: str) -> None:
    assert {site.get(path, host)[0] for path in (site.root, "/", f"{site.inside}2020/{A}/")} == {421}


def test_without_the_token_there_is_nothing(site: Served) -> None:
    for path in (
        "/",
        "/view/2020/" + A,
        f"/wrong/view/2020/{A}/",
        f"{site.inside}view/2020/{A}/",
        f"{site.inside}2020/{A}/",
    ):
        assert site.get(path)[0] == 404, path
    for path in ("/", f"/wrong/2020/{A}/", f"{site.root}2020/{A}/", site.root):
        assert site.get(path, ARCHIVE)[0] == 404, path


def test_kept_pages_are_no_windows_and_no_workers(site: Served) -> None:
    page = f"{site.inside}2020/{A}/"
    assert site.get(page, ARCHIVE, sec_fetch_dest="document")[0] == 403
    assert site.get(page, ARCHIVE, service_worker="script")[0] == 403


def test_an_address_that_begins_with_a_slash_is_led_back_to_its_site(site: Served) -> None:
    asking = f"http://{ARCHIVE}{site.inside}2020/{A}/deep/page"
    status, headers, _ = site.get("/x?a=b", ARCHIVE, referer=asking)
    assert (status, headers["location"]) == (307, f"{site.inside}2020/{A}/x?a=b")
    assert site.get("/x", ARCHIVE, referer=f"http://evil.example/2020/{A}/")[0] == 404


def test_mistakes_are_told(job: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        ([], "give the folder of a crawl (nephila serve DIR)"),
        ([str(tmp_path / "none")], "is not a crawl"),
        ([str(job.folder), "--with", "nobody"], "no such credential"),
        ([str(job.folder), "--port", "99999"], "--port 99999"),
    ):
        assert cli.main(["serve", *words]) == 2, words
        assert said in capsys.readouterr().err
