"""The end: finished, stopped and limit reached are one question, asked where queues and leases are known."""

from __future__ import annotations

import time

from nephila.frontier.books import Books, Ended
from nephila.frontier.budget import Budgets
from nephila.frontier.host import Host
from nephila.frontier.ledger import Ledger
from nephila.frontier.rereading import Rereading
from nephila.frontier.suspects import Suspects

NO_LIMIT = 1 << 30
NAMED_MAX = 3
"""Hosts that a sentence names."""
PAUSED = "paused"
"""No end: only hosts are left that somebody paused, and may resume."""


class Ending:
    """Budgets, and whether anything is left to do."""

    def __init__(
        self, books: Books, ledger: Ledger, suspects: Suspects, budgets: Budgets, rereading: Rereading
    ) -> None:
        self._books, self._ledger, self._suspects, self._budgets = books, ledger, suspects, budgets
        self._rereading = rereading
        self.draining: Ended | None = None
        """Nothing more is granted; the crawl ends with this when all leases are back."""
        self._waits = False
        """Only hosts are left that somebody paused."""

    def check(self) -> None:
        """Is it over? Only when all that was accepted is committed, too."""
        books, ledger = self._books, self._ledger
        if books.leases or books.ended:
            return
        ending = self._ending()
        self._wait(ending is not None and ending.reason == PAUSED)
        if ending is None or ending.reason == PAUSED:
            return
        if ledger.committing or not books.batch.empty:
            ledger.cut()
            return
        books.ended = ending
        books.on_change()

    def _wait(self, waits: bool) -> None:
        """For somebody who paused the hosts that are left, as for one who paused the crawl: limits in time stand still."""
        books = self._books
        if waits:
            books.watch.run(False)
        elif self._waits:
            books.watch.run(not books.paused)
        if waits and not self._waits:
            books.note("hosts.paused", queued=books.queued, origin=self._paused()[0].origin)
        self._waits = waits

    def _paused(self) -> list[Host]:
        """Hosts that somebody paused, the longest queues first."""
        return sorted((h for h in self._books.parked if h.queued and h.state == "paused"), key=lambda h: -h.queued)

    def _ending(self) -> Ended | None:
        books = self._books
        if self.draining:
            return self.draining
        if books.left is not None:  # the rules have changed, and what is stored is being looked at
            return None
        if books.queued and (limit := self.over_budget()):
            return Ended("limit", limit)
        if self._rereading.awaited:
            return None
        if self._ledger.relaxing or books.batch.relax or self._suspects or books.paused:
            return None
        if not books.queued:
            asked = any((h.extra or h.robots_row or h.waking) and not h.verdict for h in books.by_id.values())
            return None if asked else Ended("finished", "every admitted URL has its outcome")
        if self._budgets.waits and books.heap.next_due() is not None:
            return None  # somebody can go on: no need to count those who cannot
        waiting = sum(h.queued for h in books.parked)
        aside = self._budgets.urls_aside()
        if waiting + aside < books.queued:
            return None
        if self._paused():
            return Ended(PAUSED, "")
        over = self._budgets.text() if aside else ""
        if not waiting:
            return Ended("limit", over)
        text = f"{waiting} URLs wait for hosts that are parked: {self._parked_text()}"
        return Ended("parked", f"{text}; {over}" if over else text)

    def _parked_text(self) -> str:
        """Which hosts wait and until when, the longest queues first."""
        hosts = sorted((h for h in self._books.parked if h.queued), key=lambda h: -h.queued)
        said = [
            f"{h.origin} until " + time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(h.parked_until))
            if h.parked_until
            else f"{h.origin} until its login works"
            for h in hosts[:NAMED_MAX]
        ]
        return ", ".join(said) + (f" and {len(hosts) - NAMED_MAX} more" if len(hosts) > NAMED_MAX else "")

    # --- budgets ----------------------------------------------------------------------------------------------------

    def pages_left(self) -> int:
        """How many leases may go out if each of them became an OK page."""
        books = self._books
        if not books.config.max_pages:
            return NO_LIMIT
        return books.config.max_pages - books.ok_pages - books.leased_pages

    def over_budget(self) -> str:
        """The limit that was reached, as a sentence, or ""."""
        books, c = self._books, self._books.config
        if c.max_pages and books.ok_pages >= c.max_pages:
            return f"max_pages: {c.max_pages} pages are kept"
        if c.max_bytes and books.bytes >= c.max_bytes:
            return f"max_bytes: {books.bytes} bytes were fetched"
        if c.max_time and books.watch.seconds() >= c.max_time:
            return f"max_time: {c.max_time:g} s are over"
        return ""

    def time_left(self) -> float:
        """Seconds until `max_time`; 0: there is no such limit, or it is over."""
        limit = self._books.config.max_time
        return max(limit - self._books.watch.seconds(), 0.0) if limit else 0.0
