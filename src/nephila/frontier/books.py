"""The books: what all rooms of the frontier share. Plain state; what to do with it is decided in the rooms."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from nephila import credentials
from nephila.clock import Clock
from nephila.config import Config
from nephila.frontier.asleep import Asleep
from nephila.frontier.batch import Batch, Row, Snapshot
from nephila.frontier.cookies import CookieJar
from nephila.frontier.host import Address, Host, HostHeap
from nephila.types import Lease
from nephila.url.scope import NO_DEPTH

if TYPE_CHECKING:
    from nephila.frontier.templates import Watch
FEW_HOSTS = 4
"""With fewer hosts than this, `patience.Network` has to know how many still have work."""


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
    watch: Watch | None = None


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
        self.access = credentials.names(config)
        """Origin → names of what is sent to it, cookies aside."""
        self.ids: dict[str, int] = {}
        """Origin → id of every host there is."""
        self.hosts: dict[str, Host] = {}
        """The hosts that are awake; of those that are waking only some are in it."""
        self.by_id: OrderedDict[int, Host] = OrderedDict()
        """The hosts that are awake or waking, those that were looked at least recently first."""
        self.asleep = Asleep()
        self.killed_at: float | None = None
        """When this start began, if the last one was killed: every host waits a pause from then on."""
        self.roused: list[Host] = []
        """Hosts that are waking and whose row nobody has asked for yet."""
        self.heap = HostHeap()
        self.parked: set[Host] = set()
        self.stirred: dict[Host, None] = {}
        """Hosts that got URLs or rules; woken when the visit that brought them is whole, because waking may cut the
        batch, and in the order in which they were stirred."""
        self.leases: dict[int, Held] = {}
        self.alone: dict[int, int] = {}
        """URLs that may have killed a worker → deaths since they go out alone."""
        self.plain: set[int] = set()
        """URLs whose body did not decode: the next request asks for one without content coding."""
        self.chains = snapshot.chains
        self.rules = snapshot.rules
        """Text → id of every rule that has refused an address."""
        self.trapped: dict[int, list[str]] = {}
        """Rule → a few addresses that this run has refused as traps."""
        self.left: set[int] | None = None
        """URLs that have left the queue since the store was asked what the rules of today say of its rows; None: it is not."""
        self.unwanted: dict[int, tuple[str, str]] = {}
        """URLs that were being asked for when the rules came to refuse them → (state, rule), if they come back."""
        self.queued = self.leased_pages = 0
        self.ok_pages, self.bytes = snapshot.pages, snapshot.bytes
        self.url_id, self.visit_id = snapshot.url_id, snapshot.visit_id

    def id_of(self, name: str) -> int:
        """The number of an origin, new or known. A host that nothing is wanted of has no more than that."""
        id = self.ids.get(name)
        if id is None:
            id = self.ids[name] = self.asleep.new()
            self.batch.hosts_new.append((id, name))
        return id

    def host(self, name: str) -> Host:
        """The host of an origin, new or known; it may be `waking` still."""
        id = self.id_of(name)
        host = self.by_id.get(id)
        if host is None:
            return self.awaken(id, name)
        if not host.origin:
            host.origin = name
        return host

    def awaken(self, id: int, name: str = "") -> Host:
        """A host gets its object; one that the store knows more of is waking until that is read."""
        host = self.by_id[id] = Host(id, name)
        self.asleep.give(host)
        if not name or self.asleep.known(id):
            host.waking = True
            self.roused.append(host)
        else:
            self.hosts[name] = host
        return host

    def doze(self, host: Host) -> None:
        """Nothing of a host is under way, and its place is wanted."""
        self.heap.remove(host)
        del self.by_id[host.id], self.hosts[host.origin]
        self.asleep.take(host, self.clock.monotonic())

    def active(self) -> int:
        """How many hosts have something queued, as far as few of them make a difference."""
        if len(self.ids) >= FEW_HOSTS:
            return FEW_HOSTS
        return sum(1 for h in self.by_id.values() if h.queued) + sum(1 for n in self.asleep.queued if n)

    @property
    def depth_max(self) -> int:
        return self.config.max_depth if self.config.max_depth >= 0 else NO_DEPTH

    def dirty(self, host: Host) -> None:
        """Something about the host has changed or is about to: its row is written, its pause reckoned anew."""
        assert not host.waking, f"{host.origin} is written before it is read"
        host.pause_s = -1.0
        self.batch.hosts[host.id] = host
        self.batch.empty = False

    def meta(self, key: str, value: str) -> None:
        """A word to remember across restarts."""
        self.batch.meta[key] = value
        self.batch.empty = False

    def keep_cookies(self, url: str, lines: list[str], access: str) -> None:
        """What Set-Cookie lines say; the batch has it with the visit that brought them, unless that had access to more than
        everybody has: then it is a secret, too."""
        self.jar.store(url, lines, self.clock.wall(), access)


class Stopwatch:
    """Time crawled so far: pauses and times without network do not count."""

    def __init__(self, clock: Clock, ran: float) -> None:
        self._clock, self._ran = clock, ran
        self._since: float | None = None

    def seconds(self) -> float:
        return self._ran + (self._clock.monotonic() - self._since if self._since is not None else 0.0)

    def run(self, on: bool) -> None:
        self._ran, self._since = self.seconds(), self._clock.monotonic() if on else None
