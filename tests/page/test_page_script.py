"""Guessed links: which addresses of a source are taken, what is never asked for, and how long it may take."""

from __future__ import annotations

import random
import time

import pytest
from soup import soup

from nephila.page import html, script
from nephila.page.harvest import Harvest
from nephila.types import Kind, Page
from nephila.url.parse import resolve


def guessed(source: str, *, is_script: bool = False) -> list[str]:
    harvest = Harvest(1_000)
    script.guess(source, harvest, script=is_script)
    return [href for href, kind in zip(harvest.hrefs, harvest.kinds, strict=True) if kind is Kind.SCRIPT]


def sent(source: str, *, is_script: bool = True) -> list[str]:
    harvest = Harvest(1_000)
    script.guess(source, harvest, script=is_script)
    return [href for href, kind in zip(harvest.hrefs, harvest.kinds, strict=True) if kind is Kind.FORM]


def read(content: bytes, *, scan: bool = True) -> Page:
    head = html.Head()
    head.charset = "utf-8"
    how = {"as_xml": False, "links_max": 20_000, "sitemaps": False, "resolve": resolve, "guess": True, "scan": scan}
    return html.read(content, "http://site.test/dir/", head, "text/html", **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "hrefs"),
    [
        ("<!-- <a href='/old/page'> -->", ["/old/page"]),
        ("<p>see http://h.test/a. Or (/docs/b.html), or ./c/d", ["http://h.test/a", "/docs/b.html", "./c/d"]),
        ("<p>40 km /h and/or 1/2", []),
        ("<div></div><br /><a></a>", []),
        ("<x codebase='/a/b'><x data-u=/c/d?e=1&amp;f=2>", ["/a/b", "/c/d?e=1&f=2"]),
        ("<!doctype html public '-//W3C//DTD HTML 4.01//EN' 'http://www.w3.org/TR/html4/strict.dtd'>", []),
        ("<meta content='text/html; charset=utf-8'><link type='text/css'>", []),
        ("<script>go('/x'); var a = \"b/c.html?d=e\", f = `/g/${h}`</script>", ["/x", "b/c.html?d=e"]),
        ("<script>s = '<\\/div>'; re = /ab/g; u = 'http:\\/\\/h.test\\/i'</script>", ["http://h.test/i"]),
        ("<SCRIPT>a='/one'</SCRIPT><p>/two/three<script>b='/four'", ["/one", "/two/three", "/four"]),
        ("<p>/a/b /a/b '/a/b'", ["/a/b"]),
    ],
)
def test_what_is_taken(source: str, hrefs: list[str]) -> None:
    assert guessed(source) == hrefs


@pytest.mark.parametrize(
    ("source", "hrefs"),
    [
        ("// http://h.test/comment\nvar a = '//cdn.test/x.js'", ["http://h.test/comment", "//cdn.test/x.js"]),
        ("x = 'application/json', y = 'jquery.min', z = 'a.b'", []),
        ("import('./chunk.js'); load('../up/data.json')", ["./chunk.js", "../up/data.json"]),
    ],
)
def test_what_is_taken_from_a_script(source: str, hrefs: list[str]) -> None:
    assert guessed(source, is_script=True) == hrefs


@pytest.mark.parametrize(
    "source",
    [
        "fetch('/x', {method: 'POST'})",
        "fetch('/x', {headers: h, 'method': 'DELETE'})",
        "$.ajax({url: '/x', type: 'put'})",
        "axios.delete('/x')",
        "xhr.open('PATCH', '/x', true)",
    ],
)
def test_what_is_sent_is_written_down_and_never_asked_for(source: str) -> None:
    assert sent(source) == ["/x"]
    assert guessed(source, is_script=True) == []
    assert guessed(f'<a onclick="{source}">') == []


def test_what_is_got_is_asked_for() -> None:
    assert guessed("fetch('/x', {method: 'GET'}); fetch('/y', {method: 'POST'})", is_script=True) == ["/x"]


def test_a_report_address_is_never_asked_for() -> None:
    source = "<meta http-equiv=Content-Security-Policy content=\"script-src 'self'; report-uri /csp/report\">"
    assert (sent(source, is_script=False), guessed(source)) == (["/csp/report"], [])


def test_links_and_forms_of_the_page_are_not_guessed_again() -> None:
    page = read(b"<a href='/a/b?x=1&amp;y=2'></a><form action='/post/here'></form><p>/a/b?x=1&amp;y=2 /c/d")
    assert page.links is not None
    assert [(link.href, link.kind.value) for link in page.links] == [
        ("/a/b?x=1&y=2", "page"),
        ("/post/here", "form"),
        ("/c/d", "script"),
    ]


def test_a_scanned_page_and_its_tree_have_the_same_guesses() -> None:
    for seed in range(500):
        content = soup(random.Random(seed)) + b"<!-- '/hidden/%d' --><script>a='/s'</script> /x/y" % seed
        one, two = read(content), read(content, scan=False)
        assert one.links is not None
        assert two.links is not None
        assert (one.links.hrefs, one.links.kinds) == (two.links.hrefs, two.links.kinds), (seed, content)
        assert f"/hidden/{seed}" in one.links.hrefs


@pytest.mark.parametrize(
    "piece",
    [
        "<script",
        "<script>",
        "'",
        "/",
        "'/a",
        "http://",
        "a.",
        "'a/b.",
        "=",
        "/=/",
        "/a/",
        "\\/",
        "report-uri ",
        "'a',",
        "<",
    ],
)
@pytest.mark.parametrize("is_script", [False, True])
def test_time_is_linear_whatever_repeats(piece: str, is_script: bool) -> None:
    started = time.process_time()
    guessed(piece * (1_000_000 // len(piece)), is_script=is_script)
    assert time.process_time() - started < 3.0
