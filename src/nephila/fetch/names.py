"""Name → addresses: asked of the system once per name and remembered for a while.

libcurl could resolve by itself, but starts a thread per look-up, cannot tell a name that does not exist from a name
server that is silent, and asks again for every new connection. So the answer is found here and given to libcurl.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from nephila.clock import Clock

THREADS = 8
"""Look-ups at the same time: a crawl of many hosts must not flood its name server."""
NAMES_MAX = 10_000
FOUND_S, ABSENT_S, TROUBLE_S = 300.0, 60.0, 2.0
"""How long an answer counts: addresses, "no such name", and a failure that may pass."""
ADDRESSES_MAX = 16

NOT_FOUND = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class Answer(NamedTuple):
    """Addresses, or the reason why there are none."""

    addresses: tuple[str, ...] = ()
    reason: str = ""
    detail: str = ""


class Names:
    """The names of one client. `timeout_s` is the deadline of a look-up as seen by who asks."""

    def __init__(self, timeout_s: float, clock: Clock) -> None:
        self._timeout_s, self._clock = timeout_s, clock
        self._known: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._asked: dict[str, asyncio.Future[Answer]] = {}
        self._pool = ThreadPoolExecutor(THREADS, "names")

    def known(self, host: str) -> Answer | None:
        """The answer, if it is still fresh."""
        until, answer = self._known.get(host, (0.0, None))
        return answer if until > self._clock.monotonic() else None

    async def find(self, host: str) -> Answer:
        """The answer, asked for if need be; one question per name however many wait for it."""
        if answer := self.known(host):
            return answer
        asked = self._asked.get(host)
        if asked is None:
            asked = self._asked[host] = asyncio.get_running_loop().run_in_executor(self._pool, look_up, host)
            asked.add_done_callback(lambda done: self._learn(host, done))
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asyncio.shield(asked)
        except TimeoutError:
            return Answer(reason="timeout.dns", detail=f"no answer for {host} within {self._timeout_s:g} s")

    def forget(self, host: str) -> None:
        """Nothing answers there: the next try asks again."""
        self._known.pop(host, None)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _learn(self, host: str, done: asyncio.Future[Answer]) -> None:
        self._asked.pop(host, None)
        if done.cancelled() or done.exception():
            return
        answer = done.result()
        keep_s = FOUND_S if answer.addresses else ABSENT_S if answer.reason == "dns.not_found" else TROUBLE_S
        self._known[host] = self._clock.monotonic() + keep_s, answer
        self._known.move_to_end(host)
        if len(self._known) > NAMES_MAX:
            self._known.popitem(last=False)


def look_up(host: str) -> Answer:
    """Ask the system, blocking. The order of addresses is the system's (RFC 6724)."""
    try:
        found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        reason = "dns.not_found" if error.errno in NOT_FOUND else "dns.temporary"
        return Answer(reason=reason, detail=str(error.strerror or error))
    except (UnicodeError, ValueError) as error:
        return Answer(reason="dns.not_found", detail=str(error))
    except OSError as error:
        return Answer(reason="dns.temporary", detail=str(error))
    return Answer(tuple(dict.fromkeys(str(entry[4][0]) for entry in found))[:ADDRESSES_MAX])
