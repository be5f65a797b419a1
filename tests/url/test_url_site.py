from __future__ import annotations

import pytest

from nephila.url.site import is_public_suffix, name_label, registrable


@pytest.mark.parametrize(
    ("host", "domain", "label"),
    [
        ("news.sina.com.cn", "sina.com.cn", "sina"),
        ("sina.com", "sina.com", "sina"),
        ("www.sina.net", "sina.net", "sina"),
        ("a.b.example.co.uk", "example.co.uk", "example"),
        ("me.github.io", "me.github.io", "me"),
        ("x.me.github.io", "me.github.io", "me"),
        ("github.io", "github.io", "github"),
        ("com", "com", "com"),
        ("localhost", "localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]", "[::1]"),
        ("www.example.com.", "example.com", "example"),
        ("www.example.unlisted", "example.unlisted", "example"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn", "xn--85x722f"),
        ("www.city.kobe.jp", "city.kobe.jp", "city"),
        ("a.b.c.kobe.jp", "b.c.kobe.jp", "b"),
    ],
)
def test_registrable_and_name(host: str, domain: str, label: str) -> None:
    assert (registrable(host), name_label(host)) == (domain, label)


@pytest.mark.parametrize(
    ("host", "suffix"),
    [
        ("com", True),
        ("co.uk", True),
        ("github.io", True),
        ("com.", True),
        ("xn--55qx5d.cn", True),
        ("localhost", True),
        ("c.kobe.jp", True),
        ("city.kobe.jp", False),
        ("example.com", False),
        ("1.2.3.4", False),
        ("[::1]", False),
    ],
)
def test_public_suffix(host: str, suffix: bool) -> None:
    assert is_public_suffix(host) is suffix
