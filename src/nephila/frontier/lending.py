"""Lending: a host that is due gives out leases. robots.txt first and alone, then its URLs in order."""

from __future__ import annotations

from nephila.frontier.batch import ROBOTS, Row
from nephila.frontier.books import Books, Held
from nephila.frontier.host import Host
from nephila.frontier.manners import Manners
from nephila.frontier.permission import Permission
from nephila.frontier.queues import Queues
from nephila.frontier.settling import Settling
from nephila.types import Kind, Lease, Request

KINDS = {kind.value: kind for kind in Kind}


class Lending:
    """Makes leases and takes them back."""

    def __init__(
        self, books: Books, manners: Manners, permission: Permission, queues: Queues, settling: Settling
    ) -> None:
        self._books, self._clock, self._manners = books, books.clock, manners
        self._permission, self._queues, self._settling = permission, queues, settling

    def serve(self, host: Host, room: int, now: float, worker: int, leases: list[Lease]) -> None:
        """Append what a host that is due gives out, at most `room` leases; then it stands in the heap for its next time."""
        if host.extra and self._manners.capacity(host) > 0:
            leases.append(self.lease(host, host.extra.pop(), now, worker))
        elif self._permission.wanted(host):
            if not host.robots_asked:
                leases.append(self.lease(host, self._permission.ask(host), now, worker))
            return
        elif host.verdict:
            self._settling.end_queued(host, now)
        elif self._manners.waits_for_address(host, now):
            return
        else:
            self._serve_urls(host, room, now, worker, leases)
        self._queues.wake(host)

    def _serve_urls(self, host: Host, room: int, now: float, worker: int, leases: list[Lease]) -> None:
        paced, free = self._manners.pause(host) > 0, self._manners.capacity(host)
        for _ in range(min(room, free, 1) if paced else min(room, free)):
            if (row := host.pop_ready(now)) is None:
                break
            leases.append(self.lease(host, row, now, worker, paced=paced))
        self._queues.refill(host)

    def lease(self, host: Host, row: Row, now: float, worker: int, *, paced: bool = True) -> Lease:
        """One row goes out to a worker; it comes back by `take_back`."""
        books, page, attempt = self._books, row.kind != ROBOTS, row.attempts + 1
        lease = Lease(
            row.id,
            Request(
                row.url, KINDS[row.kind], row.depth, row.hops, row.parent, row.score, chain=books.chains.get(row.id, ())
            ),
            row.fp,
            attempt,
            attempt >= (books.config.tries if page else books.config.robots_tries),
            host.origin,
            books.jar.header(row.url, self._clock.wall()),
            None,
            row.unread,
            paced,
            1 if page else 0,
        )
        if page:
            books.leased_pages += 1
            host.held.add(row.id)
            host.robots_used = True
        books.leases[row.id] = Held(lease, row, host, now, worker, self._manners.sent(host, now))
        return lease

    def take_back(self, lease_id: int) -> Held:
        """The lease is no longer out, whatever becomes of its URL. KeyError: it was not."""
        held = self._books.leases.pop(lease_id)
        self._books.leased_pages -= held.row.kind != ROBOTS
        for host in self._manners.returned(held, self._clock.monotonic()):
            self._queues.wake(host)
        return held
