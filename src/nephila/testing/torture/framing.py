"""Section A: bodies that are slow, endless, cut, mislabelled or packed, and answers that are not what HTTP says."""

from __future__ import annotations

import gzip
import zlib
from functools import cache
from typing import Any

import brotli  # type: ignore[import-untyped]
import zstandard

from nephila.testing.torture.cases import case, says
from nephila.testing.torture.server import Talk, answer, html, page

TRIES = 3
"""What tests/torture/run.py allows each URL."""
CUT: dict[str, Any] = {"reason": "truncated.disconnect", "attempts": TRIES}
"""Tried again, and what came is kept in the end."""
LOST: dict[str, Any] = {"outcome": "UNREACHABLE", "attempts": TRIES}
REFUSED: dict[str, Any] = {"outcome": "UNREACHABLE", "attempts": 1}
OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"
CHUNKED = OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n"
LINKED = page("/next")
POISON = answer(b"poison")


def chunk(data: bytes, extension: str = "") -> bytes:
    return f"{len(data):x}{extension}\r\n".encode() + data + b"\r\n"


def coded(body: bytes, coding: str, media_type: str = "text/html") -> bytes:
    return answer(body, f"Content-Type: {media_type}", f"Content-Encoding: {coding}")


# --- A1 to A3: time and size --------------------------------------------------------------------------------------------


@case("A1", "drips", reason="timeout.headers", **LOST, requests=TRIES)
async def _header_drips(talk: Talk) -> None:
    await talk.say(OK)
    await talk.drip(b"X-Slow: " + b"x" * 1000, 0.1)


@case("A1", "silent", reason="timeout.headers", **LOST, requests=TRIES)
async def _silent(talk: Talk) -> None:
    await talk.sleep(60)


@case("A1", "status-line-drips", reason="timeout.headers", **LOST)
async def _status_drips(talk: Talk) -> None:
    await talk.drip(answer(b"late"), 0.2)


@case("A2", "below-the-least-speed", reason="truncated.time", attempts=1, also={"/next": "OK"})
@case("A2", "above-it-for-ever", reason="truncated.time", attempts=1, also={"/next": "OK"})
@case("A2", "chunks", reason="truncated.time", attempts=1, also={"/next": "OK"})
async def _body_drips(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer())
    name = talk.place.case.name
    if name == "chunks":
        await talk.say(CHUNKED + chunk(LINKED))
        await talk.drip(chunk(b"x" * 9) * 1000, 0.1)
    else:
        await talk.say(OK + HTML + b"Content-Length: 1000000\r\n\r\n" + LINKED)
        await talk.drip(b"x" * 10_000, 0.1 if name == "below-the-least-speed" else 0.001)


@case("A2", "never-begins", reason="timeout.body", **LOST)
async def _body_never_begins(talk: Talk) -> None:
    await talk.say(OK + b"Content-Length: 5\r\n\r\n")
    await talk.sleep(60)


@case("A3", "close-delimited", reason="truncated.length", attempts=1, also={"/next": "OK"}, links=1)
@case("A3", "chunked", reason="truncated.length", attempts=1, also={"/next": "OK"}, links=1)
@case("A3", "huge-length", reason="truncated.length", attempts=1, also={"/next": "OK"}, links=1)
@case("A3", "one-chunk", reason="truncated.length", attempts=1, also={"/next": "OK"}, links=1)
async def _endless(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer())
    block, name = b"<p>" + b"x" * 60_000, talk.place.case.name
    if name == "chunked":
        await talk.say(CHUNKED + chunk(LINKED))
        block = chunk(block)
    elif name == "one-chunk":
        await talk.say(CHUNKED + b"7fffffffffffffff\r\n" + LINKED)
    else:
        length = b"Content-Length: 9223372036854775\r\n" if name == "huge-length" else b""
        await talk.say(OK + HTML + length + b"\r\n" + LINKED)
    while True:
        await talk.say(block)


# --- A4 to A7: lengths --------------------------------------------------------------------------------------------------


