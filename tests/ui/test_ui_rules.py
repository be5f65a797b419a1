"""Page Rules: the rules as they are, what others would do, and that what is applied is what was changed, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from explain.made import Made
from explain.situations import CRAWLS, A, B
from ui.asking import PORT, Browser

from nephila import control
from nephila.config import Config
from nephila.job import source
from nephila.testing.fakeweb import FakeWeb
from nephila.ui.crawl import Crawl
from nephila.ui.library import Library
from nephila.ui.serve import Server

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    crawl = CRAWLS["plain"]

    def web(fake: FakeWeb) -> None:
        crawl.web(fake)
        fake.page(f"{A}/", ["ok", f"{B}/page", f"{B}/?q={HOSTILE}"], "start")

    config: Config = crawl.config()
    return Made(tmp_path_factory.mktemp("rules") / "job", web, config).folder


@pytest.fixture
def browser(folder: Path) -> Iterator[Browser]:
    with Library(source(folder)) as library, Crawl(folder) as crawl:
        found = Browser(Server(library, "a.test", PORT, crawl))
        assert found.enter().status == 204
        yield found


def form_of(text: str) -> dict[str, str]:
    """The fields of the form as a browser would send them untouched."""
    body = text.partition('action="/rules/look">')[2].partition("</form>")[0]
    fields = dict(re.findall(r'<input name="(\w+)" value="([^"]*)"', body))
    fields |= {
        key: unescape(value) for key, value in re.findall(r'<textarea name="(\w+)"[^>]*>([^<]*)</textarea>', body)
    }
    fields |= {"scope": re.findall(r"<option selected>(\w+)", body)[0]}
    return fields | dict(re.findall(r'<input type="checkbox" name="(\w+)" value="(1)" checked>', body))


def test_the_rules_as_they_are_change_nothing(browser: Browser) -> None:
    page = browser.get("/rules")
    assert page.status == 200
    form = form_of(page.text)
    assert (form["scope"], form["max_depth"], form["delay"]) == ("host", form["max_depth"], form["delay"])
    assert "these are the settings of the crawl" in browser.post("/rules/look", form).text


def test_what_other_rules_would_do(browser: Browser) -> None:
    form = form_of(browser.get("/rules").text) | {"scope": "any"}
    text = browser.post("/rules/look", form).text
    assert "refused addresses would be queued" in text
    assert "<b>0</b> refused addresses" not in text
    assert f"{B}/page" in text
    assert HOSTILE not in text
    assert form_of(text)["scope"] == "any", "what was filled in is lost"
    form |= {"language": "zh"}
    browser.jar["language"] = "zh"
    assert "个被拒绝的地址会重新排队" in browser.post("/rules/look", form).text


def test_a_mistake_is_told_and_the_form_kept(browser: Browser) -> None:
    form = form_of(browser.get("/rules").text) | {"exclude": "(", "delay": "soon"}
    for path in ("/rules/look", "/rules/set"):
        answer = browser.post(path, form)
        assert "auto or a duration is expected" in answer.text
        assert form_of(answer.text)["exclude"] == "("


def test_what_is_applied_is_what_was_changed(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[dict[str, Any]]()

    def ask(folder: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any] | None:
        asked.append(request)
        return {"ok": f"exclude = ['/x/']{HOSTILE}"} if request["verb"] == "set" else None

    form = form_of(browser.get("/rules").text) | {"exclude": "/x/\r\n/y/", "max_pages": "7", "sitemaps": "1"}
    monkeypatch.setattr(control, "ask", ask)
    answer = browser.post("/rules/set", form)
    assert answer.status == 303
    sent = [request for request in asked if request["verb"] == "set"]
    assert sent == [
        {"verb": "set", "values": {"exclude": ["/x/", "/y/"], "max_pages": "7", "sitemaps": True}}
    ] or sent == [
        {"verb": "set", "values": {"exclude": ["/x/", "/y/"], "max_pages": "7"}}  # sitemaps were on
    ]
    shown = browser.get(answer.headers["location"]).text
    assert "Done: exclude" in shown
    assert HOSTILE not in shown


def test_another_site_changes_nothing(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    form = form_of(browser.get("/rules").text) | {"scope": "any"}
    monkeypatch.setattr(control, "ask", lambda *words: pytest.fail("the crawl was told"))
    answer = browser.post("/rules/set", form, origin="http://evil.example", sec_fetch_site="cross-site")
    assert answer.status == 403
