"""Proxies: which one of its pool a host goes through, and how they are.

This is known where leases are made, because workers are several: in a worker each would find out by itself that a proxy is
down, a host would have another proxy in each of them, and "all are down" would be nobody's knowledge.

Rotation is by host. Of its pool a host has a first choice, by a hash of its name, so that hosts are spread evenly, restarts
change nothing and a longer list moves few. It stays with a proxy while that works, as sessions want it; when it has to leave, it
takes the next in its own order and stays there. It never goes without: when the whole pool rests, it waits.

Two kinds of faults. *Certain* ones are the proxy's, whatever was asked of it (nobody listens, its TLS fails, it wants other
credentials): the proxy rests, the lease returns uncounted. Of the others (it refused this target, it did not answer, it closed)
nobody can say whether the proxy or the target was the reason: the try is counted, the next one goes through another proxy, and only
when several hosts fail so and nobody has been answered for `offline_after_s` does it rest, exactly as our own network is judged
(`patience.Network`). A proxy that rests is tried with one request at a time, by a host whose first choice it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from nephila.frontier import patience
from nephila.frontier.books import Books, Ended, Held
from nephila.frontier.host import Host
from nephila.types import PROXY_FAULTS, SILENCE, Settlement
from nephila.url.parse import host_of
from nephila.url.ways import Ways

CERTAIN = frozenset({"proxy_unreachable", "proxy_tls", "proxy_auth"})
"""Faults that do not depend on the target."""
PLACES_MAX = 65_536
"""Hosts that are remembered to have left their first choice; of the one that left first that is forgotten first."""


class Health:
    """How one proxy is. Times are monotonic."""

    __slots__ = ("failed_at", "failures", "network", "probe", "reason", "since", "until", "worked")

    def __init__(self, offline_after_s: float) -> None:
        self.network = patience.Network(offline_after_s)
        self.until = 0.0
        """it rests until then; 0: it works"""
        self.since = self.failed_at = 0.0
        """when it was first, and last, found not to work"""
        self.failures, self.reason = 0, ""
        self.probe = 0
        """the lease with which it is tried"""
        self.worked = False

    def may_be_tried(self, now: float) -> bool:
        return self.until <= now and not self.probe


class Proxies:
    """The choice, and what visits teach about it. `park` leaves a host alone for long: (host, until, why)."""

    def __init__(self, books: Books, park: Callable[[Host, float, str], None]) -> None:
        self._books, self._park, self._ways = books, park, Ways(books.config.proxy)
        self.on_back: Callable[[], None] = lambda: None
        """Called when a proxy works again: hosts that waited for it are due."""
        self._health = [Health(books.config.offline_after_s) for _ in self._ways.proxies]
        self._places: OrderedDict[int, tuple[int, int]] = OrderedDict()
        """id of a host that left its first choice, or failed → (its proxy now, faults in a row)"""
        self._order = lru_cache(PLACES_MAX)(self._reckon_order) if self._health else self._ways.of

    # --- the choice -------------------------------------------------------------------------------------------------

    def waits(self, host: Host, now: float) -> bool:
        """Every proxy of its pool rests: the host comes again when one of them may be tried. A pool that has been down for too
        long, while others work, parks it: so the crawl can end without it."""
        order = self._order(host.origin)
        if not order or self._pick(host, order, now) is not None:
            return False
        pool = [self._health[way] for way in order]
        if (self._ways.direct or self.since is None) and self._hopeless(pool, now):
            self._park(host, self._books.clock.wall() + self._books.config.offline_max_s, "no proxy for it works")
            return True
        due = min(health.until for health in pool)
        self._books.heap.push(host, max(due, now + self._books.config.offline_probe_s))
        return True

    def room(self, host: Host, now: float) -> int | None:
        """1 when the next lease of this host tries a proxy that rested; None: no limit."""
        way = self._pick(host, order, now) if (order := self._order(host.origin)) else None
        return 1 if way is not None and self._health[way].until else None

    def take(self, host: Host, lease_id: int, now: float) -> int:
        """The proxy for a lease that goes out now; -1: none is needed."""
        order = self._order(host.origin)
        if not order:
            return -1
        way = self._pick(host, order, now)
        if way is None:  # our own network is probed: with the first proxy, never without one
            return order[0]
        if self._health[way].until:
            self._health[way].probe = lease_id
        elif way != self._place(host, order):
            self._put(host, way, 0)
        return way

    def _pick(self, host: Host, order: tuple[int, ...], now: float) -> int | None:
        """A proxy that may be used now. Who has it as the first choice looks after one that rested."""
        if self._health[order[0]].until and self._health[order[0]].may_be_tried(now):
            return order[0]
        stay = self._place(host, order)
        usable = (way for way in (stay, *order) if not self._health[way].until)
        tried = (way for way in order if self._health[way].may_be_tried(now))
        return next(usable, next(tried, None))

    def _place(self, host: Host, order: tuple[int, ...]) -> int:
        return self._places.get(host.id, (order[0], 0))[0]

    def _put(self, host: Host, way: int, faults: int) -> None:
        self._places[host.id] = (way, faults)
        self._places.move_to_end(host.id)
        if len(self._places) > PLACES_MAX:
            self._places.popitem(last=False)

    def _reckon_order(self, origin: str) -> tuple[int, ...]:
        """The pool, first choice first (rendezvous hashing): http and https of a name have the same."""
        name = host_of(origin + "/").encode()
        labels = [proxy.label.encode() for proxy in self._ways.proxies]
        return tuple(
            sorted(self._ways.of(origin), key=lambda way: blake2b(name + b" " + labels[way], digest_size=8).digest())
        )

    # --- what visits teach ------------------------------------------------------------------------------------------

    def ours(self, held: Held, s: Settlement, now: float) -> bool:
        """Was it the proxy that failed? Then nothing is counted and the host is not blamed."""
        way = held.lease.proxy
        if way < 0:
            return False
        health = self._health[way]
        probe = health.probe == held.lease.id
        if probe:
            health.probe = 0
        early = held.started < health.failed_at
        if s.reason in PROXY_FAULTS:
            return early or self._failed(way, held, s, now)
        if s.reason in SILENCE:
            return early and bool(health.until)
        if s.requested and not early:
            self._works(way, held.host, probe, now)
        return False

    def _failed(self, way: int, held: Held, s: Settlement, now: float) -> bool:
        health, host = self._health[way], held.host
        if s.reason in CERTAIN and not (s.reason == "proxy_auth" and self._may_be_the_targets(way, host)):
            self._rest(way, s.reason, now)
            return True
        if health.network.offline or health.network.failed(host.origin, "", self._books.active(), now):
            self._rest(way, s.reason, now)
            return True
        if health.until:  # it was unreachable and is there again
            self._back(way, now)
        order = self._order(host.origin)
        after = (*order[order.index(way) + 1 :], *order)
        faults = self._places.get(host.id, (way, 0))[1] + 1
        self._put(host, next((other for other in after if not self._health[other].until), way), faults)
        return False

    def _may_be_the_targets(self, way: int, host: Host) -> bool:
        """A 407 that came in place of a page over plain HTTP may have been said by the site."""
        return host.origin.startswith("http:") and not self._ways.proxies[way].socks

    def _works(self, way: int, host: Host, probe: bool, now: float) -> None:
        health = self._health[way]
        health.worked = True
        health.network.answered(now)
        if host.id in self._places and (probe or self._places[host.id][1]):
            order = self._order(host.origin)
            if way == order[0]:
                del self._places[host.id]
            else:
                self._put(host, self._places[host.id][0], 0)
        if health.until:
            self._back(way, now)

    def _rest(self, way: int, reason: str, now: float) -> None:
        books, health = self._books, self._health[way]
        c, label = books.config, self._ways.proxies[way].label
        health.failures += 1
        health.failed_at, health.reason = now, reason
        begins = not health.until
        health.until = now + patience.backoff(health.failures, c.retry_wait_s, c.retry_wait_max_s, books.rng)
        if not begins:
            return
        health.since = now
        books.note("proxy.lost", proxy=label, reason=reason)
        if self.since is not None:
            books.note("proxy.none", proxy=label, reason=reason)
            books.watch.run(self._ways.direct and not books.paused)

    def _back(self, way: int, now: float) -> None:
        books, health = self._books, self._health[way]
        health.until, health.failures = 0.0, 0
        books.note("proxy.back", proxy=self._ways.proxies[way].label, seconds=now - health.since)
        books.watch.run(not books.paused)
        self.on_back()

    def spent(self, host: Host) -> bool:
        """As many proxies in a row as it has have failed with this host: it has to wait, like one that does not answer."""
        order = self._order(host.origin)
        return self._places.get(host.id, (0, 0))[1] >= len(order)

    def doubtful(self, held: Held, now: float) -> bool:
        """It is too early to say whether the proxy or the host is the reason."""
        way = held.lease.proxy
        return way >= 0 and self._health[way].network.doubtful(held.host.origin, now)

    # --- all of them ------------------------------------------------------------------------------------------------

    @property
    def since(self) -> float | None:
        """Since when no proxy works; None: one does, or there are none."""
        if not self._health or not all(health.until for health in self._health):
            return None
        return max(health.since for health in self._health)

    @property
    def hold(self) -> bool:
        """Nothing can go out: no proxy works, and nothing may go without."""
        return self.since is not None and not self._ways.direct

    def given_up(self, now: float) -> Ended | None:
        """No proxy has worked for too long; sooner when none ever did, since the list may hold a slip."""
        if not self.hold or self._books.leases or not self._hopeless(self._health, now):
            return None
        said = ", ".join(f"{one['proxy']} {one['reason']}" for one in self.report()[:3])
        return Ended("offline", f"no proxy works: {said}")

    def _hopeless(self, pool: list[Health], now: float) -> bool:
        c = self._books.config
        patience_s = c.offline_max_s if any(health.worked for health in pool) else c.offline_after_s
        return now - max(health.since for health in pool) >= patience_s

    def report(self) -> list[dict[str, Any]]:
        """Each proxy: its name without secrets, since when it does not work (wall; None: it does) and why."""
        clock = self._books.clock
        ahead = clock.wall() - clock.monotonic()
        return [
            {
                "proxy": proxy.label,
                "resting_since": health.since + ahead if health.until else None,
                "reason": health.reason if health.until else "",
            }
            for proxy, health in zip(self._ways.proxies, self._health, strict=True)
        ]