@case("A4", "body-shorter", **CUT, body=LINKED, requests=TRIES, quick=True, also={"/next": "OK"}, links=1)
async def _shorter(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer())
    await talk.say(answer(LINKED, "Content-Type: text/html", length=len(LINKED) + 4))
    talk.hang_up()


@case("A4", "mended", attempts=2, body=b"whole", truncated="")
async def _short_once(talk: Talk) -> None:
    await talk.say(answer(b"who" if talk.n == 1 else b"whole", length=5))
    talk.hang_up()


says("A4", "nothing-of-it", answer(b"", length=5), close=True, reason="short_body", **LOST)
says("A4", "no-length-is-no-lie", OK + b"\r\nall of it", close=True, body=b"all of it", attempts=1)
says("A4", "http-1.0", b"HTTP/1.0 200 OK\r\n\r\nall of it", close=True, body=b"all of it", attempts=1)


@case("A5", "longer", body=LINKED, also={"/next": "OK"}, connections=2, quick=True)
@case("A5", "longer-by-an-answer", body=LINKED, also={"/next": "OK"}, connections=2)
async def _longer(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer(b"clean"))
    more = POISON if talk.place.case.name.endswith("answer") else b"more"
    await talk.say(answer(LINKED + more, "Content-Type: text/html", length=len(LINKED)))


for _name, _lines in {"differ": (4, 5), "differ-the-other-way": (5, 4)}.items():
    says(
        "A6",
        f"lengths-{_name}",
        OK + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\nhello" % _lines,
        reason="bad_header",
        **REFUSED,
    )
