"""A fetched robots.txt as a page: what is kept of it, and the sitemaps it names as links."""

from __future__ import annotations

from nephila.robots.rules import Rules, whole_lines
from nephila.types import Kind, Links, Page, RobotsFile
from nephila.url.parse import resolve


def read_robots(url: str, status: int, content: bytes, token: str = "nephila") -> Page:
    """What the final answer to `url` means (RFC 9309, 2.3.1). `content` is the decoded body.

    2xx: found. 4xx: absent, everything is allowed; but 429 says "too busy", not "none", and counts as unreachable with 5xx
    and the rest (status 0: no answer at all).
    """
    if 200 <= status < 300:
        return _found(url, status, whole_lines(content), token)
    state = "absent" if 400 <= status < 500 and status != 429 else "unreachable"
    return Page(robots_file=RobotsFile(state, b"", status))


def _found(url: str, status: int, content: bytes, token: str) -> Page:
    rules = Rules.parse(content)
    hrefs = [absolute for sitemap in rules.sitemaps if (absolute := resolve(url, sitemap))]
    count = len(hrefs)
    links = Links(url, "utf-8", hrefs, [Kind.SITEMAP] * count, ["robots"] * count, ["sitemap"] * count, resolve=resolve)
    robots = RobotsFile("found", content, status, rules.crawl_delay(token))
    return Page(media_type="text/plain", charset="UTF-8", links=links, robots_file=robots)
