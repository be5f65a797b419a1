"""Listings of FTP folders in every form, and what of them is no entry."""

from __future__ import annotations

import time
from calendar import timegm
from typing import Any
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.page.listing import Entry, entries, href, read
from nephila.page.reader import Reader
from nephila.types import Body, Lease, Request, Response, Timings

NOW = float(timegm((2024, 3, 1, 12, 0, 0)))


def at(*moment: int) -> float:
    return float(timegm((*moment, 0, 0, 0)[:6]))


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        (
            b"type=file;size=12;modify=20240102030405.123; a  b.txt",
            Entry(b"a  b.txt", "file", 12, at(2024, 1, 2, 3, 4, 5)),
        ),
        (
            b"Type=dir;Modify=19991231235959;UNIX.mode=0755; pub",
            Entry(b"pub", "folder", -1, at(1999, 12, 31, 23, 59, 59)),
        ),
        (b"type=OS.unix=slink:/pub/x;size=3; s", Entry(b"s", "link", 3, -1.0, b"/pub/x")),
        (b"type=OS.unix=symlink; s", Entry(b"s", "link")),
        (b"type=file;size=x;modify=2024; \xff;=", Entry(b"\xff;=", "file")),
        (
            b"-rw-r--r--   1 owner  group   1234 Jan  2  2019 linux 6.tar.gz",
            Entry(b"linux 6.tar.gz", "file", 1234, at(2019, 1, 2)),
        ),
        (b"drwxr-xr-x+ 2 0 0 4096 Feb 29 23:59 pub", Entry(b"pub", "folder", 4096, at(2024, 2, 29, 23, 59))),
        (b"-rw-r--r-- 1 0 0 5 Mar  2 12:00 tomorrow", Entry(b"tomorrow", "file", 5, at(2024, 3, 2, 12))),
        (b"-rw-r--r-- 1 0 0 5 Mar  3 12:00 last year", Entry(b"last year", "file", 5, at(2023, 3, 3, 12))),
        (b"-rw-r--r-- 1 0 5 2 Jan 2020 day first", Entry(b"day first", "file", 5, at(2020, 1, 2))),
        (b"-rw-r--r-- 1 0 0 5 2024-01-02 03:04 iso", Entry(b"iso", "file", 5, at(2024, 1, 2, 3, 4))),
        (b"-rw-r--r-- 1 a b c 99 Dec 31 1999  two", Entry(b" two", "file", 99, at(1999, 12, 31))),
        (b"lrwxrwxrwx 1 0 0 7 Jan  2  2019 a -> ../b", Entry(b"a", "link", 7, at(2019, 1, 2), b"../b")),
        (b"crw-rw---- 1 0 0 4, 64 Jan  2  2019 tty", Entry(b"tty", "file", 64, at(2019, 1, 2))),
        (b"01-02-24  03:04AM       <DIR>          Old Files", Entry(b"Old Files", "folder", -1, at(2024, 1, 2, 3, 4))),
        (b"12-31-99  12:30PM            1,234,567 a.zip", Entry(b"a.zip", "file", 1234567, at(1999, 12, 31, 12, 30))),
        (b"2024-01-02  15:04                   5 n", Entry(b"n", "file", 5, at(2024, 1, 2, 15, 4))),
        (b"01-02-2024  12:00AM <SYMLINKD> s [C:\\x]", Entry(b"s [C:\\x]", "link", -1, at(2024, 1, 2))),
    ],
)
def test_one_line(line: bytes, entry: Entry) -> None:
    assert list(entries(line + b"\r\n", NOW)) == [entry]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"total 12",
        b"type=cdir; /pub",
        b"type=pdir; ..",
        b"type=dir; ..",
        b"type=dir; .",
        b"type=file; /etc/passwd",
        b"type=file; a/b",
        b"type=file; a\rb",
        b"type=file; a\0b",
        b"drwxr-xr-x 2 0 0 4096 Jan  2 03:04 .",
        b"-rw-r--r-- 1 0 0 5 Jan  2 03:04 ",
        b"-rw-r--r-- 1 0 0 5 Foo  2 03:04 x",
        b"-rw-r--r-- 1 0 0 " + b"9" * 5000 + b" Jan  2 03:04 x",
        b"01-02-24  03:04AM       <DIR>          ..",
        b"+i8388621.48594,m825718503,r,s280,\tdjb.html",
        b"plain name",
    ],
)
def test_no_entry(line: bytes) -> None:
    assert list(entries(line, NOW)) == []


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        (Entry(b"a b?#%:\xe4", "file"), "a%20b%3F%23%25%3A%E4"),
        (Entry(b"d", "folder"), "d/"),
        (Entry(b"s", "link", target=b"x/../y"), "/a/b/y"),
        (Entry(b"s", "link", target=b"/pub//x/"), "/pub/x"),
        (Entry(b"s", "link", target=b"../c"), "/a/c"),
        (Entry(b"s", "link", target=b"../../../c"), ""),
        (Entry(b"s", "link", target=b"."), ""),
        (Entry(b"s", "link", target=b".."), ""),
        (Entry(b"s", "link", target=b"/"), ""),
        (Entry(b"s", "link", target=b"x\ry"), ""),
        (Entry(b"s", "link"), ""),
    ],
)
def test_where_an_entry_leads(entry: Entry, place: str) -> None:
    assert href(entry, "/a/b/") == place


