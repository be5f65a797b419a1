"""Addresses in stylesheets and srcset change; nothing else does, however odd the text."""

from __future__ import annotations

import time

import pytest

from nephila.views.style import css, srcset


def mark(url: str) -> str:
    return f"<{url}>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:url(x)}", 'a{b:url("<x>")}'),
        ("a{b:URL( 'x' )}", 'a{b:URL( "<x>" )}'),
        ('@import "x" screen;', '@import "<x>" screen;'),
        ("@import/**/'x';", '@import/**/"<x>";'),
        ("@import url(x);", '@import url("<x>");'),
        ("/* url(x) */ a{content:'url(x)'}", "/* url(x) */ a{content:'url(x)'}"),
        ("@namespace svg url(http://x);", "@namespace svg url(http://x);"),
        (r"a{b:url(x\)y)}", 'a{b:url("<x)y>")}'),
        ("a{b:url(x y)}", "a{b:url(x y)}"),
        ("a{b:my-url(x)}", "a{b:my-url(x)}"),
        ("a{b:url(", "a{b:url("),
        ("@font-face{src:url(a.woff2) format('woff2'),url(b.woff)}", "@font-face{src:url(\"<a.woff2>\") format('woff2'),url(\"<b.woff>\")}"),
    ],
)  # fmt: skip
def test_css(text: str, expected: str) -> None:
    assert css(text, mark) == expected


def test_css_quotes_what_would_end_the_string() -> None:
    assert css("a{b:url(x)}", lambda _: 'a"b\\c\nd') == 'a{b:url("a\\"b\\\\c d")}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.png", "<a.png>"),
        ("a.png 1x, b.png 2x", "<a.png> 1x, <b.png> 2x"),
        ("a,b.png 1x,c.png 2x", "<a,b.png> 1x,<c.png> 2x"),
        ("a.png, b.png", "<a.png>, <b.png>"),
        ("a.png 1x (x, y), b.png", "<a.png> 1x (x, y), <b.png>"),
        ("", ""),
        (" , ", " , "),
    ],
)
def test_srcset(value: str, expected: str) -> None:
    assert srcset(value, lambda url: mark(url) if url else "") == expected


@pytest.mark.parametrize(
    "piece", ["url(", "/*", "'", "\\", '@import "', "@import/*", "url('", "@namespace", "url( ", "a,", "( "]
)
def test_linear_time(piece: str) -> None:
    def seconds(n: int) -> float:
        text = piece * (n // len(piece))
        begin = time.process_time()
        css(text, mark)
        srcset(text, mark)
        return time.process_time() - begin

    small, large = max(seconds(40_000), 0.002), min(seconds(320_000), seconds(320_000))
    assert large < small * 8 * 4
