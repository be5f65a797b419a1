"""A small name server (RFC 1035) whose names say how it answers: for look-ups that fail, stall or change their mind."""

from __future__ import annotations

import asyncio
import ipaddress
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

A, AAAA = 1, 28
NO_ERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5


class NameServer(asyncio.DatagramProtocol):
    """Answers by the beginning of a name: `slow…` never, `nx…` NXDOMAIN, `fail…` SERVFAIL, `refused…` REFUSED, `none…` that
    there is nothing of the kind, `flap…` SERVFAIL to the first `flaps` questions of a kind. All others, and what flaps in the
    end, have the addresses that `where(name)` gives; `asked` has (name, kind) of every question."""

    def __init__(self, where: Callable[[str], Sequence[str]], flaps: int = 1) -> None:
        self._where, self._flaps = where, flaps
        self.asked: list[tuple[str, int]] = []
        self.counted: Counter[tuple[str, int]] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        name, kind, end = _question(data)
        self.asked.append((name, kind))
        self.counted[name, kind] += 1
        if name.startswith("slow"):
            return
        code = self._code(name, kind)
        found = [] if code or name.startswith("none") else list(self._where(name))
        packed = [ip.packed for ip in map(ipaddress.ip_address, found) if (AAAA if ip.version == 6 else A) == kind]
        records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(one)) + one for one in packed)
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(packed), 0, 0)
        self._transport.sendto(head + data[12:end] + records, addr)

    def _code(self, name: str, kind: int) -> int:
        if name.startswith("flap") and self.counted[name, kind] <= self._flaps:
            return SERVFAIL
        codes = {"nx": NXDOMAIN, "fail": SERVFAIL, "refused": REFUSED}
        return next((code for word, code in codes.items() if name.startswith(word)), NO_ERROR)


async def listen(server: NameServer) -> tuple[asyncio.DatagramTransport, str]:
    """Put it on a free port of 127.0.0.1. Gives its transport, to be closed, and ADDRESS:PORT."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 0))
    return transport, f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"


def _question(data: bytes) -> tuple[str, int, int]:
    """(name in lower case, kind, where the question ends)."""
    at, labels = 12, []
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode("latin-1").lower())
        at += size + 1
    (kind,) = struct.unpack(">H", data[at + 1 : at + 3])
    return ".".join(labels), kind, at + 5
