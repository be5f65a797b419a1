"""Which HTTP is spoken: streams of one connection, QUIC and what stands beside it, and servers that agree on what they cannot do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fetch.rawweb import Web, answer, client, lease, run

from nephila.config import Config
from nephila.fetch.target import split
from nephila.fetch.versions import H1, H2, H3, ORIGINS_MAX, Versions
from nephila.testing.certificates import Authority, server_side
from nephila.testing.torture.cases import cases
from nephila.testing.torture.server import TortureServer
from nephila.testing.torture.trust import authority as torture_authority
from nephila.types import Outcome


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_what_a_failure_teaches() -> None:
    """From the newest down, one step at a time, and only where the server agreed on what it does not speak."""
    versions, target, other = Versions(Config(http3=True)), split("https://a.test/"), split("https://b.test/")
    versions.learn(target, H2, 92, "http2")  # a stream was reset
    versions.learn(target, 0, 28, "timeout.headers")
    versions.learn(target, 0, 7, "connect.refused")
    assert versions.of(target) == H3
    versions.learn(target, H3, 95, "http3")
    assert (versions.of(target), versions.of(other)) == (H2, H3)
    versions.learn(target, H2, 56, "conn_reset")
    assert versions.of(target) == H1
    versions.learn(target, H2, 56, "conn_reset")
    assert versions.of(target) == H1
    for n in range(ORIGINS_MAX):
        versions.learn(split(f"https://{n}.test/"), H3, 95, "http3")
    assert versions.of(target) == H3, "the one learned first is forgotten first"


def test_requests_to_one_host_share_a_connection() -> None:
    """Those that begin before the first one has connected, too."""
    (case,) = (case for case in cases() if case.id == "F2.refused-once")

    async def work(place: Any) -> None:
        fetch = client(allow_private=True, ca=str(torture_authority().file))
        many = await asyncio.gather(*(fetch(lease(place.url("/robots.txt"))) for _ in range(20)))
        assert {(one.status, one.protocol) for one in many} == {(404, "h2")}
        assert place.connections == 1
        await fetch.close()

    with TortureServer([case]) as server:
        run(work(server.places[case.id]))


@asynccontextmanager
async def quic(pem: Path, port: int = 0, *, mute: bool = False) -> AsyncIterator[Any]:
    """An HTTP/3 server that answers every request with `three`; `mute`: it hangs up at the first one. Gives (port, connections)."""
    from aioquic.asyncio import QuicConnectionProtocol, serve
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ProtocolNegotiated, QuicEvent

    connections = []

    class Talk(QuicConnectionProtocol):
        http: Any = None

        def quic_event_received(self, event: QuicEvent) -> None:
            if isinstance(event, ProtocolNegotiated):
                connections.append(self)
                self.http = H3Connection(self._quic)
            for said in self.http.handle_event(event) if self.http else ():
                if not isinstance(said, HeadersReceived):
                    continue
                if mute:
                    self.close(0x101)
                    return
                self.http.send_headers(said.stream_id, [(b":status", b"200"), (b"content-length", b"5")])
                self.http.send_data(said.stream_id, b"three", end_stream=True)
                self.transmit()

    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(pem)
    server = await serve("127.0.0.1", port, configuration=configuration, create_protocol=Talk)
    try:
        yield server._transport.get_extra_info("sockname")[1], connections  # type: ignore[attr-defined]
    finally:
        server.close()
        await asyncio.sleep(0.05)


def test_http3(authority: Authority) -> None:
    async def work() -> None:
        async with quic(authority.issue()) as (port, connections):
            url = f"https://127.0.0.1:{port}/"
            fetch = client(allow_private=True, ca=str(authority.file), http3=True)
            got = await fetch(lease(url))
            assert (got.status, got.protocol, got.payload.head(9), got.ip) == (200, "h3", b"three", "127.0.0.1")
            assert (got.head[:10], got.request_head[:14], got.tls[:7]) == (
                b"HTTP/3 200",
                b"GET / HTTP/3\r\n",
                "TLSv1.3",
            )
            many = await asyncio.gather(*(fetch(lease(url)) for _ in range(10)))
            assert {one.protocol for one in many} == {"h3"}
            assert len(connections) == 1
            strict = client(ca=str(authority.file), http3=True)
            assert (await strict(lease(url))).outcome is Outcome.BLOCKED, "the guard sees datagrams, too"
            assert len(connections) == 1
            for each in (fetch, strict):
                await each.close()

    run(work())


def test_certificates_are_verified_over_quic(authority: Authority) -> None:
    async def work() -> None:
        async with quic(authority.issue(["other.example"])) as (port, _):
            fetch = client(allow_private=True, ca=str(authority.file), http3=True)
            assert (await fetch(lease(f"https://127.0.0.1:{port}/"))).reason == "tls.wrong_host"
            await fetch.close()

    run(work())


@pytest.mark.parametrize("how", ["closed", "silent", "mute"])
def test_without_http3_the_older_one_answers(how: str, authority: Authority) -> None:
    """Nobody at the port, datagrams that are swallowed, or a server that agrees on HTTP/3 and hangs up."""

    async def work() -> None:
        pem = authority.issue()
        async with Web(answer(), tls=server_side(pem)) as web:
            hole = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            if how == "silent":
                hole.bind(("127.0.0.1", web.port))
            fetch = client(web, ca=str(authority.file), http3=True)
            if how == "mute":
                async with quic(pem, web.port, mute=True):
                    got = [await fetch(lease(web.url())) for _ in range(2)]
            else:
                got = [await fetch(lease(web.url())) for _ in range(2)]
            assert [(one.status, one.protocol) for one in got] == [(200, "http/1.1")] * 2
            assert got[0].timings.total < 1.0
            hole.close()
            await fetch.close()

    run(work())
