"""Settling: the end of a URL. Its visit, its links, its host and its budget go into one batch, all or none."""

from __future__ import annotations

import msgspec

from nephila.frontier.batch import ROBOTS, Batch, Row
from nephila.frontier.books import Books, Held
from nephila.frontier.host import Host
from nephila.frontier.intake import Intake
from nephila.frontier.ledger import Ledger
from nephila.frontier.permission import Permission
from nephila.frontier.queues import Queues
from nephila.frontier.seeds import Seeds, nobody_listens
from nephila.types import UNVERIFIED, Lease, Outcome, Record, Request, Settlement

BULK = 2_000
"""URLs of an unreachable host ended in one go."""


class Settling:
    """Writes down what is final."""

    def __init__(
        self, books: Books, ledger: Ledger, queues: Queues, permission: Permission, intake: Intake, seeds: Seeds
    ) -> None:
        self._books, self._ledger, self._queues = books, ledger, queues
        self._permission, self._intake, self._seeds = permission, intake, seeds
        self._unverified: set[str] = set()

    def finish(self, host: Host, row: Row, s: Settlement, lease: Lease | None) -> None:
        """A visit that is final. Without a lease, a URL that ends unasked."""
        books, batch = self._books, self._books.batch
        self._queues.forget(host, row)
        self._record(host, row, s, lease.attempt if lease else row.attempts)
        if s.set_cookies:
            books.keep_cookies(row.url, s.set_cookies, s.access)
        for n, item in enumerate(s.items):
            text = msgspec.json.encode(item).decode()
            batch.items.append((row.id, 1, n, text))
            batch.weight += len(text)
        for error in s.errors:
            batch.attempts.append((row.id, 1, row.attempts + 1, s.started, s.status, "handler_error", 0, 0, 0.0))
            books.note("handler.error", url=row.url, error=error)
        self._intake.links(row, s)
        books.chains.pop(row.id, None)
        books.alone.pop(row.id, None)
        books.plain.discard(row.id)
        if row.kind == ROBOTS:
            self._intake.admit()
            self._permission.settled(host, row, s)
        else:
            self._end_seed(row, s)
        self._queues.stir()

    def _record(self, host: Host, row: Row, s: Settlement, attempts: int) -> None:
        """The visit as a row, and what it counts for."""
        books, batch, record, outcome = self._books, self._books.batch, s.record, s.outcome.value
        page = row.kind != ROBOTS
        reason = row.unread if row.unread and outcome == Outcome.UNREADABLE else s.reason
        books.visit_id += 1
        batch.empty = False
        batch.pages.append(row.id)
        batch.done.append((attempts, books.visit_id, row.id))
        batch.visits.append(
            (books.visit_id, row.id, 1 if page else 0, s.started or books.clock.wall(), outcome, reason)
            + (s.status, s.protocol, s.ip, s.media_type, s.charset, s.bytes, s.ms, record.digest if record else "")
            + (s.truncated, s.access, record.same_as if record else 0, s.moved_to, s.title, s.language)
            + ((record.file, record.offset, record.length) if record else ("", 0, 0))
        )
        if record:
            _extend_archive(batch, record)
        books.bytes += s.bytes
        host.bytes += s.bytes
        if page:
            batch.outcomes[outcome] += 1
            batch.bytes += s.bytes
            if outcome == Outcome.OK:
                books.ok_pages += 1
                host.pages += 1
            elif outcome != Outcome.MOVED:
                batch.reasons[reason] += 1
        if reason.startswith(UNVERIFIED):
            self._take_unverified(host, reason, counted=page and outcome in (Outcome.OK, Outcome.MOVED))

    def _take_unverified(self, host: Host, reason: str, *, counted: bool) -> None:
        """It is kept, and still everybody should know. `counted`: such outcomes have no reason otherwise."""
        if counted:
            self._books.batch.reasons[reason] += 1
        if host.origin not in self._unverified:
            self._unverified.add(host.origin)
            self._books.note("tls.unverified", origin=host.origin, reason=reason)

    def _end_seed(self, row: Row, s: Settlement) -> None:
        """A seed is done; one whose https was only a guess, and where nothing listens, is tried with http."""
        self._seeds.ids.discard(row.id)
        if self._seeds.guessed(row.id):
            self._seeds.guess(row.id, done=True)
            if s.outcome == Outcome.UNREACHABLE and nobody_listens(s.reason):
                self._intake.seeds([Request("http://" + row.url.partition("://")[2])])

    def end_unread(self, held: Held, reason: str) -> None:
        """Reading this page has killed workers: it stays fetched and unread."""
        self.finish(held.host, held.row, Settlement(held.row.id, Outcome.UNREADABLE, reason), held.lease)

    def set_aside(self, host: Host, row: Row, state: str, rule: str) -> None:
        """A queued URL that is not asked for: its form is dry, or the rules have changed."""
        self._queues.forget(host, row)
        self._intake.set_aside(row, state, rule)

    def end_queued(self, host: Host, now: float) -> None:
        """End queued URLs of a host whose verdict is known: no request, no wait."""
        assert host.verdict
        outcome, reason = host.verdict
        for _ in range(BULK):
            if self._ledger.full() or (row := self._queues.take_any(host, now)) is None:
                break
            if reason == "dropped":
                self._queues.forget(host, row)
                self._books.batch.dropped.append((row.id,))
                self._books.batch.found -= 1
                self._books.batch.empty = False
            else:
                self.finish(host, row, Settlement(row.id, outcome, reason), None)
        self._queues.refill(host)
        self._ledger.tend()

    def retry(self, held: Held, s: Settlement, wait: float, now: float) -> None:
        """Not final: the URL goes back with its attempt counted, and waits."""
        books, batch, host = self._books, self._books.batch, held.host
        row = held.row._replace(attempts=held.lease.attempt)
        due_wall = books.clock.wall() + max(wait, host.backoff_until - now)
        batch.retries.append((due_wall, row.attempts, row.unread, row.id))
        batch.attempts.append((row.id, 1, row.attempts, s.started, s.status, s.reason, s.ms, s.bytes, due_wall))
        batch.pages.append(0)
        batch.empty = False
        if s.reason == "damaged":
            books.plain.add(row.id)
        if s.set_cookies:
            books.keep_cookies(row.url, s.set_cookies, s.access)
        if row.kind == ROBOTS:
            host.backoff_until = max(host.backoff_until, now + wait)
            self._queues.put_back(host, row)
        else:
            self._queues.put_off(host, row, now + wait)

    def turned_away(self, held: Held, s: Settlement, now: float) -> None:
        """It met a login: the URL lets others go first, and this was no try of its own."""
        books, batch, row = self._books, self._books.batch, held.row
        batch.attempts.append((row.id, 1, row.attempts + 1, s.started, s.status, s.reason, s.ms, s.bytes, 0.0))
        batch.pages.append(0)
        batch.empty = False
        if s.set_cookies:
            books.keep_cookies(row.url, s.set_cookies, s.access)
        self._queues.put_off(held.host, row, now + books.config.retry_wait_s)

    def blame(self, held: Held, reason: str) -> None:
        """The page was being read when its worker died: it goes back, to be fetched once more and not read."""
        row = held.row._replace(unread=reason)
        self._books.batch.retries.append((0.0, row.attempts, reason, row.id))
        self._books.batch.empty = False
        self._queues.put_back(held.host, row)


def _extend_archive(batch: Batch, record: Record) -> None:
    """How far the file is good once this batch is committed."""
    end, groups = batch.archives.get(record.file, (0, 0))
    batch.archives[record.file] = (max(end, record.offset + record.length), groups + 1)
    batch.last_groups[record.file] = (record.offset, record.length)
