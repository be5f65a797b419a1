from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.errors import ConfigError
from nephila.url.parse import authority_of, host_of, normalise, origin, path_of, resolve, seed, without_userinfo


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("x.html", "https://h.org/a/x.html"),
        ("/x#frag", "https://h.org/x"),
        ("#frag", "https://h.org/a/p?q=1"),
        ("", "https://h.org/a/p?q=1"),
        ("?r", "https://h.org/a/p?r"),
        ("//Other.ORG", "https://other.org/"),
        ("  ../x\n", "https://h.org/x"),
        ("http://h.org:80/", "http://h.org/"),
        ("http://u:p@h.org/", "http://u:p@h.org/"),
        ("http://h.org:0/", None),
        ("http://h.org:8080/", "http://h.org:8080/"),
        ("/a:0/b", "https://h.org/a:0/b"),
        ("http://[", None),
        ("http://", None),
        ("http://a b/", None),
        ("mailto:a@b.org", None),
        ("javascript:void(0)", None),
        ("data:text/html,x", None),
        ("ftp://H.org:21/x/../y;type=a", "ftp://h.org/y;type=a"),
        ("ftp://h/x", None),
        ("ftp://u:p@h/x", None),
        ("ftps://h.org/x", None),
        ("\ud800", "https://h.org/a/%EF%BF%BD"),
        ("a\x00b", "https://h.org/a/a%00b"),
        ("http://a\x00b/", None),
        ("?/b/", "https://h.org/a/p?/b/"),
        ("?q=%25&r=%23x", "https://h.org/a/p?q=%25&r=%23x"),
        ("/a+b?c+d", "https://h.org/a+b?c+d"),
        ("./", "https://h.org/a/"),
        ("././x", "https://h.org/a/x"),
        ("x\vy\fz", "https://h.org/a/x%0By%0Cz"),
        ("\nhttp://b.org/\n", "http://b.org/"),
        ("///b.org/x", "https://b.org/x"),
        ("http://a_b.example.com/", "http://a_b.example.com/"),
        ("http://a..b/", "http://a..b/"),
    ],
)
def test_resolve(href: str, url: str | None) -> None:
    assert resolve("https://h.org/a/p?q=1", href) == url


@pytest.mark.parametrize(
    ("charset", "query"),
    [
        ("gbk", "%D6%D0"),
        ("GBK", "%D6%D0"),
        ("gb18030", "%D6%D0"),
        ("big5", "%A4%A4"),
        ("shift_jis", "%92%86"),
        ("euc-jp", "%C3%E6"),
        ("euc-kr", "%F1%E9"),
        ("windows-1251", "%26%2320013%3B"),
        ("utf-8", "%E4%B8%AD"),
        ("utf-16le", "%E4%B8%AD"),
        ("no-such-charset", "%E4%B8%AD"),
    ],
)
def test_the_query_is_in_the_charset_of_the_page_and_the_path_is_not(charset: str, query: str) -> None:
    assert resolve("http://h.cn/", "/中?k=中#中", charset) == f"http://h.cn/%E4%B8%AD?k={query}"


def test_a_query_in_another_charset_is_encoded_once_and_trimmed() -> None:
    assert resolve("http://h.cn/", " ?a=%20b&中='<\n> ", "gbk") == "http://h.cn/?a=%20b&%D6%D0=%27%3C%3E"
    assert resolve("http://h.cn/", "?€", "gbk") == "http://h.cn/?%80"
    assert resolve("http://h.cn/", "?é\ud800", "gbk") == "http://h.cn/?%A8%A6%26%2365533%3B"


@given(st.text(), st.text(), st.sampled_from(["utf-8", "gbk", "iso-2022-jp", "shift_jis", "windows-1252", "big5", ""]))
def test_resolve_never_raises_and_gives_a_serialised_url(base: str, href: str, charset: str) -> None:
    for url in (resolve(base, href, charset), resolve("https://h.org/d/f", href, charset), normalise(href)):
        if url is not None:
            assert normalise(url) == url
            assert url.isascii()


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://h.org/", ("http://h.org", "h.org", "h.org", "/")),
        ("https://h.org:8443/a/b?c=/d", ("https://h.org:8443", "h.org:8443", "h.org", "/a/b?c=/d")),
        ("http://u:p@h.org:81/@x", ("http://h.org:81", "h.org:81", "h.org", "/@x")),
        ("http://[::1]/", ("http://[::1]", "[::1]", "[::1]", "/")),
        ("ftp://ab/", ("ftp://ab", "ab", "ab", "/")),
        ("http://[::1]:8080/x", ("http://[::1]:8080", "[::1]:8080", "[::1]", "/x")),
    ],
)
def test_slicing(url: str, parts: tuple[str, str, str, str]) -> None:
    assert (origin(url), authority_of(url), host_of(url), path_of(url)) == parts


def test_without_userinfo() -> None:
    assert without_userinfo("https://u:p@h.org:81/a@b?c@d") == "https://h.org:81/a@b?c@d"
    assert without_userinfo("https://h.org/a@b") == "https://h.org/a@b"


@pytest.mark.parametrize(
    ("text", "url", "guessed"),
    [
        ("https://h.org", "https://h.org/", False),
        (" HTTP://H.org/x#y ", "http://h.org/x", False),
        ("h.org/x?y", "https://h.org/x?y", True),
        ("localhost:8000/x", "https://localhost:8000/x", True),
        ("127.0.0.1:80", "https://127.0.0.1:80/", True),
        ("[::1]:8080/x", "https://[::1]:8080/x", True),
        ("例子.测试", "https://xn--fsqu00a.xn--0zwm56d/", True),
        ("//h.org/x", "https://h.org/x", True),
        ("https://u:p@h.org/", "https://u:p@h.org/", False),
        ("FTP://ftp.H.org", "ftp://ftp.h.org/", False),
    ],
)
def test_seed(text: str, url: str, guessed: bool) -> None:
    assert seed(text) == (url, guessed)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("https://h.org/a b", "%20"),
        ("h.org\x00", "control character"),
        ("htp://h.org", "htp: which is not supported"),
        ("ftps://h.org/", "only http://, https:// and ftp://"),
        ("file:///etc/passwd", "file: which is not supported"),
        ("mailto:a@h.org", "mailto: which is not supported"),
        ("u:p@h.org", "write https:// in front"),
        ("https://", "no host"),
        ("/only/a/path", "no host"),
        ("?q", "no host"),
        ("https://h.org:99999/", "port '99999'"),
        ("h.org:0", "port '0'"),
        ("https://h.org:x/", "port 'x'"),
        ("http://[", "no valid host name"),
        ("http://a%00b/", "no valid host name"),
        (".", "no valid host name"),
    ],
)
def test_seed_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match="address") as caught:
        seed(text)
    assert says in str(caught.value)
