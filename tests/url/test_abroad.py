"""Which other sites a page links to."""

from __future__ import annotations

import pytest

from nephila.types import Kind, Links
from nephila.url.abroad import Abroad
from nephila.url.parse import resolve


def links(*hrefs: str, kind: Kind = Kind.PAGE, base: str = "http://www.own.co.uk/a/b", nofollow: int = -1) -> Links:
    count = len(hrefs)
    return Links(
        base,
        "utf-8",
        list(hrefs),
        [kind] * count,
        ["a"] * count,
        ["href"] * count,
        frozenset({nofollow}),
        resolve=resolve,
    )


@pytest.mark.parametrize(
    ("href", "site"),
    [
        ("http://news.other.com/x", "other.com"),
        ("HTTPS://Other.COM", "other.com"),
        ("//other.com:8080?q", "other.com"),
        ("  http://other.com#top", "other.com"),
        ("https://user:secret@other.com/", "other.com"),
        ("http:\\\\other.com\\x//", "other.com"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://a.b.github.io/", "b.github.io"),
        ("http://192.0.2.7:81/", "192.0.2.7"),
        ("http://[2001:db8::1]/", "[2001:db8::1]"),
        ("https://mail.own.co.uk/", ""),
        ("/path//with/slashes", ""),
        ("?q=http://other.com/", ""),
        ("mailto:x@other.com//", ""),
        ("http://", ""),
    ],
)
def test_the_site_of_a_link(href: str, site: str) -> None:
    assert Abroad()(links(href)) == ([site] if site else [])


def test_each_pair_of_sites_is_told_once() -> None:
    abroad = Abroad()
    assert abroad(links("http://a.com/1", "http://www.a.com/2", "http://b.com/", "/x")) == ["a.com", "b.com"]
    assert abroad(links("http://b.com/", "http://c.com/")) == ["c.com"]
    assert abroad(links("http://b.com/", base="http://else.org/")) == ["b.com"]


@pytest.mark.parametrize("kind", [Kind.EMBED, Kind.FORM, Kind.SCRIPT])
def test_what_is_no_recommendation_does_not_count(kind: Kind) -> None:
    assert Abroad()(links("http://a.com/", kind=kind)) == []


def test_a_link_that_says_nofollow_does_not_count() -> None:
    assert Abroad()(links("http://a.com/", "http://b.com/", nofollow=0)) == ["b.com"]


def test_memory_is_bounded() -> None:
    abroad = Abroad(pairs_max=3)
    for i in range(5):
        abroad(links(f"http://s{i}.com/"))
    assert abroad(links("http://s4.com/", "http://s0.com/")) == ["s0.com"]
