"""The judge: what a visit means for its URL. Was it our own network? Is it worth another try? Or is it final?"""

from __future__ import annotations

from nephila.frontier import patience
from nephila.frontier.batch import LOGIN, ROBOTS
from nephila.frontier.books import Books, Held
from nephila.frontier.manners import Manners
from nephila.frontier.members import Members
from nephila.frontier.outage import Outage
from nephila.frontier.queues import Queues
from nephila.frontier.seeds import Seeds
from nephila.frontier.settling import Settling
from nephila.frontier.templates import Templates
from nephila.types import HOST_FAILURES, LOGIN_REQUIRED, PROXY_FAULTS, RETRYABLE, Settlement

AT_ONCE = frozenset({"cookie_wall", "damaged", "late_answer", "status.429", "ftp_busy"}) | HOST_FAILURES | PROXY_FAULTS
"""Reasons for which the URL has no wait of its own: the host has one, another proxy is next, or nothing has to pass."""


class Judge:
    """One visit at a time."""

    def __init__(
        self,
        books: Books,
        manners: Manners,
        members: Members,
        queues: Queues,
        outage: Outage,
        seeds: Seeds,
        settling: Settling,
        templates: Templates,
    ) -> None:
        self._books, self._manners, self._members, self._queues = books, manners, members, queues
        self._outage, self._seeds, self._settling = outage, seeds, settling
        self._templates = templates

    def take(self, held: Held, s: Settlement) -> None:
        """A visit came back: its host learns from it, and its URL is settled, waits, or is queued as it was."""
        now = self._books.clock.monotonic()
        if self._between(held, s, now):
            self._manners.addresses.lost(held.host)
            self._queues.put_back(held.host, held.row)
        else:
            self._manners.learn(held, s, now)
            if held.row.kind == LOGIN:
                self._members.answered(held, s, now)
            elif s.reason == LOGIN_REQUIRED:
                self._settling.turned_away(held, s, now)
                self._members.turned_away(held)
            elif s.reason in RETRYABLE and self._again(held, s, now):
                self._settling.retry(held, s, self._wait(held, s), now)
            else:
                self._manners.budgets.linked(held.host, s.found.sites)
                self._settling.finish(held.host, held.row, s, held.lease)
                if held.row.kind != ROBOTS:
                    self._manners.budgets.settled(held.host, s)
                    self._templates.settled(held.host, held.row, s, held.watch)
                    if self._members:
                        self._members.settled(held, s)
        self._queues.wake(held.host)

    def _between(self, held: Held, s: Settlement, now: float) -> bool:
        """Was it a proxy that failed, or our own network? A proxy's fault says nothing of the network behind it."""
        if self._manners.proxies.ours(held, s, now):
            return True
        return s.reason not in PROXY_FAULTS and self._outage.ours(held, s, now)

    def _again(self, held: Held, s: Settlement, now: float) -> bool:
        return not self._is_last(held, s, now) and not self._seeds.falls_back(held.host, held.row, s.reason)

    def _is_last(self, held: Held, s: Settlement, now: float) -> bool:
        """No try is left. That a host which answered before is gone for a while is not the fault of the URL it is probed
        with; and as long as our own network may be what is gone, nobody is given up."""
        c = self._books.config
        if self._manners.doubtful(held, s.reason, now):
            return False
        if s.reason in HOST_FAILURES and held.host.answered and held.row.kind != ROBOTS:
            return held.lease.attempt >= max(c.tries, c.host_failures_max)
        return held.lease.last

    def _wait(self, held: Held, s: Settlement) -> float:
        """Seconds until the URL's next try, besides what its host asks for."""
        if s.reason in AT_ONCE:
            return 0.0
        c = self._books.config
        return patience.backoff(held.lease.attempt, c.retry_wait_s, c.retry_wait_max_s, self._books.rng)
