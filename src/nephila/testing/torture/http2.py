"""Section F: HTTP/2 connections that end, refuse, flood, or are none.

Needs the packages cryptography, hpack and hyperframe. A case is a function that is called for every request except that for
robots.txt, which is not there; it sends frames by itself (RFC 9113 section 6). Who comes with HTTP/1.1 gets `OLDER`.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any

from hpack import Decoder, Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
)

from nephila.testing.torture.cases import case
from nephila.testing.torture.server import Hit, Talk, answer, page
from nephila.testing.torture.trust import TRUSTED, believed

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, HTTP_1_1_REQUIRED = 0, 2, 7, 8, 13
STREAMS_MAX = (1 << 31) - 1
FRAME_BYTES_MAX = 16_384
FLOOD, DRIZZLE = 1 << 20, 1 << 16
"""Frames: enough to fill every buffer with their answers, and enough to be noticed."""
TRIES = 3
OLDER = b"over HTTP/1.1"
TO_OLDER: dict[str, Any] = {"settings": TRUSTED, "body": OLDER, "attempts": 1, "visit": {"protocol": "http/1.1"}}
"""Read over HTTP/1.1 in the end, without an attempt that counts."""
FLOODED = TO_OLDER | {"settings": TRUSTED | {"header_timeout_s": 5.0}}
"""In a crawl of their own: this server has one thread, and a flood keeps it from others."""


class Session:
    """The server's end of one connection over which HTTP/2 was agreed on."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._encoder, self._decoder = Encoder(), Decoder()

    async def open(self) -> None:
        if await self.talk.reader.readexactly(len(PREFACE)) != PREFACE:
            raise EOFError
        await self.send(SettingsFrame(0))

    async def request(self) -> tuple[int, str]:
        """(stream, path) of the next request; what else comes is answered as it must be. EOFError at the end."""
        while True:
            frame = await self._read()
            if isinstance(frame, HeadersFrame):
                return frame.stream_id, self._path(frame)
            if isinstance(frame, SettingsFrame) and "ACK" not in frame.flags:
                await self.send(SettingsFrame(0, flags=["ACK"]))

    async def send(self, *frames: Frame) -> None:
        await self.send_bytes(b"".join(frame.serialize() for frame in frames))

    async def send_bytes(self, data: bytes) -> None:
        self.talk.writer.write(data)
        await self.talk.writer.drain()

    async def answer(self, stream: int, body: bytes, status: int = 200, *, end: bool = True) -> None:
        """An answer, or its beginning."""
        await self.send(self.headers(stream, status), DataFrame(stream, body, flags=["END_STREAM"] if end else []))

    def headers(self, stream: int, status: int = 200, *, end: bool = True) -> HeadersFrame:
        block = self._encoder.encode([(":status", str(status)), ("content-type", "text/html")])
        return HeadersFrame(stream, block, flags=["END_HEADERS"] if end else [])

    async def flood(self, frame: Frame, times: int) -> None:
        """The same frame again and again, and nothing that comes is read."""
        await self.send_bytes(frame.serialize() * times)

    @property
    def asked(self) -> int:
        """Requests for pages that all connections of the case have seen."""
        return sum(1 for hit in self.talk.place.hits if hit.path != "/robots.txt")

    async def _read(self) -> Frame:
        head = await self.talk.reader.readexactly(9)
        frame, size = Frame.parse_frame_header(memoryview(head))
        frame.parse_body(memoryview(await self.talk.reader.readexactly(size)))
        return frame

    def _path(self, frame: HeadersFrame) -> str:
        found: dict[Any, Any] = dict(self._decoder.decode(frame.data))
        path, place = str(found[":path"]), self.talk.place
        host = str(found[":authority"])
        place.hits.append(Hit(time.monotonic(), self.talk.address, host, path, place.connections, frame.data))
        return path


@functools.cache
def context(address: str) -> ssl.SSLContext:
    """A good certificate for an address, and both versions."""
    return believed(address, "h2", "http/1.1")


async def older(talk: Talk) -> None:
    """HTTP/1.1, as it should be."""
    while not talk.writer.is_closing():
        head = await talk.reader.readuntil(b"\r\n\r\n")
        await talk.say(answer(status="404 Not Found") if head.startswith(b"GET /robots.txt ") else answer(OLDER))


