"""Every URL gets a name that all systems accept, and no two the same."""

from __future__ import annotations

import sqlite3
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nephila.url.parse import normalise
from nephila.views.names import PATH_CHARS_MAX, PATH_MAX, SEGMENT_MAX, Names

HTML = "text/html"
DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in "0123456789¹²³")}


def give(*urls: str, media_type: str = HTML) -> list[str]:
    con = sqlite3.connect(":memory:")
    try:
        names = Names(con)
        return [names.give(url, media_type) for url in urls]
    finally:
        con.close()


def one(path: str, media_type: str = HTML) -> str:
    url = normalise(f"http://h{path}")
    assert url is not None
    return give(url, media_type=media_type)[0].removeprefix("h/")


@pytest.mark.parametrize(
    ("path", "media_type", "name"),
    [
        ("/", HTML, "index.html"),
        ("/x/", HTML, "x/index.html"),
        ("/x/", "text/css", "x/index.css"),
        ("/x/", "image/png", "x/index.png"),
        ("/x/", "application/octet-stream", "x/index"),
        ("/x", HTML, "x.html"),
        ("/x.htm", HTML, "x.htm"),
        ("/x.php", HTML, "x.php.html"),
        ("/x.php?id=1", HTML, "x.php@id=1.html"),
        ("/?q=1", HTML, "index@q=1.html"),
        ("/a?", HTML, "a@.html"),
        ("/a.html?q=1", HTML, "a@q=1.html"),
        ("/a.css?v=3", "text/css", "a@v=3.css"),
        ("/s", "text/css", "s.css"),
        ("/i.PNG?w=1", "image/png", "i@w=1.PNG"),
        ("/i", "image/png", "i.png"),
        ("/x.html", "image/png", "x.html.png"),
        ("/x.php?id=1", "image/jpeg", "x.php@id=1.jpg"),
        ("/get?id=7", "application/pdf", "get@id=7.pdf"),
        ("/p.jpeg", "image/jpeg", "p.jpeg"),
        ("/README", "text/plain", "README.txt"),
        ("/setup.cfg", "text/plain", "setup.cfg"),
        ("/evil.html", "text/plain", "evil.html.txt"),
        ("/evil.svg", "application/octet-stream", "evil.svg.bin"),
        ("/feed.xml", "application/rss+xml", "feed.xml"),
        ("/data.html", "", "data.html"),
        ("/%E4%B8%AD/%E6%96%87", HTML, "中/文.html"),
        ("/caf%C3%A9", HTML, "café.html"),
        ("/e%CC%81", HTML, "é.html"),
        ("/%FF%41", HTML, "%25FF%2541.html"),
        ("//a//b", HTML, "_/a/_/b.html"),
        ("/a/../../b", HTML, "b.html"),
        ("/%2e%2e/%2E/b", HTML, "b.html"),
        ("/..%2f..%2fb", HTML, "%2E.%2F..%2Fb.html"),
        ("/..%5cb", HTML, "%2E.%5Cb.html"),
        ("/a%00b", HTML, "a%00b.html"),
        ("/~me/-x/.y", HTML, "%7Eme/%2Dx/%2Ey.html"),
        ("/a:b*c%3Fd%22e%3C%7C%3E", HTML, "a%3Ab%2Ac%3Fd%22e%3C%7C%3E.html"),
        ("/con", HTML, "_con.html"),
        ("/NUL.txt", "text/plain", "_NUL.txt"),
        ("/AUX/x", HTML, "_AUX/x.html"),
        ("/COM%C2%B9", "text/plain", "_COM¹.txt"),
        ("/con%20.x", "text/plain", "_con .x"),
        ("/desktop.ini", "text/plain", "_desktop.ini"),
        ("/LONGNA~1.HTM", HTML, "LONGNA%7E1.HTM"),
        ("/a~1/b~x", HTML, "a%7E1/b~x.html"),
        ("/console", HTML, "console.html"),
        ("/a./b%20/c.", "text/plain", "a%2E/b%20/c..txt"),
        ("/%E2%80%AEgpj.exe", "text/plain", "%E2%80%AEgpj.exe"),
        ("/a?b=c/d", HTML, "a@b=c%2Fd.html"),
    ],
)
def test_names(path: str, media_type: str, name: str) -> None:
    assert one(path, media_type) == name


