"""Addresses: where hosts are, and the second clock. Hosts behind one IP address share its patience, whatever their number.

A name is looked up before its host gives out anything, so the address is known in time: of a thousand names that one
server answers, no more than `per_address` are asked at once, from the first request on. A host that waits, for its name or
for its address, is in no heap and holds no lease; those that wait for an address stand in line there, and the address stands
in the heap in their place, so that its turn costs the same whether ten hosts are behind it or a hundred thousand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from nephila.frontier.books import Books
from nephila.frontier.host import WAITING, Address, Host
from nephila.types import Resolution

ADDRESS_MAX = 8
"""Requests at once to one IP address, unless `per_address` says otherwise (and `per_host` is no more)."""
ASKED_MAX = 1_024
"""Names that are being looked up or are in line for it; the line of hosts behind them costs 8 bytes each."""
GRACE_S = 60.0
"""An answer that was fresh when its host came due counts for as long as the host then waits for a connection."""
LINE_MAX, LINE_FULL_S = 4_000, 11.0
"""Hosts in line for one address; who finds the line full comes again after so long, and may sleep meanwhile (`queues.FAR_S`),
so that a million names of one server do not take all places of hosts that are awake. A line lasts longer than that."""
KEPT_MIN = 1_024
"""Fewer addresses than this are not looked through for idle ones."""


class Directory(Protocol):
    """Who knows names; the answers come on our own thread."""

    def known(self, origin: str, grace_s: float = 0.0) -> Resolution | None:
        """Where the origin is, as far as it is known and fresh, or was `grace_s` seconds ago; None: `ask`."""
        ...

    def given(self, origin: str, grace_s: float = 0.0) -> Resolution | None:
        """What a worker could not know without asking a name server, too."""
        ...

    def ask(self, origin: str, done: Callable[[], None]) -> None:
        """Look it up; `done` is called when `known` has an answer."""
        ...

    def forget(self, origin: str) -> None:
        """Nothing answers there: the next question is asked again."""
        ...

    def forget_trouble(self) -> None:
        """The same of every name that was not found."""
        ...


class Addresses:
    """Hosts in line for their names, and addresses with their clocks. Without a directory a host's address becomes known
    with its first answer."""

    def __init__(self, books: Books, directory: Directory | None) -> None:
        self._books, self.directory = books, directory
        self.on_found: Callable[[Host], None] = lambda host: None
        """Called with a host whose name has been looked up, with success or without."""
        self._line: deque[Host] = deque()
        self._asked = 0
        self._begun = False
        self._clocks: dict[str, Address] = {}
        self._sweep_at = KEPT_MIN

    # --- where it is ------------------------------------------------------------------------------------------------

    def seeks(self, host: Host, grace_s: float = 0.0) -> bool:
        """Where the host is is not known (any more): it is looked up, and the host comes back by `on_found`. One that was
        found before goes ahead of those that nobody has asked anything yet."""
        if self.directory is None:
            return False
        found = self.directory.known(host.origin, grace_s)
        if found is None:
            host.ticket = WAITING
            (self._line.appendleft if host.ip else self._line.append)(host)
            self._ask()
        elif not found.reason and host.ip not in found.addresses:
            host.ip = found.addresses[0] if found.addresses else ""  # behind a proxy that resolves names it is nobody's
        return found is None

    def begin(self) -> None:
        """The event loop runs: names may be looked up."""
        self._begun = True
        self._ask()

    def resolution(self, host: Host) -> Resolution | None:
        """What a lease says of it: the address that was counted comes first."""
        found = self.directory.given(host.origin, GRACE_S) if self.directory is not None else None
        if found is None or len(found.addresses) < 2 or found.addresses[0] == host.ip:
            return found
        return Resolution((host.ip, *(address for address in found.addresses if address != host.ip)))

    @property
    def waiting(self) -> int:
        """How many hosts wait for their names."""
        return len(self._line) + self._asked

    def lost(self, host: Host) -> None:
        """Nothing listens where the host was said to be."""
        if self.directory is not None:
            self.directory.forget(host.origin)

    def recovered(self) -> None:
        """Our own network was gone: what it did not find then tells nothing."""
        if self.directory is not None:
            self.directory.forget_trouble()

    def _ask(self) -> None:
        while self._begun and self._line and self._asked < ASKED_MAX:
            host = self._line.popleft()
            if host.ticket == WAITING:
                self._asked += 1
                assert self.directory is not None
                self.directory.ask(host.origin, partial(self._found, host))

    def _found(self, host: Host) -> None:
        self._asked -= 1
        if host.ticket == WAITING:
            host.ticket = 0
            self.on_found(host)
        self._ask()

    # --- the second clock -------------------------------------------------------------------------------------------

    def waits(self, host: Host, now: float) -> bool:
        """Its address is busy: the host stands in line there. Or its name was looked up too long ago: once more."""
        if self.seeks(host, GRACE_S):
            return True
        address = self._of(host)
        if address is None or (not address.waiting and address.due <= now and self._room(address) > 0):
            return False
        if len(address.waiting) >= LINE_MAX:
            self._books.heap.push(host, now + LINE_FULL_S)
            return True
        host.ticket = WAITING
        address.waiting.append(host)
        self.line_up(address, now)
        return True

    def room(self, host: Host) -> int:
        """How many more requests its address may get at once."""
        address = self._of(host)
        return self._books.config.connections * 1_000 if address is None else self._room(address)

    def next_of(self, address: Address, now: float) -> Host | None:
        """The first in line whose turn it still is; None also when the address has become busy meanwhile."""
        while address.waiting and address.due <= now and self._room(address) > 0:
            host = address.waiting.popleft()
            if host.ticket == WAITING:
                host.ticket = 0
                return host
        return None

    def line_up(self, address: Address, now: float) -> None:
        """The address stands in the heap while hosts wait for it and it may be asked; it keeps its place there."""
        due = max(address.due, now)
        if address.waiting and self._room(address) > 0 and (not address.ticket or due < address.entered):
            self._books.heap.push(address, due)

    def sent(self, host: Host, pause: float, now: float) -> Address | None:
        """A request of this host goes out. Returns the address that is busier now."""
        address = self._of(host)
        if address is not None:
            address.in_flight += 1
            address.due = max(address.due, now + pause / 4)
        return address

    def returned(self, address: Address, now: float) -> None:
        """One of its requests has come back."""
        address.in_flight -= 1
        self.line_up(address, now)

    def _of(self, host: Host) -> Address | None:
        """None: the address is not known, or nobody counts its requests."""
        if not host.ip or not (limit := self._books.config.per_address) or (limit < 0 and host.private):
            return None
        address = self._clocks.get(host.ip)
        if address is None:
            if len(self._clocks) >= self._sweep_at:
                self._sweep()
            address = self._clocks[host.ip] = Address()
        return address

    def _room(self, address: Address) -> int:
        c = self._books.config
        return (c.per_address if c.per_address > 0 else max(ADDRESS_MAX, c.per_host)) - address.in_flight

    def _sweep(self) -> None:
        """Addresses that nothing is known of but that they are free are made anew when they are asked again."""
        now = self._books.clock.monotonic()
        self._clocks = {
            ip: one for ip, one in self._clocks.items() if one.in_flight or one.waiting or one.ticket or one.due > now
        }
        self._sweep_at = max(KEPT_MIN, 2 * len(self._clocks))