Behave = Callable[[Session, int, str], Awaitable[None]]


def h2(row: str, name: str, **more: Any) -> Callable[[Behave], Behave]:
    """Registers a case whose function gets (session, stream, path)."""

    def register(behave: Behave) -> Behave:
        async def serve(talk: Talk) -> None:
            session = Session(talk)
            await session.open()
            while not talk.writer.is_closing():
                stream, path = await session.request()
                if path == "/robots.txt":
                    await session.answer(stream, b"", 404)
                else:
                    await behave(session, stream, path)

        agreed(row, name, **more)(serve)
        return behave

    return register


def agreed(row: str, name: str, **more: Any) -> Callable[[Callable[[Talk], Awaitable[None]]], None]:
    """Registers a case whose function gets a connection over which HTTP/2 was agreed on, and nothing was said yet."""

    def register(speak: Callable[[Talk], Awaitable[None]]) -> None:
        async def route(talk: Talk) -> None:
            tls = await talk.start_tls(context(talk.address))
            await (speak if tls.selected_alpn_protocol() == "h2" else older)(talk)

        case(row, name, raw=True, scheme="https", **{"settings": TRUSTED, **more})(route)

    return register


START = page("/a", "/b")
BOTH = {"/a": "OK", "/b": "OK"}

# --- F1: GOAWAY ---------------------------------------------------------------------------------------------------------


@h2("F1", "unanswered", also=BOTH, attempts=1, links=2, connections=2, quick=True)
async def _unanswered(session: Session, stream: int, path: str) -> None:
    """The second request comes too late: it was never looked at, and belongs on another connection (section 6.8)."""
    if session.asked == 2:
        await session.send(GoAwayFrame(0, last_stream_id=stream - 2))
        session.talk.hang_up()
    else:
        await session.answer(stream, START)


@h2("F1", "in-the-answer", also=BOTH, attempts=1, body=START, connections=2)
async def _in_the_answer(session: Session, stream: int, path: str) -> None:
    """It ends the connection and not the answer."""
    if session.asked > 1:
        await session.answer(stream, START)
        return
    await session.answer(stream, START[:20], end=False)
    await session.send(GoAwayFrame(0, last_stream_id=stream))
    await session.talk.sleep(0.05)
    await session.send(DataFrame(stream, START[20:], flags=["END_STREAM"]))


@h2("F1", "error", **TO_OLDER)
async def _error(session: Session, stream: int, path: str) -> None:
    await session.send(GoAwayFrame(0, last_stream_id=stream, error_code=INTERNAL_ERROR))
    session.talk.hang_up()


@h2("F1", "for-ever", **TO_OLDER)
async def _for_ever(session: Session, stream: int, path: str) -> None:
    await session.send(GoAwayFrame(0, last_stream_id=0))
    session.talk.hang_up()


# --- F2: RST_STREAM -----------------------------------------------------------------------------------------------------


@h2("F2", "refused-once", body=START, also=BOTH, attempts=1, requests=2, quick=True)
async def _refused_once(session: Session, stream: int, path: str) -> None:
    """REFUSED_STREAM says that nothing was done (section 8.7)."""
    if session.asked == 1:
        await session.send(RstStreamFrame(stream, REFUSED_STREAM))
    else:
        await session.answer(stream, START)


@h2("F2", "cancelled-in-the-answer", reason="truncated.disconnect", body=b"half", attempts=TRIES, requests=TRIES)
async def _cancelled(session: Session, stream: int, path: str) -> None:
    await session.answer(stream, b"half", end=False)
    await session.send(RstStreamFrame(stream, CANCEL))


@h2("F2", "cancelled-before", outcome="UNREACHABLE", reason="http2", attempts=TRIES, requests=TRIES, connections=1)
async def _cancelled_before(session: Session, stream: int, path: str) -> None:
    await session.send(RstStreamFrame(stream, CANCEL))


@h2("F2", "older-version-required", **TO_OLDER)
async def _older_required(session: Session, stream: int, path: str) -> None:
    await session.send(RstStreamFrame(stream, HTTP_1_1_REQUIRED))


# --- F3: no more streams ------------------------------------------------------------------------------------------------


