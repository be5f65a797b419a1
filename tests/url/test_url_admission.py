from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.types import Found, Kind, Links
from nephila.url.admission import Admission, _Base
from nephila.url.key import Fingerprints
from nephila.url.parse import resolve
from nephila.url.scope import Scope, ScopeSpec

BASE = "https://h.org/a/page.html?q=/x/"
FP = Fingerprints(5)
PAGE, EMBED, FORM, SITEMAP, REDIRECT = Kind.PAGE, Kind.EMBED, Kind.FORM, Kind.SITEMAP, Kind.REDIRECT


def page(*pairs: tuple[str, Kind] | str, base: str = BASE, charset: str = "utf-8") -> Links:
    both = [(pair, PAGE) if isinstance(pair, str) else pair for pair in pairs]
    hrefs, kinds = [href for href, _ in both], [kind for _, kind in both]
    return Links(base, charset, hrefs, kinds, ["a"] * len(both), ["href"] * len(both), resolve=resolve)


def admission(sitemaps: bool = False, embeds: bool = False, **sizes: int) -> Admission:
    return Admission(Scope(ScopeSpec("host", (BASE,), embeds=embeds, sitemaps=sitemaps)), FP, **sizes)


def told(found: Found) -> list[tuple[str, str, str]]:
    assert all(link.fp == FP(link.url) for link in found.new)
    return [(link.url, link.kind, link.rule) for link in found.new]


def edges(found: Found) -> tuple[list[int], list[int]]:
    numbers = array("Q", found.edges).tolist()
    return numbers[: found.flat], numbers[found.flat :]


def test_all_links_are_edges_and_unknown_ones_are_told_once() -> None:
    it = admission()
    found = it.admit(page("x", "/y#f", "http://other.org/", "x#again", "mailto:a@b", "http://["))
    x, y, other = "https://h.org/a/x", "https://h.org/y", "http://other.org/"
    assert told(found) == [(x, PAGE, ""), (y, PAGE, ""), (other, PAGE, "scope.host")]
    assert edges(found) == ([], [FP(x), FP(y), FP(other)])
    again = it.admit(page("/y", "x", "http://["))
    assert told(again) == []
    assert edges(again) == ([], [FP(y), FP(x)])


def test_flat_kinds_come_first_and_a_link_may_be_both() -> None:
    found = admission().admit(page("x", ("s.css", EMBED), ("x", EMBED), ("r", REDIRECT), ("s.css", EMBED)))
    x, s, r = (FP(f"https://h.org/a/{name}") for name in ("x", "s.css", "r"))
    flat, rest = edges(found)
    assert (sorted(flat), rest) == (sorted([s, x, r]), [x])


def test_a_known_page_costs_no_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    it = admission()
    links = page("x", ("x", EMBED), "https://h.org/z", "//h.org/y", ("s.css", EMBED), "mailto:a@b")
    first = it.admit(links)
    monkeypatch.setattr(_Base, "resolve", None)
    second = it.admit(page(*zip(links.hrefs, links.kinds, strict=True), base="https://h.org/a/other.html"))
    assert (second.edges, second.flat, second.new) == (first.edges, first.flat, [])


@pytest.mark.parametrize(
    "href", ["?p=2", "#f", "", " ?p=2", "https:?p=2", "https:", "ht\ntps:?p=2", "\t", "/x/../?p=2", "."]
)
def test_what_depends_on_the_page_itself_is_not_taken_from_another(href: str) -> None:
    it = admission()
    for base in ("https://h.org/a/one?1", "https://h.org/a/two?2", "https://h.org/b/three"):
        url = resolve(base, href)
        assert url
        assert edges(it.admit(page(href, base=base))) == ([], [FP(url)])


def test_the_charset_belongs_to_the_memo() -> None:
    it = admission()
    found = [it.admit(page("x?é", charset=charset)) for charset in ("utf-8", "windows-1252", "utf-8")]
    assert [told(one) for one in found] == [
        [("https://h.org/a/x?%C3%A9", PAGE, "")],
        [("https://h.org/a/x?%E9", PAGE, "")],
        [],
    ]
    assert found[0].edges == found[2].edges != found[1].edges


def test_kinds_that_are_not_followed() -> None:
    links = page(("f", FORM), ("l", Kind.LOGIN), ("s.xml", SITEMAP), ("r", Kind.SCRIPT))
    assert [rule for _, _, rule in told(admission().admit(links))] == ["kind.form", "kind.form", "kind.sitemap", ""]
    assert [rule for _, _, rule in told(admission(sitemaps=True).admit(links))] == ["kind.form", "kind.form", "", ""]


def test_refused_first_and_wanted_later_is_told_again() -> None:
    it = admission(embeds=True)
    url = "http://other.org/x.png"
    assert told(it.admit(page(url))) == [(url, PAGE, "scope.host")]
    assert told(it.admit(page((url, EMBED)))) == [(url, EMBED, "")]
    assert told(it.admit(page(url, (url, EMBED)))) == []


def test_refused_and_wanted_on_one_page_is_told_once_as_wanted() -> None:
    url = "http://other.org/x.png"
    assert told(admission(embeds=True).admit(page(url, "y", (url, EMBED)))) == [
        (url, EMBED, ""),
        ("https://h.org/a/y", PAGE, ""),
    ]


def test_wanted_first_is_never_told_as_refused() -> None:
    it = admission()
    assert told(it.admit(page("x"))) == [("https://h.org/a/x", PAGE, "")]
    assert told(it.admit(page(("x", FORM)))) == []
    assert told(it.admit(page("x"), "nofollow")) == []


