"""A small internet of one process, for a network namespace of its own: every address there is answers, and connections are counted.

Run as `unshare --net --mount python inside.py FOLDER`. All of IPv4 and IPv6 is local here, so a connection to *any* address is
taken by one of the listeners below and counted by the address it was made to: nothing that a crawl connects stays unseen. A name
server of its own answers what `NAMES` says, the second time perhaps something else. Prints what happened as one JSON object.
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

PUBLIC, PUBLIC6, SILENT, NAME_SERVER = "1.2.3.4", "2600::4", "1.2.3.9", "1.2.3.53"
"""Globally routable addresses (nothing leaves the namespace). Nobody listens at SILENT."""
WEB, OTHER, PROXY = 80, 81, 3128
PORTS = (WEB, 443, 21, 8080, PROXY)

NAMES: dict[str, list[list[str]]] = {
    "public.example": [[PUBLIC]],
    "six.example": [[PUBLIC6]],
    "robots.example": [[PUBLIC]],
    "flip.example": [[PUBLIC], ["127.0.0.1"]],
    "rebind.example": [[SILENT], ["127.0.0.1"]],
    "both.example": [[SILENT, "127.0.0.1"]],
    "private.example": [["10.0.0.5"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "nat64.example": [["64:ff9b::a9fe:a9fe"]],
    "sixth.example": [["fd00::5"]],
    "zero.example": [["0.0.0.0"]],
    "pinned.example": [["10.0.0.7"]],
    "other.example": [["10.0.0.7"]],
}
"""Name → answers: the first time the first, in the end the last again and again."""


class Internet:
    """Listeners on all addresses. `answer(host, path)` gives (status, header lines, body)."""

    def __init__(self, answer: Callable[[str, str], tuple[int, list[str], bytes]]) -> None:
        self.answer = answer
        self.accepted: Counter[str] = Counter()
        self.asked: list[str] = []
        self.looked_up: Counter[str] = Counter()
        for port in PORTS:
            listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
            self._thread(self._listen, listener)
        self._thread(self._listen, socket.create_server(("127.0.0.1", OTHER)))
        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        names.bind((NAME_SERVER, 53))
        self._thread(self._resolve, names)

    def forget(self) -> tuple[dict[str, int], list[str]]:
        """What was connected and asked since the last time."""
        found = dict(self.accepted), list(self.asked)
        self.accepted.clear()
        self.asked.clear()
        return found

    def _thread(self, work: Callable[[socket.socket], None], sock: socket.socket) -> None:
        threading.Thread(target=work, args=(sock,), daemon=True).start()

    def _listen(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            host, port = connection.getsockname()[:2]
            address = ipaddress.ip_address(host)
            self.accepted[f"{getattr(address, 'ipv4_mapped', None) or address} {port}"] += 1
            self._thread(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while first := lines.readline():
                target = first.split()[1].decode("latin-1") if first.count(b" ") == 2 else ""
                headers = dict(iter(lambda: lines.readline().decode("latin-1").strip().partition(": ")[::2], ("", "")))
                host = headers.get("Host", "")
                self.asked.append(target if target.startswith("http") else f"{host} {target}")
                path = "/" + target.split("/", 3)[3] if target.startswith("http") else target
                status, more, body = self.answer(host.partition(":")[0], path)
                head = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *more, "", ""]
                try:
                    connection.sendall("\r\n".join(head).encode("latin-1") + body)
                except OSError:
                    return

    def _resolve(self, names: socket.socket) -> None:
        """RFC 1035: one question, its answers, a time to live of 0."""
        while True:
            query, who = names.recvfrom(512)
            labels, at = [], 12
            while size := query[at]:
                labels.append(query[at + 1 : at + 1 + size].decode().lower())
                at += 1 + size
            name, kind, question = ".".join(labels), struct.unpack("!H", query[at + 1 : at + 3])[0], query[12 : at + 5]
            size = {1: 4, 28: 16}.get(kind)
            answers = NAMES.get(name, [[]])
            found = answers[min(self.looked_up[f"{name} {size}"], len(answers) - 1)]
            self.looked_up[f"{name} {size}"] += 1
            packed = [data for data in (ipaddress.ip_address(text).packed for text in found) if len(data) == size]
            records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(data)) + data for data in packed)
            header = struct.pack("!HHHHH", 0x8180 if name in NAMES else 0x8183, 1, len(packed), 0, 0)
            names.sendto(query[:2] + header + question + records, who)


def prepare() -> None:
    """Every address is ours, and the name server is the one below."""
    for command in (
        "link set lo up",
        f"address add {PUBLIC}/32 dev lo",
        f"-6 address add {PUBLIC6}/128 dev lo",
        "route add local 0.0.0.0/0 dev lo",
        "-6 route add local ::/0 dev lo",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(f"nameserver {NAME_SERVER}\n")
        file.flush()
        subprocess.run(["mount", "--bind", file.name, os.path.realpath("/etc/resolv.conf")], check=True)


def crawl(folder: Path, *args: str) -> str:
    """A crawl as a user starts it; what it said."""
    command = [sys.executable, "-m", "nephila", "crawl", *args, "--config", str(folder.parent / "settings.toml")]
    done = subprocess.run([*command, "-o", str(folder)], capture_output=True, text=True, timeout=60)
    return f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"


def main(folder: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    pages = {key: (status, headers, body.encode()) for key, (status, headers, body) in plan["pages"].items()}
    prepare()
    net = Internet(lambda host, path: pages.get(f"{host} {path}", (404, [], b"not here")))
    for address in plan["addresses"]:  # the listeners count
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(2)
            probe.connect((address, WEB))
    with socket.create_connection(("127.0.0.1", OTHER)):
        while sum(net.accepted.values()) <= len(plan["addresses"]):
            time.sleep(0.01)
    reachable, _ = net.forget()
    found = {"reachable": reachable, "runs": {}}
    for name, (job, args) in plan["runs"].items():
        said = crawl(folder / job, *args)
        accepted, asked = net.forget()
        found["runs"][name] = {"said": said, "accepted": accepted, "asked": asked}
    found["looked_up"] = dict(net.looked_up)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
