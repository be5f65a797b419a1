"""Queues: what waits at each host, and when the host could give something out.

A host's queue lies in three segments: the first few URLs in memory (`Host.ready`, all whose key is below `Host.horizon`),
the rest as rows of the store, and what was accepted since the last commit (the batch). `ready` is filled from the store
before it runs dry and trimmed when it grows: memory does not grow with the queue. What hosts want of the store is collected
and asked in one question, after the next commit or as soon as nothing else is due.

Nor does memory grow with the hosts: at most `hosts_max` are awake. While more have something due, a host that has given out
its few falls asleep in place of asking for more, and the one that has been due for longest takes its place.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from nephila.frontier import order
from nephila.frontier.batch import LOGIN, ROBOTS, Ask, Refill, Row, Store
from nephila.frontier.books import Books
from nephila.frontier.host import WAITING, Host
from nephila.frontier.ledger import Ledger
from nephila.frontier.manners import Manners
from nephila.frontier.members import Members
from nephila.frontier.permission import Permission

READY_MAX, READY_MIN = 1024, 6
"""Most URLs of one host's queue in memory; with many hosts fewer each (READY_ALL in all), but so many at least."""
READY_ALL = 65_536
ROUSED_MAX = 1024
"""Hosts that are roused at a time: one question to the store."""
LOOKED_AT_MAX = 256
"""Hosts that are looked at for one that could sleep, before the others."""
FAR_S = 10.0
"""A host that is due later than this sleeps better than it waits, when its place is wanted."""

_KIND, _DEPTH = Row._fields.index("kind"), Row._fields.index("depth")
BEFORE_ALL = (-(1 << 62), 0)
"""A horizon that leaves nothing to memory: whatever is queued is in the store."""


