"""Replay on the window: pages of ours about kept ones, and kept ones shut in."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ui.asking import ARCHIVE, DESK, PORT, Browser

from nephila import cli
from nephila.ui.library import Library
from nephila.ui.serve import Server

A = "https://a.example"


@pytest.fixture
def site(job: Any, server: Server) -> Browser:
    job.page(f"{A}/", "<title>首页</title><p>hello", title="首页<b>")
    job.con.execute("UPDATE url SET parent = 0, kind = 'page'")
    job.page(f"{A}/x?a=b", "x", "text/plain", parent=1)
    browser = Browser(server)
    browser.enter()
    return browser


@pytest.fixture
def inside(site: Browser) -> str:
    """The secret part of the addresses of kept pages."""
    found = re.search(rf"{ARCHIVE}(/[^/]+/)boot", site.get(f"/view/2020/{A}/").text)
    assert found
    return found[1]


def test_pages_of_ours_name_seeds_times_and_what_is_missing(site: Browser) -> None:
    assert "首页&lt;b&gt;" in site.get("/archive").text
    assert f"/view/20231114221320/{A}/x?a=b" in site.get(f"/times/{A}/x?a=b").text
    assert site.get("/go?url=a.example/x%3Fa=b").headers["location"] == f"/times/{A}/x?a=b"
    status, _, text = site.get(f"/view/2020/{A}/nowhere")
    assert (status, f"Nothing is kept of {A}/nowhere" in text, f'href="{A}/nowhere"' in text) == (404, True, True)


def test_what_was_visited_and_not_kept_says_how_it_ended(site: Browser, job: Any) -> None:
    job.page(f"{A}/down", outcome=job.Outcome.UNREACHABLE, length=0, reason="dns.nxdomain", status=0)
    status, _, text = site.get(f"/view/2024/{A}/down")
    assert (status, "The last visit, at 2023-11-14 22:13:20 UTC: UNREACHABLE dns.nxdomain" in text) == (404, True)


def test_a_kept_page_is_on_the_other_host_and_may_load_from_there_only(site: Browser, inside: str) -> None:
    status, headers, text = site.get(f"{inside}2020/{A}/", ARCHIVE, sec_fetch_dest="iframe")
    assert (status, "hello" in text, f'<script src="{inside}page.js">' in text) == (200, True, True)
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; ")
    assert f"frame-ancestors http://{DESK} 'self'" in policy
    assert "allow-top-navigation" not in policy + site.get(f"/view/2020/{A}/").text
    assert "set-cookie" not in headers
    assert not any(secret in text for secret in site.jar.values())


@pytest.mark.parametrize("host", ["evil.example", f"localhost:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_another_host_name_opens_nothing(site: Browser, inside: str, host: str) -> None:
    assert {site.get(path, host).status for path in ("/", "/archive", f"{inside}2020/{A}/")} == {421}


def test_each_host_has_its_own_pages_only(site: Browser, inside: str) -> None:
    for path in (f"{inside}view/2020/{A}/", f"{inside}2020/{A}/"):
        assert site.get(path).status == 404, path
    for path in ("/", f"/wrong/2020/{A}/", "/archive", "/live/now", "/static/window.js"):
        assert site.get(path, ARCHIVE).status == 404, path


def test_kept_pages_are_no_windows_and_no_workers(site: Browser, inside: str) -> None:
    page = f"{inside}2020/{A}/"
    assert site.get(page, ARCHIVE, sec_fetch_dest="document").status == 403
    assert site.get(page, ARCHIVE, service_worker="script").status == 403


def test_an_address_that_begins_with_a_slash_is_led_back_to_its_site(site: Browser, inside: str) -> None:
    asking = f"http://{ARCHIVE}{inside}2020/{A}/deep/page"
    status, headers, _ = site.get("/x?a=b", ARCHIVE, referer=asking)
    assert (status, headers["location"]) == (307, f"{inside}2020/{A}/x?a=b")
    assert site.get("/x", ARCHIVE, referer=f"http://evil.example/2020/{A}/").status == 404


def test_archives_of_others_are_shown_too(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job.page(f"{A}/", "<title>首页</title><a href=/x>x</a>", title="首页")
    job.page(f"{A}/x", "what they kept", "text/plain")
    (theirs,) = (job.folder / "archive").iterdir()
    shown = []

    def run(source: Any, title: str, port: int, tell: Any, folder: Any, token: str) -> None:
        with Library(source) as library:
            browser = Browser(Server(library, title, PORT, None))
            browser.enter()
            (inside,) = re.findall(rf"{ARCHIVE}(/[^/]+/)boot", browser.get(f"/view/2020/{A}/").text)
            shown.append((title, folder, f"{A}/" in browser.get("/archive").text))
            shown.append(browser.get(f"{inside}2020/{A}/x", ARCHIVE, sec_fetch_dest="iframe").text)

    monkeypatch.setattr("nephila.ui.run", run)
    assert cli.main(["serve", "--from", str(theirs)]) == 0
    assert shown == [(theirs.name, None, True), "what they kept"]


def test_what_begins_with_no_script_of_ours_has_no_scripts_and_is_reached_by_none(site: Browser, inside: str) -> None:
    """An empty frame of a text, of what is missing, of a script, would have all that our scripts take away from pages."""
    for path, bare in ((f"{A}/", False), (f"{A}/x?a=b", True), (f"{A}/none", True)):
        _, headers, text = site.get(f"{inside}2020/{path}", ARCHIVE, sec_fetch_dest="iframe")
        assert headers["content-security-policy"].startswith("sandbox") == bare
        assert ("shut.js" in text) != bare
    assert (
        "frame-src 'self';"
        in headers["content-security-policy"] + site.get(f"{inside}boot", ARCHIVE).headers["content-security-policy"]
    )


def test_mistakes_are_told(job: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        ([], "give the folder of a crawl (nephila serve DIR)"),
        ([str(tmp_path / "none")], "there is no folder"),
        ([str(job.folder), "--with", "nobody"], "no such credential"),
        ([str(job.folder), "--port", "99999"], "--port 99999"),
    ):
        assert cli.main(["serve", *words]) == 2, words
        assert said in capsys.readouterr().err
