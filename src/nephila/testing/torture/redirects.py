"""Section C: redirects that go in rings, nowhere, too far or astray, and what the base of a page is."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from nephila.testing.certificates import server_side
from nephila.testing.torture.cases import UNASKED, case
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Hit, Talk, answer, html
from nephila.testing.torture.trust import TRUSTED, authority

MOVED: dict[str, Any] = {"outcome": "MOVED", "attempts": 1}
NEXT: dict[str, Any] = MOVED | {"also": {"/next": "OK"}}
HOPS_MAX = 10


def to(place: str | bytes, *headers: str, status: str = "302 Found") -> bytes:
    """A redirect; the place is sent byte by byte as given."""
    raw = place.encode() if isinstance(place, str) else place
    return answer(b"", "Location: \0", *headers, status=status).replace(b"\0", raw)


def moves(row: str, name: str, *places: str | bytes, **more: Any) -> None:
    """The case's path moves to `places` ({origin} is its own, {host} without scheme, {1} its second host); all else is there."""

    async def route(talk: Talk) -> None:
        if talk.path != talk.place.case.path:
            return await talk.say(answer(b"here"))
        known = {b"{origin}": talk.url(""), b"{host}": talk.url("").partition("//")[2], b"{1}": ""}
        if talk.place.case.hosts > 1:
            known[b"{1}"] = talk.url("", 1)
        lines = []
        for place in places:
            raw = place.encode() if isinstance(place, str) else place
            for word, text in known.items():
                raw = raw.replace(word, text.encode())
            lines.append(b"Location: " + raw + b"\r\n")
        await talk.say(b"HTTP/1.1 302 Found\r\n" + b"".join(lines) + b"Content-Length: 0\r\n\r\n")

    case(row, name, **more)(route)


# --- C1 to C3: rings and chains -----------------------------------------------------------------------------------------

moves("C1", "itself", "/", outcome="REFUSED", reason="redirect_loop", requests=1, quick=True)


@case("C1", "ring-of-two", **MOVED, also={"/b": "REFUSED redirect_loop"}, requests=1)
@case("C1", "ring-of-three", **MOVED, also={"/b": "MOVED", "/c": "REFUSED redirect_loop"}, requests=1)
async def _ring(talk: Talk) -> None:
    ring = ["/", "/b", "/c"][: 2 if talk.place.case.name == "ring-of-two" else 3]
    await talk.say(to(ring[(ring.index(talk.path) + 1) % len(ring)]))


_HOPS = {f"/{n}": "MOVED" for n in range(1, HOPS_MAX)}


@case("C1", "ten-hops", **MOVED, also=_HOPS | {f"/{HOPS_MAX}": "OK"})
@case("C1", "without-end", **MOVED, also=_HOPS | {f"/{HOPS_MAX}": "REFUSED too_many_redirects", "/11": UNASKED})
async def _chain(talk: Talk) -> None:
    n = int(talk.path[1:] or 0)
    await talk.say(answer() if n == HOPS_MAX and talk.place.case.name == "ten-hops" else to(f"/{n + 1}"))


def _paced(seen: Observed) -> list[str]:
    times = [hit.time for hit in seen.place.hits]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return [] if min(gaps) >= 0.19 else [f"hops follow each other after {min(gaps):.3f} s"]


@case("C1", "each-hop-paced", **MOVED, also={"/4": "OK"}, check=_paced, settings={"delay": "0.2"})
async def _paced_chain(talk: Talk) -> None:
    n = int(talk.path[1:] or 0)
    await talk.say(answer() if n == 4 else to(f"/{n + 1}"))


@case("C2", "wall", attempts=2, requests=2, body=b"in", quick=True)
async def _wall(talk: Talk) -> None:
    await talk.say(answer(b"in") if "seen=1" in talk.header("cookie") else to("/", "Set-Cookie: seen=1"))


@case("C2", "wall-that-stays", outcome="REFUSED", reason="redirect_loop", attempts=2, requests=2)
async def _wall_stays(talk: Talk) -> None:
    await talk.say(to("/", f"Set-Cookie: seen={talk.n}"))


moves("C3", "query-in-another-order", "/?b=2&a=1", path="/?a=1&b=2", also={"/?b=2&a=1": "OK"}, **MOVED)
moves("C3", "slash-added", "/dir/", path="/dir", also={"/dir/": "OK"}, **MOVED)
moves("C3", "other-case", "/PAGE", path="/page", also={"/PAGE": "OK"}, **MOVED)

