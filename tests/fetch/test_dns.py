"""Look-ups against a name server of our own, and what libcurl makes of their answers."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fetch.rawweb import Web, answer, client, lease, run

from nephila.clock import SystemClock
from nephila.config import Config
from nephila.fetch import dns
from nephila.fetch.dns import Resolver
from nephila.fetch.names import Names
from nephila.types import Lease, Outcome, Request, Resolution

A, AAAA = 1, 28


class NameServer(asyncio.DatagramProtocol):
    """Answers by the first label: `slow…` never, `nx…` NXDOMAIN, `fail…` SERVFAIL, `none…` nothing, else the addresses given
    (RFC 1035 section 4)."""

    def __init__(self, addresses: list[str]) -> None:
        self.addresses, self.asked = addresses, list[tuple[str, int]]()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        at, labels = 12, []
        while size := data[at]:
            labels.append(data[at + 1 : at + 1 + size].decode().lower())
            at += size + 1
        (kind,) = struct.unpack(">H", data[at + 1 : at + 3])
        self.asked.append((".".join(labels), kind))
        name = labels[0]
        if name.startswith("slow"):
            return
        code = 3 if name.startswith("nx") else 2 if name.startswith("fail") else 0
        found = [] if code or name.startswith("none") else self.addresses
        records = b""
        for address in found:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if kind == (AAAA if ":" in address else A):
                packed = socket.inet_pton(family, address)
                records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(packed)) + packed
        count = sum(kind == (AAAA if ":" in address else A) for address in found)
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, count, 0, 0)
        self.transport.sendto(head + data[12 : at + 5] + records, addr)


@asynccontextmanager
async def name_server(*addresses: str, timeout_s: float = 5.0) -> AsyncIterator[tuple[NameServer, Resolver]]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: NameServer(list(addresses)), local_addr=("127.0.0.1", 0)
    )
    resolver = Resolver(timeout_s, [f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"])
    try:
        yield server, resolver
    finally:
        resolver.close()
        transport.close()
        await asyncio.sleep(0)


def test_both_families_are_asked_for_and_all_addresses_come() -> None:
    async def work() -> None:
        async with name_server("9.9.9.9", "9.9.9.10", "2620:fe::fe") as (server, resolver):
            found = await resolver("www.site.example")
            assert set(found.addresses) == {"9.9.9.9", "9.9.9.10", "2620:fe::fe"}
            assert found.reason == ""
            assert sorted(server.asked) == [("www.site.example", A), ("www.site.example", AAAA)]

    run(work())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nx.site.example", "dns.not_found"),
        ("none.site.example", "dns.not_found"),
        ("fail.site.example", "dns.temporary"),
    ],
)
def test_why_there_is_no_address(name: str, reason: str) -> None:
    async def work() -> None:
        async with name_server("9.9.9.9") as (server, resolver):
            found = await resolver(name)
            assert (found.addresses, found.reason) == ((), reason)
            assert found.detail
            assert {asked for asked, _ in server.asked} == {name}, "no search domain is tried"

    run(work())


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..example", "." * 300])
def test_impossible_name_is_a_reason_and_no_error(host: str) -> None:
    async def work() -> None:
        async with name_server("9.9.9.9") as (_, resolver):
            assert (await resolver(host)).reason == "dns.not_found"

    run(work())


def entry(address: str) -> Any:
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))


@pytest.mark.parametrize("host", ["printer", "printer.local", "app.localhost", "app.localhost."])
def test_names_of_the_local_network_are_asked_of_the_system(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns.socket, "getaddrinfo", lambda *_, **__: [entry("10.0.0.7"), entry("10.0.0.7")])

    async def work() -> None:
        async with name_server("9.9.9.9") as (server, resolver):
            assert await resolver(host) == Resolution(("10.0.0.7",))
            assert server.asked == []

    run(work())


@pytest.mark.parametrize(
    ("code", "reason"),
    [(socket.EAI_NONAME, "dns.not_found"), (socket.EAI_AGAIN, "dns.temporary"), (socket.EAI_FAIL, "dns.temporary")],
)
def test_trouble_of_the_system(code: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(code, "no")

    monkeypatch.setattr(dns.socket, "getaddrinfo", raising)
    assert dns.system("printer").reason == reason


def test_a_name_that_is_known_does_not_wait_behind_silent_servers() -> None:
    """Two hundred look-ups hang; another name is answered at once, and close does not wait for them."""

    async def work() -> None:
        async with name_server("9.9.9.9", timeout_s=10.0) as (_, resolver):
            memory = Names(Config(dns_lookups=300, dns_per_second=0), SystemClock(), resolver)
            slow = [asyncio.create_task(memory.find(f"slow{i}.site.example")) for i in range(200)]
            await asyncio.sleep(0.05)
            began = time.monotonic()
            assert (await memory.find("quick.site.example")).addresses == ("9.9.9.9",)
            assert time.monotonic() - began < 2.0
            memory.close()
            await asyncio.gather(*slow, return_exceptions=True)

    run(work())


@pytest.mark.long
def test_hanging_look_ups_do_not_block_the_loop() -> None:
    """The best of three seconds: another program may take the processor, a blocked loop stays blocked."""

    async def longest_wait(resolver: Resolver) -> float:
        memory = Names(Config(dns_lookups=200, dns_per_second=0), SystemClock(), resolver)
        slow = [asyncio.create_task(memory.find(f"slow{i}.site.example")) for i in range(200)]
        await asyncio.sleep(0)
        longest, ends = 0.0, time.monotonic() + 1.0
        while (before := time.monotonic()) < ends:
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - before)
        memory.close()
        await asyncio.gather(*slow, return_exceptions=True)
        return longest

    async def work() -> None:
        async with name_server("9.9.9.9", timeout_s=10.0) as (_, resolver):
            await resolver("warm.site.example")
            assert min([await longest_wait(resolver) for _ in range(3)]) < 0.05

    run(work())


def at(url: str, *addresses: str, **more: Any) -> Lease:
    return Lease(1, Request(url), 1, origin=url, resolution=Resolution(addresses, **more))


def test_the_addresses_of_a_lease_are_used_and_guarded() -> None:
    async def work() -> None:
        async with Web(answer()) as web:
            fetch, strict = client(allow_private=True), client()
            got = await fetch(at(web.url(host="shop.example"), "127.0.0.1"))
            assert (got.status, got.ip) == (200, "127.0.0.1")
            got = await strict(at(web.url(host="shop.example"), "127.0.0.1"))
            assert (got.outcome, got.reason, web.connections) == (Outcome.BLOCKED, "blocked.private_address", 1)
            got = await fetch(at(web.url(host="gone.example"), reason="dns.not_found", detail="no such name"))
            assert (got.outcome, got.reason, got.detail) == (Outcome.UNREACHABLE, "dns.not_found", "no such name")
            await fetch.close()
            await strict.close()

    run(work())


def test_resolve_wins_over_the_address_of_a_lease() -> None:
    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(resolve=[f"shop.example:{web.port}:127.0.0.1"], connect_timeout_s=1.0)
            assert (await fetch(at(web.url(host="shop.example"), "127.0.0.9"))).ip == "127.0.0.1"
            await fetch.close()

    run(work())


def test_a_new_address_takes_the_place_of_the_old_one() -> None:
    """The site has moved: the answer of today counts for a new connection, whatever libcurl remembers."""

    async def serve(address: str, port: int, body: bytes) -> asyncio.Server:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(body).replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n"))
            await writer.drain()
            writer.close()

        return await asyncio.start_server(talk, address, port)

    async def work() -> None:
        async with await serve("127.0.0.1", 0, b"old") as old:
            port = old.sockets[0].getsockname()[1]
            async with await serve("127.0.0.2", port, b"new"):
                fetch = client(allow_private=True)
                url = f"http://shop.example:{port}/"
                said = []
                for address in ("127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.2", "127.0.0.1"):
                    said.append((await fetch(at(url, address))).payload.head(3))
                assert said == [b"old", b"old", b"new", b"new", b"old"]
                await fetch.close()
                await asyncio.sleep(0.01)

    run(work())


def test_of_several_addresses_the_one_that_answers_is_found() -> None:
    """The first one refuses: libcurl goes on to the next, IPv6 or IPv4."""

    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(allow_private=True)
            for addresses in itertools.permutations(("127.0.0.3", "::1", "127.0.0.1")):
                got = await fetch(at(web.url(host="many.example"), *addresses))
                assert (got.status, got.ip) == (200, "127.0.0.1")
            await fetch.close()

    run(work())


def test_without_an_address_the_worker_asks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns.socket, "getaddrinfo", lambda *_, **__: [entry("127.0.0.1")])

    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(allow_private=True)
            assert (await fetch(lease(web.url(host="shop.local")))).ip == "127.0.0.1"
            await fetch.close()

    run(work())
