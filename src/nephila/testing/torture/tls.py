"""Rows E5 and E6: certificates that do not hold, and handshakes that come to no end.

Needs the package cryptography. A host without a certificate to believe is connected once, for its robots.txt, and nothing is asked
of it, over TLS or without. Those of `INSECURE` are read all the same, and what failed is kept.
"""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
import struct
from collections.abc import Callable
from shutil import which
from typing import Any

from nephila.archive.reader import read_group
from nephila.testing.certificates import server_side
from nephila.testing.torture.cases import case
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk, html
from nephila.testing.torture.trust import TRUSTED, authority

Make = Callable[[str], ssl.SSLContext]
"""A server's side of TLS for a host."""

UNTRUSTED = "Nobody"


def _sha1(host: str) -> ssl.SSLContext:
    return server_side(authority().issue_sha1([host]), legacy=True)


FAULTS: dict[str, tuple[str, Make]] = {
    "expired": ("tls.expired", lambda host: server_side(authority().issue([host], (-10, -1)))),
    "not-yet-valid": ("tls.not_yet_valid", lambda host: server_side(authority().issue([host], (1, 10)))),
    "self-signed": ("tls.self_signed", lambda host: server_side(authority().issue([host], self_signed=True))),
    "wrong-host": ("tls.wrong_host", lambda host: server_side(authority().issue(["other.example"]))),
    "unknown-authority": ("tls.unknown_ca", lambda host: server_side(authority(UNTRUSTED).issue([host]))),
    "unknown-authority-shown": (
        "tls.unknown_ca",
        lambda host: server_side(authority(UNTRUSTED).issue([host], with_authority=True)),
    ),
    "sha1": ("tls.weak", _sha1),
    "tls-1.0": ("tls.protocol", lambda host: server_side(authority().issue([host]), newest=ssl.TLSVersion.TLSv1)),
    "tls-1.1": ("tls.protocol", lambda host: server_side(authority().issue([host]), newest=ssl.TLSVersion.TLSv1_1)),
}
INSECURE = TRUSTED | {"insecure": [f"{name}.example" for name in FAULTS]}


def _serve(make: Make, host: str) -> Callable[[Talk], Any]:
    """A page for whoever goes through the handshake. `host` "": the case's address."""
    context = functools.cache(make)

    async def route(talk: Talk) -> None:
        await talk.start_tls(context(host or talk.address))
        while not talk.writer.is_closing():
            head = await talk.reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            await talk.say(html(status="404 Not Found") if path == "/robots.txt" else html(title="behind TLS"))

    return route


def _evidence(reason: str) -> Callable[[Observed], list[str]]:
    """The metadata record says what failed and when, and names a certificate."""

    def check(seen: Observed) -> list[str]:
        assert seen.kept is not None
        group = read_group(seen.folder / "archive" / seen.kept.file, seen.kept.offset, seen.kept.length)
        group.body.close()
        said = dict(group.metadata)
        wanted = {
            "tlsFailed": rf"{re.escape(reason)} \S",
            "tlsFailedAt": r"20\d\d-",
            "tlsCertificate": "sha256:[0-9a-f]{64}",
        }
        return [
            f"{name} is {said.get(name)!r}" for name, form in wanted.items() if not re.match(form, said.get(name, ""))
        ]

    return check


for _name, (_reason, _make) in FAULTS.items():
    if _name == "sha1" and which("openssl") is None:
        continue
    _wrong: dict[str, Any] = {
        "outcome": "UNREACHABLE",
        "reason": _reason,
        "connections": 1,
        "quick": _name == "expired",
    }
    case("E5", _name, raw=True, scheme="https", settings=TRUSTED, **_wrong)(_serve(_make, ""))
    case(
        "E5",
        f"{_name}-insecure",
        raw=True,
        scheme="https",
        names=(f"{_name}.example",),
        settings=INSECURE,
        reason=_reason.replace("tls.", "insecure."),
        attempts=1,
        connections=2,
        check=_evidence(_reason),
    )(_serve(_make, f"{_name}.example"))


# --- E6: no end to the handshake ----------------------------------------------------------------------------------------

E6: dict[str, Any] = {"raw": True, "scheme": "https", "settings": TRUSTED, "outcome": "UNREACHABLE"}


async def _hello(talk: Talk) -> None:
    """A whole ClientHello (RFC 8446 section 5.1)."""
    _, _, size = struct.unpack(">BHH", await talk.reader.readexactly(5))
    await talk.reader.readexactly(size)


@case("E6", "stalls", reason="timeout.tls", **E6)
async def _stalls(talk: Talk) -> None:
    await _hello(talk)
    await asyncio.sleep(60)


@case("E6", "never-reads", reason="timeout.tls", **E6)
async def _never_reads(talk: Talk) -> None:
    await asyncio.sleep(60)


@case("E6", "stalls-in-the-middle", reason="timeout.tls", **E6)
async def _stalls_in_the_middle(talk: Talk) -> None:
    """A record of 100 bytes is announced, and 7 come."""
    await _hello(talk)
    await talk.say(b"\x16\x03\x03\x00\x64\x02\x00")
    await asyncio.sleep(60)


@case("E6", "hangs-up", reason="tls.closed", **E6)
async def _hangs_up(talk: Talk) -> None:
    await _hello(talk)
    talk.hang_up()


@case("E6", "resets", reason="tls.closed", **E6)
async def _resets(talk: Talk) -> None:
    await _hello(talk)
    talk.reset()


@case("E6", "plain-http", reason="tls.plain", connections=1, quick=True, **E6)
async def _plain(talk: Talk) -> None:
    """What nginx says to TLS on its port for HTTP."""
    await _hello(talk)
    await talk.say(html(status="400 Bad Request"))
    talk.hang_up()


@case("E6", "another-protocol", reason="tls.plain", connections=1, **E6)
async def _another(talk: Talk) -> None:
    await talk.say(b"SSH-2.0-OpenSSH_9.2\r\n")
    await _hello(talk)
    talk.hang_up()
