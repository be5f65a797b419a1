"""The torture server: loopback sockets that say exactly the bytes of a case, and write down what they were asked.

Every case has addresses of its own in 127.0.0.0/8, so that for a crawl it is a host with clocks of its own. On Linux one socket
takes all of them; it is bound to the interface `lo`, so that nothing from outside can reach it.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections import Counter
from typing import Any

import msgspec

from nephila.testing import nameserver
from nephila.testing.background import Background
from nephila.testing.torture.cases import Case, Route, case
from nephila.testing.torture.rows import ROWS
from nephila.testing.torture.secure import SecureWriter
from nephila.testing.web.server import listen
from nephila.testing.wire import Wire

SENT_MAX = 4 << 20
"""Bytes remembered of each answer, to be compared with the archive."""
CONTROL_PAGES = 20


def answer(body: bytes = b"", *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    """An HTTP/1.1 answer; `length` in place of the true Content-Length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body) if length is None else length}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def page(*links: str, title: str = "t", head: str = "") -> bytes:
    """A small HTML page with these links."""
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{anchors}</body></html>".encode()


def html(*links: str, status: str = "200 OK", headers: tuple[str, ...] = (), **page_of: Any) -> bytes:
    """The answer that holds `page(…)`."""
    return answer(page(*links, **page_of), "Content-Type: text/html", *headers, status=status)


class Hit(msgspec.Struct, frozen=True):
    """One request. `time` is the system's monotonic clock, `connection` a number that counts up."""

    time: float
    address: str
    host: str
    path: str
    connection: int
    head: bytes