# --- C4: where it leads is judged like any link -------------------------------------------------------------------------


@case("C4", "out-of-scope", **MOVED, hosts=2, settings={"scope": "host"})
async def _out_of_scope(talk: Talk) -> None:
    if talk.host == 1:
        return talk.reset()
    await talk.say(to(talk.url("/", 1)))


@case("C4", "robots-forbids", **MOVED, robots=True, also={"/private": "DENIED robots_disallow"})
async def _forbidden(talk: Talk) -> None:
    robots = answer(b"User-agent: *\nDisallow: /private\n")
    await talk.say(robots if talk.path == "/robots.txt" else to("/private"))


for _name, _place in {
    "loopback": "http://127.99.0.1:1/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "private": "http://10.0.0.1/",
    "mapped": "http://[::ffff:127.0.0.1]:1/",
    "number": "http://2130706433:1/",
}.items():
    _seen_as = {"mapped": "http://[::ffff:7f00:1]:1/", "number": "http://127.0.0.1:1/"}.get(_name, _place)
    moves(
        "C4",
        f"inside-{_name}",
        _place,
        **MOVED,
        also={_seen_as: "BLOCKED blocked.private_address"},
        settings={"allow_private": False},
    )

# --- C5 to C8: what stands in Location ----------------------------------------------------------------------------------

moves("C5", "no-place", outcome="REFUSED", reason="redirect_without_location", attempts=1)
moves("C5", "empty-place", "", outcome="REFUSED", reason="redirect_without_location", attempts=1)
moves("C5", "fragment-alone", "#part", outcome="REFUSED", reason="redirect_loop", requests=1)
moves("C5", "fragment", "/next#part", **NEXT)
moves("C5", "two-places", "/next", "/other", outcome="REFUSED", reason="redirect_ambiguous", attempts=1)
moves("C5", "one-place-twice", "/next", "/next", **NEXT)
for _status in (300, 305, 306, 399):

    @case("C5", f"status-{_status}", outcome="REFUSED", reason=f"status.{_status}", attempts=1, also={"/next": UNASKED})
    async def _other_status(talk: Talk, status: int = _status) -> None:
        await talk.say(to("/next", status=f"{status} Odd"))


for _status in (301, 303, 307, 308):

    @case("C5", f"status-{_status}", **NEXT)
    async def _moved(talk: Talk, status: int = _status) -> None:
        await talk.say(answer() if talk.path == "/next" else to("/next", status=f"{status} Moved"))


for _name, _path, _place in [
    ("relative", "/dir/page", "../next"),
    ("query-alone", "/next?a=1", "?"),
    ("two-slashes", "/", "//{host}/next"),
    ("three-slashes", "/", "///{host}/next"),
    ("backslashes", "/", "\\\\{host}\\next"),
    ("scheme-without-slashes", "/", "http:next"),
    ("scheme-with-one-slash", "/", "http:/next"),
    ("capitals", "/", "HTTP://{host}/next"),
    ("blanks-around", "/", "   /next\t "),
    ("tab-inside", "/", "/ne\txt"),
    ("dots", "/a/b", "/x/./y/.././../next"),
]:
    _also = {"/next?": "OK"} if _name == "query-alone" else {"/next": "OK"}
    moves("C6", _name, _place, path=_path, also=_also, **MOVED)
moves("C6", "blank-inside", "/ne xt", also={"/ne%20xt": "OK"}, **MOVED)
moves("C6", "line-end-inside", "/ne\r\n xt", also={"/ne%20xt": "OK"}, joined=True, **MOVED)
moves("C6", "unsafe-characters", '/a"<>`{}|b', also={"/a%22%3C%3E%60%7B%7D|b": "OK"}, **MOVED)

moves("C7", "utf-8", "/café", also={"/caf%C3%A9": "OK"}, quick=True, **MOVED)
moves("C7", "gbk", "/中文".encode("gbk"), also={"/%D6%D0%CE%C4": "OK"}, **MOVED)
moves("C7", "gbk-in-a-query", "/?q=中文".encode("gbk"), also={"/?q=%D6%D0%CE%C4": "OK"}, **MOVED)
moves("C7", "latin-1", "/caf\xe9".encode("latin-1"), also={"/caf%E9": "OK"}, **MOVED)
moves("C7", "escaped-already", "/caf%C3%A9", also={"/caf%C3%A9": "OK"}, **MOVED)


