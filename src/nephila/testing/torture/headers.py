"""Section B: headers that are too large, broken, folded, doubled, or say strange things."""

from __future__ import annotations

from typing import Any

from nephila.testing.torture.cases import UNASKED, case, says
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk, answer, html, page

OK = b"HTTP/1.1 200 OK\r\n"
REFUSED: dict[str, Any] = {"outcome": "UNREACHABLE", "attempts": 1}
LINKED = page("/next")
NEXT: dict[str, Any] = {"also": {"/next": "OK"}, "attempts": 1}


def lines(*header: bytes, body: bytes = LINKED) -> bytes:
    """A page whose header has these lines, each with its own line end, among sound ones."""
    length = b"Content-Length: %d\r\n" % len(body)
    return OK + b"X-First: 1\r\n" + b"".join(header) + b"Content-Type: text/html\r\n" + length + b"\r\n" + body


# --- B1: too much -------------------------------------------------------------------------------------------------------


@case("B1", "one-line-of-ten-megabytes", reason="header_too_large", **REFUSED)
@case("B1", "a-hundred-thousand-lines", reason="header_too_large", **REFUSED)
@case("B1", "a-cookie-of-a-megabyte", reason="header_too_large", **REFUSED, quick=True)
@case("B1", "line-without-end", reason="header_too_large", **REFUSED)
async def _too_much(talk: Talk) -> None:
    await talk.say(OK)
    match talk.place.case.name:
        case "a-hundred-thousand-lines":
            for _ in range(1000):
                await talk.say(b"X-Line: again\r\n" * 100)
        case "a-cookie-of-a-megabyte":
            await talk.say(b"Set-Cookie: a=" + b"x" * (1 << 20) + b"\r\n")
        case _:
            for _ in range(160):
                await talk.say(b"X" * (1 << 16))
    await talk.say(b"\r\nContent-Length: 0\r\n\r\n")


says("B1", "many-small-lines-in-the-limit", lines(b"X-Line: again\r\n" * 3000), **NEXT)
says("B1", "long-line-in-the-limit", lines(b"X-Long: " + b"x" * 60_000 + b"\r\n"), **NEXT)
says("B1", "line-above-the-limit", lines(b"X-Long: " + b"x" * 70_000 + b"\r\n"), reason="header_too_large", **REFUSED)

# --- B2 to B4: how lines are written ------------------------------------------------------------------------------------

says("B2", "nul", lines(b"X-Odd: a\0b\r\n"), reason="bad_header", **REFUSED, quick=True)
says("B2", "nul-in-a-name", lines(b"X-\0dd: a\r\n"), reason="bad_header", **REFUSED)
for _name, _line in {
    "lf": b"X-Odd: a\n",
    "blank-in-a-name": b"X Odd: a\r\n",
    "blank-before-the-colon": b"X-Odd : a\r\n",
    "name-in-utf-8": b"X-\xc3\xa9: a\r\n",
    "empty-name": b": a\r\n",
    "empty-value": b"X-Odd:\r\n",
}.items():
    says("B2", _name, lines(_line), **NEXT)
for _name, _line in {"no-colon": b"what is this\r\n", "cr": b"X-Odd: a\rb\r\n", "cr-cr-lf": b"X-Odd: a\r\r\n"}.items():
    says("B2", _name, lines(_line), reason="bad_header", **REFUSED)  # invalid by RFC 9112 section 2.2, and to libcurl
says(
    "B2",
    "only-lf",
    lines(b"X-Odd: a\r\n").replace(b"\r\n", b"\n"),
    **NEXT,
    visit={"media_type": "text/html"},
    body=LINKED,
)

for _name, _value in {
    "control": b"a\x01b",
    "utf-8": "中文".encode(),
    "gbk": "中文".encode("gbk"),
    "escape": b"\x1b[31mred",
    "delete": b"a\x7fb",
}.items():
    says(
        "B3",
        _name,
        lines(b"X-Odd: " + _value + b"\r\n", b"Content-Disposition: inline; filename=" + _value + b"\r\n"),
        **NEXT,
    )


