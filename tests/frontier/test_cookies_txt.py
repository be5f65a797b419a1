"""cookies.txt, in and out: what a browser writes is understood exactly, and what cannot be read is never replaced."""

from __future__ import annotations

import http.cookiejar
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nephila.errors import ConfigError
from nephila.frontier import cookies_txt
from nephila.frontier.cookies import ALL_MAX, CookieJar, Row

NOW = 1_800_000_000.0
LATER = int(NOW) + 1000


def read(tmp_path: Path, text: str) -> list[Row]:
    path = tmp_path / "cookies.txt"
    path.write_text(text)
    return cookies_txt.read(path, "cookies", NOW)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (f".example.com\tTRUE\t/\tTRUE\t{LATER}\tsid\ta b=c", ("example.com", 0, "/", "sid", "a b=c", LATER, 1, 0)),
        ("www.Example.com\tFALSE\t/x\tFALSE\t0\ta\t", ("www.example.com", 1, "/x", "a", "", 0.0, 0, 0)),
        ("#HttpOnly_.example.com\tTRUE\t/\tFALSE\t0\ta\tb", ("example.com", 0, "/", "a", "b", 0.0, 0, 1)),
        ("example.com\tTRUE\t/\tFALSE\t0\ta\tb", ("example.com", 0, "/", "a", "b", 0.0, 0, 0)),
        (".example.com\tFALSE\t/\tFALSE\t0\ta\tb", ("example.com", 1, "/", "a", "b", 0.0, 0, 0)),
        ("127.0.0.1\tFALSE\t/\tFALSE\t-1\t\tb", ("127.0.0.1", 1, "/", "", "b", 0.0, 0, 0)),
        ("例え.jp\tFALSE\t/\tFALSE\t0\ta\té", ("xn--r8jz45g.jp", 1, "/", "a", "é", 0.0, 0, 0)),
        ("example.com\tTRUE\t/\tFALSE\t0\ta", ("example.com", 0, "/", "a", "", 0.0, 0, 0)),
        (".co.uk\tTRUE\t/\tFALSE\t0\ta\tb", ("co.uk", 1, "/", "a", "b", 0.0, 0, 0)),
    ],
)
def test_one_line(line: str, row: Row, tmp_path: Path) -> None:
    assert read(tmp_path, f"# Netscape HTTP Cookie File\n\n{line}\n") == [row]


def test_what_is_over_is_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, f"a.example\tFALSE\t/\tFALSE\t{int(NOW) - 1}\ta\tb\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "s3cr3t",
        "a.example FALSE / FALSE 0 a s3cr3t",
        "a.example\tmaybe\t/\tFALSE\t0\ta\ts3cr3t",
        "a.example\tFALSE\tx\tFALSE\t0\ta\ts3cr3t",
        "a.example\tFALSE\t/\tFALSE\tsoon\ta\ts3cr3t",
        "a.example/x\tFALSE\t/\tFALSE\t0\ta\ts3cr3t",
        "\tFALSE\t/\tFALSE\t0\ta\ts3cr3t",
        "a.example\tFALSE\t/\tFALSE\t0\ta\ts3cr3t\tmore",
        "a.example\tFALSE\t/\tFALSE\t0\t\t",
        "a.example\tFALSE\t/\tFALSE\t0\ta\ts3c\x01r3t",
    ],
)
def test_a_line_that_is_no_cookie_is_named_and_not_shown(line: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cookies: .*cookies.txt, line 2: not a cookie") as error:
        read(tmp_path, f"# a comment\n{line}\n")
    assert "s3" not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cookies: .*none cannot be read: No such file"):
        cookies_txt.read(tmp_path / "none", "cookies", NOW)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\0")
    with pytest.raises(ConfigError, match="not UTF-8"):
        cookies_txt.read(tmp_path / "bytes", "cookies", NOW)
    with pytest.raises(ConfigError, match=r"holds 3,001 cookies, more than 3,000"):
        read(tmp_path, "".join(f"a.example\tFALSE\t/\tFALSE\t0\ta{n}\tb\n" for n in range(ALL_MAX + 1)))


_TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\t"), max_size=20)
_ROWS = st.builds(
    lambda host, only, path, name, value, expires, secure, http: (
        host,
        only,
        f"/{path}",
        name,
        value,
        expires,
        secure,
        http,
    ),
    st.sampled_from(["example.com", "127.0.0.1", "xn--r8jz45g.jp"]),
    st.integers(0, 1),
    _TEXTS,
    _TEXTS.filter(bool),
    _TEXTS,
    st.sampled_from([0.0, NOW + 5.0]),
    st.integers(0, 1),
    st.integers(0, 1),
)


@given(st.lists(_ROWS, max_size=5))
@example([("example.com", 0, "/", "a", "\x85\u2028", 0.0, 0, 0)])
def test_what_was_written_is_read_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    """Whatever a server sets: what the format cannot hold is left out, and never makes the file unreadable."""
    path = tmp_path_factory.mktemp("jar") / "cookies.txt"
    left = cookies_txt.write(rows, path)
    fit = [row for row in rows if not any(ord(char) < 32 or ord(char) == 127 for char in row[2] + row[3] + row[4])]
    assert (cookies_txt.read(path, "cookies", NOW), left) == (fit, len(rows) - len(fit))


def test_others_read_what_we_write_and_nobody_else_may(tmp_path: Path) -> None:
    path = tmp_path / "cookies.txt"
    path.write_text("old")
    path.chmod(0o644)
    rows: list[Row] = [
        ("example.com", 0, "/", "a", "1", float(LATER), 1, 1),
        ("www.example.com", 1, "/x", "b", "2", 0.0, 0, 0),
    ]
    assert cookies_txt.write(rows, path) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    jar = http.cookiejar.MozillaCookieJar(path)
    jar.load(ignore_discard=True, ignore_expires=True)
    found = {(c.domain, c.domain_specified, c.path, c.name, c.value, c.secure) for c in jar}
    assert found == {(".example.com", True, "/", "a", "1", True), ("www.example.com", False, "/x", "b", "2", False)}
    assert [entry.name for entry in tmp_path.iterdir()] == ["cookies.txt"]


def test_a_secret_cookie_is_sent_named_and_no_row() -> None:
    jar, url = CookieJar(), "https://www.example.com/"
    jar.store(url, ["plain=1"], NOW)
    jar.load([("example.com", 0, "/", "given", "2", 0.0, 0, 0)], "cookies")
    jar.store(url, ["session=3; Path=/"], NOW, "basic@www.example.com")
    assert jar.line(url, NOW) == ("plain=1; given=2; session=3", "basic@www.example.com cookies")
    assert jar.line("https://a.example.com/", NOW) == ("given=2", "cookies")
    assert jar.drain_changed() == [
        ("www.example.com", 1, "/", "plain", "1", 0.0, 0, 0),
        ("www.example.com", "/", "session"),
    ]


def test_a_cookie_that_becomes_secret_leaves_the_database() -> None:
    jar, url = CookieJar(), "https://www.example.com/"
    jar.store(url, ["sid=1"], NOW)
    jar.drain_changed()
    assert jar.store(url, ["sid=1"], NOW, "basic@www.example.com")
    assert jar.drain_changed() == [("www.example.com", "/", "sid")]
    assert len(jar.rows()) == 1
