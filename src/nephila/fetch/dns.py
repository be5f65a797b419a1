"""One look-up of a name: the name servers are asked by c-ares, names of this machine and its network by the system.

c-ares keeps thousands of questions open on one thread and forgets one the moment nobody waits for it. The system's own
getaddrinfo holds a thread until it gives up: behind 200 names whose servers are silent, 64 threads answer nobody for half
a minute. But only the system knows what is not in the DNS: single labels, `localhost`, `.local` (RFC 6762).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from nephila.types import Resolution

if TYPE_CHECKING:
    import pycares

THREADS = 4
"""Look-ups by the system at the same time: names of the local network are few."""
TRIES = 3
"""Questions to each name server before it counts as silent; their times together are the deadline."""
ADDRESSES_MAX = 16
LOCAL = frozenset({"local", "localhost"})
"""Last labels that are not looked for in the DNS."""

NOT_FOUND = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class Resolver:
    """Asks. `timeout_s`: after this the name servers are silent; `servers` (ADDRESS[:PORT]) in place of the system's.

    Belongs to one event loop from its first question on.
    """

    def __init__(self, timeout_s: float, servers: Sequence[str] = ()) -> None:
        self._timeout_s, self._servers = timeout_s, servers
        self._channel: pycares.Channel | None = None
        self._threads: ThreadPoolExecutor | None = None

    async def __call__(self, host: str) -> Resolution:
        """Addresses, or why there are none: `dns.not_found`, `dns.temporary`, `timeout.dns` or `bad_host`. Never
        raises."""
        if not possible(host):
            return Resolution(reason="bad_host", detail="no name in the DNS is spelled so (RFC 1035 section 2.3.4)")
        if "." not in host or host.rstrip(".").rpartition(".")[2] in LOCAL:
            self._threads = self._threads or ThreadPoolExecutor(THREADS, "names")
            return await asyncio.get_running_loop().run_in_executor(self._threads, system, host)
        import pycares  # 40 ms, and a crawl of this machine never needs it

        if self._channel is None:
            self._channel = pycares.Channel(
                flags=pycares.ARES_FLAG_NOSEARCH,  # a name of the web is whole: no domain of ours is tried behind it
                timeout=self._timeout_s / (2**TRIES - 1),  # doubles with each try
                tries=TRIES,
                servers=self._servers or None,
            )
        result, error = await self._ask(self._channel, host)
        return _resolution(host, result, error)

    async def _ask(self, channel: pycares.Channel, host: str) -> tuple[Any, int]:
        """(result, 0) or (None, error number). c-ares answers on a thread of its own."""
        import pycares

        loop = asyncio.get_running_loop()
        answered: asyncio.Future[tuple[Any, int]] = loop.create_future()

        def settle(result: Any, error: int | None) -> None:
            if not answered.done():
                answered.set_result((result, error or 0))

        def on_thread(result: Any, error: int | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(settle, result, error)

        try:
            channel.getaddrinfo(host, None, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, callback=on_thread)
        except (pycares.AresError, UnicodeError) as error:
            return None, error.args[0] if isinstance(error, pycares.AresError) else pycares.errno.ARES_EBADNAME
        return await answered

    def close(self) -> None:
        """Nobody waits for an answer any more."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def possible(host: str) -> bool:
    """Whether the DNS can hold such a name: labels of 1 to 63 bytes, 253 in all. The URL standard takes others, too."""
    name = host.removesuffix(".")
    return len(name) <= 253 and all(0 < len(label) <= 63 for label in name.split("."))


def system(host: str) -> Resolution:
    """Ask the system, blocking. The order of addresses is the system's (RFC 6724)."""
    try:
        found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        reason = "dns.not_found" if error.errno in NOT_FOUND else "dns.temporary"
        return Resolution(reason=reason, detail=str(error.strerror or error))
    except (UnicodeError, ValueError) as error:
        return Resolution(reason="dns.not_found", detail=str(error))
    except OSError as error:
        return Resolution(reason="dns.temporary", detail=str(error))
    return Resolution(_first(str(entry[4][0]) for entry in found))


def _resolution(host: str, result: Any, error: int) -> Resolution:
    """What c-ares says, in our words. It orders addresses by RFC 6724, too."""
    if not error:
        return Resolution(_first(node.addr[0].decode() for node in result.nodes))
    import pycares

    absent = {pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_EBADNAME}
    if error == pycares.errno.ARES_ETIMEOUT:
        return Resolution(reason="timeout.dns", detail=f"no name server answers for {host}")
    reason = "dns.not_found" if error in absent else "dns.temporary"
    return Resolution(reason=reason, detail=str(pycares.errno.strerror(error)))


def _first(addresses: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(addresses))[:ADDRESSES_MAX]
