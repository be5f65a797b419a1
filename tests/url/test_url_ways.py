"""Which proxies a URL may go through."""

from __future__ import annotations

import pytest

from nephila.errors import ConfigError
from nephila.url.ways import Proxy, Ways, without_secret

RULES = [
    "http://one:1",
    "*.b.test=http://two:2",
    "*.a.b.test=http://three:3",
    "x.a.b.test=http://four:4",
    "https://x.a.b.test=http://five:5",
    "*.free.test=direct",
    "BÜCHER.test=socks5://six",
    "https://x.a.b.test:8443=http://seven:7",
    "[2001:500:8f::53]=http://eight:8",
]


@pytest.mark.parametrize(
    ("origin", "names"),
    [
        ("http://b.test", ["one"]),
        ("http://b.test.evil.test", ["one"]),
        ("http://y.b.test", ["two"]),
        ("http://a.b.test", ["two"]),
        ("http://y.a.b.test", ["three"]),
        ("http://x.a.b.test", ["four"]),
        ("http://x.a.b.test:8080", ["four"]),
        ("https://x.a.b.test", ["five"]),
        ("https://x.a.b.test:8443", ["seven"]),
        ("http://y.free.test", []),
        ("http://free.test", ["one"]),
        ("http://xn--bcher-kva.test", ["six"]),
        ("https://[2001:500:8f::53]:444", ["eight"]),
    ],
)
def test_the_most_specific_rule_counts_alone(origin: str, names: list[str]) -> None:
    ways = Ways(RULES)
    assert [ways.proxies[way].host for way in ways.of(origin)] == names


def test_several_proxies_of_one_site_are_its_pool() -> None:
    ways = Ways(["http://p:1", "a.test=http://q:1", "http://p:2", "a.test=http://q:2"])
    assert (ways.of("http://a.test"), ways.of("http://b.test")) == ((1, 3), (0, 2))


@pytest.mark.parametrize(
    ("rules", "direct"),
    [
        (["http://p"], False),
        (["http://p", "a.test=direct"], True),
        (["a.test=http://p"], True),
        (["http://p", "a.test=http://q"], False),
        (["direct", "a.test=http://q"], True),
    ],
)
def test_whether_something_may_go_without(rules: list[str], direct: bool) -> None:
    assert Ways(rules).direct is direct


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "p:1",
        "ftp://p",
        "http://",
        "http://p:0",
        "http://p:99999",
        "http://p/path",
        "http://p?q",
        "a.test=p:1",
        "a.test:80=http://p",
        "*.http://a.test=http://p",
        "https://*.a.test=http://p",
        "a b=http://p",
        "*=http://p",
    ],
)
def test_what_is_no_rule_is_refused_and_not_shown(rule: str) -> None:
    with pytest.raises(ConfigError, match=r"proxy: a value is not of the right form; SCHEME://HOST:PORT, "):
        Ways([rule])


@pytest.mark.parametrize("rules", [["a.test=direct", "a.test=http://p"], ["a.test=http://p", "A.test=direct"]])
def test_a_site_with_and_without_a_proxy_is_refused(rules: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"a\.test has proxies and `direct`"):
        Ways(rules)


@pytest.mark.parametrize(
    ("rule", "proxy"),
    [
        ("http://p", Proxy("http", "p", 80, "", "", "http://p:80")),
        ("HTTPS://P:8443/", Proxy("https", "p", 8443, "", "", "https://p:8443")),
        ("socks5h://u%40x:p%3A@[::1]:9", Proxy("socks5h", "::1", 9, "u@x", "p:", "socks5h://[::1]:9")),
        ("http://token=@p:1", Proxy("http", "p", 1, "token=", "", "http://p:1")),
        ("a.test=http://u:p=w@p:1", Proxy("http", "p", 1, "u", "p=w", "http://p:1")),
        ("https://a.test=socks4a://p", Proxy("socks4a", "p", 1080, "", "", "socks4a://p:1080")),
    ],
)
def test_reading_a_proxy(rule: str, proxy: Proxy) -> None:
    assert Ways([rule]).proxies == [proxy]


def test_two_users_of_one_proxy_are_told_apart_without_their_names() -> None:
    labels = [proxy.label for proxy in Ways([f"http://user{n}:secret@p:1" for n in range(3)]).proxies]
    assert labels == ["http://p:1", "http://p:1 (no. 2)", "http://p:1 (no. 3)"]


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("http://u:p@h:1", "http://h:1"),
        ("http://h:1", "http://h:1"),
        ("a.test=socks5://u:p@h:1", "a.test=socks5://h:1"),
        ("https://a.test=http://u@h:1", "https://a.test=http://h:1"),
        ("a.test=direct", "a.test=direct"),
    ],
)
def test_without_its_secret(rule: str, shown: str) -> None:
    assert without_secret(rule) == shown
