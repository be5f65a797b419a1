"""The ledger: batches are cut, committed in order, and counted only then. What people see speaks of committed visits."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from nephila.errors import DiskFull
from nephila.frontier.batch import Batch, Committed, Snapshot, Store
from nephila.frontier.books import Books, Ended

Place = tuple[int, int]


class Ledger:
    """Hands batches to the store and hears what became of them."""

    def __init__(self, books: Books, store: Store, snapshot: Snapshot) -> None:
        self._books, self._store = books, store
        self.outcomes: Counter[str] = Counter(snapshot.outcomes)
        self.reasons: Counter[str] = Counter(snapshot.reasons)
        self.refused: Counter[int] = Counter(snapshot.rule_counts)
        """Rule → addresses that it refused."""
        self.bytes, self.found = snapshot.bytes, snapshot.found
        self.relaxing = snapshot.relaxing
        """Depths that the next commits have yet to pass on."""
        self.committing = 0
        self.error: BaseException | None = None
        self.hold: Callable[[], bool] = lambda: False
        self.on_commit: Callable[[list[int]], None] = lambda pages: None
        self.on_files: Callable[[list[str], list[str]], None] = lambda closed, stored: None
        """Archive files that a commit has closed, and those that it says are in the store."""
        self.on_requeued: Callable[[Iterable[int]], None] = lambda hosts: None
        """Host ids of URLs that a commit brought within the depth limit."""
        self.before_cut: Callable[[], None] = lambda: None
        """What the batch's visits have brought and is not in it yet comes in."""
        self.after_cut: Callable[[], None] = lambda: None
        """The store has everything accepted so far: the moment to ask it something."""
        self._under_way = self._weight = 0
        """Visits in batches that are being committed, and what those weigh."""
        self._later: Callable[[float, Callable[[], None]], Any] | None = None
        self._timer: Any = None
        self._archives: dict[str, tuple[int, Place | None]] = {}
        self._flushed: list[asyncio.Future[None]] = []

    def attach(self, call_later: Callable[[float, Callable[[], None]], Any]) -> None:
        """The event loop's timer: from now on commits come in batches, not after every call."""
        self._later = call_later

    def tend(self) -> None:
        """After every change: is the batch full, does it wait for its time, was that the end?"""
        batch = self._books.batch
        if len(batch.pages) >= self._books.config.commit_visits:
            self.cut()
        elif not batch.empty and self._timer is None:
            if self._later is None:
                self.cut()
            else:
                self._timer = self._later(self._books.config.commit_ms / 1000, self._on_timer)
        self._books.check_end()

    def full(self) -> bool:
        """So many visits, or such long ones, are accepted and not committed that nobody may settle more."""
        config, batch = self._books.config, self._books.batch
        return (
            self._under_way + len(batch.pages) >= config.pending_max
            or self._weight + batch.weight >= config.pending_bytes_max
            or self.hold()
        )

    def cut(self) -> None:
        """Hand the batch to the store. The state of its hosts is taken now, with everything accepted so far in it."""
        self.before_cut()
        books, batch = self._books, self._books.batch
        if self.error is not None or (batch.empty and not batch.opened and not self.relaxing):
            return
        if batch.empty and not batch.opened and self.committing:
            return  # relaxation goes on with the commit under way
        books.batch = Batch()
        mono, wall = books.clock.monotonic(), books.clock.wall()
        batch.host_rows = [host.row(mono, wall) for host in batch.hosts.values()]
        batch.cookies = books.jar.drain_changed()
        batch.meta.setdefault("seconds", f"{books.watch.seconds():.3f}")
        self.committing += 1
        self._under_way += len(batch.pages)
        self._weight += batch.weight
        self._store.commit(batch, lambda result: self._committed(batch, result))
        self.after_cut()

    def _on_timer(self) -> None:
        self._timer = None
        self.cut()

    def _committed(self, batch: Batch, result: Committed | BaseException) -> None:
        self.committing -= 1
        if isinstance(result, BaseException):
            self.fail(result)
        if self.error is not None or isinstance(result, BaseException):
            return
        self._count(batch)
        self.relaxing = result.relaxing
        self.on_requeued(result.requeued)
        self.on_commit(batch.pages)
        if batch.closed or batch.stored:
            self.on_files(batch.closed, [file for *_, file in batch.stored])
        if self.relaxing and self._books.batch.empty:
            self.cut()
        if not self.committing and self._books.batch.empty:
            self._let_go()
        self._books.check_end()
        self._books.on_change()

    def _count(self, batch: Batch) -> None:
        self._under_way -= len(batch.pages)
        self._weight -= batch.weight
        self.outcomes.update(batch.outcomes)
        self.reasons.update(batch.reasons)
        self.refused.update(batch.rule_counts)
        self.bytes += batch.bytes
        self.found += batch.found
        for file, (end, _) in batch.archives.items():
            self._archives[file] = (end, batch.last_groups[file])
        for file in batch.closed:
            self._archives.pop(file, None)

    def _let_go(self) -> None:
        for future in self._flushed:
            if not future.done():
                future.set_result(None)
        self._flushed.clear()

    async def flush(self) -> None:
        """Returns when everything accepted so far is committed."""
        self.cut()
        if self.committing:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._flushed.append(future)
            await future

    def fail(self, error: BaseException) -> None:
        """A commit failed: nothing more is accepted, memory is worthless, the database is the truth."""
        self.error = error
        text = str(error) if isinstance(error, DiskFull) else f"the database cannot be written ({error})"
        self._books.ended = Ended("disk", text)
        self._let_go()
        self._books.on_change()

    def opened(self, file: str, worker: int, pid: int) -> None:
        """A worker has made an archive file: known to the store at once, so that a start after a kill looks at it."""
        self._books.batch.opened.append((file, worker, pid))
        self.cut()

    def closed(self, file: str) -> None:
        self._books.batch.closed.append(file)
        self._books.batch.empty = False

    def stored(self, file: str, sha256: str, store: str) -> None:
        self._books.batch.stored.append((sha256, store, file))
        self._books.batch.empty = False

    def archive(self, file: str) -> tuple[int, Place | None]:
        """Committed length of an archive file of this process, and (offset, length) of its last group."""
        return self._archives.get(file, (0, None))

    def close(self, state: str = "", ended: str = "") -> None:
        """After the end: the store knows how it ended, and that nothing was left half done."""
        books = self._books
        if self.error is None:
            ended = ended or time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(books.clock.wall()))
            state = state or (books.ended.reason if books.ended else "interrupted")
            books.batch.meta.update(clean="1", state=state, ended=ended)
            books.batch.empty = False
            self.cut()
        self._store.close()
