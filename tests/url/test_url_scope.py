from __future__ import annotations

import msgspec
import pytest

from nephila.errors import ConfigError
from nephila.types import Kind
from nephila.url.scope import URL_LENGTH_MAX, Scope, ScopeSpec, check_patterns

SEED = "https://www.example.com/docs/index.html"


def scope(mode: str = "host", seeds: tuple[str, ...] = (SEED,), **more: object) -> Scope:
    return Scope(ScopeSpec(mode, seeds, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "url", "rule"),
    [
        ("host", "https://www.example.com/x", ""),
        ("host", "http://www.example.com/x", ""),
        ("host", "http://u:p@www.example.com/x", ""),
        ("host", "https://www.example.com:8443/x", "scope.host"),
        ("host", "http://www.example.com:443/x", "scope.host"),
        ("host", "https://example.com/", "scope.host"),
        ("host", "https://www.example.com.evil.org/", "scope.host"),
        ("host", "https://www.example.com@evil.org/", "scope.host"),
        ("site", "https://example.com/", ""),
        ("site", "http://a.b.example.com:8080/", ""),
        ("site", "https://notexample.com/", "scope.site"),
        ("site", "https://example.net/", "scope.site"),
        ("name", "https://example.net/", ""),
        ("name", "https://shop.example.co.uk/", ""),
        ("name", "https://example.other.net/", "scope.name"),
        ("prefix", "https://www.example.com/docs/", ""),
        ("prefix", "http://www.example.com/docs/a/b?c", ""),
        ("prefix", "https://www.example.com/docs", "scope.prefix"),
        ("prefix", "https://www.example.com/docsets/", "scope.prefix"),
        ("prefix", "https://www.example.com/", "scope.prefix"),
        ("prefix", "https://example.com/docs/", "scope.prefix"),
        ("any", "http://1.2.3.4:81/", ""),
        ("any", "ftp://h.org/", ""),
        ("host", "ftp://www.example.com/docs/", "scope.host"),
        ("prefix", "ftp://www.example.com/docs/", "scope.prefix"),
        ("site", "ftp://ftp.example.com/", ""),
        ("any", "ftps://h.org/", "scheme"),
        ("any", "mailto:a@b.org", "scheme"),
        ("host", "", "scheme"),
    ],
)
def test_where_a_page_is_wanted(mode: str, url: str, rule: str) -> None:
    it = scope(mode)
    assert [it.refusal(url, Kind.PAGE), it.refusal(url, Kind.PAGE)] == [rule, rule]


@pytest.mark.parametrize(
    ("seed", "mode", "url", "rule"),
    [
        ("http://localhost:8000/", "host", "http://localhost:8000/x", ""),
        ("http://localhost:8000/", "host", "http://localhost:9000/x", "scope.host"),
        ("http://127.0.0.1/", "site", "http://127.0.0.2/", "scope.site"),
        ("http://127.0.0.1/", "name", "http://128.0.0.1/", "scope.name"),
        ("http://[::1]/", "host", "https://[::1]/", ""),
        ("http://me.github.io/", "site", "http://you.github.io/", "scope.site"),
        ("http://h.org/?a=/b/", "prefix", "http://h.org/other", ""),
        ("ftp://h.org/", "host", "ftp://h.org/pub/", ""),
        ("ftp://h.org/", "host", "http://h.org/", "scope.host"),
        ("ftp://h.org/", "host", "http://h.org:21/", "scope.host"),
        ("ftp://h.org:2121/", "host", "ftp://h.org/", "scope.host"),
        ("ftp://h.org/pub/a", "prefix", "ftp://h.org/pub/b", ""),
        ("ftp://ftp.h.org/", "site", "https://www.h.org/", ""),
    ],
)
def test_unusual_seeds(seed: str, mode: str, url: str, rule: str) -> None:
    assert scope(mode, (seed,)).refusal(url, Kind.PAGE) == rule


@pytest.mark.parametrize(
    ("kind", "embeds", "url", "rule"),
    [
        (Kind.EMBED, False, "https://cdn.net/x.png", "scope.host"),
        (Kind.EMBED, True, "https://cdn.net/x.png", ""),
        (Kind.EMBED, True, "https://cdn.net/ads/x.png", "exclude:/ads/"),
        (Kind.EMBED, True, "data:image/png,x", "scheme"),
        (Kind.ROBOTS, False, "https://cdn.net/ads/robots.txt", ""),
        (Kind.SITEMAP, False, "https://maps.example.com/s.xml", ""),
        (Kind.SITEMAP, False, "https://maps.net/s.xml", "scope.host"),
        (Kind.REDIRECT, True, "https://cdn.net/", "scope.host"),
        (Kind.CANONICAL, True, "https://www.example.com/c", ""),
    ],
)
def test_kinds(kind: Kind, embeds: bool, url: str, rule: str) -> None:
    assert scope(embeds=embeds, exclude=("/ads/",)).refusal(url, kind) == rule


def test_page_parts_of_a_prefix() -> None:
    url = "https://www.example.com/static/x.css"
    assert scope("prefix").refusal(url, Kind.EMBED) == "scope.prefix"
    assert scope("prefix", embeds=True).refusal(url, Kind.EMBED) == ""
    assert scope("prefix", embeds=True).refusal(url, Kind.PAGE) == "scope.prefix"