def _kind_of_next(kind: str) -> Any:
    def check(seen: Observed) -> list[str]:
        found = [row[0] for row in seen.query("SELECT kind FROM url WHERE url = ?", seen.place.url("/next"))]
        return [] if found == [kind] else [f"/next is of kind {found}, not {kind}"]

    return check


for _name, _fold in {"blank": b"\r\n ", "tab": b"\r\n\t", "lf": b"\n  ", "twice": b"\r\n  \r\n "}.items():
    says(
        "B4",
        _name,
        lines(b"Link: </next>;" + _fold + b"rel=canonical\r\n", body=page()),
        **NEXT,
        check=_kind_of_next("canonical"),
        joined=True,
    )
says("B4", "first-line", OK + b" X-Folded: what\r\nContent-Length: 0\r\n\r\n", attempts=1, joined=True)

# --- B5, B6: what the body is -------------------------------------------------------------------------------------------

GBK = page("/next", title="中文网页").decode().encode("gbk")


def typed(*types: str, body: bytes = LINKED) -> bytes:
    return answer(body, *(f"Content-Type: {one}" for one in types))


for _name, _types in {
    "html-said-last": ("text/plain", "text/html"),
    "html-said-twice": ("text/html", "text/html; charset=utf-8"),
    "star-counts-for-nothing": ("text/html", "*/*"),
    "in-one-line": ("text/plain, text/html",),
    "capitals": ("TEXT/HTML; CHARSET=UTF-8",),
    "parameters-of-all-kinds": ('text/html;;; a="b;c"; charset = utf-8 ;',),
}.items():
    says("B5", _name, typed(*_types), links=1, **NEXT, visit={"media_type": "text/html"})
for _name, _charset in {
    "quoted": '"gb2312"',
    "capitals": "GB2312",
    "semicolon": "gb2312;",
    "single-quotes": "'gb2312'",
}.items():
    says(
        "B5",
        f"charset-{_name}",
        typed(f"text/html; Charset={_charset}", body=GBK),
        visit={"title": "中文网页"},
        **NEXT,
        quick=_name == "single-quotes",
    )
says("B5", "none-but-html", typed(), links=1, **NEXT, visit={"media_type": "text/html"})
for _type in ("unknown/unknown", "application/x-unknown", "nonsense"):
    says("B5", f"html-as-{_type.replace('/', '-')}", typed(_type), links=1, **NEXT, visit={"media_type": "text/html"})
for _name, _type in {
    "plain": "text/plain",
    "octets": "application/octet-stream",
}.items():
    says(
        "B5",
        f"html-as-{_name}",
        typed(_type),
        links=0,
        attempts=1,
        visit={"media_type": _type},
        also={"/next": "unknown"},
    )

MIRRORED: dict[str, Any] = {"settings": {"mirror": True}, "attempts": 1}


def _mirrored(seen: Observed) -> list[str]:
    """The mirror's names come from the address that was asked for."""
    there = {str(path.relative_to(seen.folder)) for path in (seen.folder / "views").rglob("*") if path.is_file()}
    wanted = f"{seen.place.addresses[0]}_{seen.place.port}/index.html"
    own = {name for name in there if seen.place.addresses[0] + "_" in name}
    return [] if {name.partition("mirror/")[2] for name in own} == {wanted} else [f"the mirror holds {sorted(own)}"]


for _name, _disposition in {
    "path-upwards": 'attachment; filename="../../../x.sh"',
    "absolute": 'attachment; filename="/tmp/x.sh"',
    "backslashes": 'attachment; filename="..\\\\..\\\\x.bat"',
    "rfc-5987": "attachment; filename*=UTF-8''..%2f..%2fx.sh",
    "both": "attachment; filename=\"a.html\"; filename*=UTF-8''%2e%2e%2fx",
    "empty": 'attachment; filename=""',
    "no-value": "attachment; filename",
}.items():
    says(
        "B6",
        _name,
        answer(page(), "Content-Type: text/html", f"Content-Disposition: {_disposition}"),
        check=_mirrored,
        **MIRRORED,
    )

