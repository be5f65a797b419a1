"""Names in memory: who is where, how long it takes to find out, and what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nephila.clock import Clock
from nephila.config import Config
from nephila.fetch.directory import Directory
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer
from nephila.types import Lease, Resolution


class FakeNames:
    """A name server: `where(host)` gives the address, or "" and the name is not found, for the reason `why`; it takes
    `latency_s(host)` fake seconds. `directory` is the real thing over it."""

    def __init__(
        self,
        where: Callable[[str], str] = lambda host: "9.8.7.6",
        latency_s: Callable[[str], float] = lambda host: 0.0,
        why: str = "dns.not_found",
    ) -> None:
        self._where, self._latency_s, self._why = where, latency_s, why
        self.asked: list[str] = []
        self.at_once = self.most_at_once = 0

    async def __call__(self, host: str) -> Resolution:
        self.asked.append(host)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self._latency_s(host))
        finally:
            self.at_once -= 1
        address = self._where(host)
        return Resolution((address,)) if address else Resolution(reason=self._why, detail="no such name")

    def directory(self, config: Config, clock: Clock) -> Directory:
        return Directory(config, clock, self)


class NamedWeb(FakeWeb):
    """A web in memory in which a lease whose name was not found fails at once, as it does at the door."""

    def _choose(self, url: str, host: str, lease: Lease) -> Answer:
        if lease.resolution is not None and lease.resolution.reason:
            return Answer(failure=lease.resolution.reason, delay_s=0.0)
        return super()._choose(url, host, lease)
