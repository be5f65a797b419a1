"""Outages: when it is our own network that is gone, or our machine that slept, nobody is blamed and nothing is counted."""

from __future__ import annotations

from nephila.frontier.books import Books, Ended, Held
from nephila.frontier.host import Host
from nephila.frontier.lending import Lending
from nephila.frontier.manners import Manners
from nephila.frontier.patience import Network
from nephila.frontier.permission import Permission
from nephila.frontier.queues import Queues
from nephila.types import NETWORK_FAILURES, SILENCE, Lease, Settlement

DRIFT_S = 30.0
"""Wall clock and monotonic clock moving apart by more means that the machine slept."""


class Outage:
    """Watches the network and the clocks, and probes while the network is gone."""

    def __init__(
        self,
        books: Books,
        network: Network,
        manners: Manners,
        permission: Permission,
        queues: Queues,
        lending: Lending,
    ) -> None:
        self._books, self.network, self._manners = books, network, manners
        self._permission, self._queues, self._lending = permission, queues, lending
        self._drift = books.clock.wall() - books.clock.monotonic()
        self._forgive_until = 0.0
        self.probe_due = 0.0

    def ours(self, held: Held, s: Settlement, now: float) -> bool:
        """Was it our own network that failed? Then nothing is counted and nobody is blamed."""
        if s.status or s.reason not in SILENCE:
            since = self.network.since
            if s.requested and self.network.answered(now) and since is not None:
                self._back(now, since)
            return False
        if s.reason in NETWORK_FAILURES:
            self._failed(held, s, now)
        return self.network.offline or now < self._forgive_until

    def _failed(self, held: Held, s: Settlement, now: float) -> None:
        books = self._books
        if self.network.failed(held.host.origin, s.ip, books.active(), now):
            self.probe_due = now + books.config.offline_probe_s
            books.watch.run(False)
            books.note("network.lost", since=books.clock.wall())

    def _back(self, now: float, since: float) -> None:
        self._books.note("network.back", seconds=now - since)
        self._books.watch.run(not self._books.paused)
        self._spread(now)

    def _spread(self, now: float) -> None:
        """Every host comes due within one pause from now, not all at once, and without the blame of the outage."""
        self._manners.addresses.recovered()
        self._books.asleep.forgive()
        for host in self._books.hosts.values():
            if host.failures and not host.refusals:  # silence that was asked for stays
                host.backoff_until = 0.0
            host.failures, host.failed_at = 0, now
            host.due = max(host.due, now + self._books.rng.random() * self._manners.pause(host))
            self._queues.wake(host)

    def watch_clock(self, now: float) -> None:
        """The machine slept: what fails in the next moments was broken by that."""
        drift = self._books.clock.wall() - now
        if abs(drift - self._drift) > DRIFT_S:
            self._forgive_until = now + self._books.config.offline_after_s
            self._books.note("clock.jumped", seconds=drift - self._drift)
            self._spread(now)
        self._drift = drift

    # --- probing ----------------------------------------------------------------------------------------------------

    def given_up(self, now: float) -> Ended | None:
        """The network has been gone for too long."""
        gone = now - (self.network.since or now)
        if gone < self._books.config.offline_max_s or self._books.leases:
            return None
        return Ended("offline", f"no network for {gone:.0f} s")

    def probe(self, now: float, worker: int) -> list[Lease]:
        """Offline: one request per `offline_probe_s`, to a host that answered before."""
        if now < self.probe_due or self._books.leases:
            return []
        self.probe_due = now + self._books.config.offline_probe_s
        alive = (h for h in self._books.hosts.values() if h.queued or h.extra or h.robots_row)
        for host in sorted(alive, key=lambda h: not h.answered):
            if _is_free(host, now) and (lease := self._probe_host(host, now, worker)) is not None:
                return [lease]
        self._queues.fetch()
        return []

    def _probe_host(self, host: Host, now: float, worker: int) -> Lease | None:
        if host.extra:
            return self._lending.lease(host, host.extra.pop(), now, worker)
        if self._permission.wanted(host):
            if host.robots_asked:
                return None  # another host's robots.txt will answer
            return self._lending.lease(host, self._permission.ask(host), now, worker)
        if row := self._queues.take_any(host, now):
            return self._lending.lease(host, row, now, worker)
        self._queues.refill(host)
        return None


def _is_free(host: Host, now: float) -> bool:
    """Nobody has said that it must not be asked."""
    if host.state in ("paused", "dropped") or host.parked_until or host.verdict:
        return False
    return not (host.refusals and host.backoff_until > now)
