"""Steering: what a person may say to a running crawl."""

from __future__ import annotations

from nephila.config import Config
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.frontier.ledger import Ledger
from nephila.frontier.manners import Manners
from nephila.frontier.patience import Network
from nephila.frontier.queues import Queues
from nephila.types import Outcome
from nephila.url.parse import host_of


class Steering:
    """Pause, resume, one host, one setting. All of it is told to everybody at once."""

    def __init__(self, books: Books, ledger: Ledger, network: Network, manners: Manners, queues: Queues) -> None:
        self._books, self._ledger, self._network, self._manners, self._queues = books, ledger, network, manners, queues

    def pause(self) -> None:
        self._books.watch.run(False)
        self._books.paused = True
        self._books.meta("paused", "1")
        self._ledger.tend()
        self._books.note("paused")

    def resume(self) -> None:
        self._books.paused = False
        self._books.meta("paused", "0")
        self._ledger.tend()
        self._books.watch.run(not self._network.offline and not self._manners.proxies.hold)
        self._books.note("resumed")
        self._books.on_change()

    def host(self, name: str, action: str, value: float | None) -> str:
        """One host, by origin or by name: then every origin of that name. Returns what was done, as a sentence."""
        origins = [o for o in self._books.ids if name in (o, o.partition("://")[2]) or name == host_of(o + "/")]
        if not origins:
            return f"no such host: {name}"
        for origin in origins:
            self._queues.with_host(origin, lambda host: self._steered(host, action, value))
        self._queues.fetch()
        self._ledger.tend()
        self._books.on_change()
        return f"{action}: {', '.join(origins)}"

    def _steered(self, host: Host, action: str, value: float | None) -> None:
        self._steer(host, action, value)
        self._queues.wake(host)

    def _steer(self, host: Host, action: str, value: float | None) -> None:
        """`slow` without a value is twice as slow as now."""
        if action == "pause":
            host.state = "paused"
            self._books.parked.add(host)
            self._books.heap.remove(host)
        elif action == "resume":
            host.state, host.parked_until = "", 0.0
            self._books.parked.discard(host)
        elif action == "slow":
            host.state = f"slow {value if value is not None else 2 * max(self._manners.pause(host), 0.5):g}"
        elif action == "drop":
            host.state, host.verdict = "dropped", (Outcome.SKIPPED, "dropped")
            self._books.parked.discard(host)
        self._books.dirty(host)

    def follow(self, config: Config) -> None:
        """Other settings: every pause is reckoned anew, and who waits for more than it comes sooner."""
        self._books.config = config
        now = self._books.clock.monotonic()
        for host in self._books.hosts.values():
            host.pause_s = -1.0
            if host.due > now and host.due > now + (pause := self._manners.pause(host)):
                host.due = now + pause
            self._queues.wake(host)
        self._manners.budgets.follow()
        self._queues.stir()
        self._books.on_change()
