"""The embedded store: crawl.db, SQLite in WAL mode, with one writer thread that owns the connection.

Why SQLite: one file that any tool can query, transactions that survive kill -9, no server. Why a thread: a commit must
never hold up the event loop. Jobs run in the order in which they were handed over, so a refill sees everything that was
accepted before it was asked for.
"""

from __future__ import annotations

import os
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nephila import db
from nephila.errors import DiskFull
from nephila.frontier import order
from nephila.frontier import sqlite_tally as tally
from nephila.frontier.batch import Ask, Batch, Committed, Looked, Refill, Snapshot
from nephila.frontier.sqlite_look import look
from nephila.frontier.sqlite_open import connect, snapshot
from nephila.frontier.sqlite_rows import first_rows, relax, unmake, write
from nephila.url.scope import Rules

CACHES = ((500_000, 65_536), (2_000_000, 262_144), (5_000_000, 458_752))
"""From so many URLs on SQLite's page cache may have so many kB: the queue's index has to fit, or every new row reads a page."""
WAL_BYTES_MAX = 256 << 20
Job = Callable[[sqlite3.Connection], Any]
Call = Callable[..., Any]


class SqliteStore:
    """Rows in `path` (created if missing). Everything happens inline until `start` gives work to the writer thread.

    `step(name)` is called before and after every durable step. Raises JobError or Damaged when the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        order_name: str = "bfs",
        max_depth: int = -1,
        durable: bool = False,
        min_free: int = 0,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._path, self._order, self._max_depth, self._min_free = path, order_name, max_depth, min_free
        self._call_soon: Call | None = None
        self._step = step
        self._free_checked = 0.0
        self._cache_kb = 0
        self._tally: tally.Tally | None = None
        self._failed: BaseException | None = None
        self._con = connect(path, durable)
        self._jobs: queue.SimpleQueue[tuple[Job, Call] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, call_soon: Call) -> None:
        """From now on jobs run on the writer thread; `call_soon` brings their answers to the scheduler's thread."""
        self._call_soon = call_soon

    def commit(self, batch: Batch, done: Callable[[Committed | BaseException], None]) -> None:
        self._run(lambda con: self._commit(con, batch), done)

    def fetch(
        self, asked: list[Ask], limit: int, wall: float, done: Callable[[list[Refill] | BaseException], None]
    ) -> None:
        self._run(lambda con: first_rows(con, asked, limit, wall, order.COLUMNS[self._order]), done)

    def look(self, rules: Rules, after: int, until: int, done: Callable[[Looked | BaseException], None]) -> None:
        self._run(lambda con: self._look(con, rules, after, until), done)

    def close(self) -> None:
        """Everything handed over is written; then the thread ends and the log is folded into the database."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
        self._con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._con.close()

    # --- jobs -------------------------------------------------------------------------------------------------------

    def _run(self, job: Job, done: Call) -> None:
        if self._call_soon is None:
            done(self._attempt(job))
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="crawl.db", daemon=True)
            self._thread.start()
        self._jobs.put((job, done))

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, done = item
            result = self._attempt(job)
            assert self._call_soon is not None
            try:
                self._call_soon(done, result)
            except RuntimeError:
                return  # the loop is closed: nobody listens any more

    def _attempt(self, job: Job) -> Any:
        try:
            return job(self._con)
        except (sqlite3.Error, OSError, DiskFull) as error:
            if self._con.in_transaction:
                self._con.rollback()
            full = isinstance(error, sqlite3.OperationalError) and "full" in str(error)
            return DiskFull(f"no space left for {self._path}") if full else error

    def _commit(self, con: sqlite3.Connection, batch: Batch) -> Committed:
        if self._failed is not None:
            raise self._failed  # what was handed over after a batch that failed depends on it
        try:
            return self._committed(con, batch)
        except BaseException as error:
            self._failed = error
            raise

    def _committed(self, con: sqlite3.Connection, batch: Batch) -> Committed:
        self._check_free()
        self._step("commit.before")
        con.execute("BEGIN IMMEDIATE")
        write(con, batch)
        requeued, relaxing = relax(con, batch, self._max_depth) if self._max_depth >= 0 else ([], 0)
        if self._tally is not None:
            self._tally.save(con, batch, len(requeued))
        con.execute("COMMIT")
        self._step("commit.after")
        self._widen_cache(con, batch.urls[-1][0] if batch.urls else 0)
        self._checkpoint(con)
        return Committed(requeued, relaxing)

    def _look(self, con: sqlite3.Connection, rules: Rules, after: int, until: int) -> Looked:
        if self._failed is not None:
            raise self._failed
        if self._max_depth >= 0:
            self._max_depth = rules.depth_max  # commits from now on pass smaller depths on by this limit
        self._step("look.before")
        con.execute("BEGIN IMMEDIATE")
        looked = look(con, rules, after, until)
        if self._tally is not None and looked.near:
            self._tally.save(con, Batch(), len(looked.near))
        con.execute("COMMIT")
        self._step("look.after")
        return looked

    def _widen_cache(self, con: sqlite3.Connection, urls: int) -> None:
        """A small job needs no large cache; in a large one each visit and each refill meets pages of its own."""
        wide = max((kb for from_urls, kb in CACHES if urls >= from_urls), default=0)
        if wide > self._cache_kb:
            self._cache_kb = wide
            con.execute(f"PRAGMA cache_size = -{wide}").fetchall()

    def _checkpoint(self, con: sqlite3.Connection) -> None:
        """SQLite folds the log back by itself; only past 256 MB (a reader holds it) do we insist."""
        try:
            if os.stat(f"{self._path}-wal").st_size > WAL_BYTES_MAX:
                con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except OSError:
            pass

    def _check_free(self) -> None:
        now = time.monotonic()
        if self._min_free and now - self._free_checked > 1.0:
            self._free_checked = now
            free = shutil.disk_usage(self._path.parent).free
            if free < self._min_free:
                raise DiskFull(f"only {free:,} bytes are free on the disk (--min-free {self._min_free:,})")

    # --- opening ----------------------------------------------------------------------------------------------------

    def meta(self) -> dict[str, str]:
        return db.meta(self._con)

    def set_meta(self, values: dict[str, str]) -> None:
        self._con.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    def query(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """For opening a job, before the crawl runs: rows of any query (or the effect of a change)."""
        return self._con.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Several changes as one, for opening a job. What was counted so far does not hold after it."""
        self._con.execute("BEGIN IMMEDIATE")
        try:
            self._con.execute("DELETE FROM meta WHERE key = 'tally'")
            yield self._con
            self._con.execute("COMMIT")
        except BaseException:
            self._con.rollback()
            raise

    def requeue_beyond(self, file: str, sound_end: int) -> int:
        """Visits whose records lie beyond the sound end of an archive file are queued again. Returns how many."""
        con = self._con
        con.execute("BEGIN IMMEDIATE")
        lost = con.execute(
            "SELECT v.id, v.url FROM visit v JOIN archive a ON a.id = v.file WHERE a.file = ? AND v.offset + v.length > ?",
            (file, sound_end),
        ).fetchall()
        unmake(con, lost)
        con.execute("UPDATE archive SET committed = min(committed, ?) WHERE file = ?", (sound_end, file))
        con.execute("DELETE FROM meta WHERE key = 'tally'")
        con.execute("COMMIT")
        return len(lost)

    def load(self, seen: Any) -> Snapshot:
        """All that is needed to carry on. The queue's index is rebuilt when the order changed."""
        con = self._con
        meta = self.meta()
        if meta.get("order") != self._order:
            con.execute("DROP INDEX IF EXISTS url_queue")
            self.set_meta({"order": self._order})
        con.execute(
            f"CREATE INDEX IF NOT EXISTS url_queue ON url (host, {order.COLUMNS[self._order]}) WHERE state = 'queued'"
        )
        if self._max_depth >= 0:  # smaller depths are passed on by fingerprint
            con.execute("CREATE UNIQUE INDEX IF NOT EXISTS url_fp ON url (fp)")
        else:
            con.execute("DROP INDEX IF EXISTS url_fp")
        self._tally = tally.load(con)
        loaded = snapshot(con, seen, self._tally, deep=self._max_depth >= 0)
        self._widen_cache(con, loaded.url_id)
        return loaded
