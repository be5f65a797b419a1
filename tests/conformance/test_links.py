"""Which links a page has, by the tree that a conforming parser builds of it. Scan and tree must say the same."""

from __future__ import annotations

import re

from conformance.page import by_tree, look, told
from conformance.table import Run

from nephila.types import Page

OURS = re.compile(r"/u\d+|/end")


def read(html: str) -> Page:
    content = html.encode("utf-8", "surrogatepass")
    page = look(content)
    assert told(page) == told(by_tree(content)), html
    return page


def hrefs(page: Page) -> list[str]:
    """Each once and sorted: the reader keeps a link once, and groups by what kind of element holds it."""
    return sorted(set(page.links.hrefs)) if page.links else []


def bare(urls: list[str]) -> list[str]:
    return sorted({url.strip() for url in urls})


def test_odd_html(corpus: Run) -> None:
    with corpus("links/oracle_html5lib.json") as run:
        for case in run.load("links/oracle_html5lib.json"):
            links = case["links"]
            html = bare([link["value"] for link in links if link["namespace"] == "html"])
            outside = [url for url in html if url[:1] != "#"]
            rules = {"not_html": html, "own_page": outside}
            run.check(case["id"], hrefs(read(case["html"])), bare(case["urls"]), **rules)


def test_mutated_html(corpus: Run) -> None:
    """What the inputs had of their own before is left out."""
    with corpus("links/oracle_mutated.json") as run:
        for case in run.load("links/oracle_mutated.json"):
            found = [href for href in hrefs(read(case["html"])) if OURS.fullmatch(href)]
            run.check(case["id"], found, bare([url for url in case["urls"] if OURS.fullmatch(url)]))
