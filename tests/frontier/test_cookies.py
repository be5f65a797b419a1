from __future__ import annotations

import sqlite3

import pytest

from nephila.db import TABLES
from nephila.frontier.cookies import AGE_MAX_S, ALL_MAX, HOST_MAX, SIZE_MAX, CookieJar, cookie_date

NOW = 1_800_000_000.0
URL = "https://www.example.com/a/b"


def jar(*lines: str, url: str = URL) -> CookieJar:
    it = CookieJar()
    it.store(url, list(lines), NOW)
    return it


@pytest.mark.parametrize(
    ("line", "url", "sent"),
    [
        ("a=1", "https://www.example.com/a/x", "a=1"),
        ("a=1", "https://www.example.com/a", "a=1"),
        ("a=1", "http://www.example.com:8080/a/x", "a=1"),
        ("a=1", "https://www.example.com/ab", ""),
        ("a=1", "https://www.example.com/", ""),
        ("a=1; Path=/", "https://www.example.com/", "a=1"),
        ("a=1; path=/x", "https://www.example.com/x/y?z", "a=1"),
        ("a=1; Path=x", "https://www.example.com/a/", "a=1"),
        ("a=1; Path=/x/", "https://www.example.com/x", ""),
        ("a=1; Path=/", "https://example.com/", ""),
        ("a=1; Path=/", "https://sub.www.example.com/", ""),
        ("a=1; Path=/; Domain=example.com", "https://example.com/", "a=1"),
        ("a=1; Path=/; Domain=.Example.COM", "https://x.y.example.com/", "a=1"),
        ("a=1; Path=/; Domain=example.com", "https://notexample.com/", ""),
        ("a=1; Path=/; Domain=", "https://www.example.com/", "a=1"),
        ("a=1; Path=/; Domain=other.com; Domain=example.com", "https://example.com/", "a=1"),
        ("a=1; Path=/; Secure", "https://www.example.com/", "a=1"),
        ("a=1; Path=/; Secure", "http://www.example.com/", ""),
        ("a=1; HttpOnly; SameSite=Strict", "https://www.example.com/a/", "a=1"),
        (" a = 1 ; Path=/ ", "https://www.example.com/", "a=1"),
        ('a="x y"; Path=/', "https://www.example.com/", 'a="x y"'),
        ("a=b=c; Path=/", "https://www.example.com/", "a=b=c"),
        ("a=; Path=/", "https://www.example.com/", "a="),
        ("token; Path=/", "https://www.example.com/", "token"),
        ("=token; Path=/", "https://www.example.com/", "token"),
    ],
)
def test_who_gets_a_cookie(line: str, url: str, sent: str) -> None:
    assert jar(line).header(url, NOW) == sent


@pytest.mark.parametrize(
    ("url", "line"),
    [
        (URL, "a=1; Domain=other.com"),
        (URL, "a=1; Domain=sub.www.example.com"),
        (URL, "a=1; Domain=com"),
        (URL, "a=1; Domain=.COM"),
        (URL, "a=1; Domain=com."),
        (URL, "a=1; Domain=example.com."),
        (URL, "a=1; Domain=example.com/x"),
        (URL, "a=1; Domain=example.com:443"),
        ("https://www.example.co.uk/", "a=1; Domain=Co.Uk"),
        ("https://me.github.io/", "a=1; Domain=github.io"),
        ("https://www.xn--85x722f.xn--55qx5d.cn/", "a=1; Domain=公司.cn"),
        ("https://www.example.com./", "a=1; Domain=com."),
        ("https://127.0.0.1/", "a=1; Domain=0.0.1"),
        ("http://www.example.com/", "a=1; Secure"),
        ("http://www.example.com/", "__Secure-a=1; Secure"),
        (URL, "__Secure-a=1"),
        (URL, "__secure-a=1"),
        (URL, "__Host-a=1; Secure"),
        (URL, "__Host-a=1; Path=/"),
        (URL, "__HOST-a=1; Secure; Path=/; Domain=www.example.com"),
        (URL, "=__Host-a=1; Secure; Path=/"),
        (URL, "a\x00=1"),
        (URL, "a=1\r\nX: y"),
        (URL, "a=1; Path=/\x7f"),
        (URL, "a=" + "x" * SIZE_MAX),
        (URL, ""),
        (URL, "="),
        (URL, "; Path=/"),
    ],
)
def test_refused(url: str, line: str) -> None:
    it = CookieJar()
    assert it.store(url, [line], NOW) is False
    assert it.rows() == []


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://localhost:8000/", "a=1; Domain=localhost"),
        ("http://127.0.0.1:8000/", "a=1; Domain=127.0.0.1"),
        ("http://[::1]:8000/", "a=1"),
        ("https://github.io/", "a=1; Domain=github.io"),
    ],
)
def test_names_without_owner_and_addresses_keep_cookies_to_themselves(url: str, line: str) -> None:
    it = jar(line, url=url)
    assert [row[1] for row in it.rows()] == [1]
    assert it.header(url.replace(":8000", ":9000"), NOW) == "a=1"
    assert it.header(url.replace("://", "://x."), NOW) == ""


def test_prefixes_that_keep_their_promise() -> None:
    it = jar("__Host-a=1; Secure; Path=/", "__Secure-b=2; Secure; Domain=example.com")
    assert it.header(URL, NOW) == "__Secure-b=2; __Host-a=1"


def test_longer_paths_first_then_older_ones() -> None:
    it = jar("old=1; Path=/", "deep=1; Path=/a/b", "new=1; Path=/", "mid=1; Path=/a")
    it.store(URL, ["old=2; Path=/"], NOW)
    assert it.header(URL, NOW) == "deep=1; mid=1; old=2; new=1"


