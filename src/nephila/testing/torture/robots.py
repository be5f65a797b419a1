"""Section I: robots.txt that is absent, cannot be had, moves, is huge, or is written in every odd way."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from nephila.testing.torture.cases import UNASKED, Route, case
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk, answer, html

ALLOWED: dict[str, str] = {"/no": "OK", "/yes": "OK"}
RULED: dict[str, str] = {"/no": "DENIED robots_disallow", "/yes": "OK"}
RULES = b"User-agent: *\nDisallow: /no\n"
BYTES_MAX = 512_000
UNREACHABLE: dict[str, Any] = {"outcome": "DENIED", "reason": "robots_unreachable", "requests": 0}


Check = Callable[[Observed], list[str]]


def text(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    return answer(body, "Content-Type: text/plain", *headers, status=status)


def site(links: tuple[str, ...], robots: Route) -> Route:
    """robots.txt by `robots`; `/` links to these, and everything else is an empty page."""

    async def route(talk: Talk) -> None:
        if talk.path == "/robots.txt":
            await robots(talk)
        else:
            await talk.say(html(*links) if talk.path == "/" else html())

    return route


def ruled(row: str, name: str, expected: dict[str, str], **more: Any) -> Callable[[Route], Route]:
    """A case whose function answers robots.txt; `expected` are links of its start page and what must come of them."""
    denied = {path: UNASKED for path, said in expected.items() if said.startswith("DENIED")}

    def register(robots: Route) -> Route:
        check = _unasked(tuple(denied), more.pop("check", None))
        return case(row, name, also=expected, robots=True, check=check, **more)(site(tuple(expected), robots))

    return register


def _unasked(paths: tuple[str, ...], more: Check | None) -> Check:
    """What is denied was never requested, whatever the outcome says."""

    def check(observed: Observed) -> list[str]:
        found = [f"{path} was asked for" for path in paths if observed.place.asked(path)]
        return found + (more(observed) if more else [])

    return check


def file(
    row: str,
    name: str,
    body: bytes,
    expected: dict[str, str] = RULED,
    *headers: str,
    status: str = "200 OK",
    **more: Any,
) -> None:
    """A case of one answer to robots.txt."""

    async def robots(talk: Talk) -> None:
        await talk.say(text(body, *headers, status=status))

    ruled(row, name, expected, **more)(robots)


# --- I1: none -----------------------------------------------------------------------------------------------------------

for status in ("404 Not Found", "410 Gone", "401 Unauthorized", "403 Forbidden", "400 Bad Request", "418 Teapot"):
    file("I1", status[:3], RULES, ALLOWED, status=status, quick=status[:3] == "404")
file("I1", "204", b"", ALLOWED, status="204 No Content")
file("I1", "429-for-ever", RULES, {}, status="429 Too Many Requests", exits=4, **UNREACHABLE)


@ruled("I1", "429-then-rules", RULED)
async def _later(talk: Talk) -> None:
    await talk.say(text(RULES, status="429 Too Many Requests" if talk.n == 1 else "200 OK"))


# --- I2: cannot be had --------------------------------------------------------------------------------------------------

for status in ("500 Oops", "502 Bad Gateway", "503 Busy", "599 Odd"):
    file("I2", status[:3], RULES, {}, status=status, quick=status[:3] == "500", **UNREACHABLE)


@ruled("I2", "silent", {}, **UNREACHABLE)
async def _silent(talk: Talk) -> None:
    await talk.sleep(60)


@ruled("I2", "hangs-up", {}, **UNREACHABLE)
async def _hangs_up(talk: Talk) -> None:
    talk.hang_up()


@ruled("I2", "reset", {}, **UNREACHABLE)
async def _reset(talk: Talk) -> None:
    talk.reset()


@ruled("I2", "no-http", {}, **UNREACHABLE)
async def _no_http(talk: Talk) -> None:
    await talk.say(b"User-agent: *\nAllow: /\n")
    talk.hang_up()


@ruled("I2", "recovers", RULED)
async def _recovers(talk: Talk) -> None:
    await talk.say(text(RULES, status="503 Busy" if talk.n == 1 else "200 OK"))


# --- I3: redirects ------------------------------------------------------------------------------------------------------


def moved(place: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {place}", status=status)


def redirected(name: str, hops: int, expected: dict[str, str], **more: Any) -> None:
    """robots.txt is `hops` redirects away."""

    async def route(talk: Talk) -> None:
        number = 0 if talk.path == "/robots.txt" else int(talk.path[2:]) if talk.path[:2] == "/r" else -1
        if number < 0:
            await talk.say(html(*expected) if talk.path == "/" else html())
        else:
            await talk.say(moved(f"/r{number + 1}") if number < hops else text(RULES))

    case("I3", name, also=expected, robots=True, **more)(route)


redirected("five", 5, RULED, quick=True)
redirected("six", 6, ALLOWED)


@ruled("I3", "ring", ALLOWED)
async def _ring(talk: Talk) -> None:
    await talk.say(moved("/robots.txt"))


@case("I3", "other-host", hosts=2, robots=True, also={"/no": "DENIED robots_disallow", "/yes": "OK"})
async def _other_host(talk: Talk) -> None:
    """The rules of another host are for the one that asked, and of no other path there."""
    if talk.host == 1:
        await talk.say(text(RULES))
    elif talk.path == "/robots.txt":
        await talk.say(moved(talk.url("/robots.txt", host=1)))
    else:
        await talk.say(html("/no", "/yes") if talk.path == "/" else html())


@ruled("I3", "no-place", ALLOWED)
async def _no_place(talk: Talk) -> None:
    await talk.say(answer(b"", status="301 Moved"))


@case("I3", "to-html", robots=True, also=ALLOWED)
async def _to_html(talk: Talk) -> None:
    pages = {
        "/robots.txt": moved("/front"),
        "/": html("/no", "/yes"),
        "/front": html("/no", title="User-agent: * Disallow: /"),
    }
    await talk.say(pages.get(talk.path, html()))


@case("I3", "page-into-the-forbidden", robots=True, also={"/from": "MOVED", "/no": "DENIED robots_disallow"})
async def _into(talk: Talk) -> None:
    """A redirect is no way around the rules."""
    pages = {"/robots.txt": text(RULES), "/": html("/from"), "/from": moved("/no")}
    if talk.path == "/no":
        raise AssertionError("a disallowed path was requested")
    await talk.say(pages[talk.path])


# --- I4: huge -----------------------------------------------------------------------------------------------------------

FILLER = b"# " + b"x" * 97 + b"\n"


def long(before: bytes, length: int, after: bytes) -> bytes:
    """`after` begins at byte `length`."""
    body = before + FILLER * ((length - len(before)) // 100)
    return body + b"#" * (length - len(body) - 1) + b"\n" + after


file("I4", "a-megabyte", long(RULES, 1 << 20, b"Disallow: /yes\n"), quick=True)
file("I4", "cut-in-a-rule", long(RULES, BYTES_MAX - 11, b"Disallow: /yesterday\n"))
file("I4", "a-rule-at-the-end", long(RULES, BYTES_MAX - 15, b"Disallow: /late\n"), RULED | {"/late": "OK"})
file("I4", "just-fits", long(RULES, BYTES_MAX - 16, b"Disallow: /late\n"), RULED | {"/late": "DENIED robots_disallow"})
file("I4", "one-line", RULES + b"Disallow: /" + b"y" * (1 << 20))
file("I4", "one-line-before", b"#" * (400 << 10) + b"\n" + RULES)
file("I4", "20000-rules", RULES + b"".join(b"Disallow: /x%d/*/y$\n" % n for n in range(20_000)))

# --- I5: odd bytes ------------------------------------------------------------------------------------------------------

file("I5", "bom", b"\xef\xbb\xbf" + RULES, quick=True)
file("I5", "half-a-bom", b"\xef\xbb" + RULES)
file("I5", "utf-16", b"\xff\xfe" + RULES.decode().encode("utf-16-le"))
file("I5", "utf-16-be", b"\xfe\xff" + RULES.decode().encode("utf-16-be"))
file("I5", "cr", RULES.replace(b"\n", b"\r"))
file("I5", "crlf", RULES.replace(b"\n", b"\r\n"))
file("I5", "nul", b"\0\n" + RULES + b"Disallow: /\0yes\n")
file("I5", "html", b"<!doctype html><pre>\n" + RULES + b"</pre>", ALLOWED)
file("I5", "gzip-coding", gzip.compress(RULES, mtime=0), RULED, "Content-Encoding: gzip")
file("I5", "gzip-unsaid", gzip.compress(RULES, mtime=0), ALLOWED)
file("I5", "empty", b"", ALLOWED)
file("I5", "noise", bytes(range(256)) * 100, ALLOWED)
file("I5", "latin-1", b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /no\n")
file("I5", "no-agent", b"Disallow: /no\n", ALLOWED)
file("I5", "as-html", RULES, RULED, "Content-Type: text/html")

# --- I6: rules of every kind --------------------------------------------------------------------------------------------

DENIED = "DENIED robots_disallow"
file(
    "I6",
    "patterns",
    b"User-agent: *\nDisallow: /*.pdf$\nDisallow: /?q=\nDisallow: /a%2Fb\nDisallow: /caf\xc3\xa9\nDisallow: /*s=\n"
    b"Disallow: /dir/\nAllow: /dir/open\nDisallow: /same\nAllow: /same\nDisallow: /%7Euser\n",
    {
        "/x.pdf": DENIED,
        "/x.pdf?y": "OK",
        "/?q=1": DENIED,
        "/a%2Fb": DENIED,
        "/a/b": "OK",
        "/caf%C3%A9": DENIED,
        "/p?s=1": DENIED,
        "/dir/closed": DENIED,
        "/dir/open/x": "OK",
        "/same": "OK",
        "/~user": DENIED,
        "/Dir/": "OK",
    },
    quick=True,
)
file(
    "I6",
    "many-stars",
    b"User-agent: *\nDisallow: /" + b"*a" * 30 + b"*b\nDisallow: /no\n",
    RULED | {"/" + "a" * 200: "OK"},
)
file("I6", "our-group", b"User-agent: *\nDisallow: /\n\nUser-Agent: NEPHILA/9 (x)\nDisallow: /no\n")
file(
    "I6",
    "merged-groups",
    b"User-agent: nephila\nDisallow: /no\n\nUser-agent: other\nDisallow: /\n\nUser-agent: nephila\nDisallow: /late\n",
    RULED | {"/late": DENIED},
)
file("I6", "others-only", b"User-agent: other\nDisallow: /\n", ALLOWED)
file("I6", "shared-group", b"User-agent: other\nCrawl-delay: 0\nUser-agent: nephila\nUnknown: x\nDisallow: /no\n")
file("I6", "beginning-of-our-name", b"User-agent: neph\nDisallow: /\n", ALLOWED)
file("I6", "robots-txt-itself", b"User-agent: *\nDisallow: /robots.txt\nDisallow: /no\n")
file(
    "I6",
    "delay-of-one-second",
    b"User-agent: *\nCrawl-delay: 1\n",
    {"/yes": "OK", "/no": "OK"},
    check=lambda seen: _paced(seen, 1.0),
)
for number, delay in enumerate(["-5", "nan", "soon", "1,5", ""]):
    file("I6", f"no-delay-{number}", b"User-agent: *\nCrawl-delay: %b\nDisallow: /no\n" % delay.encode())


def _paced(observed: Observed, gap_s: float) -> list[str]:
    times = sorted(hit.time for hit in observed.place.hits)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return [] if gaps and min(gaps) >= gap_s - 0.05 else [f"requests {min(gaps, default=0):.2f} s apart, not {gap_s:g}"]


def _clamped(observed: Observed) -> list[str]:
    """Asked for a thousand years, the host waits five minutes: its pages are queued when the crawl's time is over."""
    ((due,),) = observed.query(
        "SELECT max(due) - max(robots_fetched) FROM host WHERE origin = ?", observed.place.url("")
    )
    return [] if 200 < due <= 301 else [f"due in {due:.0f} s"]


@case("I6", "delay-of-ages", outcome="queued", robots=True, exits=3, check=_clamped, settings={"max_time": 3.0})
async def _ages(talk: Talk) -> None:
    await talk.say(
        text(b"User-agent: *\nCrawl-delay: 1e9\nCrawl-delay: 999999999\n") if talk.path == "/robots.txt" else html()
    )


# --- I7: by origin ------------------------------------------------------------------------------------------------------


@case("I7", "two-hosts", hosts=2, robots=True, also=ALLOWED, quick=True)
async def _two(talk: Talk) -> None:
    """The second host forbids everything; the first, nothing."""
    if talk.path == "/robots.txt":
        await talk.say(text(b"User-agent: *\nDisallow: /\n") if talk.host == 1 else text(b""))
    elif talk.host == 1:
        raise AssertionError("a disallowed path was requested")
    else:
        await talk.say(html("/no", "/yes", talk.url("/x", host=1)) if talk.path == "/" else html())
