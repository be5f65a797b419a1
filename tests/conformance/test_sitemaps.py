"""Sitemaps in all their forms and states, which URLs they may list, and dates."""

from __future__ import annotations

from typing import Any

from conformance.page import look
from conformance.table import Corpus, Run

from nephila.page import sitemap
from nephila.page.harvest import Harvest
from nephila.types import Kind
from nephila.url.scope import Scope, ScopeSpec

SCOPES = {"host": "host", "private_domain": "site", "icann_domain": "site"}


def test_sitemaps(corpus: Run) -> None:
    with corpus("sitemaps/expected.json") as run:
        for case in run.load("sitemaps/expected.json"):
            got, links = answer(run, case)
            assert not set(case.get("must_not_contain", ())) & set(links), case["id"]
            wanted = case["type"], case["urls_count"], case["first_url"], True, True, True
            run.check(case["id"], got, wanted)


def answer(run: Corpus, case: dict[str, Any]) -> tuple[tuple[object, ...], list[str]]:
    """(form, number of URLs, the first, whether the named ones are there, whether their kinds are right, and whether a broken file is called so), and the URLs."""
    stranger = str(run.folder / "sitemaps/upstream/do-not-visit.txt").encode()
    content = run.bytes(f"sitemaps/{case['file']}").replace(b"{{DO_NOT_VISIT_PATH}}", stranger)
    found = look(content, case.get("content_type"), url=case["sitemap_url"], kind=Kind.SITEMAP).links or ()
    urls = [link.url for link in found if link.url]
    form, _, whole = sitemap.read(content, "", Harvest(20_000))
    kinds = {link.kind for link in found} <= {Kind.SITEMAP if case["type"] == "index" else Kind.PAGE}
    there = set(case.get("urls", ())) <= set(urls)
    flagged = whole == (case["valid"] or not urls)
    return (form or None, len(urls), (urls or [None])[0], there, kinds, flagged), urls


def test_urls_of_other_hosts(corpus: Run) -> None:
    """A sitemap gives no permission of its own: the scope around the hosts that named it decides."""
    with corpus("sitemaps/cross_submit.json") as run:
        for case in run.load("sitemaps/cross_submit.json"):
            seeds = tuple(f"https://{host}/" for host in case["robots_hosts"]) or (case["sitemap_url"],)
            scope = Scope(ScopeSpec(SCOPES[case["level"]], seeds))
            run.check(case["id"], sum(not scope.refusal(url, "page") for url in case["urls"]), case["kept_count"])


def test_urls_outside_the_folder_of_a_sitemap(corpus: Run) -> None:
    """The rule of sitemaps.org is that of `--scope prefix`."""
    with corpus("sitemaps/location.json") as run:
        for case in run.load("sitemaps/location.json"):
            scope = Scope(ScopeSpec("prefix", (case["sitemap_url"],)))
            run.check(case["id"], not scope.refusal(case["url"], "page"), case["inside"])


def test_dates(corpus: Run) -> None:
    """None is kept, and none is in the way of its URL."""
    with corpus("sitemaps/dates.json") as run:
        for case in run.load("sitemaps/dates.json"):
            body = f"<urlset><url><loc>http://h.test/x</loc><lastmod>{case['input']}</lastmod></url></urlset>"
            page = look(body.encode(), "application/xml", url="http://h.test/map.xml", kind=Kind.SITEMAP)
            assert page.links is not None
            assert ([link.url for link in page.links], page.flaw) == (["http://h.test/x"], "")
            run.check(case["id"], None, case["utc"], not_kept=None)