def page(content: bytes, links_max: int = 100, protocol: str = "ftp", url: str = "ftp://h.org/pub/") -> Any:
    reader = Reader(
        page_bytes_max=1 << 24,
        links_max=links_max,
        sitemaps=False,
        resolve=lambda base, link, charset: urljoin(base, link),
    )
    headers = [("content-type", "text/x-ftp-listing")]
    response = Response(url, 226, protocol, b"", headers, Body(content), Body(content), b"", NOW, Timings())
    return reader(Lease(1, Request(url), 7), response, content)


def test_a_listing_is_a_page_of_links() -> None:
    names = "中文".encode("gbk")
    found = page(b"type=dir; " + names + b"\r\ntype=file;size=5; " + names * 9 + b".txt\r\n")
    assert (found.media_type, found.charset, found.title) == ("text/x-ftp-listing", "gbk", "/pub/")
    assert [(link.url, link.tag, link.anchor) for link in found.links] == [
        ("ftp://h.org/pub/%D6%D0%CE%C4/", "folder", "中文"),
        (f"ftp://h.org/pub/{'%D6%D0%CE%C4' * 9}.txt", "file", "中文" * 9 + ".txt"),
    ]
    assert [(entry.size, entry.kind) for entry in found.document()] == [(-1, "folder"), (5, "file")]


def test_no_more_links_than_the_limit() -> None:
    found = page(b"".join(b"type=file; %d\r\n" % n for n in range(50)), links_max=20)
    assert (len(found.links), found.links_cut) == (20, True)


def test_a_web_server_cannot_serve_a_listing() -> None:
    assert page(b"type=file; a\r\n", protocol="http/1.1", url="http://h.org/").links is None


@given(st.binary(max_size=400))
def test_noise_never_raises_and_names_are_names(noise: bytes) -> None:
    for entry in entries(noise, NOW):
        assert entry.name not in (b"", b".", b"..")
        assert not set(entry.name) & set(b"/\r\n\0")


@pytest.mark.long
def test_a_million_entries() -> None:
    """Links are taken up to the limit in a fraction of a second; reading all of them takes some seconds."""
    content = b"".join(b"-rw-r--r-- 1 0 0 5 Jan  2  2019 file-%07d.tar.gz\r\n" % n for n in range(1_000_000))
    begun = time.process_time()
    found = read(content, "ftp://h.org/", NOW, 20_000, lambda base, link, charset: urljoin(base, link))
    assert (len(found.links or ()), found.links_cut) == (20_000, True)
    assert time.process_time() - begun < 5
    assert sum(1 for _ in entries(content, NOW)) == 1_000_000


@pytest.mark.parametrize("line", [b"-rw-r--r-- " + b"1 " * 2000, b"9" * 4096, b"a=;" * 1300, b"01-02-24" + b" " * 4000])
def test_no_line_is_slow(line: bytes) -> None:
    begun = time.process_time()
    list(entries((line + b"\n") * 200, NOW))
    assert time.process_time() - begun < 1