def test_hosts_ports_and_our_own_files() -> None:
    assert give("http://h:81/", "http://[::1]:81/", "http://u:p@h/", "http://index.html/", "http://con/") == [
        "h_81/index.html",
        "[__1]_81/index.html",
        "h/index.html",
        "index.html~d/index.html",
        "_con/index.html",
    ]


@pytest.mark.parametrize(
    "urls",
    [
        ("http://h/A.html", "http://h/a.html"),
        ("http://h/%C3%A9", "http://h/e%CC%81"),
        ("http://h/a.html", "http://h/a"),
        ("http://h/a?b", "http://h/a@b"),
        ("http://h/a/", "http://h/a/index.html"),
        ("http://h/a", "https://h/a"),
        ("http://h/%73s", "http://h/%C3%9F"),
        ("http://h/x/A/y", "http://h/x/a/y"),
    ],
)
def test_two_urls_never_share_a_name(urls: tuple[str, str]) -> None:
    first, second = give(*urls)
    assert first.casefold() != second.casefold()
    assert unicodedata.normalize("NFD", first) != unicodedata.normalize("NFD", second)
    assert give(urls[0]) == [first]


@pytest.mark.parametrize("order", [("/a", "/a/b"), ("/a/b", "/a")])
def test_a_file_and_a_folder_of_one_name(order: tuple[str, str]) -> None:
    found = give(*(f"http://h{path}" for path in order), media_type="application/octet-stream")
    folders = {name.rpartition("/")[0] for name in found}
    assert not folders & set(found)
    assert len(set(found)) == 2


def test_all_files_of_a_renamed_folder_stay_together() -> None:
    a, b, c = give("http://h/a", "http://h/a/b", "http://h/a/c", media_type="application/octet-stream")
    assert (a, b, c) == ("h/a", "h/a~d/b", "h/a~d/c")


def test_long_names_are_cut_and_stay_apart() -> None:
    long = "%E4%B8%AD" * 100
    one, two, deep, deeper = give(
        f"http://h/{long}1", f"http://h/{long}2", "http://h/" + "d/" * 400 + "x", "http://h/" + "d/" * 400 + "y"
    )
    assert one != two
    assert deep != deeper
    for name in (one, two, deep, deeper):
        assert name.endswith(".html")
        assert len(name.encode()) <= PATH_MAX
        assert len(name) <= PATH_CHARS_MAX
        assert max(len(part.encode()) for part in name.split("/")) <= SEGMENT_MAX


URLS = st.lists(
    st.builds(
        lambda parts, query: normalise("http://h/" + "/".join(parts) + query),
        st.lists(
            st.text(max_size=12) | st.sampled_from(["con", "%00", "%5c", "a", "A", "a.html", "é", "é", ".", "%2e%2e"]),
            max_size=4,
        ),
        st.sampled_from(["", "?", "?q=1", "?Q=1"]) | st.text(max_size=5).map(lambda text: "?" + text),
    ).filter(bool),
    max_size=12,
    unique=True,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(URLS, st.sampled_from([HTML, "text/css", "image/png", ""]))
def test_any_set_of_urls(urls: list[str], media_type: str) -> None:
    names = give(*urls, media_type=media_type)
    folded = {unicodedata.normalize("NFD", name).casefold() for name in names}
    assert len(folded) == len(urls)
    folders = {"/".join(name.split("/")[:n]) for name in names for n in range(1, name.count("/") + 1)}
    assert not {folder.casefold() for folder in folders} & {name.casefold() for name in names}
    for name in names:
        for part in name.split("/"):
            assert part not in {"", ".", ".."}
            assert not set(part) & set('<>:"\\|?*\0')
            assert part.isprintable() or all(char.isprintable() or ord(char) > 0x9F for char in part)
            assert part[0] not in "-~. "
            assert part[-1] not in ". "
            assert part.partition(".")[0].lower() not in DEVICES
            assert len(part.encode()) <= SEGMENT_MAX
    assert names == give(*urls, media_type=media_type)
