from __future__ import annotations

import re
from pathlib import Path

import pytest

from nephila.url.parse import host_of, normalise
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


def test_corpus_psl(corpora: Path) -> None:
    """A host without registrable domain is its own here, so "null" reads: a public suffix, or no host at all."""
    failed, passed = [], 0
    lines = (corpora / "psl/test_psl.txt").read_text().splitlines()
    for line in lines:
        if not (check := re.match(r"checkPublicSuffix\((null|'[^']*'), (null|'[^']*')\);", line)):
            continue
        asked, expected = (part.strip("'") for part in check.groups())
        url = normalise(f"http://{asked}/")
        host = host_of(url) if url and asked != "null" and not asked.startswith(".") else ""
        if expected == "null":
            right = not host or (is_public_suffix(host) and registrable(host) == host)
        else:
            right = registrable(host) == host_of(normalise(f"http://{expected}/") or "")
        passed += right
        if not right:
            failed.append(line)
    print(f"psl: {passed} passed, {len(failed)} failed")
    assert not failed
    assert passed >= 75
