"""robots.txt: what it allows, how its lines are read, what the status of its answer means, and real files by the thousand."""

from __future__ import annotations

import base64
import io
import itertools
import tarfile
import time
from typing import Any

import pytest
from conformance.table import Run

from nephila.config import Config
from nephila.frontier.memory import MemoryStore
from nephila.robots.rules import BYTES_MAX, Rules, _directives
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer, page, redirect, table
from nephila.url.parse import normalise, path_of

SECONDS_MAX = 1.0


def text_of(case: dict[str, Any]) -> bytes:
    text = case["robots_txt"]
    return base64.b64decode(case["robots_txt_base64"]) if text is None else str(text).encode()


@pytest.mark.parametrize("name", ["robots/rfc9309.json", "robots/google.json", "robots/crawler_commons.json"])
def test_decisions(corpus: Run, name: str) -> None:
    with corpus(name) as run:
        for case in run.load(name):
            run.check(case["id"], *answer(case), no_question="no question")


def answer(case: dict[str, Any]) -> tuple[object, object]:
    """(got, wanted)"""
    rules, token = Rules.parse(text_of(case)), case["product_token"]
    if case.get("user_agents") == []:
        token = "nephila"  # nobody in particular is asked about: the group of `*` answers
    if token is None or "matched_wildcard" in case:
        return "no question", case
    if "allowed" in case:
        return rules.allowed(case["url"], token), case["allowed"]
    if "crawl_delay" in case:
        return rules.crawl_delay(token), -1.0 if case["crawl_delay"] is None else case["crawl_delay"]
    return (rules.sitemaps, case["sitemaps"]) if "sitemaps" in case else (len(rules.sitemaps), case["sitemaps_count"])


def test_every_case_of_the_standard_is_answered_as_it_says(corpus: Run) -> None:
    """By the level of the cases, not by the corpus that they are from."""
    with corpus("robots, level rfc") as run:
        for name in ("rfc9309", "google", "crawler_commons"):
            for case in run.load(f"robots/{name}.json"):
                if case["level"] == "rfc" and "allowed" in case and case["product_token"] is not None:
                    run.check(case["id"], *answer(case))


def test_lines_and_paths(corpus: Run) -> None:
    with corpus("robots/google_other.json") as run:
        for case in run.load("robots/google_other.json"):
            run.check(case["id"], *detail(case), no_function="no function", not_absolute="not absolute")


def detail(case: dict[str, Any]) -> tuple[object, object]:
    match case["kind"]:
        case "line_stats":
            return len(list(_directives(text_of(case)))), case["valid_directives"]
        case "sitemap":
            return Rules.parse(text_of(case)).sitemaps, case["sitemaps"]
        case "url_to_path":
            url = normalise(case["url"])
            return path_of(url) if url else "not absolute", case["path"]
        case "escape_pattern":  # escaping shows in what a rule matches
            rules = Rules.parse(f"User-agent: *\nDisallow: /{case['pattern']}".encode())
            return rules.allowed(f"http://h.test/{case['escaped']}", "nephila"), False
        case _:
            return "no function", case


def test_what_an_answer_means(corpus: Run) -> None:
    """Whole crawls: which of two pages are fetched, one of which the file disallows."""
    with corpus("robots/status.json") as run:
        cases = run.load("robots/status.json")
        for case in cases["cases"]:
            meaning = {"follow": "parse"}.get(case["expected"], case["expected"])
            if case["status"] == 204:
                meaning = "allow_all"  # parsed, and nothing in it
            run.check(case["id"], fetched(case["status"]), meaning)
        assert [limit["id"] for limit in cases["limits"]] == ["limit-size", "limit-cache"]
        run.check("limit-size", BYTES_MAX >= 512_000, True)
        run.check("limit-cache", Config().robots_ttl_s <= 86_400, True)


def fetched(status: int | str) -> str:
    rules = Answer(b"User-agent: *\nDisallow: /no\n", media_type="text/plain")
    pages = {"/": Answer(page(["/yes", "/no"])), "/yes": Answer(page()), "/no": Answer(page())}
    chain = [f"/moved/{n}" for n in range(6)]
    pages |= {here: redirect(there) for here, there in itertools.pairwise(chain)}
    pages[chain[-1]] = rules
    match status:
        case "more than 5 redirects":
            first = redirect(chain[0])
        case "5 consecutive redirects then 200":
            first = redirect(chain[1])
        case str():
            first = Answer(failure="connect.refused" if "connect" in status else "timeout.connect")
        case 301 | 302 | 303 | 307 | 308:
            first = redirect(chain[-1], status)
        case _:
            first = Answer(rules.body if status != 204 else b"", status, media_type="text/plain")
    clock = FakeClock()
    web = FakeWeb(clock, site=table(pages | {"/robots.txt": first}))
    FakeCrawl(web, clock, Config(seeds=["http://h.test/"], allow_private=True), MemoryStore()).run()
    asked = [path for path in ("/", "/yes", "/no") if web.times(f"http://h.test{path}")]
    return {3: "allow_all", 2: "parse", 0: "disallow_all"}[len(asked)]


def test_real_files(corpus: Run) -> None:
    """Nothing raises, nothing takes long. The corpus has no answers."""
    name = "robots/real_robots.tar.gz"
    with corpus(name) as run, tarfile.open(fileobj=io.BytesIO(run.bytes(name))) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is None or "LICENSE" in member.name:
                continue
            data = file.read()
            started = time.process_time()
            rules = Rules.parse(data)
            sane = rules.allowed("http://h.org/a/b?c=d", "nephila") in (True, False)
            sane = sane and 0 <= len(rules.sitemaps) <= 1_000 and rules.crawl_delay("nephila") >= -1.0
            run.check(member.name, (sane, time.process_time() - started < SECONDS_MAX), (True, True))
