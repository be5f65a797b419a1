"""Addresses that are traps by the look of them, and good ones that look nearly so."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.errors import ConfigError
from nephila.url.parse import resolve
from nephila.url.scope import Scope, ScopeSpec
from nephila.url.traps import TRAPS, Shapes, switched, trap_of

ALL = Shapes(TRAPS)
H = "http://h.org"


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("/a/a/a/", "repeated_segment"),
        ("/a/b/a/b/a/b/x", "repeated_segment"),
        ("/x/css/css/css/s.css", "repeated_segment"),
        ("/p/http://h.org/p/http://h.org/p/http://h.org/p", "repeated_segment"),
        ("/page/http%3A%2F%2Fh.org%2Fpage%2Fhttp%253A%252F%252Fh.org%252Fpage%252Fhttp%25253A", "repeated_segment"),
        ("/2001/01/01/01/01/01/01/x", "repeated_segment"),
        ("/b/c/b/c/c/b/b/c/b", "repeated_segment"),
        ("/a////b", "growing_path"),
        ("/" + "/".join(f"s{i}" for i in range(51)), "growing_path"),
        ("/a%2F%2F%2F%2Fb", "growing_path"),
        ("/?pos=7001%2F%2F%2F%2F", "growing_query"),
        ("/?p=1&p=2&p=2&p=2", "growing_query"),
        ("/?p=1&amp;amp;amp;p=2", "growing_query"),
        ("/login?next=/login?next=/login?next=/login?next=/", "growing_query"),
        ("/login?next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%253D%25252Flogin%25253Fnext%25253D", "growing_query"),
        ("/x?" + "&".join(f"page={i}" for i in range(21)), "growing_query"),
        ("/x?q=%2525252F", "growing_query"),
    ],
)
def test_what_repeats_or_grows_is_a_trap(url: str, rule: str) -> None:
    assert ALL.refusal(H + url) == f"trap:{rule}"
    assert Shapes(TRAPS.keys() - {rule}).refusal(H + url) != f"trap:{rule}"


@pytest.mark.parametrize(
    "url",
    [
        "/a/b/a/",
        "/a/b/a/b/",
        "/a/a/",
        "/images/images/x.png",
        "/2001/01/01/01/",
        "/2001/01/01/01/01/x",
        "/1/1/1/1/",
        "/apache/kafka/blob/trunk/streams/streams-scala/src/main/scala/org/apache/kafka/streams/scala/kstream/X.scala",
        "/web/2020/http://example.com/web/",
        "/s?fq=a:1&fq=b:2&fq=c:3&fq=d:1&q=*",
        "/s?a[]=1&a[]=2&" + "&".join(f"a[]={i}" for i in range(30)),
        "/s?x=1&x=1",
        "/s?" + "&".join(f"parameter{i}={i}" for i in range(60)),
        "/s?a=&b=&c=&d=&a=&b=",
        "/oauth?redirect_uri=https%3A%2F%2Fh.org%2Fcb%3Fstate%3Dx%26a%3D1&state=x&a=1",
        "/wiki/" + "%E5%95%8A" * 20,
        "/login?next=/login?next=/",
        "/x?u=http://h.org/x?u=http://h.org/x",
        "/list?page=500",
        "/?" + "q=" + "word+" * 100,
    ],
)
def test_what_only_looks_so_is_wanted(url: str) -> None:
    assert ALL.refusal(H + url) == ""


@pytest.mark.parametrize(
    ("href", "pages_max"),
    [
        ("a/", 3),
        ("./x/../a/", 3),
        ("b/a/", 4),
        ("http:/h.org/p/", 5),
        ("x%2F", 7),
        ("?u=/p?u=", 5),
        ("//", 5),
        ("c/", 50),
    ],
)
def test_a_page_that_links_to_itself_with_more_comes_to_an_end(href: str, pages_max: int) -> None:
    """Every page of the site answers, and links below itself."""
    url, pages = f"{H}/p/", 0
    met = {url}
    while not ALL.refusal(url):
        pages += 1
        assert pages <= pages_max
        appended = url + href if href[0] in "?/x" else None
        url = appended or resolve(url, href) or ""
        if url in met:
            break
        met.add(url)


@pytest.mark.parametrize("escape", [lambda text: text.replace("%", "%25").replace("/", "%2F").replace("?", "%3F")])
def test_a_page_that_echoes_its_escaped_address_comes_to_an_end(escape: object) -> None:
    assert callable(escape)
    url = f"{H}/go"
    for _ in range(6):
        url = f"{H}/go?to={escape(url)}"
        if ALL.refusal(url):
            return
    pytest.fail(url)


def real_paths() -> Iterator[str]:
    """Files of this machine, as good as any site's: deep trees, doubled names, odd characters."""
    for root in ("/usr/share/doc", "/usr/share/javascript", "/usr/lib/python3", "/usr/include"):
        for folder, _, files in os.walk(root):
            for name in files:
                yield resolve(f"{H}/", Path(folder, name).as_posix().replace("%", "%25").replace("#", "%23")) or H + "/"


def test_no_file_of_this_machine_is_a_trap() -> None:
    refused = [url for url in real_paths() if ALL.refusal(url)]
    assert refused == []


@given(st.lists(st.sampled_from(["a", "b", "c", "1", "%2F", "..", "", "a=1", "?", "&amp;", "%25"]), max_size=60))
def test_nothing_raises_and_the_answer_is_a_rule(parts: list[str]) -> None:
    rule = ALL.refusal(f"{H}/" + "/".join(parts))
    assert rule == "" or trap_of(rule) in TRAPS


@pytest.mark.parametrize("piece", ["a/", "1/", "ab/ba/", "%25", "%2F", "a=1&", "?", "x", "&amp;", "a[]=1&", "//"])
def test_the_longest_address_is_judged_quickly(piece: str) -> None:
    for start in (f"{H}/", f"{H}/?"):
        url = (start + piece * 8192)[:8192]
        begin = time.process_time()
        ALL.refusal(url)
        assert time.process_time() - begin < 0.1


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("on", set(TRAPS)),
        ("off", set()),
        ("calendar,template", {"calendar", "template"}),
        ("no-calendar, no-soft_404", TRAPS.keys() - {"calendar", "soft_404"}),
    ],
)
def test_what_is_switched_on(text: str, on: set[str]) -> None:
    assert switched(text) == on


@pytest.mark.parametrize("text", ["", "yes", "calender", "on,off", "calendar,no-template", "no-on"])
def test_what_is_no_switch_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="traps:"):
        switched(text)


def test_robots_and_sitemaps_are_no_traps() -> None:
    scope = Scope(ScopeSpec("host", (H + "/",), traps=tuple(TRAPS)))
    url = f"{H}/a/a/a/sitemap.xml"
    assert [scope.refusal(url, kind) for kind in ("page", "embed", "robots", "sitemap")] == [
        "trap:repeated_segment",
        "trap:repeated_segment",
        "",
        "",
    ]
    assert scope.refusal("http://other.org/a/a/a/", "page") == "scope.host"
