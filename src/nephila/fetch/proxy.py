"""Ways out through proxies: which one a request takes, what libcurl is told of it, and what its faults are called.

The frontier chooses among the proxies of a pool, because it knows their health (`frontier.proxies`). The door holds the
choice against the user's rules: a request whose rules name proxies goes through one of them, whatever a lease says, and
never without. Credentials are told to libcurl apart from the URL, and to an HTTP proxy only after it has asked for them
with a 407 (RFC 9110 section 11.7): a 401, from whomever, asks for nothing of the proxy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pycurl  # type: ignore[import-untyped]

from nephila.config import Config
from nephila.fetch import faults
from nephila.types import Lease, Resolution
from nephila.url.parse import origin
from nephila.url.ways import Proxy, Ways

if TYPE_CHECKING:
    from nephila.fetch.transfer import Transfer

UNKNOWN_PROXY, SOCKS = 5, 97
AUTH_FAULTS = frozenset({4, 5, 6, 7, 8, 10, 11, 12, 33})
"""CURLINFO_PROXY_ERROR: a SOCKS proxy wants other credentials, or none that we have."""
REFUSALS = frozenset(range(17, 27))
"""The same: a SOCKS proxy answered, and the answer was no."""


class Door:
    """The proxies of one client. `insecure`: hosts, proxies among them, whose certificate is not verified."""

    def __init__(self, config: Config, insecure: frozenset[str]) -> None:
        self._ways, self._insecure = Ways(config.proxy), insecure
        self._schemes: dict[Proxy, int] = {}
        """proxies that have asked for credentials → libcurl's bit of the scheme"""

    def of(self, lease: Lease) -> Proxy | None:
        """The proxy that a request has to take; None: it goes direct."""
        proxies = self._ways.proxies
        if not proxies:
            return None
        pool = self._ways.of(origin(lease.request.url))
        if not pool:
            return None
        return proxies[lease.proxy if lease.proxy in pool else pool[0]]

    def scheme(self, proxy: Proxy | None) -> int:
        """How it gets our credentials, as libcurl's bit; 0: it gets none."""
        if proxy is None or not proxy.user:
            return 0
        return int(pycurl.HTTPAUTH_BASIC) if proxy.socks else self._schemes.get(proxy, 0)

    def put(self, handle: Any, proxy: Proxy | None, scheme: int) -> None:
        """Tell libcurl."""
        handle.setopt(pycurl.PROXY, "" if proxy is None else proxy.label.partition(" ")[0])
        if proxy is None or not scheme:
            handle.unsetopt(pycurl.PROXYUSERNAME)
            handle.unsetopt(pycurl.PROXYPASSWORD)
        else:
            handle.setopt(pycurl.PROXYUSERNAME, proxy.user)
            handle.setopt(pycurl.PROXYPASSWORD, proxy.password)
            handle.setopt(pycurl.PROXYAUTH, scheme)
        if proxy is not None and proxy.scheme == "https":
            verified = proxy.host not in self._insecure
            handle.setopt(pycurl.PROXY_SSL_VERIFYPEER, int(verified))
            handle.setopt(pycurl.PROXY_SSL_VERIFYHOST, 2 if verified else 0)

    def asks(self, proxy: Proxy, transfer: Transfer) -> bool:
        """Whether an HTTP proxy has just asked for credentials that we have and did not send: then once more, with them."""
        if proxy.socks or transfer.scheme or not proxy.user or not _is_407(transfer):
            return False
        offered = transfer.handle.getinfo(pycurl.PROXYAUTH_AVAIL)
        known = [bit for bit in (pycurl.HTTPAUTH_DIGEST, pycurl.HTTPAUTH_BASIC) if offered & bit]
        if known:
            self._schemes[proxy] = known[0]
        return bool(known)


def reachable(proxy: Proxy, answer: Resolution) -> Resolution:
    """What of a target's addresses a proxy can be asked for: SOCKS 4 has no IPv6."""
    if proxy.scheme != "socks4" or not answer.addresses:
        return answer
    old = tuple(address for address in answer.addresses if ":" not in address)
    return Resolution(old) if old else Resolution(reason="proxy_refused", detail="SOCKS 4 reaches IPv4 addresses only")


def fault(proxy: Proxy, transfer: Transfer, code: int) -> str:
    """The reason that names the proxy, or "" when the transfer has got beyond it. `code`: how libcurl ended it."""
    info = transfer.handle.getinfo
    tunnel = proxy.socks or transfer.target.scheme == "https"
    if _stands(transfer, proxy) if tunnel else transfer.status or (transfer.fault and not _is_407(transfer)):
        return ""
    answer = info(pycurl.HTTP_CONNECTCODE)
    if code == UNKNOWN_PROXY or (code == faults.CONNECT and not answer) or not transfer.connected():
        return "proxy_unreachable"
    if (not proxy.socks and _is_407(transfer)) or (code == SOCKS and info(pycurl.PROXY_ERROR) in AUTH_FAULTS):
        return "proxy_auth"
    if answer or (code == SOCKS and info(pycurl.PROXY_ERROR) in REFUSALS):
        return "proxy_refused"
    if proxy.scheme == "https" and not transfer.request_head:
        return "proxy_tls"
    if code == faults.TIMED_OUT:
        return "proxy_timeout"
    return "" if not tunnel and code in (faults.UNSUPPORTED, faults.BAD_REPLY) else "proxy_closed"


def _stands(transfer: Transfer, proxy: Proxy) -> bool:
    """The tunnel was there: what went wrong, went wrong behind the proxy."""
    told = transfer.request_head
    if transfer.handle.getinfo(pycurl.HTTP_CONNECTCODE) // 100 == 2 or (told and not told.startswith(b"CONNECT ")):
        return True
    return proxy.socks and transfer.tls_begun


def _is_407(transfer: Transfer) -> bool:
    """An HTTP proxy says who may use it; behind its tunnel a 407 would be the target's."""
    info = transfer.handle.getinfo
    if transfer.target.scheme == "https":
        return bool(info(pycurl.HTTP_CONNECTCODE) == 407)
    return bool(info(pycurl.RESPONSE_CODE) == 407)
