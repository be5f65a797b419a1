from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.url.key import IGNORED_PARAMETERS, IGNORED_PREFIXES, Fingerprints, key
from nephila.url.parse import resolve

H = "http://h.org"


@pytest.mark.parametrize(
    ("path", "same_as"),
    [
        ("/a%3fb", "/a%3Fb"),
        ("/a%aB%e4", "/a%AB%E4"),
        ("/?utm_source=x", "/"),
        ("/?UTM_Source=x&a=1", "/?a=1"),
        ("/?a=1&gclid=x&b=2", "/?a=1&b=2"),
        ("/?a=1&&fbclid", "/?a=1&"),
        ("/x;jsessionid=12AB", "/x"),
        ("/x;JSESSIONID=12AB;v=1/y?z", "/x;v=1/y?z"),
        ("/x?jsessionid=1&a", "/x?a"),
        ("/x?PHPSESSID=1", "/x"),
        ("/x.asp?ASPSESSIONIDQABC=1&p=2", "/x.asp?p=2"),
        ("/x.cfm?CFID=1&CFTOKEN=2&p=3", "/x.cfm?p=3"),
    ],
)
def test_safe_equivalences(path: str, same_as: str) -> None:
    assert key(H + path) == H + same_as


def test_how_a_file_is_sent_does_not_choose_it() -> None:
    assert {key(f"ftp://h.org/a{kind}") for kind in ("", ";type=a", ";type=I")} == {"ftp://h.org/a"}
    for other in (
        "ftp://h.org/a;type=d",
        "ftp://h.org/a;type=a/b",
        "ftp://h.org/a;jsessionid=1",
        "http://h.org/a;type=a",
    ):
        assert key(other) == other


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/Case/Stays",
        "/?",
        "/?b=2&a=1",
        "/?a=1&a=1",
        "/?a=1&",
        "/%7Euser",
        "/a%2Fb",
        "/a%zz",
        "/x.cfm?CFID=1",
        "/?sid=1&s=2&ref=3&session=4&id=5",
        "/?q=utm_source",
        "/?xutm_source=1",
        "/;v=1",
        "/?u=/x;jsessionid=1",
    ],
)
def test_what_may_differ_stays_different(path: str) -> None:
    assert key(H + path) == H + path


urls = st.lists(
    st.sampled_from(
        [
            "/",
            "a",
            "%3f",
            "%",
            "%2",
            "f",
            ";",
            "jsessionid=",
            "?",
            "&",
            "utm_",
            "=",
            "gclid",
            "CFID=1",
            "cftoken",
            "PHPSESSID",
            "é",
        ]
    ),
    max_size=14,
).map(lambda parts: resolve(H + "/d/", "".join(parts)) or H + "/")


@given(urls)
def test_key_is_idempotent(url: str) -> None:
    assert key(key(url)) == key(url)


@given(urls)
def test_key_keeps_the_host(url: str) -> None:
    assert key(url).startswith("http://")


def test_every_ignored_parameter_has_its_reason() -> None:
    for name, reason in (IGNORED_PARAMETERS | IGNORED_PREFIXES).items():
        assert name == name.lower()
        assert reason


def test_fingerprints_are_keyed_and_unsigned() -> None:
    one, other = Fingerprints(1), Fingerprints(2)
    assert one(H + "/?utm_medium=x") == one(H + "/")
    assert one(H + "/") != one(H + "/x")
    assert one(H + "/") != other(H + "/")
    assert 0 < one(H + "/") < 2**64


def test_fingerprints_do_not_change_between_versions() -> None:
    """They are stored: a change would make every stored crawl forget what it has seen."""
    assert Fingerprints(1)("http://h.org/") == PINNED


PINNED = 10915410973593129154
