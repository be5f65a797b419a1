from __future__ import annotations

import pytest

from nephila.robots.reader import read_robots
from nephila.robots.rules import BYTES_MAX
from nephila.types import Kind

URL = "https://h.org/robots.txt"
TEXT = b"User-agent: *\nCrawl-delay: 3\nDisallow: /x\nSitemap: /map.xml\nSitemap: https://o.org/m.xml#f\nSitemap: http://[\n"


def test_found() -> None:
    page = read_robots(URL, 200, TEXT)
    assert page.robots_file is not None
    assert (page.robots_file.state, page.robots_file.text) == ("found", TEXT)
    assert (page.robots_file.status, page.robots_file.crawl_delay) == (200, 3.0)
    assert page.links is not None
    found = [(link.url, link.kind, link.tag, link.attribute) for link in page.links]
    assert found == [
        ("https://h.org/map.xml", Kind.SITEMAP, "robots", "sitemap"),
        ("https://o.org/m.xml", Kind.SITEMAP, "robots", "sitemap"),
    ]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (404, "absent"),
        (403, "absent"),
        (410, "absent"),
        (429, "unreachable"),
        (500, "unreachable"),
        (503, "unreachable"),
        (301, "unreachable"),
        (0, "unreachable"),
    ],
)
def test_other_answers(status: int, state: str) -> None:
    page = read_robots(URL, status, TEXT)
    assert page.robots_file is not None
    assert (page.robots_file.state, page.robots_file.text, page.robots_file.status) == (state, b"", status)
    assert (page.robots_file.crawl_delay, page.links) == (-1.0, None)


def test_the_delay_is_that_of_the_token() -> None:
    text = b"User-agent: a\nCrawl-delay: 9\n\nUser-agent: *\nCrawl-delay: 1"
    page = read_robots(URL, 200, text, token="A")
    assert page.robots_file is not None
    assert page.robots_file.crawl_delay == 9.0


def test_the_text_is_cut_at_a_line() -> None:
    page = read_robots(URL, 200, b"Disallow: /123456\n" * 40_000)
    assert page.robots_file is not None
    assert BYTES_MAX - 18 < len(page.robots_file.text) <= BYTES_MAX
    assert page.robots_file.text.endswith(b"/123456\n")


@pytest.mark.parametrize(
    ("status", "text", "guess", "wanted"),
    [
        (200, b"User-agent: *\nDisallow:\n", True, ["https://a.test/sitemap.xml"]),
        (200, b"Sitemap: /own.xml\n", True, ["https://a.test/own.xml"]),
        (404, b"not here", True, ["https://a.test/sitemap.xml"]),
        (503, b"", True, []),
        (404, b"not here", False, []),
    ],
)
def test_a_site_that_names_no_sitemap_may_have_one_at_the_usual_place(
    status: int, text: bytes, guess: bool, wanted: list[str]
) -> None:
    page = read_robots("https://a.test/robots.txt", status, text, guess_sitemap=guess)
    assert [link.url for link in page.links or ()] == wanted
