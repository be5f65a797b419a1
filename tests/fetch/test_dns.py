"""Look-ups against a name server of our own, and what libcurl makes of their answers."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fetch.rawweb import Web, answer, client, lease, run

from nephila.clock import SystemClock
from nephila.config import Config
from nephila.fetch import dns
from nephila.fetch.dns import Resolver
from nephila.fetch.names import Names
from nephila.testing.nameserver import AAAA, A, NameServer, listen
from nephila.types import Lease, Outcome, Request, Resolution


@asynccontextmanager
async def name_server(*addresses: str, timeout_s: float = 5.0) -> AsyncIterator[tuple[NameServer, Resolver]]:
    server = NameServer(lambda name: addresses)
    transport, place = await listen(server)
    resolver = Resolver(timeout_s, [place])
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
        ("refused.site.example", "dns.temporary"),
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


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..example", "." * 300, "a." * 127 + "aa", ".local", "a.."])
def test_impossible_name_is_a_reason_and_no_question(host: str) -> None:
    async def work() -> None:
        async with name_server("9.9.9.9") as (server, resolver):
            assert ((await resolver(host)).reason, server.asked) == ("bad_host", [])

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


def kept_waiting_s() -> float:
    """How long this thread was ready to run and something else ran (proc_pid_schedstat); 0.0 where nobody counts that."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


@pytest.mark.long
def test_hanging_look_ups_do_not_block_the_loop() -> None:
    """The best of three seconds, without the time in which other programs had the processor: a blocked loop stays blocked."""

    async def longest_wait(resolver: Resolver) -> float:
        memory = Names(Config(dns_lookups=200, dns_per_second=0), SystemClock(), resolver)
        slow = [asyncio.create_task(memory.find(f"slow{i}.site.example")) for i in range(200)]
        await asyncio.sleep(0)
        longest, ends = 0.0, time.monotonic() + 1.0
        while (before := time.monotonic()) < ends:
            away_s = kept_waiting_s()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - before - (kept_waiting_s() - away_s))
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


@pytest.fixture(scope="module")
def families() -> dict[str, list[Any]]:
    """URL → [status or reason, address or detail, seconds], from a network namespace (`two_families.py`)."""
    command = ["unshare", "--net", sys.executable, str(Path(__file__).with_name("two_families.py"))]
    if shutil.which("unshare") is None or subprocess.run([*command[:2], "true"], capture_output=True).returncode:
        pytest.skip("system: no network namespaces here, or they are for root only")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("url", "ip"),
    [
        ("http://six.example/", "2600::4"),
        ("http://four.example/", "1.2.3.4"),
        ("http://[2600::4]/", "2600::4"),
        ("http://1.2.3.4/", "1.2.3.4"),
        ("http://hole-four.example/", "2600::4"),
    ],
)
def test_either_family_is_reached(url: str, ip: str, families: dict[str, list[Any]]) -> None:
    assert families[url][:2] == [200, ip]


def test_where_the_newer_family_swallows_packets_the_older_one_is_tried(families: dict[str, list[Any]]) -> None:
    """After 0.3 s, side by side (RFC 8305 section 5), and not after the deadline of 1 s."""
    status, ip, seconds = families["http://hole-six.example/"]
    assert (status, ip) == (200, "1.2.3.4")
    assert 0.25 < seconds < 0.9


def test_where_both_swallow_packets_the_deadline_ends_it(families: dict[str, list[Any]]) -> None:
    assert families["http://holes.example/"][0] == "timeout.connect"


def test_the_guard_looks_at_each_address_of_a_name(families: dict[str, list[Any]]) -> None:
    """A private one is passed over, whichever family it is of; when all are, nothing is connected."""
    assert families["http://inside-six.example/"][:2] == [200, "1.2.3.4"]
    assert families["http://inside-four.example/"][0] == "timeout.connect"
    assert families["http://inside.example/"][0] == "blocked.private_address"