class Queues:
    """Queues of all hosts over one store. A host stands in the heap only when it could give out a lease."""

    def __init__(
        self, books: Books, store: Store, ledger: Ledger, manners: Manners, permission: Permission, members: Members
    ) -> None:
        self._books, self._clock, self._heap = books, books.clock, books.heap
        self._store, self._ledger, self._manners, self._permission = store, ledger, manners, permission
        self._members, members.wake = members, self.wake
        self.key = order.KEYS[books.config.order]
        self._share = READY_MAX
        self._wanted: list[Host] = []
        """Hosts that want rows of the store."""
        self._then: dict[int, list[Callable[[Host], None]]] = {}

    def wake(self, host: Host) -> None:
        """Put a host into the heap if it could give out a lease, at the time when it could."""
        if host.parked_until or host.state == "paused" or host.waking:
            return
        wanted = self._permission.wanted(host)
        if wanted and host.robots_asked and (not host.extra or self._manners.capacity(host) <= 0):
            return
        now = self._clock.monotonic()
        if host.verdict and host.queued:
            if not host.ready and not host.retries:
                self.refill(host)
            else:
                self._heap.push(host, now)
            return
        if self._manners.capacity(host) <= 0:
            return
        due = max(host.due, host.backoff_until, now)  # a host without pause is no earlier than one whose pause is over
        asking = wanted and (host.queued or host.robots_row or host.waiters)
        if self._members and not asking and not host.extra and (session := self._members.closed(host)):
            if self._members.knocks(host, session):
                self._enter(host, due)
            return
        if asking or host.extra or host.ready:
            self._enter(host, due)
        elif host.retries:
            self._enter(host, max(due, host.retries[0][0]))
        if not asking:
            self.refill(host)

    def _enter(self, host: Host, due: float) -> None:
        """Into the heap, unless its site is over budget, or where it is has to be looked up first: then it waits outside."""
        now = self._clock.monotonic()
        if host.ticket == WAITING or (host.ticket and max(host.entered, due) <= now):
            return  # whose turn has come keeps its place
        if self._manners.budgets.holds(host):
            self._heap.remove(host)
        elif due > now or not self._manners.addresses.seeks(host):
            self._heap.push(host, due)

    def stir(self) -> None:
        """Wake the hosts that got something; only when a visit is whole, because this may cut the batch."""
        while self._books.stirred:
            stirred, self._books.stirred = self._books.stirred, {}
            for host in stirred:
                self.wake(host)

    # --- in and out -------------------------------------------------------------------------------------------------

    def put(self, id: int, name: str, row: tuple[Any, ...]) -> None:
        """A URL that was admitted joins the queue of the host of this id and name; its row is in the batch. `row` are the
        values of a `Row`: most of them wait in the store, and it is not made."""
        books = self._books
        if row[_KIND] == ROBOTS:
            self._permission.met(books.host(name), Row._make(row))
            return
        host = books.by_id.get(id)
        books.queued += 1
        if host is None:
            if books.asleep.known(id) or len(books.by_id) >= books.config.hosts_max:
                books.asleep.add(id, self._clock.monotonic())
                return
            host = books.awaken(id, name)
        self._put(host, row)

    def _put(self, host: Host, row: tuple[Any, ...]) -> None:
        id, ready = row[0], host.ready
        key = self.key(row[_DEPTH], id)
        if host.queued <= len(host.held):
            host.horizon = None
        host.queued += 1
        if host.horizon is None or key < host.horizon:
            heapq.heappush(ready, (key, Row._make(row)))
            host.held.add(id)
            if len(ready) > 2 * self._share:
                self._trim(host)
        else:
            host.store_due = -1.0
        if not host.ticket:
            self._books.stirred[host] = None

    def put_back(self, host: Host, row: Row) -> None:
        """A row that was taken returns as it was."""
        if row.kind == ROBOTS:
            self._permission.put_back(host, row)
        elif row.kind == LOGIN:
            self._members.put_back(host)
        else:
            heapq.heappush(host.ready, (self.key(row.depth, row.id), row))
            host.held.add(row.id)

    def put_off(self, host: Host, row: Row, due: float) -> None:
        """A row waits for its next try."""
        heapq.heappush(host.retries, (due, self.key(row.depth, row.id), row))

    def take_any(self, host: Host, now: float) -> Row | None:
        """The next row, a retry before its time if there is no other."""
        return host.pop_ready(now) or (heapq.heappop(host.retries)[2] if host.retries else None)

    def forget(self, host: Host, row: Row) -> None:
        """The URL leaves the queue."""
        if row.kind == ROBOTS:
            return
        host.held.discard(row.id)
        host.queued -= 1
        self._books.queued -= 1
        if self._books.left is not None:
            self._books.left.add(row.id)
        if self._books.unwanted:
            self._books.unwanted.pop(row.id, None)
        if host.refilling:
            if host.settled_meanwhile is None:
                host.settled_meanwhile = set()
            host.settled_meanwhile.add(row.id)

    def withdraw(self, id: int, rows: list[Row]) -> None:
        """URLs leave the queue of the host with this id, and nobody has asked for them."""
        host = self._books.by_id.get(id)
        if host is None:
            self._books.asleep.drop(id, len(rows))
            self._books.queued -= len(rows)
            return
        gone = {row.id for row in rows}
        if not gone.isdisjoint(host.held):
            host.ready = [one for one in host.ready if one[1].id not in gone]
            host.retries = [one for one in host.retries if one[2].id not in gone]
            heapq.heapify(host.ready)
            heapq.heapify(host.retries)
        for row in rows:
            self.forget(host, row)
        self._books.stirred[host] = None

    def requeue(self, host_ids: Iterable[int]) -> None:
        """A commit has queued rows in the store, one for each host id given."""
        for id in host_ids:
            self._books.queued += 1
            self._ledger.found += 1
            host = self._books.by_id.get(id)
            if host is None:
                self._books.asleep.add(id, self._clock.monotonic())
                continue
            if host.stored() <= 0 and host.horizon is None:
                host.horizon = BEFORE_ALL
            host.queued += 1
            host.store_due = -1.0
            self.wake(host)

    # --- between memory and store -----------------------------------------------------------------------------------

    def refill(self, host: Host) -> None:
        """Want more of the host's queue from the store before `ready` runs dry; or sleep, if others wait for its place."""
        if host.refilling or host.stored() <= 0 or self._manners.budgets.is_aside(host.id):
            return
        if len(host.ready) > 1 and len(host.ready) > self._share // 4:
            return
        now = self._clock.monotonic()
        if host.store_due > now:
            if not host.ready and not host.ticket:
                self._enter(host, host.store_due)
            return
        if self._crowded(now):
            if not host.ready and self._can_sleep(host):
                self._doze(host)
            if host.ready or host.leased or host.id not in self._books.by_id:
                return  # it comes here again when its visit is back
        host.refilling = True
        self._wanted.append(host)

    def fetch(self) -> bool:
        """Nothing else is due: ask the store now for what is wanted. False: nothing is."""
        self._rouse()
        if not self._wanted:
            return False
        self._ledger.cut()  # everything accepted is in the store before it is asked
        self.send()
        return True

    def send(self) -> None:
        """The store has everything accepted so far: ask it for all that is wanted."""
        self._rouse()
        self._share = self._reckon_share()
        hosts, self._wanted = self._wanted, []
        if not hosts:
            return
        for host in hosts:
            host.store_due = 0.0
        limit = self._share + max(len(host.held) for host in hosts)
        asked = [Ask(host.id, host.waking) for host in hosts]
        self._store.fetch(asked, limit, self._clock.wall(), partial(self._fetched, hosts, limit))

    def _fetched(self, hosts: list[Host], limit: int, found: list[Refill] | BaseException) -> None:
        if isinstance(found, BaseException):
            self._ledger.fail(found)
            return
        for host, refill in zip(hosts, found, strict=True):
            if refill.host is not None:
                self._woken(host, refill)
            self._refilled(host, refill, limit)
            for act in self._then.pop(host.id, ()):
                act(host)
        self.stir()
        self._books.check_end()
        self._books.on_change()

    def _refilled(self, host: Host, found: Refill, limit: int) -> None:
        rows = found.rows
        host.refilling = False
        self._take_in(host, rows)
        if host.stored() <= 0:
            host.horizon = None
        elif len(rows) >= limit or host.store_due < 0.0:
            host.store_due = 0.0
            host.horizon = self.key(rows[-1].depth, rows[-1].id) if rows else host.horizon
        else:  # all that is due is in memory now; what is left in the store waits for its time
            host.horizon = None
            due = self._clock.monotonic() + max(found.due - self._clock.wall(), 0.0)
            host.store_due = due if found.due else 0.0
        self.wake(host)

    def _take_in(self, host: Host, rows: list[Row]) -> None:
        """Rows that are neither in memory nor settled since the store was asked."""
        known = host.held | host.settled_meanwhile if host.settled_meanwhile else host.held
        fresh = [row for row in rows if row.id not in known]
        host.settled_meanwhile = None
        for row in fresh:
            heapq.heappush(host.ready, (self.key(row.depth, row.id), row))
            host.held.add(row.id)

    def _trim(self, host: Host) -> None:
        """Keep the first of a list that grew too long; the rest is in the store anyway."""
        host.ready.sort()
        for _, row in host.ready[self._share :]:
            host.held.discard(row.id)
        del host.ready[self._share :]
        host.horizon, host.store_due = host.ready[-1][0], -1.0

    def _reckon_share(self) -> int:
        """URLs of one host in memory, with so many hosts as there will be soon."""
        books = self._books
        hosts = min(len(books.by_id) + len(books.asleep), books.config.hosts_max)
        return max(READY_MIN, min(READY_MAX, READY_ALL // hosts if hosts else READY_MAX))

    # --- asleep and awake -------------------------------------------------------------------------------------------

    def with_host(self, name: str, act: Callable[[Host], None]) -> None:
        """Do something with a host of this name as soon as it is awake; at once if it is."""
        host = self._books.host(name)
        if host.waking:
            self._then.setdefault(host.id, []).append(act)
        else:
            act(host)

    def next_due(self) -> float | None:
        """When a host that sleeps could be roused, and there is a place for it."""
        return None if len(self._books.by_id) >= self._books.config.hosts_max else self._books.asleep.next_due()

    def _rouse(self) -> None:
        """Hosts whose time has come are woken, as far as there are places."""
        books, now = self._books, self._clock.monotonic()
        if not books.paused and self._crowded(now):
            self._make_room(now)
        places = min(books.config.hosts_max - len(books.by_id), ROUSED_MAX)
        while places > 0 and not books.paused and (id := books.asleep.pop_due(now)):
            books.awaken(id)
            places -= 1
        for host in books.roused:
            host.refilling, host.horizon = True, BEFORE_ALL if host.queued else None
            self._wanted.append(host)
        books.roused.clear()

    def _woken(self, host: Host, found: Refill) -> None:
        books = self._books
        assert found.host is not None
        host.restore(found.host)
        host.waking = False
        books.hosts[host.origin] = host
        if (
            not books.asleep.finish(host) and books.killed_at is not None
        ):  # what was under way then is unknown: a full pause
            host.due = max(host.due, books.killed_at + self._manners.pause(host))
        if host.parked_until > self._clock.wall() or host.state == "paused":
            books.parked.add(host)
        else:
            host.parked_until = 0.0
        self._permission.woken(host)

    def _crowded(self, now: float) -> bool:
        """All places are taken, and one who sleeps is due."""
        books = self._books
        if len(books.by_id) < books.config.hosts_max:
            return False
        due = books.asleep.next_due()
        return due is not None and due <= now

    def _make_room(self, now: float) -> None:
        """Hosts that have nothing to give, or not soon, fall asleep. A few are looked at, others the next time."""
        by_id = self._books.by_id
        for _ in range(min(LOOKED_AT_MAX, len(by_id))):
            id, host = next(iter(by_id.items()))
            idle = not host.ready or max(host.due, host.backoff_until) > now + FAR_S
            if (idle or self._manners.budgets.is_aside(id)) and self._can_sleep(host):
                self._doze(host)
            else:
                by_id.move_to_end(id)

    def _doze(self, host: Host) -> None:
        self._books.doze(host)
        if self._manners.budgets.is_aside(host.id):
            self._books.asleep.hold(host.id)

    def _can_sleep(self, host: Host) -> bool:
        """Nothing of it is under way, and nothing is remembered of it that its row and its marks do not tell."""
        busy = host.leased or host.waking or host.refilling or host.retries or host.ticket == WAITING
        asking = host.robots_asked or host.robots_row or host.extra or host.waiters
        silent = host.parked_until or host.state == "paused"
        return not (busy or asking or silent or self._books.alone or host in self._books.stirred)
