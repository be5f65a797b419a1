"""A site with one fault of every kind that the report looks for, and the rows in which each has to be told."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from nephila.config import Config
from nephila.frontier.sqlite import SqliteStore
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import SEED, FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer, late, redirect

S = "https://shop.test"
_SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "qui",
    "ro",
    "su",
    "ta",
    "ve",
    "wi",
    "xo",
    "yu",
    "za",
    "bre",
    "cli",
    "dro",
    "fle",
]


def words(name: str, count: int) -> str:
    dice = random.Random(name)
    return " ".join("".join(dice.choices(_SYLLABLES, k=3)) for _ in range(count))


def text(name: str) -> str:
    return "".join(f"<p>{words(f'{name} {i}', 16)}</p>\n" for i in range(20))


def page(
    name: str,
    *links: str | tuple[str, str],
    head: str = "",
    body: str = "",
    title: str | None = None,
    description: str | None = None,
    heading: str | None = None,
    like: str = "",
) -> bytes:
    """A page without a fault, but for what is given. `like`: its text is that of another page."""
    title = f"About {words(name, 3)}" if title is None else title
    description = f"All about it: {words(name, 12)}." if description is None else description
    anchors = (link if isinstance(link, tuple) else (link, words(link, 2)) for link in links)
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        + (f"<title>{title}</title>" if title else "")
        + (f'<meta name="Description" content="{description}">' if description else "")
        + f"{head}</head><body>{f'<h1>{words(name, 2)}</h1>' if heading is None else heading}{text(like or name)}{body}<ul>"
        + "".join(f'<li><a href="{url}">{said}</a>' for url, said in anchors)
        + "</ul></body></html>"
    ).encode()


def canonical(url: str) -> str:
    return f'<link rel="canonical" href="{url}">'


def alternate(code: str, url: str) -> str:
    return f'<link rel="alternate" hreflang="{code}" href="{url}">'


PICTURE = Answer(b"picture", media_type="image/png")
TWIN = page("twin")
PAGES: dict[str, Answer | bytes | list[Answer]] = {
    "/a": page("a", ("/gone", "=Our offer"), body='<img src="/missing.png" alt="Logo"><img src="/private/pic.png"><img src="/fine.png">'),
    "/b": page("b", ("/gone", "old"), head=canonical("/b") + '<link rel="next" href="/gone"><link rel="prev" href="/gone?2">'),
    "/soft": page("soft"),
    "/mixed": page("mixed", body='<img src="http://shop.test/pixel.png">'),
    "/partners": page("partners", "https://expired.test/x", "https://down.test/x", "https://weak.test/x"),
    "/links": page("links", ("/old-1", "older"), "/loop-1", "/to-gone", ("/moved", "mover")),
    "/c-several": page("c-several", head=canonical("/c-several") + canonical("/b")),
    "/c-broken": page("c-broken", head=canonical("/gone")),
    "/c-redirect": page("c-redirect", head=canonical("/moved")),
    "/c-disallowed": page("c-disallowed", head=canonical("/private/c")),
    "/c-chain": page("c-chain", head=canonical("/c-broken")),
    "/c-target": page("c-target", head=canonical("/hidden")),
    "/c-noindex": page("c-noindex", head='<meta name="robots" content="noindex">' + canonical("/b")),
    "/c-other": page("c-other", head=canonical("https://other.test/x")),
    "/c-listed": page("c-listed", head=canonical("/b")),
    "/hidden": page("hidden", head='<meta name="robots" content="noindex">'),
    "/orphan": page("orphan"),
    "/unlisted": page("unlisted"),
    "/h-code": page("h-code", head=alternate("en", "/h-code") + alternate("german", "/h-code")),
    "/h-broken": page("h-broken", head=alternate("en", "/h-broken") + alternate("de", "/gone")),
    "/h-one": page("h-one", head=alternate("en", "/h-one") + alternate("de", "/b")),
    "/h-self": page("h-self", head=alternate("de", "/h-good")),
    "/h-good": page("h-good", head=alternate("de", "/h-good") + alternate("en", "/h-self") + alternate("x-default", "/h-self")),
    "/h-twice": page("h-twice", head=alternate("fr", "/h-twice") + alternate("FR", "/h-twice?2")),
    "/h-twice?2": page("h-twice?2", head=alternate("fr", "/h-twice") + alternate("fr-CA", "/h-twice?2")),
    "/t-missing": page("t-missing", title=""),
    "/t-same-1": page("t-same-1", title="The same title"),
    "/t-same-2": page("t-same-2", title="The SAME title"),
    "/t-short": page("t-short", title="首页"),
    "/t-long": page("t-long", title="长" * 36),
    "/d-missing": page("d-missing", description=""),
    "/d-same-1": page("d-same-1", description="The same words " * 5),
    "/d-same-2": page("d-same-2", description="The same words " * 5),
    "/d-short": page("d-short", description="Little"),
    "/d-long": page("d-long", description="x" * 321),
    "/h1-missing": page("h1-missing", heading="<h2>two</h2>"),
    "/h1-empty": page("h1-empty", heading="<h1> </h1>"),
    "/h1-several": page("h1-several", heading="<h1>One</h1><h1>Two</h1>"),
    "/h1-picture": page("h1-picture", heading='<h1><img src="/fine.png" alt="Shop"></h1>'),
    "/twin-1": TWIN,
    "/twin-2": TWIN,
    "/near-1": page("near-1", like="near"),
    "/near-2": page("near-2", like="near"),
    "/slow": late(Answer(page("slow")), 3.0),
    "/heavy": page("heavy", body=f'<img src="/big.jpg" alt="Big"><!--{"-" * 500_000}-->'),
    "/flaky": [Answer(b"later", 429, headers=(("Retry-After", "30"),)), Answer(page("flaky"))],
    "/deep-1": page("deep-1", "/deep-2"),
    "/deep-2": page("deep-2", "/deep-3"),
    "/deep-3": page("deep-3", "/deep-4"),
    "/deep-4": page("deep-4", "/deep-5"),
    "/deep-5": page("deep-5"),
}  # fmt: skip
UNLINKED = {"/orphan", "/deep-2", "/deep-3", "/deep-4", "/deep-5"}
UNLISTED = {"/unlisted", "/soft", "/c-noindex", "/hidden"} | {path for path in PAGES if path.startswith("/c-")}
LISTED = [path for path in ("/", *PAGES) if path not in UNLISTED]
LISTED += ["/hidden", "/c-listed", "/c-several", "/gone-listed", "/moved-listed", "/private/listed"]


def sitemap(paths: list[str]) -> str:
    return "<urlset>" + "".join(f"<url><loc>{S}{path}</loc></url>" for path in paths) + "</urlset>"


OTHERS: dict[str, Answer | bytes | list[Answer]] = {
    "/": page("/", *(path for path in PAGES if path not in UNLINKED), "/private/a"),
    "/robots.txt": Answer(
        f"User-agent: *\nDisallow: /private/\nSitemap: {S}/map.xml\nSitemap: {S}/cut.xml\n".encode(),
        media_type="text/plain",
    ),
    "/map.xml": Answer(sitemap(LISTED).encode(), media_type="application/xml"),
    "/cut.xml": Answer(sitemap(["/b"]).removesuffix("</urlset>").encode(), media_type="application/xml"),
    "/fine.png": PICTURE,
    "/big.jpg": Answer(b"x" * 1_000_001, media_type="image/jpeg"),
    "/old-1": redirect("/old-2"),
    "/old-2": redirect("/b", 302),
    "/loop-1": redirect("/loop-2"),
    "/loop-2": redirect("/loop-1"),
    "/to-gone": redirect("/gone"),
    "/moved": redirect("/b"),
    "/moved-listed": redirect("/b"),
}
ELSEWHERE: dict[str, Answer | bytes | list[Answer]] = {
    "http://shop.test/pixel.png": PICTURE,
    "https://expired.test/robots.txt": Answer(failure="tls.expired"),
    "https://expired.test/x": Answer(failure="tls.expired"),
    "https://down.test/robots.txt": Answer(b"", 503),
    "https://weak.test/x": page("weak"),
    "https://other.test/x": page("other"),
}


def crawl(folder: Path) -> FakeWeb:
    """The job of a crawl of it, in fake time."""
    web = crawl_of(folder, {S + path: answer for path, answer in (PAGES | OTHERS).items()} | ELSEWHERE)
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as con:
        for url, reason in ((S + "/soft", "soft_404"), ("https://weak.test/x", "insecure.self_signed")):
            # What a crawl says of many such pages, or of a real certificate.
            con.execute("UPDATE visit SET reason = ? WHERE url = (SELECT id FROM url WHERE url = ?)", (reason, url))
    return web


def crawl_of(folder: Path, known: dict[str, Answer | bytes | list[Answer]], **settings: Any) -> FakeWeb:
    """The job of a crawl of some pages, URL → answer."""
    clock = FakeClock()
    web = FakeWeb(clock, known)
    given = {"seeds": [S + "/"], "scope": "any", "embeds": "any", "sitemaps": True, "workers": 0, "connections": 4}
    config = Config(**(given | settings))  # type: ignore[arg-type]
    (folder / "archive").mkdir(parents=True, exist_ok=True)
    store = SqliteStore(folder / "crawl.db", order_name=config.order)
    FakeCrawl(web, clock, config, store, folder=folder, digests=True).run()
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as con:
        con.execute("INSERT INTO meta VALUES ('fingerprint_key', ?)", (str(SEED),))
    return web


def title(name: str) -> str:
    return f"About {words(name, 3)}"


def size(name: str) -> str:
    body = PAGES[f"/{name}"]
    return str(len(body.body if isinstance(body, Answer) else body))  # type: ignore[union-attr, arg-type]


SAME = "The same words " * 4 + "The same words"
EXPECTED: dict[str, set[tuple[str, ...]]] = {
    "broken_links": {
        ("/a", "/gone", "'=Our offer", "a", "404", "status.404"),
        ("/b", "/gone", "old", "a", "404", "status.404"),
        ("/partners", "https://expired.test/x", words("https://expired.test/x", 2), "a", "0", "tls.expired"),
    },
    "broken_parts": {("/a", "/missing.png", "Logo", "img", "404", "status.404")},
    "soft_404": {("/soft", title("soft"), "/", "1")},
    "mixed_content": {("/mixed", "http://shop.test/pixel.png", "img")},
    "certificates": {("https://expired.test", "tls.expired", "2"), ("https://weak.test", "tls.self_signed", "1")},
    "redirects": {
        ("/old-1", "chain", "2", "/b", "200", "1", "/old-2 /b"),
        ("/loop-1", "loop", "2", "/loop-1", "301", "1", "/loop-2 /loop-1"),
        ("/to-gone", "broken", "1", "/gone", "404", "1", "/gone"),
    },
    "links_to_redirects": {("/links", "/old-1", "older", "/b"), ("/links", "/moved", "mover", "/b")},
    "canonicals": {
        ("/c-several", "several", "/c-several", "0"),
        ("/c-broken", "broken", "/gone", "404"),
        ("/c-redirect", "redirect", "/moved", "301"),
        ("/c-disallowed", "disallowed", "/private/c", "0"),
        ("/c-chain", "chain", "/c-broken", "200"),
        ("/c-target", "noindex_target", "/hidden", "200"),
        ("/c-noindex", "noindex", "/b", "0"),
        ("/c-other", "other_site", "https://other.test/x", "0"),
    },
    "robots": {
        ("/private/a", "linked", "/", "1"),
        ("/private/pic.png", "part", "/a", "1"),
        ("/private/listed", "listed", "/map.xml", "1"),
        ("/hidden", "listed_noindex", "/map.xml", "1"),
        ("https://down.test/robots.txt", "unreachable", "", "1"),
    },
    "sitemap": {
        ("/orphan", "not_linked", "/map.xml", "200"),
        ("/unlisted", "not_listed", "", "200"),
        ("/gone-listed", "broken", "/map.xml", "404"),
        ("/moved-listed", "redirect", "/map.xml", "301"),
        ("/c-listed", "canonical", "/map.xml", "200"),
        ("/cut.xml", "unreadable", "/cut.xml", "200"),
    },
    "hreflang": {
        ("/h-code", "code", "german", "/h-code"),
        ("/h-broken", "broken", "de", "/gone"),
        ("/h-one", "no_return", "de", "/b"),
        ("/h-self", "no_self", "", ""),
        ("/h-twice", "twice", "fr", "/h-twice"),
    },
    "titles": {
        ("/t-missing", "missing", "", "0", "1"),
        ("/t-same-1", "duplicate", "The same title", "14", "2"),
        ("/t-same-2", "duplicate", "The SAME title", "14", "2"),
        ("/t-short", "short", "首页", "4", "1"),
        ("/t-long", "long", "长" * 36, "72", "1"),
    },
    "descriptions": {
        ("/d-missing", "missing", "", "0", "1"),
        ("/d-same-1", "duplicate", SAME, "74", "2"),
        ("/d-same-2", "duplicate", SAME, "74", "2"),
        ("/d-short", "short", "Little", "6", "1"),
        ("/d-long", "long", "x" * 321, "321", "1"),
    },
    "headings": {
        ("/h1-missing", "missing", "", "0"),
        ("/h1-empty", "empty", "", "1"),
        ("/h1-several", "several", "One", "2"),
    },
    "duplicates": {("/twin-2", "/twin-1", title("twin"), str(len(TWIN)), "2")},
    "near_duplicates": {("/near-2", "/near-1", title("near-2"), "83")},
    "slow": {("/slow", "3000", size("slow"))},
    "heavy": {("/heavy", size("heavy"), "text/html", "1"), ("/big.jpg", "1000001", "image/jpeg", "1")},
    "deep": {("/deep-5", "5", "/deep-4")},
}  # fmt: skip
"""Finding → its rows; addresses of the site without its origin."""
