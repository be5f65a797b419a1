"""A fetched robots.txt as a page: what is kept of it, and the sitemaps it names as links."""

from __future__ import annotations

from nephila.robots.rules import Rules, whole_lines
from nephila.types import Kind, Links, Page, RobotsFile
from nephila.url.parse import resolve

USUAL_SITEMAP = "/sitemap.xml"


def read_robots(url: str, status: int, content: bytes, token: str = "nephila", *, guess_sitemap: bool = False) -> Page:
    """What the final answer to `url` means (RFC 9309, 2.3.1). `content` is the decoded body. `guess_sitemap`: a site that
    names no sitemap may have one at the usual place.

    2xx: found. 4xx: absent, everything is allowed; but 429 says "too busy", not "none", and counts as unreachable with 5xx
    and the rest (status 0: no answer at all). FTP has one reply for a file that is not there, 550.
    """
    if url.startswith("ftp:") and status == 550:
        status = 404
    if 200 <= status < 300:
        return _found(url, status, whole_lines(content), token, guess_sitemap)
    state = "absent" if 400 <= status < 500 and status != 429 else "unreachable"
    guessed = _sitemaps(url, [USUAL_SITEMAP]) if guess_sitemap and state == "absent" else None
    return Page(links=guessed, robots_file=RobotsFile(state, b"", status))


def _found(url: str, status: int, content: bytes, token: str, guess_sitemap: bool) -> Page:
    rules = Rules.parse(content)
    named = rules.sitemaps or ([USUAL_SITEMAP] if guess_sitemap else [])
    robots = RobotsFile("found", content, status, rules.crawl_delay(token))
    return Page(media_type="text/plain", charset="UTF-8", links=_sitemaps(url, named), robots_file=robots)


def _sitemaps(url: str, named: list[str]) -> Links:
    hrefs = [absolute for sitemap in named if (absolute := resolve(url, sitemap))]
    count = len(hrefs)
    return Links(url, "utf-8", hrefs, [Kind.SITEMAP] * count, ["robots"] * count, ["sitemap"] * count, resolve=resolve)
