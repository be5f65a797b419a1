"""Origin → addresses, for the frontier: looked up before a request is handed out, so that waiting holds no connection.

What needs no look-up is answered at once: a literal address, a name given by `--resolve`, a name that the proxy resolves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache

from nephila.clock import Clock
from nephila.config import Config
from nephila.fetch.names import Ask, Names
from nephila.fetch.target import target_of
from nephila.types import Resolution
from nephila.url.guard import pin
from nephila.url.ways import Ways

NOT_OURS = Resolution()
PLACES_MAX = 65_536
"""Origins whose spelling need not be read again."""


class Directory:
    """The names of one crawl. Questions asked before the event loop runs have to wait for it: ask inside the loop."""

    def __init__(self, config: Config, clock: Clock, ask: Ask | None = None) -> None:
        self._names = Names(config, clock, ask)
        self._pinned = dict(map(pin, config.resolve))
        self._ways = Ways(config.proxy)
        self._place = lru_cache(PLACES_MAX)(self._look_at)

    def known(self, origin: str, grace_s: float = 0.0) -> Resolution | None:
        """Where the origin is, as far as it is known and fresh, or was `grace_s` seconds ago; None: `ask`."""
        host, fixed = self._place(origin)
        return fixed or self._names.known(host, grace_s)

    def given(self, origin: str, grace_s: float = 0.0) -> Resolution | None:
        """The same for a worker, which knows by itself what needs no look-up."""
        host, fixed = self._place(origin)
        return None if fixed else self._names.known(host, grace_s)

    def ask(self, origin: str, done: Callable[[], None]) -> None:
        """Look the name up; `done` is called when `known` has an answer."""

        def answered(asked: asyncio.Future[Resolution]) -> None:
            if not asked.cancelled():
                asked.result()
                done()

        self._names.asked(self._place(origin)[0]).add_done_callback(answered)

    def forget(self, origin: str) -> None:
        """Nothing answers there: the next question is asked again."""
        self._names.forget(self._place(origin)[0])

    def forget_trouble(self) -> None:
        """Our own network was gone: what was not found then may well be there."""
        self._names.forget_trouble()

    def close(self) -> None:
        self._names.close()

    def _look_at(self, origin: str) -> tuple[str, Resolution | None]:
        """(host without brackets, what needs no look-up)."""
        try:
            target = target_of(origin)
        except ValueError:
            return "", NOT_OURS
        pool = self._ways.of(origin)
        if pool and not any(self._ways.proxies[way].names_are_ours for way in pool):
            return target.host, NOT_OURS
        if target.literal:
            return target.host, Resolution((target.host,))
        pinned = self._pinned.get((target.host, target.port))
        return target.host, Resolution(pinned) if pinned else None
