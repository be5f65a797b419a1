"""The guard: which addresses are refused, and that a refused one never sees a packet."""

from __future__ import annotations

import asyncio
import ipaddress
import random
from typing import Any

import pytest
from fetch.rawweb import Web, answer, client, lease, run

from nephila.types import Outcome
from nephila.url.guard import Guard, is_private, special

SPECIAL = {
    "127.0.0.1": "loopback",
    "127.255.0.3": "loopback",
    "10.1.2.3": "private",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "169.254.169.254": "metadata",
    "168.63.129.16": "metadata",
    "169.254.1.1": "link-local",
    "100.64.0.1": "shared",
    "100.100.100.200": "shared",
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "224.0.0.1": "multicast",
    "255.255.255.255": "reserved",
    "198.18.0.1": "benchmark",
    "::1": "loopback",
    "::": "unspecified",
    "fd00::1": "private",
    "fe80::1%eth0": "link-local",
    "ff02::1": "multicast",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:10.0.0.1": "private",
    "::7f00:1": "loopback",
    "64:ff9b::7f00:1": "loopback",
    "64:ff9b::a9fe:a9fe": "metadata",
    "64:ff9b:1::1": "reserved",
    "2002:7f00:1::": "loopback",
    "2002:c0a8:101::1": "private",
    "100::1": "reserved",
    "nonsense": "unreadable",
}
PUBLIC = [
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "192.1.2.3",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


@pytest.mark.parametrize(("address", "kind"), SPECIAL.items())
def test_special(address: str, kind: str) -> None:
    assert special(address) == kind


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert special(address) == ""


def test_allowed_is_exactly_host_and_port() -> None:
    guard = Guard(False, frozenset({("intranet", 8080)}), ["a.example:80:10.0.0.1,[fd00::2]"])
    assert guard.refusal("intranet", 8080, "10.9.9.9") == ""
    assert guard.refusal("intranet", 80, "10.9.9.9") == "private"
    assert guard.refusal("other", 8080, "10.9.9.9") == "private"
    assert guard.refusal("a.example", 80, "10.0.0.1") == ""
    assert guard.refusal("a.example", 80, "fd00::2") == ""
    assert guard.refusal("a.example", 80, "10.0.0.2") == "private"
    assert guard.refusal("a.example", 81, "10.0.0.1") == "private"


def test_allow_private() -> None:
    assert Guard(True, frozenset(), []).refusal("h", 1, "127.0.0.1") == ""


def test_literal_targets_behind_a_proxy() -> None:
    guard = Guard(False, frozenset(), [])
    for host in ("127.0.0.1", "127.0.0.1.", "::1", "localhost", "localhost.", "a.localhost", "a.localhost."):
        assert guard.refusal_by_name(host, 80) == "loopback"
    assert guard.refusal_by_name("example.com", 80) == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_refused_address_never_sees_a_connection(host: str) -> None:
    async def work() -> tuple[Any, int]:
        async with Web(answer()) as web:
            fetch = client()
            got = await fetch(lease(web.url(host=host)))
            await fetch.close()
            await asyncio.sleep(0.05)
            return got, web.connections

    got, connections = run(work())
    assert (got.outcome, got.reason) == (Outcome.BLOCKED, "blocked.private_address")
    assert got.detail.endswith("is loopback")
    assert connections == 0


def test_port_beside_an_allowed_one_is_refused() -> None:
    async def work() -> None:
        async with Web(answer()) as web, Web(answer()) as other:
            fetch = client(web)
            assert (await fetch(lease(web.url()))).status == 200
            assert (await fetch(lease(other.url()))).outcome is Outcome.BLOCKED
            assert other.connections == 0
            await fetch.close()

    run(work())


def test_allow_private_setting() -> None:
    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(allow_private=True)
            assert (await fetch(lease(web.url(host="localhost")))).status == 200
            await fetch.close()

    run(work())


def test_private_hosts_are_told_as_the_register_of_addresses_has_them() -> None:
    """Each block of IPv4 addresses at its borders and inside, against the standard library's register (RFC 6890)."""
    rng = random.Random(1)
    for first in range(256):
        for rest in (0, 1, (1 << 24) - 1, *(rng.getrandbits(24) for _ in range(40))):
            address = ipaddress.IPv4Address(first << 24 | rest)
            assert is_private(str(address)) == (not address.is_global), address


@pytest.mark.parametrize("host", ["93.localhost", "localhost.", "10.0.0.1", "[::1]", "[fd00::1]", "192.168.1.1"])
def test_hosts_that_can_only_be_ours(host: str) -> None:
    assert is_private(host)


@pytest.mark.parametrize("host", ["93.184.216.34", "93.5", "093.1.2.3", "93.example", "8", "", "[2606:2800:220:1::1]"])
def test_hosts_that_may_be_anybodys(host: str) -> None:
    assert not is_private(host)
