"""The key of web archives: what readers of an index make of an address is what stands in it."""

from __future__ import annotations

import pytest

from nephila.url.surt import surt

TABLE = [
    ("https://www.Example.com/A/?b=2&a=1", "com,example)/a?a=1&b=2"),
    ("http://example.com:8080/a//b/../c/./d/?", "com,example:8080)/a/c/d"),
    ("https://example.com:443/x%2520y%2Fz?q=%41%20b&Q=%E4%B8%AD", "com,example)/x%20y/z?q=%e4%b8%ad&q=a%20b"),
    ("http://www2.a.b.c/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "c,b,a)/mileg.aspx"),
    ("http://a.b/x?phpsessid=0123456789abcdefghijklemopqrstuv&a=b", "b,a)/x?a=b"),
    ("http://a.b/x?a=b&PHPSESSID=0123456789abcdefghijklemopqrstuv", "b,a)/x?&a=b"),
    ("http://a.b/x?b&a=&a&=c&b=1", "b,a)/x?=c&a&a=&b&b=1"),
    ("http://127.0.0.1:1234/a%3Fb?c%23d", "1,0,0,127:1234)/a?b?c%23d"),
    ("ftp://a.test/f.txt", "test,a)/f.txt"),
    ("http://xn--fiqs8s/%E4%B8%AD/", "xn--fiqs8s)/%e4%b8%ad"),
    ("http://a.b/%ff%fe?%ff=\u00e9", "b,a)/%ff%fe?%ff=%c3%a9"),
    ("http://user:pw@a.b", "b,a)/"),
    ("http://[::1]:80/c", "::1)/c"),
]
"""Made with the Python package `surt` 0.3.1; tests/proofs/test_other_readers.py asks it again."""


@pytest.mark.parametrize(("url", "key"), TABLE)
def test_keys(url: str, key: str) -> None:
    assert surt(url) == key