def test_a_cookie_over_plain_http_does_not_replace_a_secure_one() -> None:
    it = jar("a=1; Secure; Path=/; Domain=example.com")
    plain = "http://www.example.com/"
    assert not it.store(plain, ["a=2; Path=/"], NOW)
    assert not it.store(plain, ["a=; Max-Age=0; Path=/; Domain=example.com"], NOW)
    assert it.store(plain, ["b=2; Path=/"], NOW)
    assert it.header("https://www.example.com/", NOW) == "a=1; b=2"


@pytest.mark.parametrize(
    ("attributes", "lives"),
    [
        ("", None),
        ("; Max-Age=60", 60.0),
        ("; max-age=60; Expires=Wed, 09 Jun 2021 10:18:14 GMT", 60.0),
        ("; Max-Age=junk; Expires=Fri, 15 Jan 2027 09:00:00 GMT", 3600.0),
        ("; Max-Age=99999999999999999999999", AGE_MAX_S),
        ("; Expires=Fri, 31 Dec 9999 23:59:59 GMT", AGE_MAX_S),
        ("; Expires=tomorrow", None),
        ("; Expires=", None),
    ],
)
def test_lifetime(attributes: str, lives: float | None) -> None:
    it = jar("a=1; Path=/" + attributes)
    assert [row[5] for row in it.rows()] == [0.0 if lives is None else NOW + lives]
    assert it.header(URL, NOW) == "a=1"
    assert it.header(URL, NOW + (lives or 1e9)) == ("a=1" if lives is None else "")


@pytest.mark.parametrize(
    "attribute",
    ["Max-Age=0", "Max-Age=-5", "Expires=Thu, 01 Jan 1970 00:00:00 GMT", "Expires=Wed, 09 Jun 2021 10:18:14 GMT"],
)
def test_deletion(attribute: str) -> None:
    it = jar("a=1; Path=/")
    assert it.store(URL, [f"a=; Path=/; {attribute}"], NOW) is True
    assert it.store(URL, [f"a=; Path=/; {attribute}"], NOW) is False
    assert (it.header(URL, NOW), it.rows()) == ("", [])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Wed, 09 Jun 2021 10:18:14 GMT", 1623233894.0),
        ("Wednesday, 09-Jun-21 10:18:14 GMT", 1623233894.0),
        ("Wed Jun  9 10:18:14 2021", 1623233894.0),
        ("10:18:14 2021 junk june 9", 1623233894.0),
        ("09 Jun 2021 10:18:14.123 +0200", 1623233894.0),
        ("Thu, 01-Jan-70 00:00:00 GMT", 0.0),
        ("31 Feb 2021 10:00:00", None),
        ("09 Jun 2021", None),
        ("09 Jun 1600 10:18:14", None),
        ("09 Jun 2021 24:00:00", None),
        ("09 Jun 2021 1:2:60", None),
        ("", None),
        ("٠٩ Jun 2021 10:18:14", None),
    ],
)
def test_dates(text: str, seconds: float | None) -> None:
    assert cookie_date(text) == seconds


def test_the_oldest_of_a_host_goes_first() -> None:
    it = jar(*(f"c{i}=1; Path=/" for i in range(HOST_MAX)))
    it.store(URL, ["c0=2; Path=/"], NOW)
    it.store(URL, ["more=1; Path=/"], NOW)
    names = [row[3] for row in it.rows()]
    assert len(names) == HOST_MAX
    assert "c1" not in names
    assert {"c0", "c2", "more"} <= set(names)


def test_an_expired_one_goes_before_the_oldest() -> None:
    it = jar(*(f"c{i}=1; Path=/" for i in range(HOST_MAX - 1)), "short=1; Path=/; Max-Age=5")
    it.store(URL, ["more=1; Path=/"], NOW + 10)
    names = [row[3] for row in it.rows()]
    assert "short" not in names
    assert "c0" in names


def test_the_jar_is_bounded() -> None:
    it = CookieJar()
    for i in range(ALL_MAX + 5):
        it.store(f"https://h{i}.org/", ["a=1"], NOW)
    assert len(it.rows()) == ALL_MAX
    assert it.header("https://h4.org/", NOW) == ""
    assert it.header("https://h5.org/", NOW) == "a=1"


def test_changes_are_drained_once() -> None:
    it = jar("a=1; Path=/", "b=1; Path=/; HttpOnly; Secure; Domain=example.com; Max-Age=9")
    assert it.drain_changed() == [
        ("www.example.com", 1, "/", "a", "1", 0.0, 0, 0),
        ("example.com", 0, "/", "b", "1", NOW + 9, 1, 1),
    ]
    assert it.drain_changed() == []
    assert it.store(URL, ["a=1; Path=/"], NOW) is False
    assert it.drain_changed() == []
    it.store(URL, ["a=; Path=/; Max-Age=0", "c=1; Path=/"], NOW)
    assert it.drain_changed() == [("www.example.com", "/", "a"), ("www.example.com", 1, "/", "c", "1", 0.0, 0, 0)]


def test_rows_fit_the_table_and_come_back() -> None:
    it = jar("a=1; Path=/", "b=1; Path=/; Domain=example.com", "a=2; Path=/x")
    with sqlite3.connect(":memory:") as con:
        con.executescript(TABLES)
        con.executemany("INSERT INTO cookie VALUES (?, ?, ?, ?, ?, ?, ?, ?)", it.rows())
        rows = con.execute("SELECT * FROM cookie").fetchall()
    con.close()
    again = CookieJar()
    again.load(rows)
    assert sorted(again.rows()) == sorted(it.rows())
    assert sorted(again.header(URL, NOW).split("; ")) == ["a=1", "b=1"]
    assert again.drain_changed() == []