def _nowhere(word: str) -> Any:
    """The word is in no table and no log."""

    def check(seen: Observed) -> list[str]:
        con = seen.source._con
        held = [line for line in con.iterdump() if word in line]
        log = (seen.folder / "log.jsonl").read_text()
        return [f"crawl.db holds {held[0][:200]}"] if held else [f"the log holds {word}"] if word in log else []

    return check


@case("C8", "credentials", **NEXT, check=_nowhere("pass1234"))
async def _credentials(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer(b"", status="200 OK" if not talk.header("authorization") else "500 Told"))
    await talk.say(to(talk.url("/next").replace("://", "://user:pass1234@")))


WRONG: dict[str, Any] = {"outcome": "REFUSED", "reason": "redirect_target", "attempts": 1}
for _name, _place in {
    "port-0": "http://127.0.0.1:0/",
    "port-99999": "http://127.0.0.1:99999/",
    "port-in-words": "http://127.0.0.1:http/",
    "file": "file:///etc/passwd",
    "javascript": "javascript:alert(1)",
    "data": "data:text/html,<a href=/next>x</a>",
    "mailto": "mailto:me@example.invalid",
    "blob": "blob:http://127.0.0.1/x",
    "no-host": "http://",
    "broken-host": "http://[broken/",
    "unknown": "gopher://127.0.0.1/",
}.items():
    moves("C8", _name, _place, **WRONG)
moves(
    "C8", "idn", "http://bücher.invalid/", also={"http://xn--bcher-kva.invalid/": "UNREACHABLE dns.not_found"}, **MOVED
)

# --- C9: schemes --------------------------------------------------------------------------------------------------------


@case(
    "C9",
    "down",
    **MOVED,
    scheme="https",
    raw=True,
    hosts=2,
    names=("down.example",),
    settings=TRUSTED,
    check=lambda seen: _told(seen),
)
@case(
    "C9",
    "up",
    **MOVED,
    raw=True,
    hosts=2,
    names=("plain.example", "up.example"),
    settings=TRUSTED,
    check=lambda seen: _told(seen),
)
async def _schemes(talk: Talk) -> None:
    """From https to http, and the other way round: a cookie that is for the first host only stays there."""
    name = talk.place.case.name
    secure = talk.host == (0 if name == "down" else 1)
    if secure:
        await talk.start_tls(server_side(authority().issue(["down.example", "up.example"])))
    while True:
        head = await talk.reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        talk.place.hits.append(Hit(time.monotonic(), talk.address, "", path, 0, head))
        if path == "/robots.txt":
            await talk.say(answer(status="404 Not Found"))
        elif talk.host == 0:
            await talk.say(
                to(
                    talk.url("/next", 1, "http" if name == "down" else "https"),
                    "Set-Cookie: s=1; Secure" if secure else "Set-Cookie: s=1",
                )
            )
        else:
            await talk.say(answer(b"there"))


def _told(seen: Observed) -> list[str]:
    scheme = "http" if seen.place.case.name == "down" else "https"
    other = seen.other(seen.place.url("/next", 1, scheme))
    heads = [hit.head.lower() for hit in seen.place.asked("/next")]
    found = [] if other.outcome == "OK" else [f"{other.url} is {other.outcome} {other.reason}"]
    return found + [f"{other.url} was told {head!r}" for head in heads if b"cookie:" in head]


# --- C10 to C12: refresh and base ---------------------------------------------------------------------------------------


def shows(
    row: str, name: str, head: str, wanted: dict[str, str], *, body: str = "", kind: str = "", **more: Any
) -> None:
    """An HTML page with `head` and `body`; every other page of its host is empty. `kind`: that of the first URL wanted."""

    async def route(talk: Talk) -> None:
        text = f"<!doctype html><html><head><title>t</title>{head}</head><body>{body}</body></html>"
        text = text.replace("{1}", talk.url("", 1) if talk.place.case.hosts > 1 else "")
        await talk.say(
            answer(text.encode(), "Content-Type: text/html") if talk.path == talk.place.case.path else answer()
        )

    def check(seen: Observed) -> list[str]:
        url = seen.place.url(next(iter(wanted)))
        kinds = [row[0] for row in seen.query("SELECT kind FROM url WHERE url = ?", url)]
        return [] if not kind or kinds == [kind] else [f"{url} is of kind {kinds}, not {kind}"]

    case(row, name, also=wanted, check=check, **more)(route)