@h2("F3", "numbers-used-up", body=START, also=BOTH, attempts=1, quick=True)
async def _used_up(session: Session, stream: int, path: str) -> None:
    """A server that has had enough of a connection says so without an error; the next request needs a new one."""
    await session.answer(stream, START)
    await session.send(GoAwayFrame(0, last_stream_id=STREAMS_MAX))


@h2("F3", "none-allowed", body=START, also=BOTH, attempts=1)
async def _none_allowed(session: Session, stream: int, path: str) -> None:
    await session.answer(stream, START)
    await session.send(SettingsFrame(0, {SettingsFrame.MAX_CONCURRENT_STREAMS: 0}))


# --- F4: floods ---------------------------------------------------------------------------------------------------------


@h2("F4", "settings", **FLOODED)
async def _settings(session: Session, stream: int, path: str) -> None:
    await session.flood(SettingsFrame(0), FLOOD)


@h2("F4", "pings", **FLOODED)
async def _pings(session: Session, stream: int, path: str) -> None:
    await session.flood(PingFrame(0, b"12345678"), FLOOD)


@h2("F4", "empty-continuation", **TO_OLDER, quick=True)
async def _empty_continuation(session: Session, stream: int, path: str) -> None:
    await session.send(session.headers(stream, end=False))
    await session.flood(ContinuationFrame(stream, b""), DRIZZLE)


@h2("F4", "huge-headers", **TO_OLDER)
async def _huge_headers(session: Session, stream: int, path: str) -> None:
    """A megabyte, as it is: literal fields (RFC 7541 section 6.2.2), names and values of 127 bytes at most."""
    field = b"\x00\x06x-huge\x64" + b"v" * 100
    block = b"\x88" + field * 10_000
    parts = [block[i : i + FRAME_BYTES_MAX] for i in range(0, len(block), FRAME_BYTES_MAX)]
    await session.send(HeadersFrame(stream, parts[0]), *(ContinuationFrame(stream, part) for part in parts[1:-1]))
    await session.send(ContinuationFrame(stream, parts[-1], flags=["END_HEADERS"]))


@h2("F4", "repeated-headers", **TO_OLDER)
async def _repeated_headers(session: Session, stream: int, path: str) -> None:
    """One entry of 3,900 bytes in the table, and 12,000 bytes that name it: 46 MB."""
    entry = b"\x40\x06x-bomb\x7f\xbd\x1d" + b"v" * 3900
    await session.send(HeadersFrame(stream, b"\x88" + entry + b"\xbe" * 12_000, flags=["END_HEADERS"]))
    await session.send(DataFrame(stream, b"x", flags=["END_STREAM"]))


@h2("F4", "no-hpack", **(TO_OLDER | {"attempts": None}))
async def _no_hpack(session: Session, stream: int, path: str) -> None:
    await session.send(HeadersFrame(stream, b"\xff" * 7 + b"\x7f", flags=["END_HEADERS"]))


@h2("F4", "empty-data", outcome="UNREACHABLE", reason="http2", attempts=TRIES)
async def _empty_data(session: Session, stream: int, path: str) -> None:
    await session.send(session.headers(stream))
    await session.flood(DataFrame(stream, b""), DRIZZLE)


@h2("F4", "unasked-push", outcome="UNREACHABLE", reason="http2", attempts=TRIES)
async def _push(session: Session, stream: int, path: str) -> None:
    await session.send(PushPromiseFrame(stream, 2, b"\x82\x84\x87", flags=["END_HEADERS"]))


# --- F5: agreed, and not spoken -----------------------------------------------------------------------------------------


@agreed("F5", "text", **TO_OLDER, quick=True)
async def _text(talk: Talk) -> None:
    await talk.reader.read(1)
    talk.writer.write(answer(b"not HTTP/2"))
    await asyncio.sleep(0.1)
    talk.hang_up()


@agreed("F5", "noise", **TO_OLDER)
async def _noise(talk: Talk) -> None:
    await talk.reader.read(1)
    talk.writer.write(b"\0\xff\xfe\1" * 100)
    await asyncio.sleep(0.1)
    talk.hang_up()


@agreed("F5", "end", **TO_OLDER)
async def _end(talk: Talk) -> None:
    await talk.reader.read(1)
    talk.hang_up()


@agreed("F5", "reset", **TO_OLDER)
async def _reset(talk: Talk) -> None:
    await talk.reader.read(1)
    talk.reset()