def test_include_and_exclude() -> None:
    it = scope(include=("/docs/", r"\.pdf$"), exclude=(r"/old/", r"[?&]print=1", "(?i)SECRET"), embeds=True)
    home = "https://www.example.com"
    table = {
        f"{home}/docs/a": "",
        f"{home}/x.pdf": "",
        f"{home}/x.pdf?y": "include",
        f"{home}/docs/old/a": "exclude:/old/",
        f"{home}/docs/?print=1": "exclude:[?&]print=1",
        f"{home}/docs/secret": "exclude:(?i)SECRET",
    }
    assert {url: it.refusal(url, Kind.PAGE) for url in table} == table
    assert it.refusal(f"{home}/logo.png", Kind.EMBED) == ""
    assert it.refusal(f"{home}/sitemap.xml", Kind.SITEMAP) == ""
    assert it.refusal(f"{home}/old/logo.png", Kind.EMBED) == "exclude:/old/"


def test_patterns_searched_together_keep_their_own_meaning() -> None:
    """Each is also tried alone, so none can change the next: not by a flag, not by a quotation left open."""
    it = scope(exclude=("(?i)aaa", "BBB", r"\Qq.", "e$"))
    home = "https://www.example.com/"
    assert it.refusal(home + "AAA", Kind.PAGE) == "exclude:(?i)aaa"
    assert it.refusal(home + "bbb", Kind.PAGE) == ""
    assert it.refusal(home + "q.", Kind.PAGE) == r"exclude:\Qq."
    assert it.refusal(home + "qx", Kind.PAGE) == ""
    assert it.refusal(home + "e", Kind.PAGE) == "exclude:e$"


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "missing"),
        ("a(?=b)", "look-around"),
        (r"(a)\1", "back-references"),
        ("*", "repetition"),
        ("", "empty"),
        ("\ud800", ""),
    ],
)
def test_a_wrong_pattern_is_named(pattern: str, says: str) -> None:
    with pytest.raises(ConfigError, match="exclude") as caught:
        check_patterns(["ok", pattern], "exclude")
    assert says in str(caught.value)
    assert repr(pattern) in str(caught.value) or not pattern


def test_a_pattern_that_ruins_backtracking_engines_takes_no_time() -> None:
    it = scope(exclude=(r"(a+)+$", r"(.*)*x\z"))
    assert it.refusal("https://www.example.com/" + "a" * 8_000 + "!", Kind.PAGE) == ""


def test_too_long() -> None:
    url = "https://www.example.com/" + "x" * URL_LENGTH_MAX
    assert scope("any").refusal(url, Kind.PAGE) == "url.too_long"
    assert scope("any").refusal(url[:URL_LENGTH_MAX], Kind.PAGE) == ""


def test_unknown_mode() -> None:
    with pytest.raises(ConfigError, match="'page' is not one of host, site, name, prefix, any"):
        scope("page")


@pytest.mark.parametrize(
    ("mode", "target", "widened"),
    [
        ("host", "https://example.com/", ("example.com",)),
        ("host", "https://de.example.com:8443/start", ("de.example.com:8443",)),
        ("host", "http://www.example.com/", None),
        ("host", "https://example.net/", None),
        ("site", "https://example.com/", None),
        ("name", "https://example.com/", None),
        ("any", "https://example.net/", None),
        ("prefix", "https://example.com/en/docs/x", ("example.com/en/docs/",)),
        ("host", "ftp://ftp.example.com/", None),
        ("prefix", "https://www.example.com/", None),
        ("prefix", "https://www.example.com/docs/deep/x", None),
    ],
)
def test_widen(mode: str, target: str, widened: tuple[str, ...] | None) -> None:
    wider = ScopeSpec(mode, (SEED,), epoch=3).widen(target)
    assert (wider and (wider.widened, wider.epoch)) == (widened and (widened, 4))
    if wider:
        assert Scope(wider).refusal(target, Kind.PAGE) == ""
        assert Scope(wider).refusal(SEED, Kind.PAGE) == ""
        assert wider.widen(target) is None


def test_memory_is_bounded() -> None:
    it = scope("name")
    for i in range(70_000):
        it.refusal(f"http://h{i}.example.org/", Kind.PAGE)
    assert len(it._verdicts) <= 1 << 16


def test_a_spec_crosses_process_borders() -> None:
    spec = ScopeSpec("prefix", (SEED,), ("a",), ("b",), True, ("h.org:81/x/",), 7)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(spec), type=ScopeSpec) == spec


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/logout", "logout"),
        ("/user/logout.php?next=/", "logout"),
        ("/member.php?mod=logging&action=logout&formhash=x", "logout"),
        ("/doSignOut.action", "logout"),
        ("/a?do=log-off", "logout"),
        ("/sign_out/", "logout"),
        ("/loginout", "logout"),
        ("/login", ""),
        ("/blog/out", ""),
        ("/blog-outreach", ""),
        ("/logoutside", ""),
        ("/signoffs", ""),
    ],
)
def test_links_that_log_out_are_not_followed_where_we_are_in(path: str, rule: str) -> None:
    inside = Scope(ScopeSpec("any", ("https://example.com/",), members=("example.com",)))
    assert inside.refusal(f"https://www.example.com{path}", Kind.PAGE) == rule
    assert inside.refusal(f"https://example.com{path}", Kind.EMBED) == ""
    assert inside.refusal(f"https://example.net{path}", Kind.PAGE) == ""
    assert Scope(ScopeSpec("any", ("https://example.com/",))).refusal(f"https://example.com{path}", Kind.PAGE) == ""