_OK = {"/next": "OK"}
for _name, _meta in {
    "at-once": '<meta http-equiv="refresh" content="0; url=/next">',
    "quoted": "<meta http-equiv=refresh content=\"0; url='/next'\">",
    "content-first": '<meta content="0; url=/next" http-equiv="Refresh">',
    "capitals": '<META HTTP-EQUIV="REFRESH" CONTENT="0;URL=/next">',
    "no-url-word": '<meta http-equiv="refresh" content="0;/next">',
    "comma": '<meta http-equiv="refresh" content="0,url=/next">',
    "line-end-in-the-url": '<meta http-equiv="refresh" content="0; url=/ne\nxt">',
    "blanks": '<meta http-equiv="refresh" content=" 0 ; url = /next ">',
    "fraction": '<meta http-equiv="refresh" content="0.5; url=/next">',
    "thirty-seconds": '<meta http-equiv="refresh" content="30; url=/next">',
}.items():
    shows("C10", _name, _meta, _OK, kind="redirect", quick=_name == "content-first")
shows("C10", "an-hour", '<meta http-equiv="refresh" content="3600; url=/next">', _OK, kind="page")
shows("C10", "noscript", '<noscript><meta http-equiv="refresh" content="0; url=/next"></noscript>', _OK, kind="page")
_META = '<meta http-equiv="refresh" content="0; url=/next">'
shows("C10", "comment", f"<!-- {_META} -->", {"/next": UNASKED}, links=0)
shows("C10", "script", f"<script>document.write('{_META}')</script>", {"/next": UNASKED}, links=0)
shows("C10", "itself", '<meta http-equiv="refresh" content="1; url=/">', {"/next": UNASKED}, requests=1)
shows("C10", "nonsense", '<meta http-equiv="refresh" content="soon; url=/next">', {"/next": UNASKED})

_LINK = '<a href="next">x</a>'
for _name, _base, _url in [
    ("relative", '<base href="deep/">', "/deep/next"),
    ("absolute-path", '<base href="/deep/">', "/deep/next"),
    ("empty", '<base href="">', "/next"),
    ("target-only", '<base target="_top">', "/next"),
    ("first-of-two", '<base href="/one/"><base href="/two/">', "/one/next"),
    ("target-then-href", '<base target="_top"><base href="/two/">', "/two/next"),
    ("data", '<base href="data:text/html,x">', "/next"),
    ("javascript", '<base href="javascript:1">', "/next"),
    ("broken", '<base href="http://[broken">', "/next"),
    ("blanks", '<base href="  /deep/ ">', "/deep/next"),
    ("without-slash", '<base href="/deep/page">', "/deep/next"),
]:
    shows("C11", _name, _base, {_url: "OK"}, body=_LINK)
shows("C11", "behind-the-links", "", {"/deep/next": "OK", "/next": UNASKED}, body=_LINK + '<base href="/deep/">')
shows("C11", "in-a-comment", '<!-- <base href="/deep/"> -->', {"/next": "OK"}, body=_LINK)


@case(
    "C11",
    "of-another-host",
    hosts=2,
    settings={"scope": "host"},
    also={"/own": "OK"},
    check=lambda seen: _not_there(seen),
)
async def _base_elsewhere(talk: Talk) -> None:
    """A base changes where links lead, and not what is in scope."""
    if talk.host == 1:
        return talk.reset()
    base = f'<base href="{talk.url("/", 1)}">'
    await talk.say(html("next", talk.url("/own"), head=base) if talk.path == "/" else answer())


def _not_there(seen: Observed) -> list[str]:
    there = [hit.path for hit in seen.place.hits if hit.address == seen.place.addresses[1]]
    return [f"the other host was asked for {there}"] if there else []


@case(
    "C12",
    "redirect",
    path="/old/page",
    **MOVED,
    also={"/new/dir/": "OK", "/new/dir/x": "OK", "/old/x": UNASKED},
    quick=True,
)
@case(
    "C12", "two-redirects", path="/old/page", **MOVED, also={"/new/dir/": "OK", "/new/dir/x": "OK", "/old/x": UNASKED}
)
async def _moved_base(talk: Talk) -> None:
    first = "/mid/" if talk.place.case.name == "two-redirects" else "/new/dir/"
    steps = {"/old/page": to(first), "/mid/": to("/new/dir/"), "/new/dir/": html("x")}
    await talk.say(steps.get(talk.path, answer()))