def test_a_nofollow_page_says_nothing_for_the_next_one() -> None:
    it = admission()
    x = "https://h.org/a/x"
    first = it.admit(page("x", "http://other.org/"), "nofollow")
    assert told(first) == [(x, PAGE, "nofollow"), ("http://other.org/", PAGE, "scope.host")]
    assert edges(first) == ([], [FP(x), FP("http://other.org/")])
    assert told(it.admit(page("x"))) == [(x, PAGE, "")]
    assert told(it.admit(page("x"))) == []


def test_nofollow_may_be_ignored() -> None:
    assert told(admission().admit(page("x"), "")) == [("https://h.org/a/x", PAGE, "")]


def test_urls_that_are_no_links() -> None:
    it = admission()
    found = it.admit_urls([("https://H.org/x#f", REDIRECT), ("http://[", REDIRECT), ("https://h.org/p", PAGE)])
    assert told(found) == [("https://h.org/x", REDIRECT, ""), ("https://h.org/p", PAGE, "")]
    assert edges(found) == ([FP("https://h.org/x")], [FP("https://h.org/p")])
    assert told(it.admit(page("/x", "/p"))) == []


def test_user_names_and_passwords_are_no_part_of_an_address() -> None:
    it = admission()
    found = it.admit(page("https://me:secret@h.org/x", "https://h.org/x", "https://me@h.org/y@z"))
    assert told(found) == [("https://h.org/x", PAGE, ""), ("https://h.org/y@z", PAGE, "")]
    assert edges(found) == ([], [FP("https://h.org/x"), FP("https://h.org/y@z")])


def test_a_new_epoch_forgets_what_was_told() -> None:
    it = admission()
    it.admit(page("http://other.org/"))
    it.reset(Scope(ScopeSpec("any", epoch=1)))
    assert told(it.admit(page("http://other.org/"))) == [("http://other.org/", PAGE, "")]


def test_a_link_too_long_is_an_edge_and_told_cut() -> None:
    href = "https://h.org/" + "x" * 10_000
    found = admission().admit(page(href))
    assert [(len(link.url), link.rule, link.fp) for link in found.new] == [(8_192, "url.too_long", FP(href))]


def test_memory_is_bounded_and_what_is_in_use_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    it = admission(memo_max=100, sent_max=1 << 16)
    navigation = page("/home")
    for i in range(300):
        it.admit(navigation)
        it.admit(page(f"/p{i}"))
        held = sum(len(memo) for generation in (it._young, it._old) for memo in generation.values())
        assert held <= 100
    monkeypatch.setattr(_Base, "resolve", None)
    assert told(it.admit(navigation)) == []


def test_a_full_filter_tells_again_and_never_swallows() -> None:
    it = admission(memo_max=2, sent_max=4)
    urls = [f"https://h.org/p{i}" for i in range(50)]
    assert [told(it.admit(page(url))) for url in urls] == [[(url, PAGE, "")] for url in urls]
    assert len(it._sent) == 4


@pytest.mark.parametrize(
    "base",
    [
        "https://h.org:443/a/x",
        "https://h.org/a/..",
        "https://H.org/a/x",
        "https://h.org",
        "https://h.org/a\\b",
        "nonsense",
    ],
)
def test_a_base_that_was_never_serialised_still_resolves_right(base: str) -> None:
    url = resolve(base, "y")
    assert edges(admission().admit(page("y", base=base))) == ([], [FP(url)] if url else [])


@given(
    st.lists(
        st.sampled_from(
            [
                "/",
                ".",
                "..",
                "//",
                "a",
                "B",
                "%2e",
                "%",
                "?",
                "#",
                ":",
                ";",
                "@",
                "\\",
                " ",
                "\t",
                "é",
                "'",
                "|",
                "h.org",
                "https:",
                "&",
                "*",
                "~",
                "-",
            ]
        ),
        max_size=8,
    ).map("".join),
    st.sampled_from(
        ["https://h.org/", "https://h.org/a/b", "http://u@h.org:81/a/b/?c=/d", "https://h.org/a;b/c%20d/'e"]
    ),
)
def test_the_short_cuts_resolve_as_the_standard_does(href: str, base: str) -> None:
    assert _Base(base, "utf-8").resolve(href) == resolve(base, href)


def test_traps_are_told_as_refused_once_and_known_urls_are_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    it = Admission(Scope(ScopeSpec("host", (BASE,), traps=("repeated_segment", "session_id"))), FP)
    assert told(it.admit(page("b/b/b/", "y"))) == [
        ("https://h.org/a/b/b/b/", PAGE, "trap:repeated_segment"),
        ("https://h.org/a/y", PAGE, ""),
    ]
    monkeypatch.setattr(it, "_trap", None)
    assert told(it.admit(page("../a/y", base="https://h.org/b/"))) == []


def test_an_address_of_another_session_is_told_as_refused() -> None:
    it = Admission(Scope(ScopeSpec("host", (BASE,), traps=("session_id",))), FP)
    for token in ("0123456789abcdef0", "f123456789abcdef1"):
        it.admit(page(*(f"/{n}?sid={token}" for n in range(5))))
    again = "https://h.org/1?sid=a123456789abcdef2"
    assert told(it.admit(page(again, "/6?sid=a123456789abcdef2"))) == [
        (again, PAGE, "trap:session_id"),
        ("https://h.org/6?sid=a123456789abcdef2", PAGE, ""),
    ]