says("A6", "lengths-equal", OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", body=b"hello", connections=1)


@case("A6", "chunked-after-length", body=LINKED, also={"/next": "OK"}, connections=2, quick=True)
@case("A6", "chunked-before-length", body=LINKED, also={"/next": "OK"}, connections=2)
async def _both(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer(b"clean"))
    lines = [b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n"]
    if talk.place.case.name == "chunked-before-length":
        lines.reverse()
    await talk.say(OK + HTML + b"".join(lines) + b"\r\n" + chunk(LINKED) + b"0\r\n\r\n")


for _name, _value in {
    "negative": "-5",
    "plus": "+5",
    "hex": "0x5",
    "of-twenty-digits": "99999999999999999999",
    "with-a-word": "5 bytes",
    "list-that-differs": "5, 6",
    "fraction": "5.0",
}.items():
    says(
        "A7", _name, OK + f"Content-Length: {_value}\r\n\r\nhello".encode(), close=True, reason="bad_header", **REFUSED
    )
says("A7", "list-of-equals", OK + b"Content-Length: 5, 5\r\n\r\nhello", body=b"hello", attempts=1)
says("A7", "zeros-in-front", OK + b"Content-Length: 0005\r\n\r\nhello", body=b"hello", attempts=1)

# --- A8 to A10: chunks --------------------------------------------------------------------------------------------------

for _name, _wire in {
    "size-is-no-number": b"zz\r\nhello\r\n0\r\n\r\n",
    "size-overflows": b"fffffffffffffffff\r\nhello",
    "size-is-negative": b"-5\r\nhello\r\n",
    "size-is-empty": b"\r\nhello\r\n",
    "no-line-end-behind-data": b"5\r\nhello5\r\nworld\r\n0\r\n\r\n",
}.items():
    says("A8", _name, CHUNKED + chunk(LINKED) + _wire, close=True, links=1, **CUT)
says("A8", "at-once", CHUNKED + b"what?\r\n", close=True, reason="bad_chunk", **LOST)


@case("A9", "between-chunks", **CUT, body=LINKED, links=1, also={"/next": "OK"}, quick=True)
@case("A9", "in-a-chunk", **CUT, links=1, also={"/next": "OK"})
@case("A9", "in-a-size", **CUT, body=LINKED, links=1, also={"/next": "OK"})
@case("A9", "in-the-trailers", **CUT, body=LINKED, links=1, also={"/next": "OK"})
async def _cut_chunks(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer())
    rest = {"in-a-chunk": b"10\r\nhalf", "in-a-size": b"1", "in-the-trailers": b"0\r\nX-Sum: 1\r\n"}
    await talk.say(CHUNKED + chunk(LINKED) + rest.get(talk.place.case.name, b""))
    talk.hang_up()


says(
    "A10",
    "extensions-and-trailers",
    CHUNKED
    + chunk(b"hello ", ";a=b")
    + chunk(b"world", ' ; q="x;y"')
    + b"0;last\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n\r\n",
    body=b"hello world",
    connections=1,
)
says("A10", "zeros-and-capitals", CHUNKED + b"0000A\r\n0123456789\r\n000\r\n\r\n", body=b"0123456789", connections=1)


@case("A10", "a-byte-at-a-time", body=b"hello world")
async def _small_pieces(talk: Talk) -> None:
    await talk.drip(CHUNKED + chunk(b"hello ") + chunk(b"world") + b"0\r\n\r\n", 0.001)


# --- A11 to A16: codings ------------------------------------------------------------------------------------------------

_NOFOLLOW = '<meta name="robots" content="nofollow">'
LONG = page(*(f"/{n:x}" for n in range(200)), head=_NOFOLLOW)
"""Its links are there as far as it can be read; nobody follows them."""
LARGE = page(*(f"/{n:x}" for n in range(8000)), head=_NOFOLLOW)
"""More than one block of every coding."""


def _many(least: int) -> Any:
    def check(seen: Any) -> list[str]:
        return [] if seen.kept.links >= least else [f"only {seen.kept.links} links, not {least}"]

    return check


DAMAGED: dict[str, Any] = {"truncated": "decode", "attempts": 2}
"""Asked once more, without compression; that did not help, so what can be read is read."""
_PACKED = gzip.compress(LONG)
for _name, _wire in {
    "cut": _PACKED[: len(_PACKED) * 3 // 4],
    "sum-is-wrong": _PACKED[:-8] + b"\0\0\0\0" + _PACKED[-4:],
    "size-is-wrong": _PACKED[:-4] + b"\1\1\1\1",
    "no-end": _PACKED[:-8],
}.items():
    says("A11", _name, coded(_wire, "gzip"), check=_many(100), quick=_name == "cut", **DAMAGED)


@case("A11", "well-without", attempts=2, links=200, truncated="")
async def _well_without(talk: Talk) -> None:
    """What packs the answers is broken, the page is not."""
    if talk.header("accept-encoding") == "identity":
        await talk.say(answer(LONG, "Content-Type: text/html"))
    else:
        await talk.say(coded(_PACKED[:100], "gzip"))


_DEFLATE = zlib.compress(LONG)
says("A12", "br-cut", coded(brotli.compress(LARGE, quality=1)[:-9], "br"), check=_many(3000), **DAMAGED)
says("A12", "zstd-cut", coded(zstandard.compress(LARGE)[:-9], "zstd"), check=_many(3000), **DAMAGED)
says(
    "A12",
    "zstd-cut-in-its-only-block",
    coded(zstandard.compress(LONG)[:-9], "zstd"),
    outcome="UNREADABLE",
    reason="decode",
    attempts=2,
)
says("A12", "deflate-cut", coded(_DEFLATE[:-20], "deflate"), check=_many(100), **DAMAGED)
says("A12", "gzip-of-two-members", coded(gzip.compress(LONG[:900]) + gzip.compress(LONG[900:]), "gzip"), links=200)
says(
    "A12",
    "zstd-of-two-frames",
    coded(zstandard.compress(LONG[:900]) + zstandard.compress(LONG[900:]), "zstd"),
    links=200,
)
says("A12", "raw-deflate", coded(_DEFLATE[2:-4], "deflate"), links=200)
says("A12", "gzip-then-br", coded(brotli.compress(_PACKED), "gzip, br"), links=200)


@cache
def zeros(coding: str, size: int = 8 << 20) -> bytes:
    """Eight million zeros, small; made quickly, since the server waits for it."""
    if coding == "br":
        return bytes(brotli.compress(b"\0" * size, quality=1))
    if coding == "zstd":
        return zstandard.compress(b"\0" * size)
    packer = zlib.compressobj(6, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    return packer.compress(b"\0" * size) + packer.flush()


BOMB: dict[str, Any] = {"outcome": "UNREADABLE", "reason": "bomb", "attempts": 1, "requests": 1}


@case("A13", "gzip", **BOMB, quick=True)
@case("A13", "deflate", **BOMB)
@case("A13", "br", **BOMB)
@case("A13", "zstd", **BOMB)
@case("A13", "gzip-in-gzip", **BOMB)
@case("A13", "four-layers", **BOMB)
async def _bomb(talk: Talk) -> None:
    name = talk.place.case.name
    if name == "gzip-in-gzip":
        await talk.say(coded(gzip.compress(zeros("gzip")), "gzip, gzip"))
    elif name == "four-layers":
        body = LONG
        for _ in range(4):
            body = gzip.compress(body)
        await talk.say(coded(body, "gzip, gzip, gzip, gzip"))
    else:
        await talk.say(coded(zeros(name), name))


for _coding in ("gzip", "deflate", "br", "zstd"):
    says(
        "A14", f"{_coding}-over-plain", coded(LONG, _coding), links=200, attempts=1, body=LONG, quick=_coding == "gzip"
    )
for _name, _coding in {"charset": "utf-8", "none": "none", "misspelt": "gzipped", "quoted": '""', "star": "*"}.items():
    says("A15", _name, coded(LONG, _coding), links=200, attempts=1, body=LONG)
for _name, _coding in {
    "x-gzip": "x-gzip",
    "capitals": "GZIP",
    "quoted-gzip": '"gzip"',
    "beside-gzip": "utf-8, gzip",
}.items():
    says("A15", _name, coded(_PACKED, _coding), links=200, attempts=1, body=_PACKED)
says("A16", "as-a-type", answer(_PACKED, "Content-Type: application/gzip"), body=_PACKED, links=0, attempts=1)
says("A16", "as-a-coding", coded(_PACKED, "gzip"), body=_PACKED, links=200, attempts=1)
says("A16", "as-both", coded(_PACKED, "gzip", "application/x-gzip"), body=_PACKED, links=0, attempts=1)
says("A16", "twice-packed-once-said", coded(gzip.compress(_PACKED), "gzip", "application/gzip"), links=0, attempts=1)

# --- A17 to A19: connections --------------------------------------------------------------------------------------------


@case("A17", "reset-in-the-body", **CUT)
@case("A17", "reset-in-the-header", reason="conn_reset", **LOST)
@case("A17", "reset-at-once", reason="conn_reset", **LOST)
async def _reset(talk: Talk) -> None:
    said = {"body": answer(b"half", length=8), "header": OK + b"Content-Len", "once": b""}
    await talk.say(said[talk.place.case.name.rpartition("-")[2]])
    await talk.sleep(0.05)
    talk.reset()


says("A17", "end-in-the-header", OK + b"Content-Len", close=True, reason="conn_reset", **LOST, quick=True)
says("A17", "end-in-the-status-line", b"HTTP/1.1 20", close=True, reason="empty_reply", **LOST)
says("A17", "no-answer", b"", close=True, reason="empty_reply", **LOST)


@case("A18", "end", attempts=1, requests=2, connections=2, body=b"well", quick=True)
@case("A18", "reset", attempts=1, requests=2, connections=2, body=b"well")
async def _closes_as_we_ask(talk: Talk) -> None:
    if talk.n > 1:
        return await talk.say(answer(b"well"))
    talk.reset() if talk.place.case.name == "reset" else talk.hang_up()


@case(
    "A19",
    "late-answer",
    also={"/next": "OK"},
    check=lambda seen: _is(seen.other("/next"), b"clean"),
    settings={"delay": "0.3"},
)
@case(
    "A19",
    "late-junk",
    also={"/next": "OK"},
    check=lambda seen: _is(seen.other("/next"), b"clean"),
    settings={"delay": "0.3"},
)
async def _late_answer(talk: Talk) -> None:
    if talk.path == "/next":
        return await talk.say(answer(b"clean"))
    await talk.say(html("/next"))
    await talk.sleep(0.1)
    await talk.say(POISON if talk.place.case.name == "late-answer" else b"\r\njunk\r\n")


@case("A19", "junk-before-the-answer", attempts=2, requests=2, body=b"clean")
async def _junk_first(talk: Talk) -> None:
    """On the connection that brought robots.txt."""
    await talk.say((b"junk\r\n" if talk.n == 1 else b"") + answer(b"clean"))


def _is(seen: Any, body: bytes) -> list[str]:
    return [] if seen.payload == body else [f"{seen.url} is {seen.payload!r}, not {body!r}"]


# --- A20 to A24: answers of another kind --------------------------------------------------------------------------------


@case("A20", "204", body=b"", visit={"status": 204}, connections=2)
@case("A20", "304", outcome="REFUSED", reason="status.304", body=b"", attempts=1)
@case("A20", "204-chunked", body=b"", visit={"status": 204})
async def _no_body(talk: Talk) -> None:
    """More follows where nothing may follow; the next page must not be read from it."""
    if talk.path != "/":
        return await talk.say(answer(b"clean"))
    status, more = talk.place.case.name[:3], b"this is not here"
    framing = b"Transfer-Encoding: chunked\r\n" if "chunked" in talk.place.case.name else b"Content-Length: 16\r\n"
    links = b"Link: </next>; rel=next\r\n"
    await talk.say(f"HTTP/1.1 {status} Odd\r\n".encode() + framing + links + b"\r\n" + more)


_EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
says("A21", "a-few", b"HTTP/1.1 100 Continue\r\n\r\n" + _EARLY * 9 + answer(b"here"), body=b"here", attempts=1)
says("A21", "a-hundred", _EARLY * 100 + answer(b"here"), reason="bad_header", **REFUSED)
says("A21", "nothing-else", _EARLY * 5, reason="timeout.headers", **LOST)
says("A21", "end-after-them", _EARLY, close=True, reason="empty_reply", **LOST)
says(
    "A21",
    "101-unasked",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    outcome="UNREACHABLE",
    reason="bad_status_line",
)

PART: dict[str, Any] = {"reason": "truncated.unspecified", "attempts": 1, "visit": {"status": 206}}
for _name, _range in {"a-part": "bytes 0-4/500", "of-unknown-size": "bytes 0-4/*", "nonsense": "bytes 9-4/*"}.items():
    says(
        "A22", _name, answer(b"hello", f"Content-Range: {_range}", status="206 Partial Content"), body=b"hello", **PART
    )
says("A22", "no-range", answer(b"hello", status="206 Partial Content"), body=b"hello", **PART)
says(
    "A22",
    "all-of-it",
    answer(b"hello", "Content-Range: bytes 0-4/5", status="206 Partial Content"),
    body=b"hello",
    visit={"status": 206},
)

for _name, _line in {
    "http-0.9": "<html>old</html>",
    "icy": "ICY 200 OK\r\n\r\nnoise",
    "http-2-as-text": "HTTP/2.0 200 OK\r\n\r\nx",
    "status-99": "HTTP/1.1 99 Low\r\n\r\nx",
    "status-of-four-digits": "HTTP/1.1 2000 OK\r\n\r\nx",
    "status-in-words": "HTTP/1.1 OK\r\n\r\nx",
    "small-letters": "http/1.1 200 OK\r\n\r\nx",
}.items():
    says("A23", _name, _line.encode(), close=True, outcome="UNREACHABLE", reason="bad_status_line")
says("A23", "no-phrase", b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", body=b"ok", attempts=1)

says("A24", "empty", answer(), body=b"", attempts=1, quick=True)
says("A24", "no-length", OK + b"\r\n", close=True, body=b"", attempts=1)
