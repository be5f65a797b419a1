"""From status and headers to an outcome: where a redirect leads, as servers write it."""

from __future__ import annotations

import pytest

from nephila.types import Body, Kind, Lease, Outcome, Request, Response, Timings
from nephila.verdict import judge

URL = "http://h.org/d/p?q=1"


def verdict(*locations: bytes, kind: Kind = Kind.PAGE, hops: int = 0) -> tuple[Outcome, str, str]:
    headers = [("location", value.decode("latin-1")) for value in locations]
    response = Response(URL, 302, "http/1.1", b"", headers, Body(), Body(), b"", 0.0, Timings())
    found = judge(Lease(1, Request(URL, kind, hops=hops), 7), response, hash, hops_max=10, robots_hops_max=5)
    return found.outcome, found.reason, found.target


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/café/?q=中文".encode(), "http://h.org/caf%C3%A9/?q=%E4%B8%AD%E6%96%87"),
        ("/?q=中文".encode("gbk"), "http://h.org/?q=%D6%D0%CE%C4"),
        ("http://bücher.example/ü".encode(), "http://xn--bcher-kva.example/%C3%BC"),
        (b"/%E4%B8%AD?x=%D6%D0", "http://h.org/%E4%B8%AD?x=%D6%D0"),
        (b"x y\tz", "http://h.org/d/x%20yz"),
        (b"///other.org/x", "http://other.org/x"),
        (b"//other.org", "http://other.org/"),
        (b"\\\\other.org\\x", "http://other.org/x"),
        (b"http:x", "http://h.org/d/x"),
        (b"?q=2", "http://h.org/d/p?q=2"),
        (b"/x#part", "http://h.org/x"),
        (b"http://me:secret@h.org/x", "http://h.org/x"),
    ],
)
def test_where_it_leads(location: bytes, target: str) -> None:
    assert verdict(location) == (Outcome.MOVED, "", target)


@pytest.mark.parametrize(
    ("locations", "reason"),
    [
        ([], "redirect_without_location"),
        ([b" "], "redirect_without_location"),
        ([b"/a", b"/b"], "redirect_ambiguous"),
        ([b"file:///etc/passwd"], "redirect_target"),
        ([b"javascript:alert(1)"], "redirect_target"),
        ([b"http://h.org:0/"], "redirect_target"),
        ([b"http://h.org:99999/"], "redirect_target"),
        ([b"http://["], "redirect_target"),
    ],
)
def test_where_it_cannot_lead(locations: list[bytes], reason: str) -> None:
    assert verdict(*locations)[:2] == (Outcome.REFUSED, reason)


def test_two_lines_that_agree_are_one() -> None:
    assert verdict(b"/a", b"/a") == (Outcome.MOVED, "", "http://h.org/a")
