"""Every address of the window, against everybody who is not let in; which there are is asked of the routes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from ui.asking import ARCHIVE, DESK, OURS, Browser
from ui.doors import changing, doors

from nephila.ui.gate import PROGRAMS
from nephila.ui.serve import Server
from nephila.ui.window import PAGES

FOREIGN = (
    {"origin": "http://evil.example", "sec_fetch_site": "cross-site"},
    {"origin": "http://127.0.0.1:9999", "sec_fetch_site": "same-site"},
    {"origin": f"http://{ARCHIVE}", "sec_fetch_site": "cross-site"},
    {"origin": f"https://{DESK}"},
    {"origin": "null"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
)
"""What a browser says of requests that pages of others make."""

WRONG = ("evil.example", "localhost:4321", "127.0.0.1", "127.0.0.1:4322", "[::1]:4321", "", f"{DESK}.", f"x@{DESK}")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the crawl hears besides questions."""
    heard: list[Any] = []

    def ask(folder: object, request: dict[str, Any], timeout_s: float = 0.0) -> None:
        if request["verb"] not in ("status", "hosts"):
            heard.append(request)

    monkeypatch.setattr("nephila.control.ask", ask)
    return heard


def test_all_are_looked_at(server: Server) -> None:
    found = doors(server)
    assert {page.path for page in PAGES} <= {path for method, path in found if method == "GET"}
    assert {"/enter", "/steer", "/show", "/another", "/hosts/steer", "/rules/look", "/rules/set"} <= set(
        changing(server)
    )
    assert {f"/api/v1/{name}" for name in ("pause", "resume", "stop", "host", "settings")} <= set(changing(server))
    assert {"/live/now", "/live/hosts", "/metrics", "/api/v1/status"} <= {path for method, path in found}


def test_who_has_neither_cookie_nor_token_gets_nothing_from_any(server: Server, told: list[Any], job: Any) -> None:
    job.page("https://secret.example/", "secret", title="secret")
    stranger = Browser(server)
    for method, path in doors(server):
        status, _, text = stranger.ask(method, path, b"order=stop&action=drop&host=x", **OURS)
        assert (status, "secret" in text) == (403 if path == "/enter" else 401, False), path
    assert told == []


def test_a_wrong_token_opens_none_and_a_right_one_no_page(server: Server, told: list[Any]) -> None:
    program = Browser(server)
    for method, path in doors(server):
        if path != "/enter":
            assert program.ask(method, path, authorization="Bearer wrong", **OURS).status == 401, path
        if not path.startswith((*PROGRAMS, "/enter")):
            bearer = f"Bearer {server.gate.token}"
            assert program.ask(method, path, authorization=bearer, **OURS).status == 401, path
    assert told == []


def test_a_foreign_page_changes_and_reads_nothing_with_whatever_it_has(
    server: Server, browser: Browser, told: list[Any]
) -> None:
    jar, bearer = dict(browser.jar), {"authorization": f"Bearer {server.gate.token}"}
    for (method, path), headers, more in product(doors(server), FOREIGN, ({}, bearer)):
        answer = browser.ask(method, path, b"order=stop&action=drop&host=x&theme=dark", **(headers | more))
        assert (answer.status, "set-cookie" in answer.headers) == (403, False), (path, headers)
    assert (told, browser.jar) == ([], jar)


def test_what_says_nothing_of_where_it_comes_from_changes_nothing(browser: Browser, told: list[Any]) -> None:
    """A browser that is too old to say so, or a page that had the headers taken off."""
    for path in changing(browser.server):
        status = browser.ask("POST", path, b"order=stop").status
        assert status == (401 if path.startswith(PROGRAMS) else 403), path
    assert told == []


def test_a_wrong_host_opens_none(server: Server, browser: Browser, told: list[Any]) -> None:
    all_that_opens = OURS | {
        "cookie": "; ".join(f"{name}={value}" for name, value in browser.jar.items()),
        "authorization": f"Bearer {server.gate.token}",
    }
    for (method, path), host in product(doors(server), WRONG):
        assert browser.ask(method, path, b"order=stop", host, **all_that_opens).status == 421, (path, host)
    assert told == []


def test_the_archives_host_has_none_of_them(server: Server, browser: Browser, told: list[Any]) -> None:
    """Where kept pages are, and their scripts run."""
    cookie = "; ".join(f"{name}={value}" for name, value in browser.jar.items())
    for method, path in doors(server):
        bearer = f"Bearer {server.gate.token}"
        answer = browser.ask(method, path, b"order=stop", ARCHIVE, **OURS, cookie=cookie, authorization=bearer)
        assert answer.status in (404, 405), path
    assert told == []
