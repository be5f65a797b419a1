from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.robots.rules import BYTES_MAX, Rules, whole_lines


def allowed(text: str | bytes, path: str = "/x", token: str = "nephila") -> bool:
    data = text if isinstance(text, bytes) else text.encode()
    return Rules.parse(data).allowed(f"https://h.org{path}", token)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_end_in_any_way(end: str) -> None:
    text = end.join(["User-agent: nephila", "Disallow: /x", "", "User-agent: other", "Disallow: /y"])
    assert not allowed(text)
    assert allowed(text, "/y")


@pytest.mark.parametrize(
    ("text", "path", "may"),
    [
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", "/x", False),
        ("User-agent: *\nDisallow: /x".encode("utf-16"), "/x", False),
        (b"User-agent: *\nDisallow: /\xff\nDisallow: /x", "/x", False),
        (b"User-agent: *\nDisallow: /\x00\nDisallow: /x", "/x", False),
        (b"User-agent: *\nDisallow: /x # why", "/x", False),
        (b"Disallow: /x", "/x", True),
        (b"", "/x", True),
        (b"User-agent: *\nDisallow:", "/x", True),
        (b"User-agent: *\nDisallow: /", "/robots.txt", True),
        (b"User-agent: NEPHILA/2.0\nDisallow: /x", "/x", False),
        (b"User-agent: nephila bot\nDisallow: /x", "/x", False),
        (b"User-agent: neph\nDisallow: /x", "/x", True),
        (b"User-agent: nephila-images\nDisallow: /x", "/x", True),
        (b"User-agent: *\nDisallow: /x\nUser-agent: nephila\nAllow: /", "/x", True),
        (b"User-agent: nephila\nDisallow: /x\n\nUser-agent: nephila\nDisallow: /y", "/y", False),
        (b"User-agent: a\nUser-agent: nephila\nDisallow: /x", "/x", False),
        (b"User-agent: nephila\nCrawl-delay: 1\nUser-agent: b\nDisallow: /x", "/x", False),
        (b"User-agent: nephila\nSitemap: /s\nUnknown: 1\nUser-agent: b\nDisallow: /x", "/x", False),
        (b"User-agent: *\nDisallow: /*.pdf$", "/a.pdf", False),
        (b"User-agent: *\nDisallow: /*.pdf$", "/a.pdf?x", True),
        (b"User-agent: *\nDisallow: /x\nAllow: /x", "/x", True),
        (b"User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        (b"User-agent: *\nDisallow: /?q=", "/?q=1", False),
        ("User-agent: *\nDisallow: /é", "/%C3%A9", False),
        ("User-agent: *\nDisallow: /a\u2028b", "/a%E2%80%A8b", False),
        ("User-agent: *\nDisallow: /a\u2028User-agent: x", "/a", True),
        (b"User-agent: *\nDisallow: //a", "//a/b", False),
        (b"<!DOCTYPE html><html>\nUser-agent: *\nDisallow: /\n", "/x", True),
        (b"User-agent *\nDisallow /x", "/x", False),
    ],
)
def test_decisions(text: bytes | str, path: str, may: bool) -> None:
    assert allowed(text, path) is may


def test_only_the_first_512000_bytes_count_and_no_cut_line() -> None:
    filler = b"#" * 99 + b"\n"
    head = b"User-agent: *\n" + filler * ((BYTES_MAX - 1_000) // 100)
    cut = head + b"Disallow: /early\n" + b"Disallow: /" + b"x" * 2_000 + b"\nDisallow: /late\n"
    assert not allowed(cut, "/early")
    assert allowed(cut, "/late")
    assert allowed(cut, "/" + "x" * 2_000)
    assert whole_lines(whole_lines(cut)) == whole_lines(cut)


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("User-agent: *\nCrawl-delay: 2", 2.0),
        ("User-agent: *\nCrawl-delay: 0.5 # s", 0.5),
        ("User-agent: *\nCrawl-delay: 10s", 10.0),
        ("User-agent: *\nCrawl-delay: -1", -1.0),
        ("User-agent: *\nCrawl-delay: nan", -1.0),
        ("User-agent: *\nCrawl-delay: ", -1.0),
        ("Crawl-delay: 3", -1.0),
        ("User-agent: *\nCrawl-delay: 2\nUser-agent: nephila\nDisallow: /x", -1.0),
        ("User-agent: nephila\nCrawl-delay: 2\nUser-agent: b\nCrawl-delay: 9", 2.0),
        ("User-agent: nephila\nCrawl-delay: 2\n\nUser-agent: Nephila\nCrawl-delay: 3", 3.0),
        ("User-agent: nephila\nDisallow: /\nCrawl-delay: 4", 4.0),
    ],
)
def test_crawl_delay(text: str, delay: float) -> None:
    assert Rules.parse(text.encode()).crawl_delay("nephila") == delay


