"""Pages of addresses, map and search on the window: what they say, whose pages they leave out, and that nothing of a page runs in them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest
from ui.asking import PORT, Browser

from nephila.job import source
from nephila.ui.crawl import Crawl
from nephila.ui.library import Library
from nephila.ui.serve import Server
from nephila.url.key import Fingerprints

A = "https://a.example"
HALF = 1 << 63
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}‮\x1b[31m'


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def site(job: Any, browser: Browser) -> Browser:
    """A start page that links to two, one of them refused; with the fingerprints that a crawl gives them."""
    print_of = Fingerprints(7)
    job.con.execute("INSERT INTO meta VALUES ('fingerprint_key', '7')")
    job.con.execute("INSERT INTO host (id, origin) VALUES (1, ?)", (A,))
    pages = [job.page(f"{A}/", "<p>hello", title="Start 首页"), job.page(f"{A}/docs/x?a=b", "x", parent=1, title="X")]
    pages.append(
        job.page(f"{A}/docs/gone", "no", outcome=job.Outcome.REFUSED, status=404, reason="status.404", parent=1)
    )
    for id in pages:
        (url, visit) = job.con.execute("SELECT url, visit FROM url WHERE id = ?", (id,)).fetchone()
        job.con.execute("UPDATE url SET fp = ?, kind = 'page' WHERE id = ?", (print_of(url) - HALF, id))
        job.con.execute(
            "INSERT INTO known VALUES (?, ?)", (id, (print_of(url) - HALF).to_bytes(8, "little", signed=True))
        )
        if id == 1:
            packed = b"".join(print_of(f"{A}{to}").to_bytes(8, "little") for to in ("/docs/x?a=b", "/docs/gone"))
            job.con.execute("INSERT INTO link VALUES (?, 0, ?)", (visit, packed))
    return browser


def test_a_table_has_what_its_filters_let_through(site: Browser) -> None:
    text = site.get("/pages").text
    assert all(word in text for word in (f"{A}/docs/x?a=b", "Start 首页", "status.404", "3 addresses."))
    text = site.get("/pages?outcome=REFUSED&status=&depth=").text
    assert (f"{A}/docs/gone" in text, "docs/x" in text, "1 addresses." in text) == (True, False, True)
    assert site.get("/pages?regex=x.a%3Db$").text.count('href="/page/2"') == 1


def test_pages_of_a_table_follow_each_other(site: Browser) -> None:
    found, path = list[str](), "/pages?rows=1&sort=bytes&falling=true&text=example"
    for _ in range(5):
        text = site.get(path).text
        found += re.findall(r'href="/page/(\d+)"', text)
        following = re.search(r'rel="next" href="([^"]+)"', text)
        if not following:
            break
        path = following[1].replace("&amp;", "&")
    assert found == ["1", "3", "2"]


@pytest.mark.parametrize(
    "query",
    [
        "outcome=FINE",
        "regex=(",
        "depth=x",
        "sort=rowid",
        "rows=9999",
        "value=x&id=1",
        "first=-",
        "id=1e400",
        "text=" + "x" * 501,
    ],
)
def test_a_question_that_cannot_be_meant_is_a_sentence(site: Browser, query: str) -> None:
    status, _, text = site.get(f"/pages?{query}")
    assert (status, 'role="alert"' in text) == (400, True)


def test_an_address_has_its_visits_linkers_links_and_its_kept_page(site: Browser) -> None:
    text = site.get("/page/2").text
    assert f'href="/view/20231114221320/{A}/docs/x?a=b"' in text
    assert 'href="/page/1"' in text.partition("Pages that link here")[2]
    assert re.search(r"at byte [\d,]+, [\d,]+ long", text)
    first = site.get("/page/1").text.partition("Links on this page")[2]
    assert ('href="/page/2"' in first, 'href="/page/3"' in first) == (True, True)
    assert site.get("/page/99").status == 404


def test_an_address_is_opened_as_it_is_written(site: Browser) -> None:
    assert site.get(f"/page?url={quote('a.example/docs/x?a=b')}").headers["location"] == "/page/2"
    status, _, text = site.get("/page?url=a.example/nowhere")
    assert (status, "has not met this address" in text) == (404, True)


def test_the_map_is_a_picture_of_links_with_a_table_beside_it(site: Browser) -> None:
    text = site.get("/map").text
    tags = Tags(text).found
    links = [attrs for tag, attrs in tags if tag == "a" and "cluster" in (attrs.get("class") or "")]
    assert sorted(str(attrs["href"]) for attrs in links) == ["/page/1", "/page/2", "/page/3"]
    assert all(attrs["data-told"] for attrs in links)
    assert text.count('<tr data-n="') == 3
    assert 'class="chart"' in text
    deeper = site.get(f"/map?at={quote(A + '/docs')}").text
    assert "2 pages" in deeper
    assert "0 links to pages that are not shown here, 2 from there" in deeper
    assert site.get("/map?at=https://elsewhere.example").status == 404


def test_nothing_is_inline_and_everything_is_ours(site: Browser) -> None:
    for path in ("/pages", "/page/1", "/map", "/search"):
        for tag, attrs in Tags(site.get(path).text).found:
            assert tag not in ("style", "iframe", "object")
            assert not [name for name in attrs if name == "style" or name.startswith("on")]
            assert tag != "script" or str(attrs["src"]).startswith("/static/")


def test_titles_addresses_and_reasons_of_the_worst_sort_are_text(job: Any, browser: Browser) -> None:
    url = f"{A}/{EVIL}/{EVIL}"
    id = job.page(
        url, "x", title=EVIL, reason=EVIL, media_type=EVIL, language=EVIL, ip=EVIL, digest=EVIL, moved_to=EVIL
    )
    other = f"{A}/javascript:alert(3)"
    job.page(other, "x", parent=id, title="javascript:alert(4)")
    for path in ("/pages", f"/pages?text={quote(EVIL)}&host={quote(EVIL)}", f"/page/{id}", f"/page/{id + 1}", "/map",
                 f"/map?at={quote(f'{A}/{EVIL}')}", f"/search?q={quote(EVIL)}", f"/page?url={quote(EVIL)}"):  # fmt: skip
        text = browser.get(path).text
        tags = Tags(text).found
        assert [
            attrs for tag, attrs in tags if tag == "script" and not str(attrs.get("src")).startswith("/static/")
        ] == []
        assert "img" not in {tag for tag, _ in tags}
        assert not [attrs for _, attrs in tags if str(attrs.get("href", "")).startswith("javascript:")]
        assert "49" not in re.findall(r">\s*(49)\s*<", text)
        assert not {"\x1b", "\u202e"} & set(re.sub(r'(?:value|href)="[^"]*"', "", text)), path


def test_pages_of_members_are_nowhere_until_their_name_is_given(job: Any, site: Browser) -> None:
    id = job.page(f"{A}/docs/member", "x", access="me", title="secret")
    job.con.execute("UPDATE url SET fp = 77 WHERE id = ?", (id,))
    for path in ("/pages", "/pages?text=secret", "/map", "/map?at=" + quote(f"{A}/docs")):
        assert "docs/member" not in site.get(path).text
    assert site.get(f"/page/{id}").status == 404
    with Library(source(job.folder, access=frozenset({"me"}))) as library, Crawl(job.folder) as crawl:
        given = Browser(Server(library, "a.example", PORT, crawl))
        given.enter()
        assert "docs/member" in given.get("/pages").text
        assert given.get(f"/page/{id}").status == 200


def test_without_an_index_search_says_which_command_makes_one(site: Browser, job: Any) -> None:
    status, _, text = site.get("/search?q=hello")
    assert (status, f"nephila export search {job.folder}" in text) == (200, True)
    assert not (job.folder / "views").exists()


@pytest.fixture
def indexed(site: Browser, job: Any) -> Browser:
    from nephila.views import search

    job.page(f"{A}/member", "<p>hello member", access="me")
    search.search(job.folder, "hello", job.decode)
    return site


def test_search_answers_from_the_index_with_marks_and_leads_to_the_page(indexed: Browser) -> None:
    text = indexed.get("/search?q=hello").text
    assert ("<mark>hello</mark>" in text, 'href="/page/1"' in text, "1 found" in text, "member" in text) == (
        True,
        True,
        True,
        False,
    )
    assert "Nothing was found" in indexed.get("/search?q=nowhere").text
    assert 'role="alert"' in indexed.get("/search?q=%22open").text


def test_search_says_how_far_the_index_is_behind(indexed: Browser, job: Any) -> None:
    job.page(f"{A}/later", "<p>hello later")
    text = indexed.get("/search?q=hello").text
    assert ("the last 1 visits" in text, "1 found" in text) == (True, True)


def test_search_does_not_show_what_was_forgotten(indexed: Browser, job: Any) -> None:
    job.con.execute("UPDATE url SET url = '' WHERE id = 1")
    text = indexed.get("/search?q=hello").text
    assert ("<mark>" in text, "nephila export search" in text) == (False, True)


def test_everything_is_there_in_chinese(indexed: Browser) -> None:
    for path, word in (
        ("/pages", "显示"),
        ("/page/1", "链接到此的网页"),
        ("/map", "随访问次数发现的网址"),
        ("/search?q=hello", "找到 1 个"),
    ):
        assert word in indexed.get(path, accept_language="zh-CN").text
