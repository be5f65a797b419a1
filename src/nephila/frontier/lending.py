"""Lending: a host that is due gives out leases. robots.txt first and alone, then its URLs in order."""

from __future__ import annotations

from collections.abc import Callable

from nephila import credentials
from nephila.frontier.batch import Row
from nephila.frontier.books import Books, Held
from nephila.frontier.host import Address, Host
from nephila.frontier.manners import Manners
from nephila.frontier.members import Members
from nephila.frontier.permission import Permission
from nephila.frontier.queues import Queues
from nephila.frontier.settling import BULK, Settling
from nephila.frontier.templates import Templates
from nephila.types import ERRANDS, Kind, Lease, Request

KINDS = {kind.value: kind for kind in Kind}


class Lending:
    """Makes leases and takes them back."""

    def __init__(
        self,
        books: Books,
        manners: Manners,
        permission: Permission,
        members: Members,
        queues: Queues,
        settling: Settling,
        templates: Templates,
    ) -> None:
        self._books, self._clock, self._manners = books, books.clock, manners
        self._permission, self._members, self._queues, self._settling = permission, members, queues, settling
        self._templates = templates

    def serve(self, due: Host | Address, room: int, now: float, worker: int, leases: list[Lease]) -> None:
        """Append what a host that is due gives out, at most `room` leases; then it stands in the heap for its next time. The
        turn of an address is that of the first host in line for it."""
        if isinstance(due, Host):
            self._serve(due, self._manners.addresses.waits, room, now, worker, leases)
        else:
            if (host := self._manners.addresses.next_of(due, now)) is not None:
                self._serve(host, lambda host, now: False, room, now, worker, leases)
            self._manners.addresses.line_up(due, now)

    def _serve(
        self, host: Host, waits: Callable[[Host, float], bool], room: int, now: float, worker: int, leases: list[Lease]
    ) -> None:
        extra = bool(host.extra) and self._manners.capacity(host) > 0
        if host.verdict and not extra:
            self._settling.end_queued(host, now)
        elif self._manners.proxies.waits(host, now):
            return
        elif self._manners.budgets.holds(host):
            pass
        elif waits(host, now):
            return
        elif extra:
            leases.append(self.lease(host, host.extra.pop(), now, worker))
        elif self._permission.wanted(host):
            if not host.robots_asked:
                leases.append(self.lease(host, self._permission.ask(host), now, worker))
            return
        elif self._members and (session := self._members.closed(host)):
            if self._members.knocks(host, session):
                leases.append(self.lease(host, self._members.ask(host), now, worker))
            return
        else:
            self._serve_urls(host, room, now, worker, leases)
        self._queues.wake(host)

    def _serve_urls(self, host: Host, room: int, now: float, worker: int, leases: list[Lease]) -> None:
        paced = self._manners.pause(host) > 0
        free = min(self._manners.capacity(host), self._share(room, now))
        free = min(free, self._manners.addresses.room(host), self._manners.budgets.room(host))
        free = min(free, self._manners.proxies.room(host, now) or free)
        for _ in range(min(free, 1) if paced else free):
            if (row := self._next(host, now)) is None:
                break
            leases.append(self.lease(host, row, now, worker, paced=paced))
        self._queues.refill(host)

    def _next(self, host: Host, now: float) -> Row | None:
        """The next URL of a host that is worth asking for; a few of those that are not are set aside on the way."""
        for _ in range(BULK):
            row = host.pop_ready(now)
            if row is not None and self._books.unwanted and (why := self._books.unwanted.pop(row.id, None)):
                self._settling.set_aside(host, row, *why)
                continue
            if row is None or host.origin not in self._templates.dry or not row.parent:
                return row
            if not (rule := self._templates.refusal(host.origin, row.url, row.kind)):
                return row
            self._settling.set_aside(host, row, "refused", rule)
        return None

    def _share(self, room: int, now: float) -> int:
        """How much of the room a host without pause may take: all, unless others are due, too."""
        due = self._books.heap.next_due()
        return room if due is None or due > now else max(1, room // (1 + len(self._books.heap)))

    def lease(self, host: Host, row: Row, now: float, worker: int, *, paced: bool = True) -> Lease:
        """One row goes out to a worker; it comes back by `take_back`."""
        books, page, attempt = self._books, row.kind not in ERRANDS, row.attempts + 1
        cookie, access = books.jar.line(row.url, self._clock.wall())
        if books.access and (sent := books.access.get(host.origin)):
            access = credentials.join(sent, access)
        watch = self._templates.look(host, row) if page else None
        request, gate = None, None
        if self._members:
            request, gate, name = self._members.sent(host, row)
            access = credentials.join(access, name)
        lease = Lease(
            row.id,
            request
            or Request(
                row.url, KINDS[row.kind], row.depth, row.hops, row.parent, row.score, chain=books.chains.get(row.id, ())
            ),
            row.fp,
            attempt,
            attempt >= (books.config.tries if page else books.config.robots_tries),
            host.origin,
            cookie,
            None,
            row.unread,
            paced,
            1 if page else 0,
            self._manners.addresses.resolution(host),
            access,
            row.id in books.plain,
            watch is not None and watch.watched,
            watch.soft if watch is not None else (),
            self._manners.proxies.take(host, row.id, now),
            gate,
        )
        host.home = worker if books.config.per_host == 1 else 0
        if page:
            books.leased_pages += 1
            host.held.add(row.id)
            host.robots_used = True
            self._manners.budgets.sent(host)
        books.leases[row.id] = Held(lease, row, host, now, worker, self._manners.sent(host, now), watch)
        return lease

    def take_back(self, lease_id: int) -> Held:
        """The lease is no longer out, whatever becomes of its URL. KeyError: it was not."""
        held = self._books.leases.pop(lease_id)
        if self._members:
            self._members.returned(held)
        if held.row.kind not in ERRANDS:
            self._books.leased_pages -= 1
            self._manners.budgets.returned(held.host)
        self._manners.returned(held, self._clock.monotonic())
        return held
