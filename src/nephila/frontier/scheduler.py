"""The frontier: what next, and when. All waiting of a crawl is decided here.

How a URL lives in it:

    a link ──intake──▶ queued ──lending──▶ leased ──judge──▶ settled: final
              │ not wanted: refused  ▲         │      │
              │ too deep             └─────────┴──────┘  once more: later, or as it was

*Intake* knows what was met before; what is new becomes a row under its host. The host is the unit of scheduling: *queues*
keep a heap of hosts by due time, in which a host stands only when it could give out a lease, and which it enters again
when a visit settles. So politeness needs no locks and nobody polls. *Manners* say how fast a host is asked, *permission*
whether at all. *Lending* makes a lease; the *judge* says what a visit means: our own network failed (*outage*), once more,
or final. *Settling* writes what is final into the batch, and the *ledger* commits batches in order. *Suspects* are pages
whose worker died. *Templates* know which forms of address say nothing new. *Ending* knows when it is over, *steering* what a person may change meanwhile.

Each room is one class over the same *books*; none of them knows this module. Everything is synchronous and on one thread.
A visit is *accepted* when `accept` returns; its batch is *committed* by the store a moment later. What people see counts
committed visits only.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from nephila.clock import Clock
from nephila.config import Config
from nephila.credentials import COOKIES
from nephila.frontier.addresses import Directory
from nephila.frontier.batch import LOGIN, Snapshot, Store
from nephila.frontier.books import Books, Ended
from nephila.frontier.changing import Changing, Effect
from nephila.frontier.cookies import Row as Cookie
from nephila.frontier.ending import Ending
from nephila.frontier.gauge import Gauge, gauge
from nephila.frontier.host import Host
from nephila.frontier.intake import Intake
from nephila.frontier.judge import Judge
from nephila.frontier.ledger import Ledger
from nephila.frontier.lending import Lending
from nephila.frontier.manners import Manners
from nephila.frontier.members import Members
from nephila.frontier.met import Met
from nephila.frontier.outage import Outage
from nephila.frontier.patience import Network
from nephila.frontier.permission import Permission
from nephila.frontier.queues import Queues
from nephila.frontier.report import hosts as hosts_report
from nephila.frontier.report import report
from nephila.frontier.rereading import Part, Reread, Rereading
from nephila.frontier.restore import restore
from nephila.frontier.seeds import Seeds
from nephila.frontier.seen.door import Seen
from nephila.frontier.settling import Settling
from nephila.frontier.steering import Steering
from nephila.frontier.suspects import Suspects
from nephila.frontier.templates import Templates
from nephila.types import Lease, Request, RobotsFile, Settlement
from nephila.url.scope import ScopeSpec

__all__ = ["Ended", "Scheduler"]


class Scheduler:
    """Queues, clocks and leases of one crawl over a `Store`. `note(event, **fields)` hears what a person should know."""

    def __init__(
        self,
        config: Config,
        store: Store,
        snapshot: Snapshot,
        *,
        seen: Seen,
        scope: ScopeSpec,
        fingerprint: Callable[[str], int],
        clock: Clock,
        rng: random.Random,
        note: Callable[..., None] = lambda event, **fields: None,
        directory: Directory | None = None,
    ) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """Called when something may be due that was not, and when it is over."""
        self.on_commit: Callable[[list[int]], None] = lambda pages: None
        self.on_files: Callable[[list[str], list[str]], None] = lambda closed, stored: None
        """Called with the url ids of a batch's visits (0: a try that was not final) when it is committed."""
        self.hold: Callable[[], bool] = lambda: False
        """True while somebody who is told of commits does not keep up: `full` is true then."""
        network = Network(config.offline_after_s)
        self._books = books = Books(config, snapshot, clock, rng, note)
        self._ledger = ledger = Ledger(books, store, snapshot)
        self._seeds = seeds = Seeds(books, scope, snapshot)
        self._manners = manners = Manners(books, network, directory)
        met = Met(seen, deep=config.max_depth >= 0)
        permission = Permission(books, manners, seeds, met, fingerprint)
        self._members = members = Members(books)
        self._queues = queues = Queues(books, store, ledger, manners, permission, members)
        self._templates = templates = Templates(books)
        self._intake = Intake(books, queues, seeds, met, templates, fingerprint, snapshot)
        self._settling = Settling(books, ledger, queues, permission, self._intake, seeds)
        self._lending = Lending(books, manners, permission, members, queues, self._settling, templates)
        self._suspects = Suspects(books, self._lending)
        self._outage = Outage(books, network, manners, permission, queues, self._lending)
        self._judge = Judge(books, manners, members, queues, self._outage, seeds, self._settling, templates)
        templates.probe = self._intake.probe
        self._rereading = rereading = Rereading(books, self._intake, snapshot)
        self._ending = Ending(books, ledger, self._suspects, manners.budgets, rereading)
        self._steering = Steering(books, ledger, network, manners, queues)
        self._changing = Changing(books, store, ledger, queues, self._intake, seeds, templates, rereading, snapshot)
        books.on_change = lambda: self.on_change()
        ledger.on_files = lambda closed, stored: self.on_files(closed, stored)
        ledger.on_commit, ledger.hold = lambda pages: self.on_commit(pages), lambda: self.hold()
        manners.addresses.on_found = self._found
        manners.proxies.on_back = self._way_out
        manners.budgets.load(snapshot)
        ledger.on_requeued, ledger.before_cut, ledger.after_cut = queues.requeue, self._intake.admit, queues.send
        restore(books, queues, snapshot)
        queues.fetch()
        if not books.paused:
            books.watch.run(True)

    # --- the life of a lease ----------------------------------------------------------------------------------------

    def put(self, requests: Iterable[Request]) -> int:
        """Admit seeds, whatever the scope. Returns how many were not known before. Nothing has come to its end before that."""
        self._books.check_end = self._ending.check
        added = self._intake.seeds(requests)
        self._queues.stir()
        self._ledger.tend()
        return added

    def grant(self, room: int, worker: int = 0) -> list[Lease]:
        """Leases that are due now, at most `room`. Never more OK visits than `max_pages` can come of them."""
        if room <= 0 or self._closed():
            return []
        now = self._books.clock.monotonic()
        self._outage.watch_clock(now)
        if ended := self._manners.proxies.given_up(now):
            self._ending.draining = ended
            self._ending.check()
            return []
        for host in self._manners.unpark():
            self._queues.wake(host)
        if self._outage.network.offline:
            return self._probe(now, worker)
        if self._suspects.keep_free(worker):
            return []
        if (due := self._suspects.next_due(now)) is not None:
            return self._suspects.grant(now, worker) if due <= now else []
        return self._grant(min(room, self._ending.pages_left()), now, worker)

    def _grant(self, room: int, now: float, worker: int) -> list[Lease]:
        leases: list[Lease] = []
        self._serve(leases, room, now, worker)
        if len(leases) < room and self._queues.fetch():
            self._serve(leases, room, now, worker)
        if not leases:
            self._ending.check()
        return leases

    def _serve(self, leases: list[Lease], room: int, now: float, worker: int) -> None:
        """Hosts that are due give out what they may, until there is no more room."""
        while len(leases) < room and not self._ending.over_budget() and not self._ledger.full():
            if (host := self._books.heap.pop_due(now, worker)) is None:
                break
            self._lending.serve(host, room - len(leases), now, worker, leases)

    def _probe(self, now: float, worker: int) -> list[Lease]:
        if ended := self._outage.given_up(now):
            self._ending.draining = ended
            self._ending.check()
            return []
        return self._outage.probe(now, worker)

    def _closed(self) -> bool:
        """Nothing is granted at present, whatever is due."""
        return bool(self._books.ended or self._books.paused or self._ending.draining) or self._ledger.full()

    def next_due(self) -> float | None:
        """When `grant` may have something new without any event (monotonic); None: only events bring it."""
        if self._closed() or self._ending.pages_left() <= 0:
            return None
        clock = self._books.clock
        wall, now = clock.wall(), clock.monotonic()
        dues = [self._next_lease(now)]
        if until := self._manners.next_unpark():
            dues.append(now + max(until - wall, 0.0))
        if left := self._ending.time_left():
            dues.append(now + left)
        return min((due for due in dues if due is not None), default=None)

    def _next_lease(self, now: float) -> float | None:
        if self._outage.network.offline:
            return None if self._books.leases else self._outage.probe_due
        if self._ending.over_budget():
            return None
        if (due := self._suspects.next_due(now)) is not None:
            return due if due > now else None
        dues = (self._books.heap.next_due(), self._queues.next_due())
        return min((due for due in dues if due is not None), default=None)

    def accept(self, settlements: Iterable[Settlement], worker: int = 0) -> None:
        """Take visits back, in the order of their arrival. From here on they count; their batch commits them together."""
        if self._ledger.error is not None:
            return
        for settlement in settlements:
            self._judge.take(self._lending.take_back(settlement.lease), settlement)
        self._intake.admit()
        self._queues.stir()
        if self._seeds.widened:
            self._seeds.widened = False
            self._changing.begin()
        self._changing.tidy()
        self._ledger.tend()

    def _found(self, host: Host) -> None:
        """Where a host is has been looked up."""
        self._queues.wake(host)
        self._books.on_change()

    def _way_out(self) -> None:
        """A proxy works again: who waited for one may be due."""
        for host in self._books.hosts.values():
            self._queues.wake(host)
        self._books.on_change()

    def full(self) -> bool:
        """So many visits are accepted and not committed that `settle` has to wait."""
        return self._ledger.full()

    # --- workers ----------------------------------------------------------------------------------------------------

    def give_back(self, lease_ids: Iterable[int], *, suspect: bool) -> None:
        """Leases of a dead worker return; suspect ones are given out one at a time until they settle."""
        for id in lease_ids:
            if id not in self._books.leases:
                continue
            held = self._lending.take_back(id)
            if not suspect or held.row.kind == LOGIN:
                self._queues.put_back(held.host, held.row)
            elif self._suspects.add(held):
                self._settling.end_unread(held, "read_crash")
            self._queues.wake(held.host)
        self._queues.stir()
        self._ledger.tend()

    def blame(self, lease_id: int, reason: str) -> None:
        """A worker died while it read this page: fetch it once more, unread; it ends as UNREADABLE."""
        if lease_id not in self._books.leases:
            return
        held = self._lending.take_back(lease_id)
        self._books.note("worker.blamed", url=held.row.url, reason=reason)
        if held.row.kind == LOGIN:
            self._members.unread(held, reason, self._books.clock.monotonic())
        elif held.lease.unread:
            self._settling.end_unread(held, held.lease.unread)
        else:
            self._settling.blame(held, reason)
        self._queues.wake(held.host)
        self._queues.stir()
        self._ledger.tend()

    def opened(self, file: str, worker: int, pid: int) -> None:
        """A worker has made an archive file."""
        self._ledger.opened(file, worker, pid)

    def closed(self, file: str) -> None:
        """Nothing more comes into this archive file."""
        self._ledger.closed(file)
        self._ledger.tend()

    def stored(self, file: str, sha256: str, store: str) -> None:
        """An archive file is in the store, too."""
        self._ledger.stored(file, sha256, store)
        self._ledger.tend()

    # --- steering ---------------------------------------------------------------------------------------------------

    def drain(self, reason: str = "interrupted", text: str = "stopped by the user") -> None:
        """Grant nothing more; the crawl ends when all leases are back."""
        self._ending.draining = Ended(reason, text)
        self._ledger.tend()

    def pause(self) -> None:
        """Grant nothing until `resume`, restarts included."""
        self._steering.pause()

    def resume(self) -> None:
        """Undo `pause`."""
        self._steering.resume()

    def host_command(self, name: str, action: str, value: float | None = None) -> str:
        """`pause`, `resume`, `slow` (pause of `value` seconds between requests) or `drop` a host, by origin or host name."""
        return self._steering.host(name, action, value)

    def change(
        self,
        config: Config,
        scope: ScopeSpec | None,
        done: Callable[[Effect], None],
        before: ScopeSpec | None = None,
    ) -> None:
        """Go on with other settings. `scope`: the rules if they, or the depth limit, are among what has changed; then stored
        URLs are held against them, and `done` hears in the end what that did. Else `done` is called at once. `before`: the rules
        until now, None if nobody knows."""
        self._intake.admit()
        self._steering.follow(config)
        if scope is None:
            done(Effect())
            self._ledger.tend()
            return
        self._seeds.follow(scope)
        self._changing.begin(done, before)

    # --- kept pages are read again ----------------------------------------------------------------------------------

    def on_reread(self, wanted: Callable[[], None]) -> None:
        """Somebody can read kept pages again, and is told when he has to. Without him what was only counted stays so."""
        self._rereading.on_wanted = wanted

    def reread(self, part: Part) -> None:
        """Links of pages that were read again."""
        self._rereading.take(part)
        self._queues.stir()
        self._ledger.tend()
        self._books.on_change()

    def end_reread(self) -> Reread | None:
        """All pages have been read again, as far as they can be. Returns what came of it."""
        over = self._rereading.end()
        self._ledger.tend()
        self._books.on_change()
        return over

    @property
    def rereading(self) -> Reread | None:
        """How far the reading of kept pages is; None: nobody wants it."""
        return self._rereading.state

    def announce(self) -> None:
        """The store is to know that the rules are about to change."""
        self._changing.announce()

    @property
    def unfinished(self) -> bool:
        """A change of the rules was under way when the last run ended."""
        return self._changing.unfinished

    @property
    def changing(self) -> Effect | None:
        """What the change that is under way has done so far."""
        return self._changing.effect

    # --- cookies ----------------------------------------------------------------------------------------------------

    def give_cookies(self, rows: Iterable[Cookie]) -> None:
        """Cookies of the user's, as rows of table `cookie`: secret, and so never stored."""
        self._books.jar.load(rows, COOKIES)

    def cookies(self) -> list[Cookie]:
        """Every cookie there is, secret ones too."""
        return self._books.jar.rows()

    # --- commits ----------------------------------------------------------------------------------------------------

    def attach(self, call_later: Callable[[float, Callable[[], None]], Any]) -> None:
        """The event loop's timer: from now on commits come in batches, not after every call."""
        self._ledger.attach(call_later)
        self._manners.addresses.begin()

    async def flush(self) -> None:
        """Returns when everything accepted so far is committed."""
        await self._ledger.flush()

    def committed(self, file: str) -> tuple[int, tuple[int, int] | None]:
        """Committed length of an archive file of this process, and (offset, length) of its last group."""
        return self._ledger.archive(file)

    def close(self, state: str = "", ended: str = "") -> None:
        """After the end: the store knows how it ended, and that nothing was left half done."""
        self._changing.tidy()
        self._ledger.close(state, ended)

    # --- what is known ----------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Where the crawl stands, in numbers that are committed (queue and hosts: as of now)."""
        return report(
            self._books,
            self._ledger,
            self._manners,
            self._outage.network,
            self._changing.effect,
            self._rereading.state,
        )

    def hosts(self, origins: list[str]) -> list[dict[str, Any]]:
        """What is known of these hosts as of now; those that sleep in the store, or were never met, are left out."""
        return hosts_report(self._books, self._manners, origins)

    def gauge(self) -> Gauge:
        """What tells when it will end and what holds it up; to be looked at about once a second."""
        return gauge(self._books, self._ledger, self._manners, self._outage.network)

    def robots_for(self, origin: str) -> RobotsFile | None:
        """The rules of a host, if they are known."""
        host = self._books.hosts.get(origin)
        return host.robots if host else None

    @property
    def ended(self) -> Ended | None:
        """Why the crawl is over, once it is."""
        return self._books.ended

    @property
    def error(self) -> BaseException | None:
        """What a commit failed with."""
        return self._ledger.error

    @property
    def paused(self) -> bool:
        return self._books.paused

    @property
    def scope(self) -> ScopeSpec:
        """The scope as it is now, with what seeds' redirects have added."""
        return self._seeds.scope

    @property
    def outcomes(self) -> Counter[str]:
        """Committed visits by outcome."""
        return self._ledger.outcomes
