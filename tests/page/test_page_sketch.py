"""Sketches: what makes two pages the same, and that no page is slow to sketch."""

from __future__ import annotations

import time
from array import array

import pytest

from nephila.page.sketch import BYTES_MAX, TEXTS_MAX, sketch

URL = "http://h.org/docs/nothing-here.html"


def texts(body: str, url: str = URL) -> set[int]:
    return set(array("I", sketch(body.encode(), url)))


@pytest.mark.parametrize(
    "other",
    [
        "<h1>March 2031</h1><p>Some words.</p>",
        "<h1 class=x>March&nbsp;2026</h1><p>Some words.</p>".replace("&nbsp;", " "),
        "<h1>MARCH</h1>\n<p>some  words</p><p>12</p>",
        "<p>Some words</p><h1>March</h1>",
        "<h1>March</h1><a href=/x?sid=1></a><p>Some words</p><script>var x = '<b>token abc</b>';</script><style>p { x }</style>",
    ],
)
def test_the_same_is_said(other: str) -> None:
    assert texts(other) == texts("<h1>March 2026</h1><p>Some words</p>")
    assert len(texts(other)) == 2


@pytest.mark.parametrize(
    "other",
    [
        "<h1>April 2026</h1><p>Some words</p>",
        "<h1>March</h1><p>Some words</p><p>More</p>",
        "<h1>März</h1><p>一些文字</p>",
    ],
)
def test_something_else_is_said(other: str) -> None:
    assert texts(other) - texts("<h1>March 2026</h1><p>Some words</p>")


@pytest.mark.parametrize("own", [URL, "/docs/nothing-here.html", "nothing-here.html"])
def test_the_pages_own_address_is_no_text(own: str) -> None:
    other = "http://h.org/docs/other-name.html"
    here = texts(f"<p>Sorry, {own} was not found</p>")
    assert here == texts(f"<p>Sorry, {own.replace('nothing-here', 'other-name')} was not found</p>", other) != set()


def test_data_for_a_script_is_text() -> None:
    data = '<script type="application/json">{"title": "%s"}</script>'
    assert texts(data % "one") != texts(data % "two")


def test_an_odd_number_is_a_long_text() -> None:
    assert [number & 1 for number in texts(f"<p>{'word ' * 30}</p>")] == [1]
    assert [number & 1 for number in texts("<h1>A heading</h1>")] == [0]


def test_no_more_than_the_limit_and_the_same_of_every_page() -> None:
    many = [f"<p>{'abcdefghij'[i % 10] * (i // 10 + 3)}</p>" for i in range(1000)]
    whole, less = texts("".join(many)), texts("".join(many[:900]))
    assert len(whole) == TEXTS_MAX
    assert len(whole & less) > TEXTS_MAX * 0.8


@pytest.mark.parametrize(
    "piece", [">", "<", "<script>", "<SCRIPT>", "</script><script", "<!--", ">a", "<p>a", "\0", "nothing-here.html"]
)
def test_no_page_is_slow(piece: str) -> None:
    body = (piece * (BYTES_MAX // len(piece))).encode()
    begin = time.process_time()
    sketch(body, URL)
    assert time.process_time() - begin < 0.5
