"""Name → addresses: asked for once, remembered for a while, few at a time and not too many per second.

libcurl could resolve by itself, but starts a thread per look-up, cannot tell a name that does not exist from a name
server that is silent, and asks again for every new connection. So the answer is found here and given to libcurl.

A crawl has one such memory in the process that owns the frontier (`fetch.directory`), where a name is looked up *before* a
request is handed out: so a silent name server holds no connection, and the address is known in time for the clock of that
address. A worker has its own for what comes to it without an address.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable

from nephila.clock import Clock
from nephila.config import Config
from nephila.fetch.dns import Resolver
from nephila.types import Resolution

NAMES_MAX = 65_536
"""Names remembered; the one learned first is forgotten first."""
FOUND_S, ABSENT_S, TROUBLE_S = 300.0, 60.0, 2.0
"""How long an answer counts: addresses, "no such name", and a failure that may pass."""
TINY = 1e-6
"""Part of a step that rounding may lose."""

Ask = Callable[[str], Awaitable[Resolution]]


class Names:
    """The names of one process. `ask` looks a name up (tests; else it is made from the configuration).

    At most `dns_lookups` look-ups run, at most `dns_per_second` begin per second, and each has `dns_timeout_s`; who waits
    for one of them holds up nobody else. Must be used on one event loop.
    """

    def __init__(self, config: Config, clock: Clock, ask: Ask | None = None) -> None:
        self._resolver = Resolver(config.dns_timeout_s, config.name_servers) if ask is None else None
        self._ask: Ask = ask or self._resolver  # type: ignore[assignment]
        self._timeout_s, self._most, self._clock = config.dns_timeout_s, config.dns_lookups, clock
        self._pace = Pace(config.dns_per_second, clock)
        self._known: OrderedDict[str, tuple[float, Resolution]] = OrderedDict()
        self._asked: dict[str, asyncio.Future[Resolution]] = {}
        self._line: deque[str] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def known(self, host: str, grace_s: float = 0.0) -> Resolution | None:
        """The answer, if it is still fresh, or was `grace_s` seconds ago."""
        until, answer = self._known.get(host, (0.0, None))
        return answer if until + grace_s > self._clock.monotonic() else None

    async def find(self, host: str) -> Resolution:
        """The answer, asked for if need be; one question per name however many wait for it."""
        known = self.known(host)
        return known if known is not None else await asyncio.shield(self.asked(host))

    def asked(self, host: str) -> asyncio.Future[Resolution]:
        """A look-up under way or in line, or a new one. Whoever else waits for it must not find it cancelled: shield it."""
        asked = self._asked.get(host)
        if asked is None:
            asked = self._asked[host] = asyncio.get_running_loop().create_future()
            self._line.append(host)
            if self._timer is None:
                self._go_on()
        return asked

    def forget(self, host: str) -> None:
        """Nothing answers there: the next try asks again."""
        self._known.pop(host, None)

    def forget_trouble(self) -> None:
        """Our own network was gone: what was not found then may well be there."""
        for host in [host for host, (_, answer) in self._known.items() if answer.reason]:
            del self._known[host]

    def close(self) -> None:
        """Who still waits is cancelled."""
        self._line.clear()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._running:
            task.cancel()
        for asked in self._asked.values():
            asked.cancel()
        self._asked.clear()
        if self._resolver is not None:
            self._resolver.close()

    def _go_on(self) -> None:
        """Begin as many look-ups as may run now; a timer does the rest."""
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._line and len(self._running) < self._most:
            if (wait_s := self._pace.wait_s()) > 0.0:
                self._timer = loop.call_later(wait_s, self._go_on)
                return
            self._pace.step()
            task = loop.create_task(self._look_up(self._line.popleft()))
            self._running.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._timer is None and self._line:
            self._go_on()

    async def _look_up(self, host: str) -> None:
        asked = self._asked[host]
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._ask(host)
        except TimeoutError:
            answer = Resolution(reason="timeout.dns", detail=f"no answer for {host} within {self._timeout_s:g} s")
        except Exception as bug:
            asked.set_exception(bug)
            return
        finally:
            self._asked.pop(host, None)
        keep_s = (
            FOUND_S if answer.addresses else ABSENT_S if answer.reason in ("dns.not_found", "bad_host") else TROUBLE_S
        )
        self._known[host] = self._clock.monotonic() + keep_s, answer
        self._known.move_to_end(host)
        if len(self._known) > NAMES_MAX:
            self._known.popitem(last=False)
        if not asked.done():
            asked.set_result(answer)


class Pace:
    """At most `rate` steps per second (0: as many as you like), with one second's worth saved up."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self._rate, self._clock = rate, clock
        self._saved, self._at = max(float(rate), 1.0), clock.monotonic()

    def wait_s(self) -> float:
        """Seconds until the next step may be taken."""
        if not self._rate:
            return 0.0
        now = self._clock.monotonic()
        self._saved = min(self._saved + (now - self._at) * self._rate, max(self._rate, 1.0))
        self._at = now
        return (1.0 - self._saved) / self._rate if self._saved < 1.0 - TINY else 0.0

    def step(self) -> None:
        self._saved -= 1.0
