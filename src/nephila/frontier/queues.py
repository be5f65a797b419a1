"""Queues: what waits at each host, and when the host could give something out.

A host's queue lies in three segments: the first few URLs in memory (`Host.ready`, all whose key is below `Host.horizon`),
the rest as rows of the store, and what was accepted since the last commit (the batch). `ready` is filled from the store
before it runs dry and trimmed when it grows: memory does not grow with the queue.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from nephila.frontier import order
from nephila.frontier.batch import ROBOTS, Refill, Row, Store
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.frontier.ledger import Ledger
from nephila.frontier.manners import Manners
from nephila.frontier.permission import Permission

READY_MAX = 1024
"""Most URLs of one host's queue in memory; with many hosts fewer each (READY_ALL in all)."""
READY_ALL = 65_536

BEFORE_ALL = (-(1 << 62), 0)
"""A horizon that leaves nothing to memory: whatever is queued is in the store."""


class Queues:
    """Queues of all hosts over one store. A host stands in the heap only when it could give out a lease."""

    def __init__(self, books: Books, store: Store, ledger: Ledger, manners: Manners, permission: Permission) -> None:
        self._books, self._clock, self._heap = books, books.clock, books.heap
        self._store, self._ledger, self._manners, self._permission = store, ledger, manners, permission
        self.key = order.KEYS[books.config.order]

    def wake(self, host: Host) -> None:
        """Put a host into the heap if it could give out a lease, at the time when it could."""
        if host.parked_until or host.state == "paused":
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
        if asking or host.extra or host.ready:
            self._heap.push(host, due)
        elif host.retries:
            self._heap.push(host, max(due, host.retries[0][0]))
        if not asking:
            self.refill(host)

    def stir(self) -> None:
        """Wake the hosts that got something; only when a visit is whole, because this may cut the batch."""
        while self._books.stirred:
            stirred, self._books.stirred = self._books.stirred, {}
            for host in stirred:
                self.wake(host)

    # --- in and out -------------------------------------------------------------------------------------------------

    def put(self, host: Host, row: Row) -> None:
        """A URL that was admitted joins its host's queue; its row is in the batch."""
        if row.kind == ROBOTS:
            self._permission.met(host, row)
            return
        key = self.key(row.depth, row.id)
        if host.stored() <= 0:
            host.horizon = None
        host.queued += 1
        self._books.queued += 1
        if host.horizon is None or key < host.horizon:
            heapq.heappush(host.ready, (key, row))
            host.held.add(row.id)
            if len(host.ready) > 2 * READY_MAX:
                self._trim(host)
        else:
            host.store_due = -1.0
        if not host.ticket:
            self._books.stirred[host] = None

    def put_back(self, host: Host, row: Row) -> None:
        """A row that was taken returns as it was."""
        if row.kind == ROBOTS:
            self._permission.put_back(host, row)
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
        if host.refilling:
            host.settled_meanwhile.add(row.id)

    def requeue(self, host_ids: Iterable[int]) -> None:
        """A commit has queued rows in the store, one for each host id given."""
        for id in host_ids:
            host = self._books.by_id[id]
            if host.stored() <= 0 and host.horizon is None:
                host.horizon = BEFORE_ALL
            host.queued += 1
            host.store_due = -1.0
            self._books.queued += 1
            self._ledger.found += 1
            self.wake(host)

    # --- between memory and store -----------------------------------------------------------------------------------

    def refill(self, host: Host) -> None:
        """Fetch more of the host's queue from the store before `ready` runs dry."""
        if host.refilling or host.stored() <= 0:
            return
        share = max(16, min(READY_MAX, READY_ALL // max(len(self._books.hosts), 1)))
        if len(host.ready) > share // 2:
            return
        if host.store_due > self._clock.monotonic():
            if not host.ready and not host.ticket:
                self._heap.push(host, host.store_due)
            return
        wall = self._clock.wall()
        host.refilling, host.store_due = True, 0.0
        self._ledger.cut()
        limit = share + len(host.held)
        self._store.refill(host.id, limit, wall, lambda found: self._refilled(host, found, limit))

    def _refilled(self, host: Host, found: Refill | BaseException, limit: int) -> None:
        if isinstance(found, BaseException):
            self._ledger.fail(found)
            return
        rows, due_wall = found
        host.refilling = False
        self._take_in(host, rows)
        if host.stored() <= 0:
            host.horizon = None
        elif len(rows) >= limit or host.store_due < 0.0:
            host.store_due = 0.0
            host.horizon = self.key(rows[-1].depth, rows[-1].id) if rows else host.horizon
        else:  # all that is due is in memory now; what is left in the store waits for its time
            host.horizon = None
            host.store_due = self._clock.monotonic() + max(due_wall - self._clock.wall(), 0.0) if due_wall else 0.0
        self.wake(host)
        self._books.check_end()
        self._books.on_change()

    def _take_in(self, host: Host, rows: list[Row]) -> None:
        """Rows that are neither in memory nor settled since the store was asked."""
        known, host.settled_meanwhile = host.held | host.settled_meanwhile, set()
        for row in rows:
            if row.id not in known:
                heapq.heappush(host.ready, (self.key(row.depth, row.id), row))
                host.held.add(row.id)

    def _trim(self, host: Host) -> None:
        """Keep the first of a list that grew too long; the rest is in the store anyway."""
        host.ready.sort()
        for _, row in host.ready[READY_MAX:]:
            host.held.discard(row.id)
        del host.ready[READY_MAX:]
        host.horizon, host.store_due = host.ready[-1][0], -1.0
