"""The books: what all rooms of the frontier share. Plain state; what to do with it is decided in the rooms."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from nephila.clock import Clock
from nephila.config import Config
from nephila.frontier import patience
from nephila.frontier.batch import Batch, Row, Snapshot
from nephila.frontier.cookies import CookieJar
from nephila.frontier.host import Address, Host, HostHeap
from nephila.types import Lease
from nephila.url.parse import host_of


class Ended(NamedTuple):
    """Why the crawl is over: `finished`, `limit`, `interrupted`, `parked`, `offline` or `disk`; and a sentence."""

    reason: str
    text: str


class Held(NamedTuple):
    """A lease that is out."""

    lease: Lease
    row: Row
    host: Host
    started: float
    worker: int
    address: Address | None


class Books:
    """Hosts, leases, and the batch that is being filled. Whoever writes into the batch marks it as not empty."""

    def __init__(
        self, config: Config, snapshot: Snapshot, clock: Clock, rng: random.Random, note: Callable[..., None]
    ) -> None:
        self.config, self.clock, self.rng, self.note = config, clock, rng, note
        self.on_change: Callable[[], None] = lambda: None
        """Somebody outside looks again for what is due."""
        self.check_end: Callable[[], None] = lambda: None
        """Something was settled or learned: is it over now?"""
        self.ended: Ended | None = None
        self.paused = snapshot.meta.get("paused") == "1"
        self.watch = Stopwatch(clock, float(snapshot.meta.get("seconds", "0")))
        self.batch = Batch()
        self.jar = CookieJar()
        self.hosts: dict[str, Host] = {}
        self.by_id: dict[int, Host] = {}
        self.heap = HostHeap()
        self.parked: set[Host] = set()
        self.stirred: dict[Host, None] = {}
        """Hosts that got URLs or rules; woken when the visit that brought them is whole, because waking may cut the
        batch, and in the order in which they were stirred."""
        self.leases: dict[int, Held] = {}
        self.alone: dict[int, int] = {}
        """URLs that may have killed a worker → deaths since they go out alone."""
        self.chains = snapshot.chains
        self.queued = self.leased_pages = 0
        self.ok_pages, self.bytes = snapshot.pages, snapshot.bytes
        self.url_id, self.visit_id = snapshot.url_id, snapshot.visit_id

    def host(self, name: str) -> Host:
        """The host of an origin, new or known."""
        host = self.hosts.get(name)
        if host is None:
            host = self.add_host(len(self.by_id) + 1, name)
            self.batch.hosts_new.append((host.id, name))
        return host

    def add_host(self, id: int, name: str) -> Host:
        host = Host(id, name, patience.is_private(host_of(name + "/")))
        self.hosts[name] = self.by_id[id] = host
        return host

    def dirty(self, host: Host) -> None:
        """Something about the host has changed or is about to: its row is written, its pause reckoned anew."""
        host.pause_s = -1.0
        self.batch.hosts[host.id] = host
        self.batch.empty = False

    def meta(self, key: str, value: str) -> None:
        """A word to remember across restarts."""
        self.batch.meta[key] = value
        self.batch.empty = False

    def keep_cookies(self, url: str, lines: list[str]) -> None:
        """What Set-Cookie lines say; the batch has it with the visit that brought them."""
        self.jar.store(url, lines, self.clock.wall())


class Stopwatch:
    """Time crawled so far: pauses and times without network do not count."""

    def __init__(self, clock: Clock, ran: float) -> None:
        self._clock, self._ran = clock, ran
        self._since: float | None = None

    def seconds(self) -> float:
        return self._ran + (self._clock.monotonic() - self._since if self._since is not None else 0.0)

    def run(self, on: bool) -> None:
        self._ran, self._since = self.seconds(), self._clock.monotonic() if on else None