class Talk(Wire):
    """One request being answered, or with a `raw` case one connection. `n`: how often this path was asked, this time included."""

    def __init__(self, server: TortureServer, place: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        super().__init__(reader, writer)
        self.server, self.place = server, place
        self.head = self.body = b""
        self.method = self.path = ""
        self.n = 0
        self.sent = bytearray()
        self.address = str(writer.get_extra_info("sockname")[0])

    async def say(self, data: bytes) -> None:
        self.sent += data[: max(0, SENT_MAX - len(self.sent))]
        await super().say(data)

    async def drip(self, data: bytes, every_s: float) -> None:
        """A byte at a time."""
        for i in range(len(data)):
            await self.say(data[i : i + 1])
            await asyncio.sleep(every_s)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def start_tls(self, context: ssl.SSLContext) -> ssl.SSLObject:
        """From here on over TLS. Raises SSLError or EOFError when the client will not."""
        secure = SecureWriter(self.reader, self.writer, context)
        self.reader = await secure.shake()
        self.writer = secure  # type: ignore[assignment]
        return secure.tls

    def url(self, path: str = "/", host: int = 0, scheme: str = "") -> str:
        """An address on one of the case's hosts."""
        return self.place.url(path, host, scheme)

    def header(self, name: str) -> str:
        """A header of the request, "" when it is not there."""
        found = re.search(rf"(?im)^{re.escape(name)}:[ \t]*([^\r\n]*)", self.head.decode("latin-1"))
        return found[1] if found else ""

    @property
    def host(self) -> int:
        """Which of the case's hosts was asked, by its address."""
        return self.place.addresses.index(self.address)


class Place:
    """Where a case lives: its addresses, and what happened there."""

    def __init__(self, case: Case, first: int, port: int) -> None:
        self.case, self.port = case, port
        self.addresses = [f"127.{16 + (n >> 16)}.{n >> 8 & 255}.{n & 255}" for n in range(first, first + case.hosts)]
        self.hits: list[Hit] = []
        self.accepted = Counter[str]()
        """Address → connections."""
        self.speakers = dict(zip(self.addresses[1:], [make() for make in case.proxies], strict=False))
        for speaker in self.speakers.values():
            speaker.routes = {f"{host}:{port}": (self.addresses[-1], port) for host in (self.host, self.addresses[0])}
        self.active: set[Talk] = set()
        self.in_flight_max = 0
        """Most requests to one of its hosts at the same time; one whose client has gone does not count."""
        self.talks: list[Talk] = []

    def url(self, path: str = "/", host: int = 0, scheme: str = "") -> str:
        names = self.case.names
        return f"{scheme or self.case.scheme}://{names[host] if host < len(names) else self.addresses[host]}:{self.port}{path}"

    @property
    def host(self) -> str:
        """What the case's URLs call it."""
        return self.case.names[0] if self.case.names else self.addresses[0]

    @property
    def connections(self) -> int:
        return self.accepted.total()

    @property
    def seed(self) -> str:
        return self.url(self.case.path)

    def asked(self, path: str) -> list[Hit]:
        """The requests for a path, on whichever host."""
        return [hit for hit in self.hits if hit.path == path]

    def sent(self, path: str) -> list[bytes]:
        """What was answered to requests for a path."""
        return [bytes(talk.sent) for talk in self.talks if talk.path == path]


class TortureServer(Background):
    """Serves cases from a thread; a context manager. `places`: case id → where it lives. `port` 0: a free one."""

    def __init__(self, cases: list[Case], *, port: int = 0) -> None:
        super().__init__("torture server")
        self._listener = listen(port, True)
        self.port = self._listener.getsockname()[1]
        self.places: dict[str, Place] = {}
        first = 1
        for one in cases:
            if first & 255 > 255 - one.hosts:
                first = (first | 255) + 2
            self.places[one.id] = Place(one, first, self.port)
            first += one.hosts
        self._by_address = {address: place for place in self.places.values() for address in place.addresses}
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = 0

    @property
    def resolve(self) -> list[str]:
        """HOST:PORT:ADDR for every case that has names."""
        return [
            f"{name}:{self.port}:{address}"
            for place in self.places.values()
            for name, address in zip(place.case.names, place.addresses, strict=False)
            if not place.case.dns
        ]

    @property
    def proxies(self) -> list[str]:
        """SITE=URL for every proxy that a case is behind."""
        return [
            f"{place.host}={speaker.kind}://{speaker.credentials and speaker.credentials + '@'}{address}:{self.port}"
            for place in self.places.values()
            for address, speaker in place.speakers.items()
        ]

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._accept, sock=self._listener, limit=1 << 20)
        self._datagrams, self.name_server = await nameserver.listen(nameserver.NameServer(self._where))

    def _where(self, name: str) -> list[str]:
        """The address of a name, for the name server."""
        return [
            address
            for place in self.places.values()
            for known, address in zip(place.case.names, place.addresses, strict=False)
            if known == name
        ]

    async def _close(self) -> None:
        self._server.close()
        self._datagrams.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._connections += 1
        place = self._by_address.get(writer.get_extra_info("sockname")[0])
        try:
            if place is not None:
                place.accepted[writer.get_extra_info("sockname")[0]] += 1
                await self._serve(place, self._connections, reader, writer)
        except (OSError, EOFError, asyncio.CancelledError, asyncio.LimitOverrunError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _serve(
        self, place: Place, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        talk = Talk(self, place, reader, writer)
        if speaker := place.speakers.get(talk.address):
            if speaker.kind == "https":
                from nephila.testing.torture.trust import believed  # needs a package that not everybody has

                await talk.start_tls(believed(talk.address))
            return await speaker.serve(talk.reader, talk.writer)
        if place.case.raw:
            place.talks.append(talk)
            return await place.case.route(talk)
        while not writer.is_closing():
            talk = await self._listen_to(place, number, reader, writer)
            place.active.add(talk)
            running = sum(1 for other in place.active if other.host == talk.host and not other.reader.at_eof())
            place.in_flight_max = max(place.in_flight_max, running)
            try:
                await self._route(place, talk)(talk)
            finally:
                place.active.discard(talk)

    async def _listen_to(
        self, place: Place, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Talk:
        """The next request on a connection, written down."""
        talk = Talk(self, place, reader, writer)
        talk.head = await reader.readuntil(b"\r\n\r\n")
        if length := re.search(rb"(?i)\r\ncontent-length: (\d+)", talk.head):
            talk.body = await reader.readexactly(int(length[1]))
        talk.method, talk.path, _ = talk.head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        place.hits.append(Hit(time.monotonic(), talk.address, talk.header("host"), talk.path, number, talk.head))
        place.talks.append(talk)
        talk.n = sum(1 for hit in place.hits if hit.path == talk.path and hit.address == talk.address)
        return talk

    def _route(self, place: Place, talk: Talk) -> Route:
        return _no_robots if talk.path == "/robots.txt" and not place.case.robots else place.case.route


async def _no_robots(talk: Talk) -> None:
    await talk.say(answer(status="404 Not Found"))


def control() -> Case:
    """A host that behaves well: whatever happens to the others, nothing may happen to it."""

    async def route(talk: Talk) -> None:
        links = [f"/{n}" for n in range(1, CONTROL_PAGES + 1)] if talk.path == "/" else ["/"]
        await talk.say(html(*links, title=f"well behaved {talk.path}"))

    also = {f"/{n}": "OK" for n in range(1, CONTROL_PAGES + 1)}
    return Case(row=ROWS["A24"], name="control", route=route, outcome="OK", attempts=1, also=also, links=CONTROL_PAGES)


__all__ = ["Case", "Hit", "Place", "Talk", "TortureServer", "answer", "case", "control", "html", "page"]
