"""A site on real sockets, always the same, that writes down every request: what crashes and manners are judged by.

`SiteServer` serves a site from a thread; `python -m nephila.testing.server --site NAME --port N --log FILE` from a process.
One asyncio protocol without a framework, because the server shares two cores with the crawl that it measures. One line
per request is written to the log before its answer leaves, so what the log does not hold nobody has seen.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any, cast

import msgspec

from nephila.testing import sites
from nephila.testing.background import Background
from nephila.testing.fakeweb import head
from nephila.testing.sites import Answer, Site

HEAD_BYTES_MAX = 64 << 10
"""A longer request head closes the connection."""


class Hit(msgspec.Struct, frozen=True):
    """One line of the log. `time` is the system's monotonic clock; `in_flight` counts the host's, this one included."""

    time: float
    host: str
    path: str
    status: int
    connection: int
    in_flight: int
    delay_s: float

    @property
    def end(self) -> float:
        """When the answer left."""
        return self.time + self.delay_s


def hits(log: Path) -> list[Hit]:
    """The whole log, in order. An unfinished last line is left out."""
    lines = (line.split("\t") for line in log.read_text().splitlines(keepends=True) if line.endswith("\n"))
    return [Hit(float(t), h, p, int(s), int(c), int(n), float(d)) for t, h, p, s, c, n, d in lines]


class SiteServer(Background):
    """A site on 127.0.0.1 … 127.0.0.`hosts`, all on one port, served from a thread. A context manager.

    `delay_s`: seconds before each answer that does not say otherwise. `log`: appended to, one line per request.
    """

    def __init__(self, site: Site | str, log: Path, *, hosts: int = 1, port: int = 0, delay_s: float = 0.0) -> None:
        self.log, self.hosts, self.port = log, hosts, port
        self._site = sites.named(site) if isinstance(site, str) else site
        self._delay_s = delay_s
        super().__init__("site server")
        self._file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._servers: list[asyncio.AbstractServer] = []
        self.desk = _Desk(self._site, self._file, delay_s)

    def url(self, path: str = "/", host: int = 1) -> str:
        return f"http://127.0.0.{host}:{self.port}{path}"

    def hits(self) -> list[Hit]:
        return hits(self.log)

    async def _open(self) -> None:
        for number in range(1, self.hosts + 1):
            listener = socket.create_server((f"127.0.0.{number}", self.port), backlog=1024)
            self.port = listener.getsockname()[1]
            self._servers.append(await self._loop.create_server(lambda: _Connection(self.desk), sock=listener))

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for connection in list(self.desk.open):
            connection.drop()
        await asyncio.sleep(0)

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        os.close(self._file)  # nobody writes any more


class _Desk:
    """What all connections share: the site, the log, the counts."""

    def __init__(self, site: Site, file: int, delay_s: float) -> None:
        self.site, self.file, self.delay_s = site, file, delay_s
        self.asked: dict[str, int] = {}
        self.in_flight: dict[str, int] = {}
        self.open: set[_Connection] = set()
        self.connections = 0

    def ask(self, host: str, path: str, connection: int) -> Answer:
        """The site's answer to one request, which is written down first."""
        key = host + path
        self.asked[key] = n = self.asked.get(key, 0) + 1
        answer = self.site(host, path, n)
        if answer.delay_s < 0:
            answer = sites.late(answer, self.delay_s)
        self.in_flight[host] = running = self.in_flight.get(host, 0) + 1
        line = f"{time.monotonic():.6f}\t{host}\t{path}\t{answer.status}\t{connection}\t{running}\t{answer.delay_s:g}\n"
        os.write(self.file, line.encode())
        return answer


class _Connection(asyncio.Protocol):
    def __init__(self, desk: _Desk) -> None:
        self._desk = desk
        self._buffer = b""
        self._busy = ""
        desk.connections += 1
        self._number = desk.connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._desk.open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._desk.open.discard(self)
        self._idle()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._busy:
            self._next()

    def drop(self) -> None:
        self._transport.abort()

    def _next(self) -> None:
        """Answer the first whole request that waits in the buffer."""
        text, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            if len(text) > HEAD_BYTES_MAX:
                self.drop()
            return
        self._buffer = rest
        first, _, lines = text.decode("latin-1").partition("\r\n")
        method, _, target = first.partition(" ")
        self._busy = host = _host(lines)
        answer = self._desk.ask(host, target.rpartition(" ")[0], self._number)
        if answer.silent:
            return
        wire = b"" if answer.failure else render(answer, method != "HEAD")
        if answer.delay_s > 0:
            asyncio.get_running_loop().call_later(answer.delay_s, self._answer, wire)
        else:
            self._answer(wire)

    def _answer(self, wire: bytes) -> None:
        self._idle()
        if self._transport.is_closing():
            return
        if not wire:
            self.drop()
            return
        self._transport.write(wire)
        if self._buffer:
            self._next()

    def _idle(self) -> None:
        if self._busy:
            self._desk.in_flight[self._busy] -= 1
            self._busy = ""


def render(answer: Answer, with_body: bool = True) -> bytes:
    """The answer as sent over HTTP/1.1."""
    length = [] if answer.status in (204, 304) else [("Content-Length", str(len(answer.body)))]
    pairs = [("Content-Type", answer.media_type), *length, *answer.headers]
    return head(answer.status, pairs) + (answer.body if with_body else b"")


def _host(lines: str) -> str:
    at = lines.lower().find("host:")
    return lines[at + 5 :].split("\r\n", 1)[0].strip() if at >= 0 else "?"


def main(argv: list[str] | None = None) -> None:
    """Serve until standard input ends or the process is stopped; prints the address of the first page when ready."""
    options = argparse.ArgumentParser("python -m nephila.testing.server", description=__doc__)
    options.add_argument("--site", default="tree", help="tree, kinds, graph:SEED,N,DEGREE, synthetic:N,FANOUT,SIZE …")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--hosts", type=int, default=1, help="serve 127.0.0.1 … 127.0.0.HOSTS")
    options.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options.add_argument("--log", type=Path, default=Path("access.log"))
    given = options.parse_args(argv)
    with SiteServer(given.site, given.log, hosts=given.hosts, port=given.port, delay_s=given.delay) as server:
        print(server.url(), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