def test_sitemaps_as_written_without_repeats() -> None:
    text = b"Sitemap: https://h.org/A.xml\nUser-agent: *\nsitemap:/b.xml\nSitemap: https://h.org/A.xml\nSitemap:\n"
    assert Rules.parse(text).sitemaps == ["https://h.org/A.xml", "/b.xml"]


def test_many_rules_are_read_and_asked_in_time() -> None:
    text = b"User-agent: *\n" + b"".join(b"Disallow: /%d/*a*b\n" % i for i in range(20_000))
    started = time.process_time()
    rules = Rules.parse(text)
    assert rules.allowed("http://h.org/x", "nephila")
    assert not rules.allowed("http://h.org/19999/aab", "nephila")
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    "rule", ["/" + "*a" * 30 + "b", "/*" + "a" * 3_000 + "b$", "/" + "*aaaa" * 500 + "b$", "/*?" * 30]
)
def test_wildcards_take_no_time(rule: str) -> None:
    """A regular expression with a wildcard for each `*` would take longer than there are atoms."""
    started = time.process_time()
    assert allowed(f"User-agent: *\nDisallow: {rule}", "/" + "a" * 8_000)
    assert time.process_time() - started < 0.5


lines = st.sampled_from(
    [
        "User-agent: *",
        "User-agent: nephila",
        "User-agent",
        "Disallow: /",
        "Allow: /%",
        "Disallow:*$*",
        "Crawl-delay: 1e9",
    ]
)


@given(st.one_of(st.binary(max_size=200), st.lists(lines).map(lambda some: "\r".join(some).encode())), st.text())
def test_never_raises(data: bytes, path: str) -> None:
    rules = Rules.parse(data)
    assert rules.allowed(path, "nephila") in (True, False)
    assert rules.allowed("http://h.org/" + path, "nephila") in (True, False)
    assert rules.crawl_delay("nephila") >= -1.0


FILE = b"""# ours
User-agent: other
Disallow: /

User-agent: nephila
User-agent: third
Disallow: /private
Allow: /private/open
Disallow: /*.pdf$
Sitemap: http://a.test/s.xml
Disallow: /private/open/not
"""


@pytest.mark.parametrize(
    ("path", "token", "group", "line"),
    [
        ("/private/x", "nephila", "nephila", (7, "disallow: /private")),
        ("/private/open/x", "nephila", "nephila", (8, "allow: /private/open")),
        ("/private/open/not", "nephila", "nephila", (11, "disallow: /private/open/not")),
        ("/a.pdf", "nephila", "nephila", (9, "disallow: /*.pdf$")),
        ("/", "nephila", "nephila", None),
        ("/", "other", "other", (3, "disallow: /")),
        ("/", "nobody", "", None),
    ],
)
def test_the_line_that_decides(path: str, token: str, group: str, line: tuple[int, str] | None) -> None:
    assert Rules.parse(FILE).deciding(f"http://a.test{path}", token) == (group, line)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_are_counted_as_an_editor_does(end: bytes) -> None:
    data = end.join([b"User-agent: *", b"", b"Disallow: /x"])
    assert Rules.parse(data).deciding("http://a.test/x", "nephila") == ("*", (3, "disallow: /x"))
