"""The gate: who has no cookie, comes from another page, or uses a token twice, sees and changes nothing."""

from __future__ import annotations

import re

import pytest
from ui.asking import DESK, ORIGIN, OURS, Browser

from nephila.ui.serve import Server

PATHS = (
    "/",
    "/archive",
    "/live/now",
    "/static/window.js",
    "/view/2020/https://a.example/",
    "/nowhere",
    "/openapi.json",
)


def test_without_the_cookie_there_is_nothing_but_how_to_come_in(server: Server) -> None:
    stranger = Browser(server)
    for path in PATHS:
        status, _, text = stranger.get(path)
        assert (status, "a.example" in text) == (401, False), path
        assert re.findall(r'(?:src|href)="([^"]+)"', text) == [
            "/static/icon.svg",
            "/static/window.css",
            "/static/enter.js",
        ]
    assert stranger.post("/steer", {"order": "stop"}).status == 401
    assert stranger.get("/static/enter.js").status == 200


def test_a_token_opens_once_and_for_one_browser(server: Server) -> None:
    token = server.address().partition("#token=")[2]
    first, second = Browser(server), Browser(server)
    entered = first.enter(token)
    assert entered.status == 204
    assert re.fullmatch(r"nephila-4321=[^;]+; HttpOnly; Path=/; SameSite=strict", entered.headers["set-cookie"])
    assert first.get("/").status == 200
    assert (second.enter(token).status, second.get("/").status) == (403, 401)


def test_another_browser_comes_in_by_an_address_that_the_first_one_makes(server: Server, browser: Browser) -> None:
    found = re.search(rf"{ORIGIN}/#token=([\w-]+)", browser.post("/another", {}).text)
    second = Browser(server)
    assert found
    assert second.enter(found[1]).status == 204
    assert second.get("/").status == 200


@pytest.mark.parametrize("token", ["", "x", "x" * 1000, "é"])
def test_no_other_token_opens(server: Server, token: str) -> None:
    server.address()
    assert Browser(server).ask("POST", "/enter", token.encode(), **OURS).status == 403


def test_the_token_is_in_no_answer_and_asked_for_by_post(server: Server, browser: Browser) -> None:
    token = server.address().partition("#token=")[2]
    assert token not in browser.get("/").text
    assert browser.get(f"/enter?token={token}").status == 405


def test_addresses_that_nobody_opened_are_forgotten(server: Server) -> None:
    first, *_, last = [server.address().partition("#token=")[2] for _ in range(9)]
    assert (Browser(server).enter(first).status, Browser(server).enter(last).status) == (403, 204)


FOREIGN = (
    {"origin": "http://evil.example", "sec_fetch_site": "cross-site"},
    {"origin": "http://evil.example"},
    {"origin": "http://127.0.0.1:9999", "sec_fetch_site": "same-site"},
    {"origin": f"http://replay.localhost:{DESK[-4:]}"},
    {"origin": "null"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
)


@pytest.mark.parametrize("headers", [*FOREIGN, {"referer": f"{ORIGIN}/"}])
def test_a_foreign_page_changes_nothing_even_with_the_cookie(
    browser: Browser, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    monkeypatch.setattr("nephila.control.ask", lambda folder, request, timeout_s: told.append(request))
    for path, fields in (("/steer", {"order": "stop"}), ("/show", {"theme": "dark"}), ("/another", {})):
        assert browser.post(path, fields, **headers).status == 403, path
    assert browser.ask("POST", "/enter", b"x", **headers).status == 403
    assert not [request for request in told if request != {"verb": "status"}]


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_foreign_page_reads_no_stream_and_no_page_even_with_the_cookie(
    browser: Browser, headers: dict[str, str]
) -> None:
    for path in ("/live/now", "/", "/static/window.js"):
        assert browser.get(path, **headers).status == 403, path


def test_a_link_may_lead_a_browser_here_but_not_into_a_frame(browser: Browser) -> None:
    led = browser.get("/", sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="document")
    assert led.status == 200
    assert "frame-ancestors 'none'" in led.headers["content-security-policy"]
    assert led.headers["cross-origin-resource-policy"] == "same-origin"
    assert browser.get("/live/now", sec_fetch_site="cross-site", sec_fetch_mode="navigate").status == 403


def test_the_policy_allows_no_inline_script_no_eval_and_no_other_origin(browser: Browser) -> None:
    policy = browser.get("/").headers["content-security-policy"]
    assert policy.startswith(
        "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; "
    )
    assert "unsafe" not in policy
    for path in ("/", "/archive"):
        text = browser.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=\"/static/)", text), path


def test_orders_are_passed_on_and_the_answer_is_shown_once_per_order(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    def ask(folder: object, request: dict[str, object], timeout_s: float) -> dict[str, str] | None:
        told.append(request)
        return {"error": "<b>no"} if request["verb"] == "pause" else None

    monkeypatch.setattr("nephila.control.ask", ask)
    status, headers, _ = browser.post("/steer", {"order": "pause", "back": "/archive"})
    assert (status, headers["location"], {"verb": "pause"} in told) == (303, "/archive?said=1", True)
    assert "Not done: &lt;b&gt;no" in browser.get("/archive?said=1").text
    assert browser.post("/steer", {"order": "explode"}).status == 400
    assert browser.post("/steer", {"order": "stop"}).headers["location"] == "/?said=2"
    assert "No crawl is running." in browser.get("/?said=2").text


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x", "/\r\nx: y"]
)
def test_a_form_leads_back_to_pages_of_ours_only(browser: Browser, back: str) -> None:
    assert browser.post("/show", {"theme": "dark", "back": back}).headers["location"] == "/"


def test_language_and_colours_are_the_browsers_until_they_are_chosen(browser: Browser) -> None:
    assert '<html lang="zh-Hans">' in browser.get("/", accept_language="zh-CN,zh;q=0.9,en;q=0.8").text
    assert '<html lang="en">' in browser.get("/", accept_language="fr,en;q=0.8").text
    browser.post("/show", {"language": "zh", "back": "/"})
    browser.post("/show", {"theme": "dark", "back": "/"})
    browser.post("/show", {"theme": "x", "language": "fr"})
    assert '<html lang="zh-Hans" data-theme="dark">' in browser.get("/", accept_language="en").text
