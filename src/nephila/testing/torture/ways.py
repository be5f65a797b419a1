"""E7: proxies that refuse, ask, close, stall or talk nonsense, of every kind, and sites that are reached all the same.

The address that a case's URLs name is one where nobody may come: whoever asks there has gone past the proxies.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from nephila.testing.proxies import Speaker
from nephila.testing.torture.cases import case
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk, answer
from nephila.testing.torture.trust import TRUSTED, believed

SETTINGS: dict[str, Any] = {**TRUSTED, "offline_after_s": 1.0}
"""A proxy that never works is given up early."""
BODY = b"<p>through</p>"
TUNNELS = ("socks4", "socks4a", "socks5", "socks5h")
REFUSED: dict[str, Any] = {"outcome": "UNREACHABLE", "requests": 0}
PARKED: dict[str, Any] = {"outcome": "queued", "requests": 0, "exits": 4}
"""The fault is the proxy's for certain: the site waits for a better one."""


def behind(name: str, *kinds: str, fault: str = "", credentials: str = "", scheme: str = "http", **more: Any) -> None:
    """Registers a case of a well-behaved site behind proxies of these kinds, the first of which has the fault."""

    async def plain(talk: Talk) -> None:
        await talk.say(answer(BODY))

    async def secure(talk: Talk) -> None:
        await talk.start_tls(believed(talk.place.addresses[0]))
        while not talk.writer.is_closing():
            head = await talk.reader.readuntil(b"\r\n\r\n")
            await talk.say(answer(status="404 Not Found") if b"/robots.txt " in head else answer(BODY))

    faults = (fault, *("" for _ in kinds[1:]))
    case(
        "E7",
        name,
        scheme=scheme,
        raw=scheme == "https",
        hosts=len(kinds) + 2,
        proxies=tuple(
            partial(Speaker, kind, fault=wrong, credentials=credentials)
            for kind, wrong in zip(kinds, faults, strict=True)
        ),
        settings=SETTINGS,
        **{"check": _secrets, **more},
    )(secure if scheme == "https" else plain)


def _secrets(seen: Observed) -> list[str]:
    """A proxy is told nothing that belongs to a site, and its own credentials only after a 407."""
    found = []
    for speaker in seen.place.speakers.values():
        asked = [head for head in speaker.said if b"uthorization" in head]
        if asked and not speaker.credentials:
            found.append(f"a proxy that asked for nothing was told {asked[0]!r}")
        if speaker.kind.startswith("http") and speaker.said and b"uthorization" in speaker.said[0]:
            found.append("credentials were given before a 407")
    return found


def _of_the_proxy(seen: Observed) -> list[str]:
    """The site is not blamed: neither its failures nor its pause have grown."""
    rows = seen.query("SELECT failures FROM host WHERE origin = ?", seen.url.removesuffix("/"))
    return _secrets(seen) + ([] if rows == [(0,)] else [f"the site has {rows} failures"])


OK: dict[str, Any] = {"attempts": 1, "body": BODY, "requests": 1}
for kind in ("http", "https", *TUNNELS):
    behind(f"{kind}-works", kind, **OK, quick=kind in ("https", "socks5h"))
    behind(f"{kind}-tunnel-works", kind, scheme="https", attempts=1)
    if kind[:6] != "socks4":
        behind(f"{kind}-asks", kind, credentials="user:pass", **OK)
for kind in TUNNELS:
    behind(f"{kind}-refuses", kind, fault="refuse", **REFUSED, reason="proxy_refused")
    behind(f"{kind}-closes", kind, fault="close", **REFUSED, reason="proxy_closed")
    behind(f"{kind}-stalls", kind, fault="stall", **REFUSED, reason="proxy_timeout")
    behind(f"{kind}-talks-nonsense", kind, fault="garbage", **REFUSED, reason="proxy_closed")
for kind in ("http", "https"):
    behind(
        f"{kind}-refuses-connect", kind, fault="refuse", scheme="https", **REFUSED, reason="proxy_refused", quick=True
    )
    behind(
        f"{kind}-answers-connect-with-401",
        kind,
        fault="unauthorized",
        scheme="https",
        **REFUSED,
        reason="proxy_refused",
    )
    behind(f"{kind}-closes-connect", kind, fault="close", scheme="https", **REFUSED, reason="proxy_closed")
    behind(f"{kind}-stalls-connect", kind, fault="stall", scheme="https", **REFUSED, reason="proxy_timeout")
    behind(f"{kind}-talks-nonsense", kind, fault="garbage", scheme="https", **REFUSED, reason="proxy_closed")
    behind(f"{kind}-wants-others", kind, fault="auth", scheme="https", **PARKED, check=_of_the_proxy, quick=True)
    behind(f"{kind}-asks-in-place-of-a-page", kind, fault="auth", **REFUSED, reason="proxy_auth")
    behind(f"{kind}-closes", kind, fault="close", **REFUSED, reason="proxy_closed")
    behind(f"{kind}-stalls", kind, fault="stall", **REFUSED, reason="proxy_timeout")
for kind in ("socks5", "socks5h"):
    behind(f"{kind}-wants-others", kind, fault="auth", **PARKED, check=_of_the_proxy)
behind("resolves-the-name", "socks5h", names=("far-away.invalid",), **OK)
for fault in ("refuse", "close", "stall", "auth"):
    behind(f"another-takes-over-from-{fault}", "http", "http", fault=fault, scheme="https", attempts=1)
behind("another-takes-over-from-socks", "socks5h", "https", fault="refuse", **OK, quick=True)
