"""Which addresses may be connected: nothing inside private networks unless the user said so.

A page can name any host, and a name can resolve to any address, also to another one a second later. So the question is
asked when a socket is about to be opened, of the address itself: a refused one never sees a packet. Ranges: RFC 6890
(special-purpose addresses), RFC 6598 (shared), RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380 (Teredo).
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from nephila.errors import ConfigError

IPV4 = [
    (ipaddress.IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "metadata"),
        ("169.254.169.254/32", "metadata"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmark"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
]
IPV6 = [
    (ipaddress.IPv6Network(network), name)
    for network, name in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001:2::/48", "benchmark"),
        ("2001:db8::/32", "documentation"),
    )
]
UNICAST = ipaddress.IPv6Network("2000::/3")
TUNNELS = [
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),
    (ipaddress.IPv6Network("::/96"), 0),
    (ipaddress.IPv6Network("2002::/16"), 80),
]
"""IPv6 ranges with an IPv4 address inside, and how many bits lie to the right of it."""


class Guard:
    """The rules of one client. They never change during its life, so an open connection need not be asked again.

    `allowed`: host:port pairs of seeds that are private themselves; `resolve`: HOST:PORT:ADDR[,ADDR…] as configured. Proxies
    are not asked about here: the user named them, wherever they lie.
    """

    def __init__(self, allow_private: bool, allowed: frozenset[tuple[str, int]], resolve: list[str]) -> None:
        self.pinned = dict(map(pin, resolve))
        self._open = allow_private
        self._allowed = allowed

    def refusal(self, host: str, port: int, address: str) -> str:
        """ "" when `address` may be connected for host:port, else what kind of address it is."""
        if self._open or (host, port) in self._allowed or address in self.pinned.get((host, port), ()):
            return ""
        return special(address)

    def refusal_by_name(self, host: str, port: int) -> str:
        """The same for a target that a proxy will connect: only what the name itself gives away."""
        if self._open or (host, port) in self._allowed or (host, port) in self.pinned:
            return ""
        name = host.rstrip(".")
        if name == "localhost" or name.endswith(".localhost"):
            return "loopback"
        return special(name) if is_literal(name) else ""


def special(address: str) -> str:
    """ "" for an address of the public network, else the kind of range it lies in."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unreadable"
    if isinstance(ip, ipaddress.IPv4Address):
        return next((name for network, name in IPV4 if ip in network), "")
    for network, name in IPV6:
        if ip in network:
            return name
    inner = _inner(ip)
    if inner is not None:
        return special(str(inner))
    return "" if ip in UNICAST else "reserved"


def is_private(host: str) -> bool:
    """A host that can only be ours: loopback, private or link-local address, or localhost. Names are not resolved."""
    if host[-1:].isdigit() and _public_block(host.partition(".")[0]):
        return False
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    if not name[-1:].isdigit() and ":" not in name:
        return False  # no address: asking for the reason costs more than the rest of a host
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return False


@lru_cache(1024)
def _public_block(first: str) -> bool:
    """All IPv4 addresses that begin with this number are public, as most are: asked for each new host, and then no address is read."""
    if not (first.isascii() and first.isdecimal() and 0 < int(first) < 256 and str(int(first)) == first):
        return False
    block = ipaddress.IPv4Network((int(first) << 24, 8))
    return not any(network.overlaps(block) for network, _ in IPV4)


def is_literal(host: str) -> bool:
    """Whether a host is an IP address (an IPv6 one without its brackets)."""
    return ":" in host or host.replace(".", "").isdigit()


def pin(entry: str) -> tuple[tuple[str, int], tuple[str, ...]]:
    """((host, port), addresses) of HOST:PORT:ADDR[,ADDR…]. Raises ConfigError when it does not read."""
    host, _, rest = entry.partition(":")
    port, _, text = rest.partition(":")
    addresses = tuple(part.strip("[] ") for part in text.split(","))
    try:
        for address in addresses:
            ipaddress.ip_address(address)
        if not host or not 0 < int(port) < 65536:
            raise ValueError
    except ValueError:
        raise ConfigError(f"resolve: {entry!r} must be HOST:PORT:ADDR, such as example.com:443:192.0.2.7") from None
    return (host.lower(), int(port)), addresses


def _inner(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one stands for."""
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.teredo is not None:
        return ip.teredo[1]
    for network, bits in TUNNELS:
        if ip in network:
            return ipaddress.IPv4Address(int(ip) >> bits & 0xFFFFFFFF)
    return None
