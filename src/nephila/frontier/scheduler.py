"""The frontier: what next, and when. All waiting of a crawl is decided here.

How a URL lives in it: *unknown* → (its fingerprint is new) → *queued* under its host → *leased* to a worker → *settled*:
retried later, or final. The host is the unit of scheduling: a heap of hosts by due time; a host stands in it only when it
could give out a lease and re-enters when a visit settles, so politeness needs no locks and nobody polls.

Queues live in three segments. Every queued URL is a row of the store from the first commit on; memory holds only the
first few of each host's queue (`Host.ready`) and what was accepted since the last commit (`Batch`). Memory does not grow
with the queue, and a kill loses nothing that was committed.

Everything here is synchronous and on one thread. A visit is *accepted* when `accept` returns; its batch is *committed* by
the store a moment later, in order. What the user sees counts committed visits only.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from nephila.clock import Clock
from nephila.config import Config
from nephila.errors import DiskFull
from nephila.frontier import order, patience
from nephila.frontier.batch import BIAS, Batch, Committed, Refused, Row, Snapshot, Store
from nephila.frontier.cookies import CookieJar
from nephila.frontier.host import Address, Host, HostHeap
from nephila.frontier.seen.exact import ExactSeen
from nephila.types import (
    FLAT_KINDS,
    HOST_FAILURES,
    NETWORK_FAILURES,
    RETRYABLE,
    Found,
    Kind,
    Lease,
    NewLink,
    Outcome,
    Request,
    RobotsFile,
    Settlement,
)
from nephila.url.parse import host_of, origin, without_userinfo
from nephila.url.scope import Scope, ScopeSpec

READY_MAX = 1024
"""Most URLs of one host's queue in memory; with many hosts fewer each (READY_ALL in all)."""
READY_ALL = 65_536
ADDRESS_MAX = 8
"""Requests at once to one IP address."""
BULK = 2_000
"""URLs of an unreachable host ended in one go."""
DRIFT_S = 30.0
"""Wall clock and monotonic clock moving apart by more means that the machine slept."""


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


