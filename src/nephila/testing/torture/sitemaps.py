"""Section J: sitemaps that are endless, bombs, broken, of the wrong form, or lead elsewhere."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable
from typing import Any

from nephila.testing.torture.cases import Route, case
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk, answer, html

MAPS: dict[str, Any] = {"sitemaps": True}
LARGE: dict[str, Any] = MAPS | {
    "body_bytes_max": 64 << 20,
    "scope": "host",
    "body_timeout_s": 60.0,
    "header_timeout_s": 20.0,
    "low_speed_s": 30.0,
}
LARGE |= {"delay": "0", "refused_max": 2_000_000}
"""What a sitemap names is met, and refused."""
DEPTH_MAX = 10
FILE_MAX = 100_000
"""Addresses taken of one sitemap."""
ELSEWHERE = "http://elsewhere.invalid/"

XML = "Content-Type: application/xml"
SCHEMA = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*urls: str, schema: str = SCHEMA, more: str = "") -> bytes:
    return f"<urlset {schema}>{''.join(f'<url><loc>{url}</loc>{more}</url>' for url in urls)}</urlset>".encode()


def index(*urls: str) -> bytes:
    return f"<sitemapindex {SCHEMA}>{''.join(f'<sitemap><loc>{url}</loc></sitemap>' for url in urls)}</sitemapindex>".encode()


def named(row: str, name: str, expected: dict[str, str], **more: Any) -> Callable[[Route], Route]:
    """A case whose robots.txt names /sitemap; `expected` are the URLs that are judged beside the start page."""
    also = {"/sitemap": "OK", **expected}
    return case(row, name, also=also, robots=True, settings=more.pop("settings", MAPS), **more)


async def around(talk: Talk, answers: dict[str, bytes]) -> None:
    """robots.txt, an empty page for everything, and these answers."""
    if talk.path == "/robots.txt":
        await talk.say(answer(b"Sitemap: /sitemap\n", "Content-Type: text/plain"))
    else:
        await talk.say(answers.get(talk.path, html()))


def holds(
    row: str, name: str, body: bytes, *found: str, content_type: str = XML, reason: str = "", **more: Any
) -> None:
    """A case of one sitemap in which these URLs are found. `{}` in the body stands for the origin."""
    headers = [content_type] if content_type else []
    headers += more.pop("headers", [])

    async def route(talk: Talk) -> None:
        here = talk.url("").encode()
        await around(talk, {"/sitemap": answer(body.replace(b"{}", here) if b"{}" in body else body, *headers)})

    named(row, name, {"/sitemap": f"OK {reason}".strip(), **dict.fromkeys(found, "OK")}, **more)(route)


# --- J1: rings and chains -----------------------------------------------------------------------------------------------


@named("J1", "ring", {"/b": "OK", "/page": "OK"}, quick=True)
async def _ring(talk: Talk) -> None:
    maps = {"/sitemap": index("/b", "/sitemap"), "/b": index("/sitemap", "/pages"), "/pages": urlset("/page")}
    await around(talk, {path: answer(body, XML) for path, body in maps.items()})


@named("J1", "chain-of-100", {f"/s{DEPTH_MAX}": "OK", f"/s{DEPTH_MAX + 1}": "refused", f"/s{DEPTH_MAX + 2}": "unknown"})
async def _chain(talk: Talk) -> None:
    number = int(talk.path[2:]) if talk.path.startswith("/s") and talk.path != "/sitemap" else 0
    await around(talk, {talk.path: answer(index(f"/s{number + 1}"), XML)} if "/s" in talk.path else {})


@named("J1", "wide", {f"/s{n}": "OK" for n in range(20)})
async def _wide(talk: Talk) -> None:
    body = index(*(f"/s{n}" for n in range(20))) if talk.path == "/sitemap" else index("/sitemap", "/s0")
    await around(talk, {talk.path: answer(body, XML)} if "/s" in talk.path else {})


# --- J2: bombs ----------------------------------------------------------------------------------------------------------

BLANKS = gzip.compress(urlset("/early")[:-9] + b" " * (100 << 20) + b"</urlset>", 9, mtime=0)

holds("J2", "gzip-file", BLANKS, "/early", reason="sitemap.broken", content_type="Content-Type: application/gzip")
holds(
    "J2",
    "two-layers",
    gzip.compress(BLANKS, mtime=0),
    reason="sitemap.none",
    content_type="Content-Type: application/gzip",
)


@named("J2", "gzip-coding", {"/sitemap": "UNREADABLE bomb"}, exits=0)
async def _coding(talk: Talk) -> None:
    await around(talk, {"/sitemap": answer(BLANKS, XML, "Content-Encoding: gzip")})


# --- J3: gzip that is labelled twice, wrongly, or has something behind it ------------------------------------------------

PACKED = gzip.compress(urlset("/one", "/two"), mtime=0)
GZIP = "Content-Type: application/x-gzip"

holds("J3", "gzip-as-xml", PACKED, "/one", "/two", quick=True)
holds("J3", "gzip-file", PACKED, "/one", "/two", content_type=GZIP)
holds(
    "J3", "file-and-coding-once-packed", PACKED, "/one", "/two", content_type=GZIP, headers=["Content-Encoding: gzip"]
)
holds(
    "J3",
    "file-and-coding-twice-packed",
    gzip.compress(PACKED, mtime=0),
    "/one",
    content_type=GZIP,
    headers=["Content-Encoding: gzip"],
)
holds("J3", "not-gzip", urlset("/one"), "/one", content_type=GZIP)
holds("J3", "coding-over-plain", urlset("/one"), "/one", headers=["Content-Encoding: gzip"])
holds("J3", "junk-behind", PACKED + b"junk" * 100, "/one", "/two")
holds(
    "J3",
    "two-members",
    gzip.compress(urlset("/one")[:40], mtime=0) + gzip.compress(urlset("/one")[40:], mtime=0),
    "/one",
)
holds(
    "J3",
    "cut",
    gzip.compress(urlset(*(f"/{n}" for n in range(500))), mtime=0)[:-200],
    "/0",
    "/1",
    reason="sitemap.broken",
)
holds("J3", "wrong-checksum", PACKED[:-8] + b"\0" * 8, "/one", reason="sitemap.broken")

# --- J4: very many URLs -------------------------------------------------------------------------------------------------


def _counted(part: str, wanted: int) -> Callable[[Observed], list[str]]:
    def check(observed: Observed) -> list[str]:
        ((count,),) = observed.query("SELECT count(*) FROM url WHERE url GLOB ?", f"{ELSEWHERE}{part}/*")
        return [] if count == wanted else [f"{count:,} of {wanted:,} URLs were met"]

    return check


@functools.cache
def _part(number: int) -> bytes:
    return answer(urlset(*(f"{ELSEWHERE}parts/{number * 50_000 + n}" for n in range(50_000))), XML)


@named("J4", "a-million", {f"/s{n}": "OK" for n in range(20)}, check=_counted("parts", 1_000_000), settings=LARGE)
async def _million(talk: Talk) -> None:
    parts = {"/sitemap": answer(index(*(f"/s{n}" for n in range(20))), XML)}
    if talk.path.startswith("/s") and talk.path != "/sitemap":
        parts[talk.path] = _part(int(talk.path[2:]))
    await around(talk, parts)


@named("J4", "a-million-in-one-file", {"/sitemap": "OK cut.links"}, check=_counted("file", FILE_MAX), settings=LARGE)
async def _one_file(talk: Talk) -> None:
    await around(talk, {"/sitemap": answer(_lines(), "Content-Type: text/plain")} if talk.path == "/sitemap" else {})


@functools.cache
def _lines() -> bytes:
    return "".join(f"{ELSEWHERE}file/{n}\n" for n in range(1_000_000)).encode()


# --- J5: broken XML -----------------------------------------------------------------------------------------------------

BROKEN = {"reason": "sitemap.broken"}

holds("J5", "wrong-namespace", urlset("/one", schema='xmlns="http://www.google.com/schemas/sitemap/0.84"'), "/one")
holds("J5", "no-namespace", urlset("/one", schema=""), "/one")
holds("J5", "prefix", b'<s:urlset xmlns:s="x"><s:url><s:loc>/one</s:loc></s:url></s:urlset>', "/one")
holds("J5", "cdata", urlset("<![CDATA[/one?a=1&b=2]]>"), "/one?a=1&b=2")
holds("J5", "bom", b"\xef\xbb\xbf" + urlset("/one"), "/one")
holds("J5", "utf-16", "\ufeff".encode("utf-16-le") + urlset("/one").decode().encode("utf-16-le"), "/one")
holds("J5", "blank-before", b"\n\n  <?xml version='1.0'?>" + urlset("/one"), "/one")
holds("J5", "bare-ampersand", urlset("/one?a=1&b=2"), "/one?a=1&b=2", **BROKEN)
holds("J5", "ampersand", urlset("/one?a=1&amp;b=2"), "/one?a=1&b=2")
holds("J5", "cut", urlset("/one", "/two")[:-20], "/one", quick=True, **BROKEN)
holds("J5", "unclosed", b"<urlset><url><loc>/one<url><loc>/two</urlset>", "/one", "/two", **BROKEN)
holds("J5", "upper-case", b"<URLSET><URL><LOC>/one</LOC></URL></URLSET>", "/one")
holds("J5", "comments", urlset("/one", more="<!-- <loc>/no</loc> -->"), "/one")
holds("J5", "control-characters", urlset("/one").replace(b"<url>", b"\x0b<url>"), "/one", **BROKEN)
holds("J5", "empty", b"", reason="sitemap.none")
holds("J5", "deep", b"<urlset>" + b"<url>" * 100_000 + b"<loc>/one</loc>", "/one", **BROKEN)

# --- J6: other hosts, files, private addresses ---------------------------------------------------------------------------


@named(
    "J6",
    "elsewhere",
    {"/one": "OK", "http://never.invalid/": "refused", "http://10.0.0.1/": "refused"},
    settings=MAPS | {"scope": "host"},
)
async def _elsewhere(talk: Talk) -> None:
    urls = [
        "file:///etc/passwd",
        "http://never.invalid/",
        "http://10.0.0.1/",
        "javascript:alert(1)",
        "ftp://h/x",
        "/one",
    ]
    await around(talk, {"/sitemap": answer(urlset(*urls), XML)})


@named(
    "J6",
    "private",
    {
        "http://10.0.0.1/": "BLOCKED blocked.private_address",
        "http://169.254.169.254/latest": "BLOCKED blocked.private_address",
    },
    settings=MAPS | {"allow_private": False},
)
async def _private(talk: Talk) -> None:
    """Loopback seeds may be asked; nothing else that is private may."""
    await around(talk, {"/sitemap": answer(urlset("http://10.0.0.1/", "http://169.254.169.254/latest"), XML)})


# --- J7: text, RSS, Atom -------------------------------------------------------------------------------------------------

TEXT = b"{}/one\r\n{}/two\r\n\r\nnot an address\r\n"
RSS = b"<rss version='2.0'><channel><link>{}/</link><item><link>{}/one</link></item><item><guid>{}/two</guid></item></channel></rss>"
ATOM = b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='{}/one'/></entry></feed>"

holds("J7", "text", TEXT, "/one", "/two", content_type="Content-Type: text/plain", quick=True)
holds("J7", "text-as-xml", TEXT, "/one", "/two")
holds("J7", "rss", RSS, "/one", "/two", content_type="Content-Type: application/rss+xml")
holds("J7", "atom", ATOM, "/one", content_type="Content-Type: application/atom+xml")


@named("J7", "text-packed", {"/one": "OK", "/two": "OK"})
async def _packed(talk: Talk) -> None:
    lines = TEXT.replace(b"{}", talk.url("").encode())
    await around(talk, {"/sitemap": answer(gzip.compress(lines, mtime=0), "Content-Type: text/plain")})


# --- J8: lastmod ---------------------------------------------------------------------------------------------------------

for number, when in enumerate(
    ["yesterday", "0000-00-00", "9999-99-99T99:99:99Z", "-1", "2024-02-30", "1e99", "&#x0;", ""]
):
    flaw = BROKEN if "&#x0" in when else {}
    holds(
        "J8",
        f"lastmod-{number}",
        urlset("/one", more=f"<lastmod>{when}</lastmod><priority>NaN</priority>"),
        "/one",
        quick=not number,
        **flaw,
    )

# --- J9: entities --------------------------------------------------------------------------------------------------------

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
holds(
    "J9",
    "billion-laughs",
    f'<!DOCTYPE x [<!ENTITY l0 "lol">{LAUGHS}]>'.encode() + urlset("&l9;", "/one"),
    "/one",
    quick=True,
)
holds("J9", "file", b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>' + urlset("&f;", "/one"), "/one")
holds("J9", "parameter", b'<!DOCTYPE x [<!ENTITY % p SYSTEM "{}/never"> %p;]>' + urlset("/one"), "/one", hosts=1)
holds("J9", "long-declaration", b"<!DOCTYPE x [" + b"<!ENTITY a 'b'>" * 50_000 + b"]>" + urlset("/one"), "/one")

# --- J10: none there -----------------------------------------------------------------------------------------------------

holds(
    "J10",
    "html",
    b"<!doctype html><title>not found</title><a href=/never>x</a>",
    reason="sitemap.none",
    content_type="Content-Type: text/html",
)


@named("J10", "absent", {"/sitemap": "REFUSED status.404"}, quick=True)
async def _absent(talk: Talk) -> None:
    await around(talk, {"/sitemap": answer(status="404 Not Found")})


@case("J10", "guessed-and-absent", also={"/sitemap.xml": "REFUSED status.404"}, settings=MAPS)
async def _guessed(talk: Talk) -> None:
    await talk.say(answer(status="404 Not Found") if talk.path == "/sitemap.xml" else html())
