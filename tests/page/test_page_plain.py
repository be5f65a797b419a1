"""A page that is scanned gives what its tree gives: whatever the scan answers is held against the parser's answer."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import urljoin

import pytest
import scrambled
from soup import soup

from nephila.page import html, plain
from nephila.types import Page

SITES = ("/usr/share/doc/postgresql-doc-15/html", "/usr/share/doc/python3/html")
SOURCE = Path(plain.__file__).with_name("plain.c")
pytestmark = pytest.mark.skipif(not plain.available(), reason="the scan was not built: no C compiler")


def resolve(base: str, href: str, charset: str) -> str | None:
    try:
        return urljoin(base, href)
    except ValueError:
        return None


def read(content: bytes, charset: str = "utf-8", *, scan: bool = True) -> Page:
    head = html.Head()
    head.charset = charset
    return html.read(
        content,
        "http://site.test/dir/page.html",
        head,
        "text/html",
        as_xml=False,
        links_max=20_000,
        sitemaps=True,
        resolve=resolve,
        scan=scan,
    )


def told(page: Page) -> tuple[object, ...]:
    """All that a page says."""
    links = page.links
    assert links is not None
    columns = links.hrefs, links.kinds, links.tags, links.attributes, links.nofollow
    return page.charset, page.title, page.language, page.canonical, page.robots, columns, page.links_cut


def scanned(content: bytes, charset: str = "utf-8") -> bool:
    return plain.markup(content, charset) is not None


def test_tag_soup_is_read_as_its_tree_is() -> None:
    plain_ones = 0
    for seed in range(3_000):
        content = soup(random.Random(seed))
        if scanned(content):
            plain_ones += 1
            assert told(read(content)) == told(read(content, scan=False)), (seed, content)
    assert plain_ones > 1_000


@pytest.mark.long
def test_much_tag_soup_is_read_as_its_tree_is() -> None:
    for seed in range(1_000_000, 1_100_000):
        content = soup(random.Random(seed))
        if scanned(content):
            assert told(read(content)) == told(read(content, scan=False)), (seed, content)


@pytest.mark.parametrize("folder", SITES)
@pytest.mark.parametrize("charset", ["utf-8", ""])
def test_real_pages_are_plain_and_read_as_their_trees_are(folder: str, charset: str) -> None:
    files = sorted(Path(folder).rglob("*.html"))[::25]
    assert files, f"{folder} is not installed"
    for file in files:
        content = file.read_bytes()
        assert scanned(content, charset), file
        assert told(read(content, charset)) == told(read(content, charset, scan=False)), file


def test_texts_of_links_come_from_the_tree_when_somebody_asks() -> None:
    page = read(b'<p>1<a href=b.html rel="x">one <b>two</b></a><a href="c.html#f"><img src=i.png alt=three></a>')
    assert page.links is not None
    assert [(link.href, link.anchor, link.rel) for link in page.links] == [
        ("b.html", "one two", "x"),
        ("c.html", "three", ""),
        ("i.png", "three", ""),
    ]


def test_the_tree_is_there_when_somebody_asks() -> None:
    page = read(b"<p class=x>text</p><a href=b.html>b</a>")
    assert page.document is not None
    assert [node.text for node in page.document().select("p.x")] == ["text"]


@pytest.mark.parametrize(
    "content",
    [
        b"<template><a href=x></a></template>",
        b"<svg><a href=x></a></svg>",
        b"<svg><use xlink:href=sprite.svg#i /></svg>",
        b"<svg><path></p></svg>",
        b"<math><mi href=x></math>",
        b"<frameset><frame src=x></frameset>",
        b"<table><a href=x>moved out</a></table>",
        b"<table background=x.png></table>",
        b"<form action=a><form action=b>",
        b"<script><!-- <script> </script> --></script><a href=x>",
        b"<select><a href=x></select>",
        b"<title>never closed",
        b"<a href=x>\0",
        b"<html lang=en><html lang=de>",
        b"<noscript><meta http-equiv=refresh content='0;url=x'></noscript>",
        b"\xef\xbb\xbf<a href=x>",
    ],
)
def test_what_needs_a_tree_is_refused(content: bytes) -> None:
    assert not scanned(content)


@pytest.mark.parametrize(
    ("content", "declared", "is_plain"),
    [
        (b"<a href=x>", "utf-8", True),
        (b"<a href=x>", "UTF8", True),
        (b"<a href=x>", "gbk", False),
        (b"<a href=x>", "", False),
        (b"<meta charset=utf-8><a href=x>", "", True),
        (b"<meta charset=utf-8><a href=x>", "gbk", False),
        (b"<meta charset=gbk><a href=x>", "", False),
        (b"<meta charset=gbk><meta charset=utf-8><a href=x>", "", False),
        (b"<!-- <meta charset=utf-8> --><meta charset=gbk><a href=x>", "", False),
        (b'<meta name=x content="charset=utf-8"><a href=x>', "", False),
        (b'<meta http-equiv=Content-Type content="text/html; charset=utf-8"><a href=x>', "", True),
        (b'<?xml version="1.0" encoding="gbk"?><meta charset=utf-8><a href=x>', "", False),
    ],
)
def test_only_pages_that_are_surely_utf8(content: bytes, declared: str, is_plain: bool) -> None:
    assert scanned(content, declared) is is_plain


def test_a_page_with_more_links_than_there_is_room_is_parsed() -> None:
    content = b"".join(b"<a href=%d>" % i for i in range(20_001))
    assert not scanned(content)
    assert read(content).links_cut


def test_what_is_remembered_is_bounded() -> None:
    for i in range(5_000):
        read(b"<img src=%d.png><img src=%s.png>" % (i, b"x" * 600))
    assert len(plain._known) <= 1_024
    assert max(map(len, plain._known)) <= 512


@pytest.mark.long
def test_no_byte_outside_is_touched(tmp_path: Path) -> None:
    files = [file for folder in SITES for file in sorted(Path(folder).rglob("*.html"))[::3]]
    scrambled.hold(tmp_path, SOURCE, CHECK, NOISE, files, every=3)


NOISE = r'''"<>/!-\"'= &#;?aAsStitle"'''
CHECK = r"""
static int check(uint8_t *part, size_t length) {
    static int32_t slots[SLOTS];
    int64_t cap = next(3) ? 1000 : (int64_t)next(5);
    int32_t *out = malloc((size_t)cap * FIELDS * sizeof *out + 1);
    int64_t found = nephila_plain(part, (int64_t)length, out, cap, slots);
    for (int64_t k = 0; k < found; k++) {
        int32_t *record = out + FIELDS * k;
        if (record[2] < 0 || record[3] < record[2] || (size_t)record[3] > length) return 3;
    }
    free(out);
    return 0;
}
"""
