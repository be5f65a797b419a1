"""Both families of addresses, some of which swallow what is sent there. Run as `unshare --net python two_families.py`.

Nothing leaves the namespace: public addresses lie on `lo`, and a cable whose other end nobody listens at takes packets and answers nothing. Prints what the
door made of each name as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from typing import Any

from nephila.config import Config
from nephila.fetch.client import Client
from nephila.testing.nameserver import NameServer, listen
from nephila.types import Failure, Lease, Request

FOUR, SIX = "1.2.3.4", "2600::4"
HOLE_FOUR, HOLE_SIX = "1.9.9.9", "2600:dead::9"
NAMES = {
    "six.example": [SIX],
    "four.example": [FOUR],
    "both.example": [SIX, FOUR],
    "hole-six.example": [HOLE_SIX, FOUR],
    "hole-four.example": [HOLE_FOUR, SIX],
    "holes.example": [HOLE_SIX, HOLE_FOUR],
    "inside-six.example": ["fd00::7", FOUR],
    "inside-four.example": [HOLE_SIX, "10.0.0.7"],
    "inside.example": ["::1", "127.0.0.1"],
}
ADDRESSES = (f"http://[{SIX}]/", f"http://{FOUR}/")
SETUP = f"""
link set lo up
address add {FOUR}/32 dev lo
-6 address add {SIX}/128 dev lo
link add hole type veth peer name floor
link set hole up
link set floor up
address add 1.9.9.1/24 dev hole
-6 address add 2600:dead::1/64 dev hole nodad
neighbour add {HOLE_FOUR} lladdr 02:00:00:00:00:09 dev hole
-6 neighbour add {HOLE_SIX} lladdr 02:00:00:00:00:09 dev hole
"""


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    writer.close()


async def main() -> dict[str, Any]:
    server = await asyncio.start_server(serve, ["0.0.0.0", "::"], 80)
    datagrams, place = await listen(NameServer(lambda name: NAMES.get(name, [])))
    found: dict[str, Any] = {}
    for url in [*(f"http://{name}/" for name in NAMES), *ADDRESSES]:
        fetch = Client(Config(name_servers=[place], connect_timeout_s=1.0))
        began = time.monotonic()
        got = await fetch(Lease(1, Request(url), 7))
        took = time.monotonic() - began
        found[url] = [got.reason, got.detail, took] if isinstance(got, Failure) else [got.status, got.ip, took]
        await fetch.close()
    server.close()
    datagrams.close()
    return found


if __name__ == "__main__":
    for line in SETUP.strip().splitlines():
        subprocess.run(["ip", *line.split()], check=True)
    print(json.dumps(asyncio.run(main())))
