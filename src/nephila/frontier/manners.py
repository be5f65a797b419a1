"""Manners: how fast a host is asked, and when it is left alone. The numbers come from `patience`, the clocks are here.

A host has one clock (`due`); hosts behind one address share a second (`addresses`). Errors make both slower and never faster.
"""

from __future__ import annotations

from nephila.frontier import patience
from nephila.frontier.addresses import Addresses, Directory
from nephila.frontier.books import Books, Held
from nephila.frontier.budget import Budgets
from nephila.frontier.host import Address, Host
from nephila.frontier.proxies import Proxies
from nephila.types import COSTLY_MS, HOST_FAILURES, NETWORK_FAILURES, PROXY_FAULTS, Outcome, Settlement
from nephila.url.guard import is_private

CLEAN_VISITS = 20
"""Good answers in a row after which a penalty shrinks."""
COSTLY_WAIT_MAX_S = 60.0
CHEAP_S = 1.0
"""Hosts that gave a cheap page so lately are being served, even if none of them has a lease at the moment."""
PARKED_MAX_S = 30 * 86_400.0
"""Whatever a site asks for, it is tried again after this."""


class Manners:
    """Pauses, penalties and silence of hosts."""

    def __init__(self, books: Books, network: patience.Network, directory: Directory | None = None) -> None:
        self._books, self._clock, self._network = books, books.clock, network
        self.addresses = Addresses(books, directory)
        self.budgets = Budgets(books)
        self.proxies = Proxies(books, self.park)
        self._cheap: Host | None = None
        self._cheap_at = -CHEAP_S
        """Which host gave a cheap page last, and when."""

    # --- how fast ---------------------------------------------------------------------------------------------------

    def pause(self, host: Host) -> float:
        """Seconds between two requests to a host, reckoned anew when something about the host has changed."""
        if host.pause_s < 0.0:
            host.pause_s = self._reckon_pause(host)
        return host.pause_s

    def _reckon_pause(self, host: Host) -> float:
        c = self._books.config
        base = patience.pause(
            c.delay,
            crawl_delay=-1.0 if c.no_robots else host.crawl_delay,
            ttfb=host.ttfb,
            private=host.private,
            low=c.delay_min_s,
            high=c.delay_max_s,
            crawl_delay_max=c.crawl_delay_max_s,
        )
        if host.state.startswith("slow "):
            base = max(base, float(host.state[5:]))
        return min(base * host.penalty, max(base, c.crawl_delay_max_s)) if host.penalty > 1.0 else base

    def capacity(self, host: Host) -> int:
        """How many more leases a host may have out; a host in trouble is probed with one."""
        return (1 if host.failures or host.refusals else self._books.config.per_host) - host.leased

    # --- a lease goes out, a visit comes back -----------------------------------------------------------------------

    def sent(self, host: Host, now: float) -> Address | None:
        """A lease of this host goes out: its clocks move. Returns the address that is busier now."""
        host.leased += 1
        pause = self.pause(host)
        if pause:
            host.due = now + pause
        return self.addresses.sent(host, pause, now)

    def returned(self, held: Held, now: float) -> None:
        """A lease is back, however it went."""
        host = held.host
        host.leased -= 1
        if held.lease.paced and self._books.config.per_host == 1:
            host.due = max(host.due, now + self.pause(host))
        if held.address is not None:
            self.addresses.returned(held.address, now)

    def learn(self, held: Held, s: Settlement, now: float) -> None:
        """What a visit says about its host: how fast it is, whether it answers, whether it asks for silence."""
        host = held.host
        host.costly = s.cost_ms > COSTLY_MS
        if host.costly:
            self._yield(host, s.cost_ms, now)
        else:
            self._cheap, self._cheap_at = host, now
        if not s.requested:
            self._take_back(held)
            return
        self._books.dirty(host)
        if s.ip and held.lease.proxy < 0:  # behind a proxy the address is the proxy's
            host.ip = s.ip
            if not host.answered and is_private(s.ip):
                host.private = True
        host.ttfb = patience.smoothed(host.ttfb, s.ttfb, good=0 < s.status < 400)
        if s.reason in HOST_FAILURES or (s.reason in PROXY_FAULTS and self.proxies.spent(host)):
            self._failed(host, held, s.reason, now)
        elif s.status in (429, 503) or s.reason == "ftp_busy":
            host.answered, host.failures = True, 0
            self._refused(host, s, now)
        elif s.status:
            _answered(host)
        if held.lease.paced and self._books.config.per_host == 1:
            host.due = max(host.due, now + self.pause(host))

    def _yield(self, host: Host, cost_ms: int, now: float) -> None:
        """While a worker reads a costly page, all its other connections wait. Hosts with cheap pages that are being served come
        first; where there are none, nobody is kept waiting."""
        lately = self._cheap is not host and now - self._cheap_at < CHEAP_S
        if lately or any(not held.host.costly for held in self._books.leases.values()):
            wait = cost_ms / 10 / self._books.config.read_percent
            host.backoff_until = max(host.backoff_until, now + min(wait, COSTLY_WAIT_MAX_S))

    def _take_back(self, held: Held) -> None:
        """Nothing was asked after all (robots.txt forbids it, say): the clocks stand as before."""
        if held.lease.paced and self._books.config.per_host == 1:
            held.host.due = held.started
        if held.address and held.address.due <= held.started + self.pause(held.host) / 4:
            held.address.due = held.started
            self.addresses.line_up(held.address, self._clock.monotonic())

    # --- trouble ----------------------------------------------------------------------------------------------------

    def _failed(self, host: Host, held: Held, reason: str, now: float) -> None:
        if held.started < host.failed_at:
            return  # it was under way when the failure was noted: one outage, counted once
        c = self._books.config
        host.failures, host.failed_at = host.failures + 1, now
        self.addresses.lost(host)
        wait = patience.backoff(host.failures, c.retry_wait_s, c.retry_wait_max_s, self._books.rng)
        host.backoff_until = max(host.backoff_until, now + wait)
        most = c.host_failures_max if host.answered else c.tries
        asked = host.robots is not None or c.no_robots  # until then its robots.txt decides
        if host.failures >= most and asked and not self.doubtful(held, reason, now):
            host.verdict = (Outcome.UNREACHABLE, reason if reason in PROXY_FAULTS else "host_unreachable")
            self._books.note("host.unreachable", origin=host.origin, reason=reason)

    def doubtful(self, held: Held, reason: str, now: float) -> bool:
        """It is too early to say whether the host failed, or what lies between it and us."""
        if reason in PROXY_FAULTS:
            return self.proxies.doubtful(held, now)
        return reason in NETWORK_FAILURES and self._network.doubtful(held.host.origin, now)

    def _refused(self, host: Host, s: Settlement, now: float) -> None:
        c, wall = self._books.config, self._clock.wall()
        host.refusals += 1
        host.penalty, host.clean = min(host.penalty * 2, patience.PENALTY_MAX), 0
        asked = patience.retry_after(s.retry_after, wall) if s.retry_after else None
        if asked is not None and asked > c.retry_after_max_s:
            self.park(host, wall + min(asked, PARKED_MAX_S), "asked for silence by Retry-After")
            return
        own = patience.backoff(host.refusals, c.retry_wait_s, c.retry_wait_max_s, self._books.rng)
        host.backoff_until = max(host.backoff_until, now + (asked if asked is not None else own))
        self._books.note("host.refused", origin=host.origin, status=s.status, until=wall + host.backoff_until - now)
        if host.refusals >= c.host_refusals_max:
            self.park(host, wall + c.retry_after_max_s, f"{host.refusals} refusals in a row")

    def park(self, host: Host, until: float, why: str) -> None:
        """Leave a host alone for long; the crawl does not wait for it at its end."""
        host.parked_until = until
        self._books.parked.add(host)
        self._books.heap.remove(host)
        self._books.dirty(host)
        self._books.note("host.parked", origin=host.origin, until=until, why=why)

    def unpark(self) -> list[Host]:
        """Hosts whose time has come; the caller wakes them."""
        if not self._books.parked:
            return []
        wall = self._clock.wall()
        free = [h for h in self._books.parked if h.parked_until and h.parked_until <= wall and h.state != "paused"]
        for host in free:
            host.parked_until, host.refusals = 0.0, 0
            self._books.parked.discard(host)
        return free

    def next_unpark(self) -> float:
        """When a parked host comes back (wall); 0: none does by itself."""
        return min((h.parked_until for h in self._books.parked if h.parked_until and h.state != "paused"), default=0.0)


def _answered(host: Host) -> None:
    host.answered, host.failures, host.refusals = True, 0, 0
    host.clean += 1
    if host.clean >= CLEAN_VISITS and host.penalty > 1.0:
        host.clean, host.penalty = 0, max(1.0, host.penalty * 0.9)
