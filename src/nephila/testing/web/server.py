"""Serves a made-up web on loopback sockets, in a thread: one protocol without a framework, one write per answer.

One socket is enough for all addresses of 127.0.0.0/8: on Linux it is bound to every address and to the interface `lo`, so that
nothing from outside can reach it. Elsewhere only 127.0.0.1 is served, and hosts need names.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import Counter
from typing import cast

import msgspec

from nephila.testing.background import Background
from nephila.testing.fakeweb import PHRASES
from nephila.testing.sites import Answer
from nephila.testing.web.model import MadeUpWeb
from nephila.testing.web.spec import Spec

HEAD_BYTES_MAX = 64 << 10
BACKLOG = 4096


def listen(port: int, everywhere: bool, shared: bool = False) -> socket.socket:
    """A socket that takes connections to `port` of 127.0.0.1, or with `everywhere` of all loopback addresses (Linux 5.7).

    `shared`: several processes listen on the same port, and the system shares the connections out. Port 0: a free one.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if everywhere:
            if sys.platform != "linux":
                raise OSError("many loopback addresses on one socket need Linux: give the hosts names")
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")  # before bind: never open to others
        listener.bind(("" if everywhere else "127.0.0.1", port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class WebServer(Background):
    """`MadeUpWeb` served from a thread; a context manager. The port is written into `spec` when it is 0."""

    def __init__(self, spec: Spec, shared: bool = False) -> None:
        self._listener = listen(spec.port, not spec.names, shared)
        self.web = MadeUpWeb(msgspec.structs.replace(spec, port=self._listener.getsockname()[1]))
        self.counts: Counter[int] = Counter()
        """Status → answers sent so far."""
        self.connections = 0
        """Connections taken so far."""
        super().__init__("made-up web")
        self.open: set[asyncio.Transport] = set()

    @property
    def seeds(self) -> list[str]:
        return self.web.seeds

    @property
    def resolve(self) -> list[str]:
        """HOST:PORT:ADDR for every named host; nothing when hosts are addresses."""
        spec = self.web.spec
        return [f"{spec.name(k)}:{spec.port}:127.0.0.1" for k in range(spec.hosts)] if spec.names else []

    async def _open(self) -> None:
        self._server = await self._loop.create_server(lambda: _Connection(self), sock=self._listener)

    async def _close(self) -> None:
        self._server.close()
        for transport in list(self.open):
            transport.abort()
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    def __init__(self, server: WebServer) -> None:
        self._server = server
        self._buffer, self._busy = b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.open.add(self._transport)
        self._server.connections += 1

    def connection_lost(self, error: Exception | None) -> None:
        self._server.open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if not self._busy:
            self._next()

    def _next(self) -> None:
        """Answer the whole requests that wait in the buffer, up to one that takes its time."""
        while self._buffer and not self._busy:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            if not found:
                if len(head) > HEAD_BYTES_MAX:
                    self._transport.abort()
                return
            self._buffer = rest
            answer, method = self._ask(head)
            self._server.counts[answer.status] += 1
            wire = render(answer, method != b"HEAD")
            if answer.delay_s > 0:
                self._busy = True
                asyncio.get_running_loop().call_later(answer.delay_s, self._late, wire)
            else:
                self._transport.write(wire)

    def _ask(self, head: bytes) -> tuple[Answer, bytes]:
        method, _, rest = head.partition(b" ")
        path = rest[: rest.find(b" ")].decode("latin-1")
        at = head.find(b"\r\nHost: ") + 8
        end = head.find(b"\r\n", at)
        host = head[at : end if end > 0 else len(head)].decode("latin-1") if at > 8 else ""
        return self._server.web(host, path, 1, b"gzip" in head), method

    def _late(self, wire: bytes) -> None:
        self._busy = False
        if not self._transport.is_closing():
            self._transport.write(wire)
            self._next()


def render(answer: Answer, with_body: bool) -> bytes:
    """The answer as sent."""
    more = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
    head = (
        f"HTTP/1.1 {answer.status} {PHRASES[answer.status]}\r\nServer: made-up\r\nContent-Type: {answer.media_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\nCache-Control: max-age=600\r\n{more}\r\n"
    ).encode("latin-1")
    return head + answer.body if with_body else head