# --- B7: cookies --------------------------------------------------------------------------------------------------------

JAR: dict[str, Any] = {"hosts": 2, "attempts": 1}


def _cookies(sent: dict[str, str]) -> Any:
    """URL → the Cookie line that it was asked with, its cookies in order of name."""

    def check(seen: Observed) -> list[str]:
        found = []
        for url, wanted in sent.items():
            place = seen.place
            hits = [
                hit for hit in place.hits if f"http://{hit.host}{hit.path}" == url.replace("{port}", str(place.port))
            ]
            lines = [_cookie_of(hit.head) for hit in hits]
            found += [] if lines == [wanted] else [f"{url} was asked for with {lines}, not {wanted!r}"]
        return found

    return check


def _cookie_of(head: bytes) -> str:
    line = next((line for line in head.decode("latin-1").split("\r\n") if line.lower().startswith("cookie:")), "")
    return "; ".join(sorted(line.partition(":")[2].strip().split("; ")))


def baked(name: str, *set_cookies: str, same: str, other: str = "", **more: Any) -> None:
    """`a.NAME.co.uk` sets cookies and links to itself and to `b.NAME.co.uk`: `same` and `other` are what these get."""
    first, second = f"a.{name}.co.uk", f"b.{name}.co.uk"

    async def route(talk: Talk) -> None:
        if talk.path != "/":
            return await talk.say(answer())
        await talk.say(html("/same", talk.url("/other", 1), headers=tuple(f"Set-Cookie: {one}" for one in set_cookies)))

    check = _cookies({f"http://{first}:{{port}}/same": same, f"http://{second}:{{port}}/other": other})
    case("B7", name, names=(first, second), check=check, **JAR, **more)(route)


baked("host-only", "a=1", same="a=1", quick=True)
baked("domain", "a=1; Domain=domain.co.uk", same="a=1", other="a=1")
baked("leading-dot", "a=1; Domain=.leading-dot.co.uk", same="a=1", other="a=1")
baked("wrong-domain", "a=1; Domain=elsewhere.co.uk", "b=2", same="b=2")
baked("sibling", "a=1; Domain=b.sibling.co.uk", "b=2", same="b=2")
baked("public-suffix", "a=1; Domain=co.uk", "b=2", same="b=2")
baked("public-suffix-capitals", "a=1; Domain=CO.UK", "b=2", same="b=2")
baked("public-suffix-dot", "a=1; Domain=co.uk.", "b=2", same="b=2")
baked("trailing-dot", "a=1; Domain=trailing-dot.co.uk.", "b=2", same="b=2")
baked("expired", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "b=2", same="b=2")
baked("max-age-below-zero", "a=1; Max-Age=-1", "b=2", same="b=2")
baked("max-age-beats-expires", "a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", same="a=1")
baked("nonsense-expires", "a=1; Expires=someday", "b=2; Expires=Fri, 31 Dec 9999 23:59:59 GMT", same="a=1; b=2")
baked("secure-over-http", "a=1; Secure", "b=2", same="b=2")
baked("host-prefix", "__Host-a=1; Secure; Path=/; Domain=host-prefix.co.uk", "b=2", same="b=2")
baked("other-path", "a=1; Path=/deep", "b=2", same="b=2")
baked("control-character", "a=1\x01", "b=2", same="b=2")
baked("removed-again", "a=1", "a=gone; Max-Age=0", "b=2", same="b=2")


@case("B7", "ten-thousand", attempts=1, also={"/40": "OK"})
async def _ten_thousand(talk: Talk) -> None:
    """250 with each page: however many are set, a request has 50 of them."""
    n = int(talk.path.strip("/") or 0)
    had = len(talk.header("cookie").split("; "))
    if had > 50:
        return talk.reset()
    cookies = tuple(f"Set-Cookie: c{n}-{i}=x" for i in range(250))
    await talk.say(html(f"/{n + 1}", headers=cookies) if n < 40 else answer())


# --- B8 to B10: what headers say ----------------------------------------------------------------------------------------


