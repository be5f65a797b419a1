"""Forty situations: what the web was like, and what is to be said of one address.

One crawl holds many of them, so that the table is quick. `would`: the settings that are told to change it, the first of them
confirmed by a crawl that has them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from explain.made import Until, Web

from nephila.config import Config
from nephila.testing import sites
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer

A, B = "http://a.test", "http://b.test"
GZIP_BROKEN = Answer(b"\x1f\x8b\x08\x00 no gzip at all", headers=(("Content-Encoding", "gzip"),))


class Crawl(NamedTuple):
    web: Web
    settings: dict[str, Any]
    until: Until | None = None

    def config(self) -> Config:
        usual: dict[str, Any] = {"seeds": [f"{A}/"], "delay": "0", "workers": 0, "connections": 1, "commit_visits": 1}
        return Config(**usual | self.settings)


class Situation(NamedTuple):
    name: str
    crawl: str
    url: str
    verdict: str
    rule: str
    sentence: str
    """a part of it"""
    would: list[dict[str, Any]] | None = None
    """None: whatever it is, it is not looked at"""
    step: tuple[str, str] = ("address", "")
    """a step, and a part of its text"""


def plain(web: FakeWeb) -> None:
    links = [
        "ok",
        "moved",
        f"{B}/page",
        "http://sub.a.test/",
        "ex/1",
        "1",
        "private/x",
        "quiet",
        "a/a/a/a/",
        "gone",
        "loop",
    ]
    links += ["broken", "twin-1", "twin-2", "?a=1&a=1&a=1&b=2", "x//////y", "l" * 9000, "flaky", "dead", f"{B}/deep"]
    form = f'<form action="send"><input name="q"></form><img src="{B}/logo.png">'
    web.page(f"{A}/", links, "start", form)
    web.robots(A, "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private\nSitemap: /map.xml\n")
    web.page(f"{A}/ok", ["ok?utm_source=x"])
    web.redirect(f"{A}/moved", "/target")
    for path in (
        "/target",
        "/ex/1",
        "/private/x",
        "/a/a/a/a/",
        "/?a=1&a=1&a=1&b=2",
        "/hidden",
        "/sub/",
        "/2",
        "/x//////y",
    ):
        web.page(f"{A}{path}")
    web.page(f"{A}/1", ["2"])
    web.page(f"{A}/2", ["3"])
    web.page(f"{A}/3", [f"{B}/deep"])
    web.page(f"{B}/page")
    web.page(f"{B}/deep")
    web.page("http://sub.a.test/")
    web.answer(f"{B}/logo.png", Answer(b"image", media_type="image/png"))
    web.page(f"{A}/quiet", ["hidden"], more='<meta name="robots" content="nofollow">')
    web.redirect(f"{A}/loop", "/loop")
    web.answer(f"{A}/broken", GZIP_BROKEN)
    web.answer(f"{A}/twin-1", sites.page((), "twin"))
    web.answer(f"{A}/twin-2", sites.page((), "twin"))
    web.answer(f"{A}/flaky", Answer(status=500), Answer(b"<title>at last</title>"))
    web.answer(f"{A}/dead", Answer(status=500))
    web.answer(
        f"{A}/map.xml", Answer(b"<urlset><url><loc>http://a.test/mapped</loc></url></urlset>", media_type="text/xml")
    )


def wide(web: FakeWeb) -> None:
    """Hosts in trouble."""
    web.page(
        f"{A}/",
        [
            "http://nowhere.test/",
            "http://shut.test/",
            "http://sick.test/page",
            "http://busy.test/1",
            "http://old.test/",
        ],
    )
    web.answer("http://sick.test/robots.txt", Answer(status=503))
    web.page("http://sick.test/page")
    web.fail("http://nowhere.test/robots.txt", "dns.not_found")
    web.fail("http://shut.test/robots.txt", "connect.refused")
    web.answer("http://old.test/robots.txt", Answer(failure="tls.expired"))
    web.answer("http://busy.test/1", Answer(status=503, headers=(("Retry-After", "86400"),)))


def many(web: FakeWeb) -> None:
    web.page(f"{A}/", [f"p{n}" for n in range(6)])
    for n in range(6):
        web.page(f"{A}/p{n}")


def slow(web: FakeWeb) -> None:
    many(web)
    web.answer(f"{A}/p0", Answer(status=500))


def folders(web: FakeWeb) -> None:
    web.page(f"{A}/docs/", ["one", "/blog/", f"{A}:8080/docs/", "http://a.example/docs/"])
    for url in (f"{A}/docs/one", f"{A}/blog/", f"{A}:8080/docs/", "http://a.example/docs/"):
        web.page(url)


def calendar(web: FakeWeb) -> None:
    """A calendar without end, whose pages say the same."""
    more = "".join(
        f"<p>paragraph {word} of what is always the same here</p>"
        for word in ("one", "two", "three", "four", "five", "six", "seven")
    )
    web.page(f"{A}/", ["cal?year=2000&month=1", "way-1"])
    for n in range(1, 150):
        web.page(f"{A}/way-{n}", [f"way-{n + 1}"], f"way {n}")
    web.page(f"{A}/way-150", ["cal?year=2033&month=1"])
    for n in range(1, 400):
        at, after = divmod(n - 1, 12), divmod(n, 12)
        web.page(
            f"{A}/cal?year={2000 + at[0]}&month={at[1] + 1}",
            [f"cal?year={2000 + after[0]}&month={after[1] + 1}"],
            more=more,
        )


def kept(n: int) -> Until:
    return lambda crawl: crawl.scheduler.outcomes["OK"] >= n


def dropped(crawl: Any) -> bool:
    if crawl.scheduler.outcomes["OK"] == 2:
        crawl.scheduler.host_command("a.test", "drop", None)
    return False


def host_paused(crawl: Any) -> bool:
    if crawl.scheduler.outcomes["OK"] == 2:
        crawl.scheduler.host_command("a.test", "pause", None)
        crawl.scheduler.drain()  # it would wait for whoever paused the host
    return False


def paused(crawl: Any) -> bool:
    if crawl.scheduler.outcomes["OK"] == 2:
        crawl.store.set_meta({"paused": "1"})
    return crawl.scheduler.outcomes["OK"] >= 2


CRAWLS = {
    "plain": Crawl(plain, {"exclude": ["/ex/", "/never/"], "max_depth": 2}),
    "wide": Crawl(wide, {"scope": "any"}),
    "limit": Crawl(many, {"max_pages": 2}),
    "site limit": Crawl(many, {"site_pages": 3}),
    "killed": Crawl(many, {}, kept(2)),
    "retrying": Crawl(slow, {"retry_wait_s": 3000.0, "retry_wait_max_s": 9000.0, "order": "bfs"}, kept(6)),
    "dropped": Crawl(many, {}, dropped),
    "host paused": Crawl(many, {}, host_paused),
    "paused": Crawl(many, {}, paused),
    "prefix": Crawl(folders, {"seeds": [f"{A}/docs/"], "scope": "prefix"}),
    "site": Crawl(folders, {"seeds": [f"{A}/docs/"], "scope": "site"}),
    "name": Crawl(folders, {"seeds": [f"{A}/docs/"], "scope": "name"}),
    "include": Crawl(many, {"include": ["/p[0-3]$"]}),
    "few stored": Crawl(plain, {"refused_max": 1}),
    "calendar": Crawl(calendar, {"trap_pages": 8}),
    "no robots": Crawl(plain, {"no_robots": True}),
}

TABLE = [
    Situation("a page", "plain", f"{A}/ok", "kept", "", "It is there: fetched on", [], ("rule", "admitted by scope host")),
    Situation("a seed", "plain", f"{A}/", "kept", "", "It is there", [], ("found", "an address to start from")),
    Situation("a fragment", "plain", f"{A}/ok#part", "kept", "", "It is there", [], ("address", f"is spelled {A}/ok")),
    Situation("odd spelling", "plain", "HTTP://A.test:80/./ok", "kept", "", "It is there", [], ("address", f"is spelled {A}/ok")),
    Situation("no scheme", "plain", "a.test/ok", "kept", "", "It is there", [], ("address", f"is spelled {A}/ok")),
    Situation("tracking", "plain", f"{A}/ok?utm_source=x", "kept", "", "It is there", [], ("same", f"the same as {A}/ok")),
    Situation("twin", "plain", f"{A}/twin-2", "kept", "", "It is there", [], ("same", f"the same bytes as {A}/twin-1")),
    Situation("redirect", "plain", f"{A}/moved", "moved", "", f"redirects to {A}/target", [], ("outcome", f"→ {A}/target")),
    Situation("its target", "plain", f"{A}/target", "kept", "", "It is there", [], ("path", f"{A}/ → {A}/moved → {A}/target")),
    Situation("tried twice", "plain", f"{A}/flaky", "kept", "", "It is there", [], ("attempt", "try 1 on")),
    Situation("another host", "plain", f"{B}/page", "refused", "scope.host", "b.test is none of them", [{"scope": "any"}, {"seeds": [f"{A}/", f"{B}/page"]}]),
    Situation("a subdomain", "plain", "http://sub.a.test/", "refused", "scope.host", "sub.a.test is none of them", [{"scope": "site"}, {"scope": "name"}, {"scope": "any"}, {"seeds": [f"{A}/", "http://sub.a.test/"]}]),
    Situation("part elsewhere", "plain", f"{B}/logo.png", "refused", "scope.host", "b.test is none of them", [{"embeds": True}, {"scope": "any"}, {"seeds": [f"{A}/", f"{B}/logo.png"]}]),
    Situation("excluded", "plain", f"{A}/ex/1", "refused", "exclude:/ex/", "the pattern /ex/ of exclude", [{"exclude": ["/never/"]}]),
    Situation("too deep", "plain", f"{A}/3", "too_deep", "max_depth", "3 links away from where the crawl began, and max_depth is 2", [{"max_depth": 3}], ("depth", "beyond max_depth 2")),
    Situation("robots", "plain", f"{A}/private/x", "failed", "robots_disallow", "line 5: disallow: /private", [{"no_robots": True}], ("robots", "line 5 of the robots.txt of http://a.test (group *) forbids it")),
    Situation("a form", "plain", f"{A}/send", "refused", "kind.form", "where a form is sent to", []),
    Situation("a sitemap", "plain", f"{A}/map.xml", "refused", "kind.sitemap", "sitemaps are not read", [{"sitemaps": True}]),
    Situation("nofollow", "plain", f"{A}/hidden", "refused", "nofollow", "ask that their links are not followed", [{"ignore_nofollow": True}], ("links", f"1 page links to it: {A}/quiet")),
    Situation("trap: path", "plain", f"{A}/a/a/a/a/", "refused", "trap:repeated_segment", "its path repeats itself", [{"traps": "no-repeated_segment"}]),
    Situation("trap: query", "plain", f"{A}/?a=1&a=1&a=1&b=2", "refused", "trap:growing_query", "again and again", [{"traps": "no-growing_query"}]),
    Situation("trap: slashes", "plain", f"{A}/x//////y", "refused", "trap:growing_path", "its path has grown", [{"traps": "no-growing_path,no-repeated_segment"}]),
    Situation("too long", "plain", f"{A}/{'l' * 9000}", "refused", "url.too_long", "longer than 8,192 characters", []),
    Situation("404", "plain", f"{A}/gone", "failed", "status.404", "the server answered 404 Not Found (REFUSED)", [{}]),
    Situation("500", "plain", f"{A}/dead", "failed", "status.500", "the server answered 500", [{}], ("attempt", "try 3 on")),
    Situation("a circle", "plain", f"{A}/loop", "failed", "redirect_loop", "redirects in a circle", [{}]),
    Situation("undecodable", "plain", f"{A}/broken", "failed", "decode", "the content did not decode", [{}]),
    Situation("no address", "plain", "mailto:x@a.test", "invalid", "", "only http://, https:// and ftp:// are crawled", []),
    Situation("never linked", "plain", f"{A}/nowhere", "unseen", "", "no page that was kept links to it; if one did, it would be fetched", [{"seeds": [f"{A}/", f"{A}/nowhere"]}, {"sitemaps": True}, {"guess_links": True}]),
    Situation("never, refused", "plain", "http://c.test/", "unseen", "scope.host", "and it would be refused, because", [{"scope": "any"}, {"seeds": [f"{A}/", "http://c.test/"]}]),
    Situation("https of it", "plain", "https://a.test/ok", "elsewhere", "", f"never met in this spelling, but {A}/ok was", None, ("near", f"{A}/ok")),
    Situation("with a slash", "plain", f"{A}/ok/", "elsewhere", "", f"but {A}/ok was", None, ("near", f"{A}/ok")),
    Situation("two rules", "plain", f"{B}/never/1", "unseen", "scope.host", "b.test is none of them", [{"seeds": [f"{A}/", f"{B}/never/1"]}, {"scope": "any", "exclude": ["/ex/"]}]),
    Situation("robots ignored", "no robots", f"{A}/private/x", "kept", "", "It is there", [], ("robots", "is not asked (no_robots)")),
    Situation("no such host", "wide", "http://nowhere.test/", "failed", "dns.not_found", "its name is not found (UNREACHABLE)", [{}]),
    Situation("nothing listens", "wide", "http://shut.test/", "failed", "connect.refused", "nothing listens there", [{}]),
    Situation("robots down", "wide", "http://sick.test/page", "failed", "robots_unreachable", "could not be read, so there is no permission", [{"no_robots": True}]),
    Situation("expired", "wide", "http://old.test/", "failed", "tls.expired", "its certificate has expired", [{"insecure": ["old.test"]}]),
    Situation("parked", "wide", "http://busy.test/1", "waiting", "", "its host http://busy.test is not asked (it is left alone until", []),
    Situation("limit", "limit", f"{A}/p4", "waiting", "", "the crawl ended at a limit while it waited", [{"max_pages": 0}], ("queue", "of its host before it")),
    Situation("site limit", "site limit", f"{A}/p4", "waiting", "", "the crawl ended at a limit", [{"site_pages": 0}]),
    Situation("killed", "killed", f"{A}/p4", "waiting", "", "the crawl was stopped while it waited", [], ("queue", "of its host before it, due now")),
    Situation("to be retried", "retrying", f"{A}/p0", "waiting", "", "it failed (1 of 4 tries) and is due again on", [], ("attempt", "tried again after")),
    Situation("dropped", "dropped", f"{A}/p4", "dropped", "dropped", "you dropped its host", []),
    Situation("host paused", "host paused", f"{A}/p4", "waiting", "", "is not asked (you paused it; nephila host host paused a.test resume lets it go on)", []),
    Situation("paused", "paused", f"{A}/p4", "waiting", "", "the crawl is paused, and nephila resume", []),
    Situation("other folder", "prefix", f"{A}/blog/", "refused", "scope.prefix", "stays below the folders", None),
    Situation("other site", "site", "http://a.example/docs/", "refused", "scope.site", "a.example belongs to none of them", [{"scope": "name"}, {"scope": "any"}, {"seeds": [f"{A}/docs/", "http://a.example/docs/"]}]),
    Situation("same name", "name", "http://a.example/docs/", "kept", "", "It is there", []),
    Situation("not included", "include", f"{A}/p4", "refused", "include", "none of the patterns of include", [{"include": ["/p[0-3]$", "^http://a\\.test/"]}, {"include": []}]),
    Situation("only counted", "few stored", "http://sub.a.test/", "unseen", "scope.host", "met and only counted", [{"scope": "site"}, {"scope": "name"}, {"scope": "any"}, {"seeds": [f"{A}/", "http://sub.a.test/"]}]),
    Situation("calendar", "calendar", f"{A}/cal?year=2033&month=1", "refused", f"trap:calendar {A}/cal?month,year", "are dates whose pages said nothing new", [{"traps": "no-calendar"}]),
]  # fmt: skip