class Scheduler:
    """Queues, clocks and leases of one crawl over a `Store`. `note(event, **fields)` hears what a person should know."""

    def __init__(
        self,
        config: Config,
        store: Store,
        snapshot: Snapshot,
        *,
        seen: ExactSeen,
        scope: ScopeSpec,
        fingerprint: Callable[[str], int],
        clock: Clock,
        rng: random.Random,
        note: Callable[..., None] = lambda event, **fields: None,
    ) -> None:
        self.config, self.scope = config, scope
        self.on_change: Callable[[], None] = lambda: None
        self.ended: Ended | None = None
        self.paused = snapshot.meta.get("paused") == "1"
        self._store, self._seen, self._fingerprint, self._clock, self._rng = store, seen, fingerprint, clock, rng
        self._note = note
        self._later: Callable[[float, Callable[[], None]], Any] | None = None
        self._scope_check = Scope(scope)
        self._key = order.KEYS[config.order]
        self._deep = config.max_depth >= 0
        self._network = patience.Network(config.offline_after_s)
        self._hosts: dict[str, Host] = {}
        self._by_id: dict[int, Host] = {}
        self._heap = HostHeap()
        self._parked: set[Host] = set()
        self._addresses: dict[str, Address] = {}
        self._leases: dict[int, Held] = {}
        self._suspects: deque[tuple[Host, Row]] = deque()
        self._alone: dict[int, int] = {}
        self._batch = Batch()
        self._committing = 0
        self._backlog = 0
        self._timer: Any = None
        self._draining = False
        self._probe_due = 0.0
        self._seed_ids: set[int] = set()
        self._guessed: set[int] = set(msgspec.json.decode(snapshot.meta.get("guessed", "[]")))
        self._answers_for: dict[int, Host] = {}
        self._stirred: set[Host] = set()
        """Hosts that got URLs; woken when the visit that brought them is whole, because waking may cut the batch."""
        self._widened = False
        self._chains = snapshot.chains
        self._refused, self._refused_count = snapshot.refused, snapshot.refused_count
        self._rules = snapshot.rules
        self._url_id, self._visit_id = snapshot.url_id, snapshot.visit_id
        self._ok_pages, self._bytes = snapshot.pages, snapshot.bytes
        self._leased_pages = self._queued = 0
        self._relaxing = snapshot.relaxing
        self._jar_changed = False
        self._drain_ending = Ended("interrupted", "stopped by the user")
        self._ran = float(snapshot.meta.get("seconds", "0"))
        self._run_since: float | None = None
        self._drift = clock.wall() - clock.monotonic()
        self._forgive_until = 0.0
        self._archives: dict[str, tuple[int, tuple[int, int] | None]] = {}
        self._flushed: list[asyncio.Future[None]] = []
        self.error: BaseException | None = None
        self.hold: Callable[[], bool] = lambda: False
        """Somebody who is told of commits does not keep up."""
        self.on_commit: Callable[[list[int]], None] = lambda pages: None
        self.outcomes: Counter[str] = Counter(snapshot.outcomes)
        self.reasons: Counter[str] = Counter(snapshot.reasons)
        self.bytes, self.found = snapshot.bytes, snapshot.found
        self.jar = CookieJar()
        self._load(snapshot)
        if not self.paused:
            self._run_clock(True)

    def attach(self, call_later: Callable[[float, Callable[[], None]], Any]) -> None:
        """The event loop's timer: from now on commits come in batches, not after every call."""
        self._later = call_later

    # --- what workers ask -------------------------------------------------------------------------------------------

    def grant(self, room: int, worker: int = 0) -> list[Lease]:
        """Leases that are due now, at most `room`. Never more OK visits than `max_pages` can come of them."""
        if room <= 0 or self.ended or self._draining or self.paused or self.full():
            return []
        now = self._clock.monotonic()
        self._watch_clock(now)
        self._unpark()
        leases: list[Lease] = []
        if self._network.offline:
            return self._probe(now, worker)
        if self._alone_with(worker):
            return []
        if self._suspects and (suspect := self._suspect_due(now)) is not None:
            return self._grant_suspect(now, worker) if suspect <= now else []
        room = min(room, self._pages_left())
        while len(leases) < room and not self._over_budget(now) and not self.full():
            if (host := self._heap.pop_due(now)) is None:
                break
            self._serve(host, room - len(leases), now, worker, leases)
        if not leases:
            self._check_end()
        return leases

    def next_due(self) -> float | None:
        """When `grant` may have something new without any event (monotonic); None: only events bring it."""
        if self.ended or self.paused or self._draining or self.full() or self._pages_left() <= 0:
            return None
        wall, now = self._clock.wall(), self._clock.monotonic()
        dues = [self._next_lease(now)]
        if until := min((h.parked_until for h in self._parked if h.parked_until and h.state != "paused"), default=0.0):
            dues.append(now + max(until - wall, 0.0))
        if self.config.max_time and (left := self.config.max_time - self.seconds()) > 0:
            dues.append(now + left)
        return min((due for due in dues if due is not None), default=None)

    def _next_lease(self, now: float) -> float | None:
        if self._network.offline:
            return None if self._leases else self._probe_due
        if self._over_budget(now):
            return None
        suspect = self._suspect_due(now) if self._suspects else None
        if suspect is not None:
            return suspect if suspect > now else None
        return self._heap.next_due()

    def accept(self, settlements: Iterable[Settlement], worker: int = 0) -> None:
        """Take visits back, in the order of their arrival. From here on they count; their batch commits them together."""
        if self.error is not None:
            return
        for settlement in settlements:
            held = self._leases.pop(settlement.lease)
            self._release(held)
            self._accept(held, settlement)
        if self._widened:
            self._widened = False
            self._cut()  # what was refused a moment ago is asked for, too
            self._store.stored("refused", self._reconsider)
        self._after()

    def full(self) -> bool:
        """So many visits are accepted and not committed that `settle` has to wait."""
        return self._backlog >= self.config.pending_max or self.hold()

    # --- what comes in ----------------------------------------------------------------------------------------------

    def put(self, requests: Iterable[Request]) -> int:
        """Admit seeds, whatever the scope. Returns how many were not known before."""
        added = 0
        for request in requests:
            fp = self._fingerprint(request.url)
            if not self._seen_first(fp, request.depth):
                continue
            id = self._admit(fp, without_userinfo(request.url), Kind(request.kind), request.depth, 0, 0, 0)
            self._seed_ids.add(id)
            if request.guessed:
                self._guess(id)
            added += 1
        self._stir()
        self._after()
        return added

    def _guess(self, id: int, *, done: bool = False) -> None:
        """Remember, restarts included, which seeds were given without a scheme."""
        (self._guessed.discard if done else self._guessed.add)(id)
        self._batch.meta["guessed"] = msgspec.json.encode(sorted(self._guessed)).decode()
        self._batch.empty = False

    def opened(self, file: str, worker: int, pid: int) -> None:
        self._batch.opened.append((file, worker, pid))
        self._cut()

    def closed(self, file: str) -> None:
        self._batch.closed.append(file)
        self._batch.empty = False
        self._after()

    # --- workers that died ------------------------------------------------------------------------------------------

    def give_back(self, lease_ids: Iterable[int], *, suspect: bool) -> None:
        """Leases of a dead worker return; suspect ones are given out one at a time until they settle."""
        for id in lease_ids:
            held = self._leases.pop(id, None)
            if held is None:
                continue
            self._release(held)
            if suspect and id in self._alone:
                self._alone[id] += 1
                if self._alone[id] >= 2:
                    self._end_unread(held, "read_crash")
                    continue
            if suspect:
                self._suspects.append((held.host, held.row))
                self._alone.setdefault(id, 0)
            else:
                self._return(held.host, held.row)
            self._wake(held.host)
        self._after()

    def blame(self, lease_id: int, reason: str) -> None:
        """A worker died while it read this page: fetch it once more, unread; it ends as UNREADABLE."""
        held = self._leases.pop(lease_id, None)
        if held is None:
            return
        self._release(held)
        self._note("worker.blamed", url=held.row.url, reason=reason)
        if held.lease.unread:
            self._end_unread(held, held.lease.unread)
        else:
            row = held.row._replace(unread=reason)
            self._batch.retries.append((0.0, row.attempts, reason, row.id))
            self._batch.empty = False
            self._return(held.host, row)
            self._wake(held.host)
        self._after()

    def _end_unread(self, held: Held, reason: str) -> None:
        self._alone.pop(held.row.id, None)
        self._finish(held.host, held.row, Settlement(held.row.id, Outcome.UNREADABLE, reason), held.lease)
        self._wake(held.host)

    # --- steering ---------------------------------------------------------------------------------------------------

    def drain(self, reason: str = "interrupted", text: str = "stopped by the user") -> None:
        """Grant nothing more; the crawl ends when all leases are back."""
        self._draining, self._drain_ending = True, Ended(reason, text)
        self._after()

    def pause(self) -> None:
        self._run_clock(False)
        self.paused = True
        self._meta("paused", "1")
        self._note("paused")

    def resume(self) -> None:
        self.paused = False
        self._meta("paused", "0")
        self._run_clock(not self._network.offline)
        self._note("resumed")
        self.on_change()

    def host_command(self, name: str, action: str, value: float | None = None) -> str:
        """`pause`, `resume`, `slow` (pause of `value` seconds between requests) or `drop` a host, by origin or host name."""
        hosts = [h for o, h in self._hosts.items() if name in (o, host_of(o + "/"), o.partition("://")[2])]
        if not hosts:
            return f"no such host: {name}"
        for host in hosts:
            self._steer(host, action, value)
        self._after()
        self.on_change()
        return f"{action}: {', '.join(h.origin for h in hosts)}"

    def _steer(self, host: Host, action: str, value: float | None) -> None:
        if action == "pause":
            host.state = "paused"
            self._parked.add(host)
            self._heap.remove(host)
        elif action == "resume":
            host.state, host.parked_until = "", 0.0
            self._parked.discard(host)
        elif action == "slow":
            host.state = f"slow {value if value is not None else 2 * max(self._pause(host), 0.5):g}"
        elif action == "drop":
            host.state, host.verdict = "dropped", (Outcome.SKIPPED, "dropped")
            self._parked.discard(host)
        self._dirty(host)
        self._wake(host)

    def set(self, key: str, value: Any) -> str:
        """Change a setting that may change freely while the crawl runs (delay, per_host, limits)."""
        self.config = msgspec.structs.replace(self.config, **{key: value})
        for host in self._hosts.values():
            host.pause_s = -1.0
            self._wake(host)
        self.on_change()
        return f"{key} = {value}"

    # --- granting ---------------------------------------------------------------------------------------------------

    def _serve(self, host: Host, room: int, now: float, worker: int, leases: list[Lease]) -> None:
        """Leases of one host that is due: robots.txt first and alone, then its URLs in order."""
        if host.extra and self._capacity(host) > 0:
            leases.append(self._lease(host, host.extra.pop(), now, worker))
        elif self._wants_robots(host):
            if not host.robots_asked:
                host.robots_asked = True
                leases.append(self._lease(host, self._robots_row(host), now, worker))
            return
        elif host.verdict:
            self._end_queued(host, now)
        elif self._waits_for_address(host, now):
            return
        else:
            self._serve_urls(host, room, now, worker, leases)
        self._wake(host)

    def _serve_urls(self, host: Host, room: int, now: float, worker: int, leases: list[Lease]) -> None:
        pause = self._pause(host)
        room = min(room, self._capacity(host)) if pause == 0 else min(room, 1)
        while room > 0 and self._capacity(host) > 0 and (row := host.pop_ready(now)):
            leases.append(self._lease(host, row, now, worker, paced=pause > 0))
            room -= 1
        self._refill(host)

    def _capacity(self, host: Host) -> int:
        """How many more leases a host may have out; a host in trouble is probed with one."""
        most = 1 if host.failures or host.refusals else self.config.per_host
        return most - host.leased

    def _lease(self, host: Host, row: Row, now: float, worker: int, *, paced: bool = True) -> Lease:
        robots = row.kind == Kind.ROBOTS
        attempt = row.attempts + 1
        request = Request(
            row.url, Kind(row.kind), row.depth, row.hops, row.parent, row.score, chain=self._chains.get(row.id, ())
        )
        lease = Lease(
            row.id,
            request,
            row.fp,
            attempt,
            attempt >= (self.config.robots_tries if robots else self.config.tries),
            host.origin,
            self.jar.header(row.url, self._clock.wall()),
            None,
            row.unread,
            paced,
            0 if robots else 1,
        )
        address = self._address(host)
        if address:
            address.in_flight += 1
            address.due = now + self._pause(host) / 4
        host.leased += 1
        self._leased_pages += not robots
        if not robots:
            host.held.add(row.id)
            host.robots_used = True
        pause = self._pause(host)
        if pause:
            host.due = now + pause
        self._leases[row.id] = Held(lease, row, host, now, worker, address)
        return lease

    def _release(self, held: Held) -> None:
        host, now = held.host, self._clock.monotonic()
        host.leased -= 1
        self._leased_pages -= held.row.kind != Kind.ROBOTS
        if held.address:
            held.address.in_flight -= 1
            for other in held.address.waiting:
                self._wake(other)
            held.address.waiting.clear()
        if self.config.per_host == 1 and held.lease.paced:
            host.due = max(host.due, now + self._pause(host))

    def _wake(self, host: Host) -> None:
        """Put a host into the heap if it could give out a lease, at the time when it could."""
        if host.state == "paused" or host.parked_until:
            return
        now = self._clock.monotonic()
        asking = self._wants_robots(host) and (host.queued or host.robots_row or host.waiters)
        if host.robots_asked and self._wants_robots(host) and (not host.extra or self._capacity(host) <= 0):
            return
        if host.verdict and host.queued:
            if not host.ready and not host.retries:
                self._refill(host)
            else:
                self._heap.push(host, now)
            return
        if self._capacity(host) <= 0:
            return
        due = max(host.due, host.backoff_until, now)  # a host without pause is no earlier than one whose pause is over
        if asking or host.extra or host.ready:
            self._heap.push(host, due)
        elif host.retries:
            self._heap.push(host, max(due, host.retries[0][0]))
        if not asking:
            self._refill(host)

    def _refill(self, host: Host) -> None:
        """Fetch more of the host's queue from the store before `ready` runs dry."""
        share = max(16, min(READY_MAX, READY_ALL // max(len(self._hosts), 1)))
        if host.refilling or len(host.ready) > share // 2 or host.stored() <= 0:
            return
        wall, now = self._clock.wall(), self._clock.monotonic()
        if host.store_due > now:
            if not host.ready and not host.ticket:
                self._heap.push(host, host.store_due)
            return
        host.refilling, host.store_due = True, 0.0
        self._cut()
        limit = share + len(host.held)
        self._store.refill(host.id, limit, wall, lambda rows, due: self._refilled(host, rows, due, limit))

    def _refilled(self, host: Host, rows: list[Row], due_wall: float, limit: int) -> None:
        host.refilling = False
        known = host.held | host.settled_meanwhile
        host.settled_meanwhile = set()
        fresh = [row for row in rows if row.id not in known]
        for row in fresh:
            heapq.heappush(host.ready, (self._key(row.depth, row.id), row))
            host.held.add(row.id)
        if host.stored() <= 0:
            host.horizon = None
        elif len(rows) >= limit or host.store_due < 0.0:
            host.store_due = 0.0
            host.horizon = self._key(rows[-1].depth, rows[-1].id) if rows else host.horizon
        else:  # all that is due is in memory now; what is left in the store waits for its time
            host.horizon = None
            host.store_due = self._clock.monotonic() + max(due_wall - self._clock.wall(), 0.0) if due_wall else 0.0
        self._wake(host)
        self._check_end()
        self.on_change()

    def _end_queued(self, host: Host, now: float) -> None:
        """End queued URLs of a host whose verdict is known: no request, no wait."""
        assert host.verdict
        outcome, reason = host.verdict
        for _ in range(BULK):
            row = host.pop_ready(now) or (heapq.heappop(host.retries)[2] if host.retries else None)
            if row is None or self.full():
                if row is not None:
                    self._return(host, row)
                break
            if reason == "dropped":
                self._forget(host, row)
                self._batch.states.append(("dropped", row.attempts, row.id))
                self._batch.empty = False
            else:
                self._finish(host, row, Settlement(row.id, outcome, reason), None)
        self._refill(host)
        self._after()

    # --- accepting --------------------------------------------------------------------------------------------------

    def _accept(self, held: Held, s: Settlement) -> None:
        host, now = held.host, self._clock.monotonic()
        if self._ours(held, s, now):
            self._return(host, held.row)
            self._wake(host)
            return
        self._move_clock(held, s, now)
        if s.reason in RETRYABLE and not self._is_last(held, s, now) and not self._falls_back(held, s):
            self._retry(held, s, now)
        else:
            self._finish(host, held.row, s, held.lease)
        self._wake(host)

    def _is_last(self, held: Held, s: Settlement, now: float) -> bool:
        """No try is left. That a host which answered before is gone for a while is not the fault of the URL it is probed
        with; and as long as our own network may be what is gone, nobody is given up."""
        if s.reason in NETWORK_FAILURES and self._network.doubtful(held.host.origin, now):
            return False
        if s.reason in HOST_FAILURES and held.host.answered and held.row.kind != Kind.ROBOTS:
            return held.lease.attempt >= max(self.config.tries, self.config.host_failures_max)
        return held.lease.last

    def _falls_back(self, held: Held, s: Settlement) -> bool:
        """Nothing listens for https at an address that the user gave without scheme: http is tried at once."""
        if not self._guessed or not _nobody_listens(s.reason):
            return False
        rows = [row for _, row in held.host.ready] if held.row.kind == Kind.ROBOTS else [held.row]
        return any(row.id in self._guessed for row in rows)

    def _ours(self, held: Held, s: Settlement, now: float) -> bool:
        """Was it our own network that failed? Then nothing is counted and nobody is blamed."""
        if s.reason not in NETWORK_FAILURES:
            since = self._network.since
            if s.requested and self._network.answered(now) and since is not None:
                self._back_online(now, since)
            return False
        active = sum(1 for h in self._hosts.values() if h.queued) if len(self._hosts) < 4 else 4
        if self._network.failed(held.host.origin, s.ip, active, now):
            self._probe_due = now + self.config.offline_probe_s
            self._run_clock(False)
            self._note("network.lost", since=self._clock.wall())
        return self._network.offline or now < self._forgive_until

    def _retry(self, held: Held, s: Settlement, now: float) -> None:
        """Not final: the URL goes back with its attempt counted, and waits."""
        host, row = held.host, held.row._replace(attempts=held.lease.attempt)
        wait = 0.0
        if s.reason not in HOST_FAILURES and s.reason not in ("cookie_wall", "status.429"):
            wait = patience.backoff(row.attempts, self.config.retry_wait_s, self.config.retry_wait_max_s, self._rng)
        due_wall = self._clock.wall() + max(wait, host.backoff_until - now)
        if row.kind == Kind.ROBOTS:
            host.backoff_until = max(host.backoff_until, now + wait)
        self._batch.retries.append((due_wall, row.attempts, row.unread, row.id))
        self._batch.attempts.append((row.id, 1, row.attempts, s.started, s.status, s.reason, s.ms, s.bytes, due_wall))
        self._batch.empty = False
        self._backlog += 1
        self._batch.pages.append(0)
        if s.set_cookies:
            self._store_cookies(row.url, s.set_cookies)
        if row.kind == Kind.ROBOTS:
            self._return(host, row)
        else:
            heapq.heappush(host.retries, (now + wait, self._key(row.depth, row.id), row))

    def _return(self, host: Host, row: Row) -> None:
        """Back into the queue as it was."""
        if row.kind == Kind.ROBOTS:
            if row.id in self._answers_for:
                host.extra.append(row)
            else:
                host.robots_row, host.robots_asked = row, False
        else:
            heapq.heappush(host.ready, (self._key(row.depth, row.id), row))
            host.held.add(row.id)

    def _move_clock(self, held: Held, s: Settlement, now: float) -> None:
        """What a visit says about its host: how fast it is, whether it answers, whether it asks for silence."""
        host = held.host
        if not s.requested:
            if held.lease.paced and self.config.per_host == 1:
                host.due = held.started
            if held.address and held.address.due <= held.started + self._pause(host) / 4:
                held.address.due = held.started
            return
        self._dirty(host)
        host.ip = s.ip or host.ip
        if s.ip and not host.answered and patience.is_private(s.ip):
            host.private = True
        good = s.status != 0 and s.status < 400
        host.ttfb = patience.smoothed(host.ttfb, s.ttfb, good=good)
        if s.reason in HOST_FAILURES:
            self._host_failed(host, held, now)
        elif s.status in (429, 503):
            host.answered, host.failures = True, 0
            self._host_refused(host, s, now)
        elif s.status:
            self._host_answered(host)
        host.pause_s = -1.0
        if self.config.per_host == 1 and held.lease.paced:
            host.due = max(host.due, now + self._pause(host))

    def _host_answered(self, host: Host) -> None:
        host.answered, host.failures, host.refusals = True, 0, 0
        host.clean += 1
        if host.clean >= 20 and host.penalty > 1.0:
            host.clean, host.penalty = 0, max(1.0, host.penalty * 0.9)

    def _host_failed(self, host: Host, held: Held, now: float) -> None:
        if held.started < host.failed_at:
            return  # it was under way when the failure was noted: one outage, counted once
        host.failures, host.failed_at = host.failures + 1, now
        wait = patience.backoff(host.failures, self.config.retry_wait_s, self.config.retry_wait_max_s, self._rng)
        host.backoff_until = max(host.backoff_until, now + wait)
        most = self.config.host_failures_max if host.answered else self.config.tries
        if host.failures >= most and host.robots is not None and not self._network.doubtful(held.host.origin, now):
            host.verdict = (Outcome.UNREACHABLE, "host_unreachable")
            self._note("host.unreachable", origin=host.origin)

    def _host_refused(self, host: Host, s: Settlement, now: float) -> None:
        host.refusals += 1
        host.penalty, host.clean = min(host.penalty * 2, patience.PENALTY_MAX), 0
        asked = patience.retry_after(s.retry_after, self._clock.wall()) if s.retry_after else None
        if asked is not None and asked > self.config.retry_after_max_s:
            self._park(host, self._clock.wall() + min(asked, 30 * 86400.0), "asked for silence by Retry-After")
            return
        own = patience.backoff(host.refusals, self.config.retry_wait_s, self.config.retry_wait_max_s, self._rng)
        host.backoff_until = max(host.backoff_until, now + (asked if asked is not None else own))
        self._note(
            "host.refused", origin=host.origin, status=s.status, until=self._clock.wall() + host.backoff_until - now
        )
        if host.refusals >= self.config.host_refusals_max:
            self._park(host, self._clock.wall() + self.config.retry_after_max_s, f"{host.refusals} refusals in a row")

    def _park(self, host: Host, until: float, why: str) -> None:
        host.parked_until = until
        self._parked.add(host)
        self._heap.remove(host)
        self._dirty(host)
        self._note("host.parked", origin=host.origin, until=until, why=why)

    # --- final ------------------------------------------------------------------------------------------------------

    def _finish(self, host: Host, row: Row, s: Settlement, lease: Lease | None) -> None:
        """A visit that is final: its row, its links, its host and its budget, all in one batch."""
        batch = self._batch
        robots = row.kind == Kind.ROBOTS
        reason = row.unread if row.unread and s.outcome == Outcome.UNREADABLE else s.reason
        self._forget(host, row)
        self._visit_id += 1
        batch.states.append(("done", lease.attempt if lease else row.attempts, row.id))
        record = s.record
        batch.visits.append(
            (self._visit_id, row.id, 0 if robots else 1, s.started or self._clock.wall(), s.outcome.value, reason)
            + (s.status, s.protocol, s.ip, s.media_type, s.charset, s.bytes, s.ms, record.digest if record else "")
            + (s.truncated, s.access, record.same_as if record else 0, s.moved_to, s.title, s.language)
            + ((record.file, record.offset, record.length) if record else ("", 0, 0))
        )
        if record:
            end, groups = batch.archives.get(record.file, (0, 0))
            batch.archives[record.file] = (max(end, record.offset + record.length), groups + 1)
            batch.last_groups[record.file] = (record.offset, record.length)
        batch.empty = False
        self._backlog += 1
        batch.pages.append(row.id)
        if not robots:
            batch.outcomes[s.outcome.value] += 1
            if s.outcome != Outcome.OK and s.outcome != Outcome.MOVED:
                batch.reasons[reason] += 1
            batch.bytes += s.bytes
            if s.outcome == Outcome.OK:
                self._ok_pages += 1
                host.pages += 1
        self._bytes += s.bytes
        host.bytes += s.bytes
        if s.set_cookies:
            self._store_cookies(row.url, s.set_cookies)
        for n, item in enumerate(s.items):
            batch.items.append((row.id, 1, n, msgspec.json.encode(item).decode()))
        for error in s.errors:
            batch.attempts.append((row.id, 1, row.attempts + 1, s.started, s.status, "handler_error", 0, 0, 0.0))
            self._note("handler.error", url=row.url, error=error)
        self._take_links(row, s)
        self._chains.pop(row.id, None)
        self._alone.pop(row.id, None)
        if robots:
            self._robots_settled(host, row, s)
        elif row.id in self._guessed:
            self._guess(row.id, done=True)
            if s.outcome == Outcome.UNREACHABLE and _nobody_listens(s.reason):
                self.put([Request("http://" + row.url.partition("://")[2])])
        if row.id in self._seed_ids and s.outcome != Outcome.MOVED:
            self._seed_ids.discard(row.id)
        self._stir()

    def _stir(self) -> None:
        while self._stirred:
            self._wake(self._stirred.pop())

    def _forget(self, host: Host, row: Row) -> None:
        """The URL leaves the queue."""
        if row.kind == Kind.ROBOTS:
            return
        host.held.discard(row.id)
        host.queued -= 1
        self._queued -= 1
        if host.refilling:
            host.settled_meanwhile.add(row.id)

    def _take_links(self, row: Row, s: Settlement) -> None:
        found = s.found
        if not found.edges and not found.new:
            return
        self._batch.links.append((row.id, 1, found.flat, found.edges))
        redirect = s.outcome == Outcome.MOVED
        hops = row.hops + 1 if redirect else 0
        chain = (*self._chains.get(row.id, ()), row.fp) if redirect else ()
        if redirect and row.kind == Kind.ROBOTS:
            return  # followed as a request of its own kind
        if redirect and row.id in self._seed_ids:
            found = self._widen(row, s, found)
        if self._deep:
            self._batch.settled.append((row.id, row.depth))
            texts = self._first_seen(found, row.depth)
        else:
            new = self._seen.add_many([link.fp for link in found.new])
            texts = [link for link, first in zip(found.new, new, strict=True) if first]
        known = len(texts) != len(found.new)
        for link in texts:
            depth = row.depth + (link.kind not in FLAT_KINDS)
            id = self._admit(link.fp, link.url, link.kind, depth, hops, row.id, link.score, self._refusal(link))
            if id and chain:
                self._chains[id] = chain
                if row.id in self._seed_ids:
                    self._seed_ids.add(id)
        if known and self._refused:
            self._readmit(found.new, texts, row)
        self._seed_ids.discard(row.id)

    def _first_seen(self, found: Found, depth: int) -> list[NewLink]:
        """With a depth limit every edge counts: a URL met again at a smaller depth is relaxed by the store."""
        edges = array("Q", found.edges)
        texts = {link.fp: link for link in found.new}
        first: list[NewLink] = []
        for part, at in ((edges[: found.flat], depth), (edges[found.flat :], depth + 1)):
            new, shallower = self._seen.lower_many(part, min(at, 255))
            first += [texts[fp] for fp in new if fp in texts]
            self._batch.relax += [(fp - BIAS, at) for fp in shallower]
            for fp in new:
                if fp not in texts:
                    self._seen.discard(fp)  # only counted so far (too many refused): its text was dropped
        return first

    def _refusal(self, link: NewLink) -> str:
        """The rule that refuses a link; a worker that had not heard of a wider scope is overruled."""
        if link.rule.startswith("scope") and self.scope.epoch:
            return self._scope_check.refusal(link.url, link.kind)
        return link.rule

    def _admit(
        self, fp: int, url: str, kind: Kind, depth: int, hops: int, parent: int, score: int, rule: str = ""
    ) -> int:
        """A URL met for the first time becomes a row: queued, too deep or refused. Returns its id (0: only counted)."""
        host = self._host(origin(url))
        batch = self._batch
        batch.empty = False
        rule_id = self._rule(rule) if rule else 0
        if rule and self._refused_count >= self.config.refused_max:
            self._count_refused(fp, rule_id, host, url)
            return 0
        self._url_id += 1
        id = self._url_id
        state = "queued"
        if rule:
            state = "refused"
            self._refused[fp] = id
            self._refused_count += 1
            batch.rule_counts[rule_id] += 1
        elif self._deep and depth > self.config.max_depth:
            state, rule_id = "too_deep", self._rule("max_depth")
        if state == "queued" and not self.config.no_robots and url == host.origin + "/robots.txt":
            kind = Kind.ROBOTS
        batch.urls.append((id, fp - BIAS, host.id, url, kind.value, depth, hops, parent, score, state, rule_id, 0.0))
        batch.found += state == "queued" and kind != Kind.ROBOTS
        if state == "queued":
            self._queue(host, Row(id, fp, url, kind.value, depth, hops, parent, score, 0, ""))
        return id

    def _queue(self, host: Host, row: Row) -> None:
        if row.kind == Kind.ROBOTS:
            if host.robots_row is None and not host.robots_asked:
                host.robots_row = row
            self._wake(host)
            return
        key = self._key(row.depth, row.id)
        if host.stored() <= 0:
            host.horizon = None
        host.queued += 1
        self._queued += 1
        if host.horizon is None or key < host.horizon:
            heapq.heappush(host.ready, (key, row))
            host.held.add(row.id)
            if len(host.ready) > 2 * READY_MAX:
                self._trim(host)
        else:
            host.store_due = -1.0
        if not host.ticket:
            self._stirred.add(host)

    def _trim(self, host: Host) -> None:
        """Keep the first of a list that grew too long; the rest is in the store anyway."""
        host.ready.sort()
        for _, row in host.ready[READY_MAX:]:
            host.held.discard(row.id)
        del host.ready[READY_MAX:]
        host.horizon, host.store_due = host.ready[-1][0], -1.0

    def _readmit(self, links: list[NewLink], taken: list[NewLink], row: Row) -> None:
        """A URL refused before is wanted now (as a part of a page, or by a page that does not say nofollow)."""
        fresh = {link.fp for link in taken}
        for link in links:
            if link.fp in fresh or link.fp not in self._refused or self._refusal(link):
                continue
            depth = row.depth + (link.kind not in FLAT_KINDS)
            self._readmit_row(self._refused.pop(link.fp), link.fp, link.url, link.kind, depth, row.id)

    def _readmit_row(self, id: int, fp: int, url: str, kind: Kind, depth: int, parent: int) -> None:
        state = "too_deep" if self._deep and depth > self.config.max_depth else "queued"
        self._batch.readmitted.append((kind.value, depth, parent, state, id))
        self._batch.empty = False
        self._refused_count -= 1
        if state == "queued":
            self._batch.found += 1
            self._queue(self._host(origin(url)), Row(id, fp, url, kind.value, depth, 0, parent, 0, 0, ""))

    def _widen(self, row: Row, s: Settlement, found: Found) -> Found:
        """The seed's own redirect within its registrable domain widens the scope, and says so."""
        if not s.moved_to or not self._scope_check.refusal(s.moved_to, Kind.REDIRECT).startswith("scope"):
            return found
        wider = self.scope.widen(s.moved_to)
        if wider is None:
            self._note("seed.elsewhere", seed=row.url, target=s.moved_to)
            return found
        self.scope, self._scope_check = wider, Scope(wider)
        self._batch.meta["widened"] = msgspec.json.encode(wider.widened).decode()
        self._note("scope.widened", seed=row.url, target=s.moved_to)
        self._widened = True
        return found

    def _reconsider(self, rows: list[Refused]) -> None:
        """URLs that the scope refused and that the scope of today wants are queued; other rules stand."""
        ours = {id for text, id in self._rules.items() if text.startswith("scope")}
        for id, fp, url, kind, depth, parent, rule in rows:
            if fp in self._refused and rule in ours and not self._scope_check.refusal(url, kind):
                del self._refused[fp]
                self._readmit_row(id, fp, url, Kind(kind), depth, parent)
        self._stir()
        self._after()
        self.on_change()

    # --- robots.txt -------------------------------------------------------------------------------------------------

    def _wants_robots(self, host: Host) -> bool:
        if self.config.no_robots or host.verdict:
            return False
        if host.robots is None:
            return True
        # With a pause longer than their lifetime, rules would expire before they were of use.
        return host.robots_used and host.robots_expires <= self._clock.wall()

    def _robots_row(self, host: Host) -> Row:
        """The request for a host's robots.txt: the one row of that URL, or one beside it when it is asked for again."""
        row, host.robots_row = host.robots_row, None
        if row is not None:
            return row
        return self._new_robots_row(host, host.origin + "/robots.txt", 0, 0)

    def _new_robots_row(self, host: Host, url: str, hops: int, parent: int) -> Row:
        fp, salt = self._fingerprint(url), 0
        while not self._seen_first(fp, 0):
            salt += 1
            fp = self._fingerprint(f"{url} {self._clock.wall()} {salt}")
        self._url_id += 1
        row = Row(self._url_id, fp, url, Kind.ROBOTS.value, 0, hops, parent, 0, 0, "")
        self._batch.urls.append((row.id, fp - BIAS, host.id, url, row.kind, 0, hops, parent, 0, "queued", 0, 0.0))
        self._batch.empty = False
        return row

    def _robots_settled(self, host: Host, row: Row, s: Settlement) -> None:
        asker = self._answers_for.pop(row.id, host)
        if s.outcome == Outcome.MOVED and s.moved_to:
            self._robots_moved(asker, row, s.moved_to)
            return
        robots = s.robots or RobotsFile("unreachable", b"", s.status)
        if 300 <= s.status < 400:  # redirects that lead nowhere, or too far: unavailable (RFC 9309 section 2.3.1.2)
            robots = RobotsFile("absent", b"", s.status)
        verdict = None
        if robots.state == "unreachable":
            verdict = (Outcome.DENIED, "robots_unreachable")
            own = row.url == asker.origin + "/robots.txt"
            if own and (s.outcome == Outcome.BLOCKED or _nobody_listens(s.reason) or s.reason == "dns.not_found"):
                verdict = (s.outcome, s.reason)
            if self._guessed and any(r.id in self._guessed for _, r in asker.ready) and _nobody_listens(s.reason):
                self._note("seed.http", origin=asker.origin, reason=s.reason)
            else:
                self._note("robots.unreachable", origin=asker.origin, reason=s.reason or f"status {s.status}")
        age = min(s.robots_max_age or self.config.robots_ttl_s, self.config.robots_ttl_s)
        self._robots_known(asker, robots, age, verdict)

    def _robots_known(self, host: Host, robots: RobotsFile, age: float, verdict: tuple[Outcome, str] | None) -> None:
        wall = self._clock.wall()
        host.robots, host.crawl_delay, host.robots_asked = robots, robots.crawl_delay, False
        host.robots_fetched, host.robots_expires, host.robots_used = wall, wall + max(age, 60.0), False
        host.verdict = host.verdict or verdict
        self._dirty(host)
        if self.config.per_host == 1:  # a Crawl-delay counts from the answer that asked for it
            host.due = max(host.due, self._clock.monotonic() + self._pause(host))
        waiting, host.waiters = host.waiters, []
        for other in waiting:
            self._robots_known(other, robots, age, _elsewhere(robots))
        self._wake(host)

    def _robots_moved(self, host: Host, row: Row, target: str) -> None:
        """The rules of the target apply to the host that asked (RFC 9309 section 2.3.1.2)."""
        there = self._host(origin(target))
        if there is not host and target == there.origin + "/robots.txt" and (there.robots or not there.verdict):
            if there.robots is not None:
                age = max(there.robots_expires - self._clock.wall(), 60.0)
                self._robots_known(host, there.robots, age, _elsewhere(there.robots))
            elif self._leads_nowhere(host, there):
                self._robots_known(host, RobotsFile("absent", b"", 301), self.config.robots_ttl_s, None)
            else:
                there.waiters.append(host)
                self._wake(there)
        else:
            row = self._new_robots_row(there, target, row.hops + 1, row.id)
            self._answers_for[row.id] = host
            there.extra.append(row)
            self._wake(there)

    def _leads_nowhere(self, host: Host, there: Host) -> bool:
        """`there` waits for `host` itself (a circle), or so many hosts in a row do that it is a chain without end."""
        level, hops = [host], 0
        while level and there not in level:
            level, hops = [waiter for one in level for waiter in one.waiters], hops + 1
        return there in level or hops > self.config.robots_redirects_max

    # --- our own network, clocks, suspects ---------------------------------------------------------------------------

    def _probe(self, now: float, worker: int) -> list[Lease]:
        """Offline: one request per `offline_probe_s`, to a host that answered before."""
        since = self._network.since or now
        if now - since >= self.config.offline_max_s and not self._leases:
            self._draining, self._drain_ending = True, Ended("offline", f"no network for {now - since:.0f} s")
            self._check_end()
            return []
        if now < self._probe_due or self._leases:
            return []
        self._probe_due = now + self.config.offline_probe_s
        alive = (h for h in self._hosts.values() if h.queued or h.extra or h.robots_row)
        for host in sorted(alive, key=lambda h: not h.answered):
            if host.state in ("paused", "dropped") or host.parked_until or host.verdict:
                continue
            if host.refusals and host.backoff_until > now:
                continue  # it asked for silence
            if host.extra:
                return [self._lease(host, host.extra.pop(), now, worker)]
            if self._wants_robots(host):
                if host.robots_asked:
                    continue  # another host's robots.txt will answer
                host.robots_asked = True
                return [self._lease(host, self._robots_row(host), now, worker)]
            if row := host.pop_ready(now) or (heapq.heappop(host.retries)[2] if host.retries else None):
                return [self._lease(host, row, now, worker)]
            self._refill(host)
        return []

    def _back_online(self, now: float, since: float) -> None:
        self._note("network.back", seconds=now - since)
        self._run_clock(not self.paused)
        self._spread(now)

    def _spread(self, now: float) -> None:
        """Every host comes due within one pause from now, not all at once, and without the blame of the outage."""
        for host in self._hosts.values():
            if host.failures and not host.refusals:  # silence that was asked for stays
                host.backoff_until = 0.0
            host.failures, host.failed_at = 0, now
            host.due = max(host.due, now + self._rng.random() * self._pause(host))
            self._wake(host)

    def _watch_clock(self, now: float) -> None:
        """The machine slept: what fails in the next moments was broken by that."""
        drift = self._clock.wall() - now
        if abs(drift - self._drift) > DRIFT_S:
            self._forgive_until = now + self.config.offline_after_s
            self._note("clock.jumped", seconds=drift - self._drift)
            self._drift = drift
            self._spread(now)
        self._drift = drift

    def _alone_with(self, worker: int) -> bool:
        return (
            any(h.worker == worker and h.row.id in self._alone for h in self._leases.values()) if self._alone else False
        )

    def _suspect_due(self, now: float) -> float | None:
        """When the next suspect may go out; None: one is out, or their hosts are silent for long."""
        if any(held.row.id in self._alone for held in self._leases.values()):
            return None
        free = [h for h, _ in self._suspects if not h.parked_until and h.state != "paused"]
        return min((max(h.due, h.backoff_until) for h in free), default=None)

    def _grant_suspect(self, now: float, worker: int) -> list[Lease]:
        """One suspect, to a worker that holds nothing else; until it is out, nobody gets more, so that one runs empty."""
        if any(held.worker == worker for held in self._leases.values()):
            return []
        for _ in range(len(self._suspects)):
            host, row = self._suspects.popleft()
            if not host.parked_until and host.state != "paused" and max(host.due, host.backoff_until) <= now:
                return [self._lease(host, row, now, worker)]
            self._suspects.append((host, row))
        return []

    def _address(self, host: Host) -> Address | None:
        if not host.ip or host.private or self.config.delay == "0":
            return None
        return self._addresses.setdefault(host.ip, Address())

    def _waits_for_address(self, host: Host, now: float) -> bool:
        """The IP address is busy: the host comes back when a visit there settles, or when its clock is due."""
        address = self._address(host)
        if address is None:
            return False
        if address.in_flight >= ADDRESS_MAX:
            address.waiting.append(host)
            return True
        if address.due > now:
            self._heap.push(host, address.due)
            return True
        return False

    def _unpark(self) -> None:
        if not self._parked:
            return
        wall = self._clock.wall()
        for host in [h for h in self._parked if h.parked_until and h.parked_until <= wall and h.state != "paused"]:
            host.parked_until, host.refusals = 0.0, 0
            self._parked.discard(host)
            self._wake(host)

    # --- end, budgets, time -----------------------------------------------------------------------------------------

    def _pages_left(self) -> int:
        if not self.config.max_pages:
            return 1 << 30
        return self.config.max_pages - self._ok_pages - self._leased_pages

    def _over_budget(self, now: float) -> str:
        """The limit that was reached, as a sentence, or ""."""
        c = self.config
        if c.max_pages and self._ok_pages >= c.max_pages:
            return f"max_pages: {c.max_pages} pages are kept"
        if c.max_bytes and self._bytes >= c.max_bytes:
            return f"max_bytes: {self._bytes} bytes were fetched"
        if c.max_time and self.seconds() >= c.max_time:
            return f"max_time: {c.max_time:g} s are over"
        return ""

    def _check_end(self) -> None:
        """Finished, stopped and limit reached are one question, asked where queues and leases are known."""
        if self.ended or self._leases:
            return
        ending = self._ending()
        if ending is None:
            return
        if not self._batch.empty or self._committing:
            self._cut()
            return
        self.ended = ending
        self.on_change()

    def _ending(self) -> Ended | None:
        if self._draining:
            return self._drain_ending
        if self._queued and (limit := self._over_budget(self._clock.monotonic())):
            return Ended("limit", limit)
        if self._relaxing or self._batch.relax or self._suspects or self.paused:
            return None
        if not self._queued and any((h.extra or h.robots_row) and not h.verdict for h in self._hosts.values()):
            return None
        if not self._queued:
            return Ended("finished", "every admitted URL has its outcome")
        waiting = sum(h.queued for h in self._parked)
        if waiting == self._queued:
            return Ended("parked", f"{waiting} URLs wait for hosts that are parked: {self._parked_text()}")
        return None

    def _parked_text(self) -> str:
        """Which hosts wait and until when, the longest queues first."""
        hosts = sorted((h for h in self._parked if h.queued), key=lambda h: -h.queued)
        said = [
            f"{h.origin} until " + time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(h.parked_until))
            if h.parked_until
            else f"{h.origin} until it is resumed"
            for h in hosts[:3]
        ]
        return ", ".join(said) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")

    def seconds(self) -> float:
        """Time crawled so far: pauses and times without network do not count."""
        running = self._clock.monotonic() - self._run_since if self._run_since is not None else 0.0
        return self._ran + running

    def _run_clock(self, on: bool) -> None:
        self._ran, self._run_since = self.seconds(), self._clock.monotonic() if on else None

    # --- commits ----------------------------------------------------------------------------------------------------

    def _after(self) -> None:
        if self._backlog_of_batch() >= self.config.commit_visits:
            self._cut()
        elif not self._batch.empty and self._timer is None:
            if self._later is None:
                self._cut()
            else:
                self._timer = self._later(self.config.commit_ms / 1000, self._on_timer)
        self._check_end()

    def _on_timer(self) -> None:
        self._timer = None
        self._cut()

    def _backlog_of_batch(self) -> int:
        return len(self._batch.pages)

    def _cut(self) -> None:
        """Hand the batch to the store. The state of its hosts is taken now, with everything accepted so far in it."""
        batch = self._batch
        if self.error is not None or (batch.empty and not batch.opened and not self._relaxing):
            return
        if batch.empty and not batch.opened and self._committing:
            return  # relaxation goes on with the commit under way
        self._batch = Batch()
        mono, wall = self._clock.monotonic(), self._clock.wall()
        batch.host_rows = [host.row(mono, wall) for host in batch.hosts.values()]
        batch.cookies = self.jar.drain_changed() if self._jar_changed else []
        self._jar_changed = False
        batch.meta.setdefault("seconds", f"{self.seconds():.3f}")
        self._committing += 1
        self._store.commit(batch, lambda result: self._committed(batch, result))

    def _committed(self, batch: Batch, result: Committed | BaseException) -> None:
        self._committing -= 1
        if isinstance(result, BaseException):
            self.failed(result)
        if self.error is not None or isinstance(result, BaseException):
            return
        self._backlog -= len(batch.pages)
        self.outcomes.update(batch.outcomes)
        self.reasons.update(batch.reasons)
        self.bytes += batch.bytes
        self.found += batch.found
        self._relaxing = result.relaxing
        for host_id in result.requeued:
            host = self._by_id[host_id]
            if host.stored() <= 0 and host.horizon is None:
                host.horizon = (-(1 << 62), 0)
            host.queued += 1
            host.store_due = -1.0
            self._queued += 1
            self.found += 1
            self._wake(host)
        for file, (end, _) in batch.archives.items():
            self._archives[file] = (end, batch.last_groups[file])
        for file in batch.closed:
            self._archives.pop(file, None)
        self.on_commit(batch.pages)
        if self._relaxing and self._batch.empty:
            self._cut()
        if not self._committing and self._batch.empty:
            for future in self._flushed:
                if not future.done():
                    future.set_result(None)
            self._flushed.clear()
        self._check_end()
        self.on_change()

    async def flush(self) -> None:
        """Returns when everything accepted so far is committed."""
        self._cut()
        if self._committing:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._flushed.append(future)
            await future

    def committed(self, file: str) -> tuple[int, tuple[int, int] | None]:
        """Committed length of an archive file of this process, and (offset, length) of its last group."""
        return self._archives.get(file, (0, None))

    def close(self, state: str = "", ended: str = "") -> None:
        """After the end: the store knows how it ended, and that nothing was left half done."""
        if self.error is None:
            ended = ended or time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self._clock.wall()))
            state = state or (self.ended.reason if self.ended else "interrupted")
            self._batch.meta.update(clean="1", state=state, ended=ended)
            self._batch.empty = False
            self._cut()
        self._store.close()

    def failed(self, error: BaseException) -> None:
        """A commit failed: nothing more is accepted, memory is worthless, the database is the truth."""
        self.error = error
        text = str(error) if isinstance(error, DiskFull) else f"the database cannot be written ({error})"
        self.ended = Ended("disk", text)
        for future in self._flushed:
            if not future.done():
                future.set_result(None)
        self.on_change()

    # --- what is known ----------------------------------------------------------------------------------------------

    def robots_for(self, origin: str) -> RobotsFile | None:
        host = self._hosts.get(origin)
        return host.robots if host else None

    def status(self) -> dict[str, Any]:
        """Where the crawl stands, in numbers that are committed (queue and hosts: as of now)."""
        seconds = self.seconds()
        pages = self.outcomes[Outcome.OK.value]
        slow = heapq.nlargest(5, (h for h in self._hosts.values() if h.queued), key=lambda h: h.queued * self._pause(h))
        wait = max(
            (h.queued * self._pause(h) / (1 if self._pause(h) else self.config.per_host) for h in slow), default=0.0
        )
        rate = sum(self.outcomes.values()) / seconds if seconds > 0 else 0.0
        return {
            "state": self._state(),
            "found": self.found,
            "queued": self._queued,
            "in_flight": len(self._leases),
            "outcomes": dict(self.outcomes),
            "reasons": dict(self.reasons.most_common(10)),
            "bytes": self.bytes,
            "seconds": round(seconds, 3),
            "pages": pages,
            "pages_per_second": round(pages / seconds, 1) if seconds > 0 else 0.0,
            "eta_seconds": round(max(wait, self._queued / rate), 1) if rate else None,
            "offline_since": self._clock.wall() - (self._clock.monotonic() - self._network.since)
            if self._network.since is not None
            else None,
            "hosts": [
                {
                    "origin": h.origin,
                    "queued": h.queued,
                    "delay": round(self._pause(h), 3),
                    "failures": h.failures,
                    "ms": round(h.ttfb * 1000),
                }
                for h in slow
            ],
            "parked": [{"origin": h.origin, "until": h.parked_until} for h in self._parked],
        }

    def _state(self) -> str:
        if self.ended:
            return self.ended.reason
        return "paused" if self.paused else "running"

    # --- small tables -----------------------------------------------------------------------------------------------

    def _pause(self, host: Host) -> float:
        """Seconds between two requests to a host, reckoned anew when something about the host has changed."""
        if host.pause_s < 0.0:
            host.pause_s = self._reckon_pause(host)
        return host.pause_s

    def _reckon_pause(self, host: Host) -> float:
        c = self.config
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

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = Host(len(self._by_id) + 1, name, patience.is_private(host_of(name + "/")))
            self._hosts[name] = self._by_id[host.id] = host
            self._batch.hosts_new.append((host.id, name))
        return host

    def _dirty(self, host: Host) -> None:
        """Something about the host has changed or is about to: its row is written, its pause reckoned anew."""
        host.pause_s = -1.0
        self._batch.hosts[host.id] = host
        self._batch.empty = False

    def _meta(self, key: str, value: str) -> None:
        self._batch.meta[key] = value
        self._batch.empty = False
        self._after()

    def _rule(self, text: str) -> int:
        id = self._rules.get(text)
        if id is None:
            id = self._rules[text] = len(self._rules) + 1
            self._batch.rules.append((id, text, self._clock.wall()))
        return id

    def _count_refused(self, fp: int, rule: int, host: Host, url: str) -> None:
        """Too many are stored one by one: count it, keep three examples per rule and host."""
        self._batch.rule_counts[rule] += 1
        count, examples = self._batch.refused_counts.get((rule, host.origin), (0, []))
        self._batch.refused_counts[rule, host.origin] = (count + 1, [*examples, url][:3])
        self._seen.discard(fp)

    def _seen_first(self, fp: int, depth: int) -> bool:
        return bool(self._seen.lower_many([fp], depth)[0]) if self._deep else self._seen.add_many([fp])[0]

    def _store_cookies(self, url: str, lines: list[str]) -> None:
        self._jar_changed |= self.jar.store(url, lines, self._clock.wall())

    def _load(self, snapshot: Snapshot) -> None:
        """Carry on: hosts with their clocks, and how much of each queue is in the store."""
        mono, wall = self._clock.monotonic(), self._clock.wall()
        unclean = snapshot.meta.get("clean") == "0"
        longest = max(self.config.delay_max_s, self.config.crawl_delay_max_s, self.config.retry_after_max_s)
        for row in snapshot.hosts:
            host = Host(row["id"], row["origin"], patience.is_private(host_of(row["origin"] + "/")))
            self._hosts[host.origin] = self._by_id[host.id] = host
            host.ip, host.ttfb, host.pages, host.bytes = row["ip"], row["ttfb"], row["pages"], row["bytes"]
            host.private = host.private or (bool(host.ip) and patience.is_private(host.ip))
            host.crawl_delay, host.state = row["crawl_delay"], row["state"]
            host.answered = bool(host.pages) or bool(row["robots_status"])
            if row["robots_state"] and row["robots_state"] != "unreachable":
                host.robots = RobotsFile(
                    row["robots_state"], row["robots"] or b"", row["robots_status"], host.crawl_delay
                )
                host.robots_fetched, host.robots_expires = row["robots_fetched"], row["robots_expires"]
            host.queued = snapshot.queued.get(host.id, 0)
            host.horizon = (-(1 << 62), 0) if host.queued else None
            host.due = mono + min(max(row["due"] - wall, 0.0), longest)
            if unclean:
                host.due = max(host.due, mono + self._pause(host))
            if row["parked_until"] > wall or host.state == "paused":
                host.parked_until = row["parked_until"]
                self._parked.add(host)
            if host.state == "dropped":
                host.verdict = (Outcome.SKIPPED, "dropped")
            self._queued += host.queued
        for host_id, robots_row in snapshot.robots_rows:
            host = self._by_id[host_id]
            wanted = host.robots is None and host.robots_row is None
            if wanted and robots_row.url == host.origin + "/robots.txt":
                host.robots_row = robots_row
            else:
                self._batch.states.append(("dropped", 0, robots_row.id))
        self._seed_ids = set(snapshot.seeds)
        self.jar.load(snapshot.cookies)
        self._batch.meta.update(clean="0", state="running")
        self._batch.empty = False
        for host in self._hosts.values():
            self._wake(host)


def _elsewhere(robots: RobotsFile) -> tuple[Outcome, str] | None:
    """The verdict for a host whose rules lie on another one: that this other one fails is not its own fault."""
    return (Outcome.DENIED, "robots_unreachable") if robots.state == "unreachable" else None


def _nobody_listens(reason: str) -> bool:
    """Nothing speaks TLS there: no server, or one of plain HTTP. (A wrong certificate is somebody, and never this.)"""
    return reason.startswith("connect.") or reason in ("timeout.connect", "tls.plain")