def header(row: str, name: str, *header_lines: str, body: bytes = page(), **more: Any) -> None:
    """A page with these header lines; other pages of the host are empty."""

    async def route(talk: Talk) -> None:
        here = talk.path == talk.place.case.path
        await talk.say(answer(body, "Content-Type: text/html", *header_lines) if here else answer())

    case(row, name, **more)(route)


header("B8", "canonical", "Link: </next>; rel=canonical", check=_kind_of_next("canonical"), **NEXT)
header(
    "B8",
    "canonical-among-others",
    'Link: </a>; rel="preload", </next>; rel="canonical"',
    check=_kind_of_next("canonical"),
    **NEXT,
)
header("B8", "next", 'Link: </next>; rel="next"', check=_kind_of_next("page"), **NEXT)
header("B8", "refresh", "Refresh: 0; url=/next", check=_kind_of_next("redirect"), **NEXT, quick=True)
header("B8", "refresh-quoted", "Refresh: 5;URL='/next'", check=_kind_of_next("redirect"), **NEXT)
header("B8", "refresh-late", "Refresh: 3600; url=/next", check=_kind_of_next("page"), **NEXT)
header("B8", "refresh-nonsense", "Refresh: soon", "Refresh: ;;url=", attempts=1)
header(
    "B8",
    "content-location-is-no-base",
    "Content-Location: /deep/",
    body=page("next"),
    also={"/next": "OK", "/deep/next": "unknown"},
)
header("B8", "link-broken", 'Link: <, <>; rel=, </next>; rel="canonical', check=_kind_of_next("canonical"), **NEXT)

HIDDEN: dict[str, Any] = {"body": LINKED, "also": {"/next": UNASKED}, "links": 1}
header("B9", "nofollow", "X-Robots-Tag: nofollow", **HIDDEN, quick=True)
header("B9", "none", "X-Robots-Tag: none", **HIDDEN)
header("B9", "for-us", "X-Robots-Tag: nephila: nofollow", **HIDDEN)
header("B9", "among-others", "X-Robots-Tag: noarchive, NOFOLLOW", **HIDDEN)
header("B9", "second-line", "X-Robots-Tag: noarchive", "X-Robots-Tag: nofollow", **HIDDEN)
header("B9", "for-another", "X-Robots-Tag: otherbot: nofollow", body=LINKED, **NEXT)
header("B9", "noindex", "X-Robots-Tag: noindex", body=LINKED, **NEXT)
for _name, _content in {
    "nofollow": "nofollow",
    "none": "NONE",
    "list": "noindex,nofollow",
    "blanks": " noarchive , nofollow ",
}.items():
    _meta = page("/next", head=f'<meta name="Robots" content="{_content}">')
    header("B9", f"meta-{_name}", body=_meta, also={"/next": UNASKED}, links=1)
header("B9", "ignored", "X-Robots-Tag: nofollow", body=LINKED, **NEXT, settings={"ignore_nofollow": True})

for _name, _lines in {
    "date": ("Date: yesterday", "Last-Modified: never", "Expires: -1"),
    "year-9999": ("Date: Fri, 31 Dec 9999 23:59:59 GMT", "Last-Modified: Fri, 31 Dec 9999 23:59:59 GMT"),
    "year-0": ("Last-Modified: Sat, 00 Jan 0000 00:00:00 GMT", "Expires: 0"),
    "numbers": ("Last-Modified: 99999999999999999999", "Age: -99999999999999999999"),
    "cache-control": ("Cache-Control: max-age=99999999999999999999, ,=,max-age", "Pragma: no-cache"),
    "etag": ('ETag: "', "ETag: W/", "Vary: *"),
}.items():
    header("B10", _name, *_lines, body=LINKED, **NEXT)


@case("B10", "robots-for-ever", robots=True, also={"/next": "OK"})
async def _robots_for_ever(talk: Talk) -> None:
    odd = ("Cache-Control: max-age=999999999999999", "Expires: Fri, 31 Dec 9999 23:59:59 GMT", "Date: no")
    await talk.say(answer(b"", *odd) if talk.path == "/robots.txt" else html("/next", headers=odd))
