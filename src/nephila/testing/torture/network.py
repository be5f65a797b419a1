"""Rows E1 and E4: names that cannot be looked up, and names that are spelled so that nobody could."""

from __future__ import annotations

from typing import Any

from nephila.testing.torture.cases import case
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk, html

DNS: dict[str, Any] = {"dns": True, "settings": {"name_servers": ["the server's own"]}}
LOST: dict[str, Any] = {**DNS, "outcome": "UNREACHABLE", "reason": "dns.not_found", "connections": 0}
TROUBLE: dict[str, Any] = {**DNS, "outcome": "DENIED", "reason": "robots_unreachable", "connections": 0}
"""It may pass, so it is tried again; and who cannot ask for the rules has no permission."""


@case("E1", "no-such-name", names=("nxdomain.torture.example",), quick=True, **LOST)
@case("E1", "no-address", names=("none.torture.example",), **LOST)
@case("E1", "server-fails", names=("fail.torture.example",), **TROUBLE)
@case("E1", "server-refuses", names=("refused.torture.example",), **TROUBLE)
@case("E1", "server-silent", names=("slow.torture.example",), **TROUBLE)
@case("E1", "recovers", names=("flap.torture.example",), attempts=1, **DNS)
async def _page(talk: Talk) -> None:
    await talk.say(html(title="found"))


# --- E4: odd names ------------------------------------------------------------------------------------------------------

NAMES = (
    "odd.torture.example",
    "a_b.torture.example",
    "hg--69.torture.example",
    "-x-.torture.example",
    "xn--e28h.torture.example",
)
SPELLED = {
    "a_b.torture.example": "a_b.torture.example",
    "HG--69.torture.example": "hg--69.torture.example",
    "-x-.torture.example": "-x-.torture.example",
    "\N{GRINNING FACE}.torture.example": "xn--e28h.torture.example",
    "xn--e28h.torture%2Eexample": "xn--e28h.torture.example",
    "a_b.torture.example.": "a_b.torture.example.",
}
"""As a page has it → as the URL standard reads it (domain to ASCII, not strict)."""
IMPOSSIBLE = (f"{'a' * 64}.torture.example", "a..torture.example", f"{'a.' * 130}example")
NO_HOSTS = (
    "1.2.3.4.5",
    "256.256.256.256",
    "a b.example",
    "a%00b.example",
    "[::1",
    "\N{RIGHT-TO-LEFT OVERRIDE}.example",
    "",
)
"""The URL standard fails at these: they are no addresses, and nothing is said about them but that."""


def _odd_complaints(seen: Observed) -> list[str]:
    port = seen.place.port
    wanted = {f"http://{host}:{port}/": "OK" for host in SPELLED.values()}
    wanted |= {f"http://{host}:{port}/": "UNREACHABLE bad_host" for host in IMPOSSIBLE}
    found = {url: f"{other.outcome} {other.reason}".strip() for url in wanted if (other := seen.other(url))}
    return [
        f"{url[:60]} is {found[url]!r}, not {expected!r}" for url, expected in wanted.items() if found[url] != expected
    ]


@case("E4", "odd-names", names=NAMES, hosts=len(NAMES), check=_odd_complaints, quick=True, **DNS)
async def _odd(talk: Talk) -> None:
    port = talk.place.port
    await talk.say(html(*(f"http://{host}:{port}/" for host in (*SPELLED, *IMPOSSIBLE, *NO_HOSTS))))
