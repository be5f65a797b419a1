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
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from nephila import db
from nephila.errors import Damaged, DiskFull, JobError
from nephila.frontier import order
from nephila.frontier.batch import BIAS, Batch, Committed, Refused, Row, Snapshot

RELAX_MAX = 20_000
"""Relaxations per commit; the rest waits in table `relax`."""
CACHE_KB, CACHE_WIDE_KB, WIDE_URLS = 16_384, 65_536, 500_000
"""SQLite's page cache, and from how many URLs on it may be larger."""
WAL_BYTES_MAX = 256 << 20
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afpfs", "glusterfs", "ceph"}
)
SELECT_ROW = "SELECT id, fp, url, kind, depth, hops, parent, score, attempts, unread FROM url"

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
        self._wide = False
        self._failed: BaseException | None = None
        self._con = _connect(path, durable)
        self._jobs: queue.SimpleQueue[tuple[Job, Call] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, call_soon: Call) -> None:
        """From now on jobs run on the writer thread; `call_soon` brings their answers to the scheduler's thread."""
        self._call_soon = call_soon

    def commit(self, batch: Batch, done: Callable[[Committed | BaseException], None]) -> None:
        self._run(lambda con: self._commit(con, batch), done)

    def refill(self, host: int, limit: int, wall: float, done: Callable[[list[Row], float], None]) -> None:
        def answer(result: Any) -> None:
            if isinstance(result, BaseException):
                raise result
            done(*result)

        self._run(lambda con: _refill(con, host, limit, wall, order.COLUMNS[self._order]), answer)

    def stored(self, state: str, done: Callable[[list[Refused]], None]) -> None:
        sql = "SELECT id, fp, url, kind, depth, parent, rule FROM url WHERE state = ?"

        def answer(result: Any) -> None:
            if isinstance(result, BaseException):
                raise result
            done(result)

        self._run(lambda con: [Refused(i, f + BIAS, *rest) for i, f, *rest in con.execute(sql, (state,))], answer)

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
        _write(con, batch)
        requeued, relaxing = _relax(con, batch, self._max_depth) if self._max_depth >= 0 else ([], 0)
        con.execute("COMMIT")
        self._step("commit.after")
        self._widen_cache(con, batch)
        self._checkpoint(con)
        return Committed(requeued, relaxing)

    def _widen_cache(self, con: sqlite3.Connection, batch: Batch) -> None:
        """A small job needs no large cache; in a large one every insertion meets another page of the fingerprint index."""
        if not self._wide and batch.urls and batch.urls[-1][0] > WIDE_URLS:
            self._wide = True
            con.execute(f"PRAGMA cache_size = -{CACHE_WIDE_KB}").fetchall()

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
        return dict(self._con.execute("SELECT key, value FROM meta").fetchall())

    def set_meta(self, values: dict[str, str]) -> None:
        self._con.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    def query(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """For opening a job, before the crawl runs: rows of any query (or the effect of a change)."""
        return self._con.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Several changes as one, for opening a job."""
        self._con.execute("BEGIN IMMEDIATE")
        try:
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
        con.executemany("DELETE FROM visit WHERE id = ?", [(visit,) for visit, _ in lost])
        con.executemany(
            "UPDATE url SET state = 'queued', attempts = 0, due = 0 WHERE id = ?", [(url,) for _, url in lost]
        )
        con.execute("UPDATE archive SET committed = min(committed, ?) WHERE file = ?", (sound_end, file))
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
        seen.load((fp + BIAS, depth) for fp, depth in con.execute("SELECT fp, depth FROM url"))
        cursor = con.execute("SELECT * FROM host")
        names = [column[0] for column in cursor.description]
        hosts = [dict(zip(names, values, strict=True)) for values in cursor]
        outcomes = dict(con.execute(_count("v.outcome", "u.kind != 'robots'")).fetchall())
        return Snapshot(
            meta,
            hosts,
            dict(
                con.execute("SELECT host, count(*) FROM url WHERE state = 'queued' AND kind != 'robots' GROUP BY host")
            ),
            [
                (h, _row(r))
                for h, *r in con.execute(
                    SELECT_ROW.replace("SELECT", "SELECT host,") + " WHERE state = 'queued' AND kind = 'robots'"
                )
            ],
            {fp + BIAS: id for fp, id in con.execute("SELECT fp, id FROM url WHERE state = 'refused'")},
            dict(con.execute("SELECT text, id FROM rule")),
            con.execute(
                "SELECT domain, host_only, path, name, value, expires, secure, http_only FROM cookie"
            ).fetchall(),
            _one(con, "SELECT coalesce(max(id), 0) FROM url"),
            _one(con, "SELECT coalesce(max(id), 0) FROM visit"),
            outcomes,
            dict(con.execute(_count("v.reason", "u.kind != 'robots' AND v.outcome NOT IN ('OK', 'MOVED')")).fetchall()),
            outcomes.get("OK", 0),
            _one(con, "SELECT coalesce(sum(bytes), 0) FROM visit"),
            _one(con, "SELECT count(*) FROM url WHERE state IN ('queued', 'done') AND kind != 'robots'"),
            _one(con, "SELECT count(*) FROM url WHERE state = 'refused'"),
            _one(con, "SELECT count(*) FROM relax"),
            _chains(con),
            [
                id
                for (id,) in con.execute(
                    "SELECT id FROM url WHERE parent = 0 AND state = 'queued' AND kind != 'robots'"
                )
            ],
        )


def _connect(path: Path, durable: bool) -> sqlite3.Connection:
    """Open or create the database. Refuses network file systems (WAL needs shared memory) and newer schemas."""
    kind = _file_system(path.parent)
    if kind in NETWORK_FILE_SYSTEMS:
        raise JobError(f"{path.parent} is on a network file system ({kind}): put crawl.db elsewhere with --state-dir")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # cookies lie in it; -wal and -shm follow
        con = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
        for pragma in (
            "journal_mode = wal",
            f"synchronous = {'full' if durable else 'normal'}",
            f"cache_size = -{CACHE_KB}",
            "journal_size_limit = 268435456",
            *(("fullfsync = 1",) if durable else ()),
        ):
            con.execute(f"PRAGMA {pragma}").fetchall()
        if not con.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            con.executescript("BEGIN;" + db.TABLES + f"INSERT INTO meta VALUES ('schema', '{db.SCHEMA}'); COMMIT;")
        (schema,) = con.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    except OSError as error:
        raise JobError(f"{path} cannot be written ({error.strerror})") from error
    except (sqlite3.DatabaseError, TypeError) as error:
        if isinstance(error, sqlite3.OperationalError) and ("readonly" in str(error) or "unable to open" in str(error)):
            raise JobError(f"{path} cannot be written ({error})") from error
        if "full" in str(error):
            raise DiskFull(f"no space left for {path}") from error
        raise Damaged(
            f"{path} does not read as a crawl database ({error}); move the folder away or restore it"
        ) from error
    if int(schema) > db.SCHEMA:
        raise JobError(
            f"{path} was written by a newer Nephila (schema {schema}, this one knows {db.SCHEMA}): upgrade first"
        )
    return con


def _file_system(folder: Path) -> str:
    """Type of the file system a folder is on, as far as Linux says; "" elsewhere."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    at = str(folder.resolve())
    under = [(len(point), kind) for point, kind in mounts if at == point or at.startswith(point.rstrip("/") + "/")]
    return max(under, default=(0, ""))[1]


def _write(con: sqlite3.Connection, b: Batch) -> None:
    """The rows of a batch, inside its transaction."""
    many = con.executemany
    many("INSERT INTO host (id, origin) VALUES (?, ?)", b.hosts_new)
    many("INSERT OR IGNORE INTO rule (id, text, since) VALUES (?, ?, ?)", b.rules)
    many("UPDATE rule SET count = count + ? WHERE id = ?", [(n, rule) for rule, n in b.rule_counts.items()])
    many(
        "INSERT INTO url (id, fp, host, url, kind, depth, hops, parent, score, state, rule, due)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        b.urls,
    )
    many("UPDATE url SET kind = ?, depth = ?, parent = ?, state = ?, rule = 0 WHERE id = ?", b.readmitted)
    many("UPDATE url SET due = ?, attempts = ?, unread = ? WHERE id = ?", b.retries)
    many("UPDATE url SET state = ?, attempts = ? WHERE id = ?", b.states)
    many("INSERT OR IGNORE INTO archive (file, worker, pid) VALUES (?, ?, ?)", b.opened)
    _write_visits(con, b)
    many("INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", b.attempts)
    many("INSERT OR REPLACE INTO link (page, round, flat, targets) VALUES (?, ?, ?, ?)", b.links)
    many("INSERT INTO item (url, round, n, value) VALUES (?, ?, ?, ?)", b.items)
    many(
        "UPDATE archive SET committed = max(committed, ?), records = records + ? WHERE file = ?",
        [(end, groups, file) for file, (end, groups) in b.archives.items()],
    )
    many("UPDATE archive SET closed = 1 WHERE file = ?", [(file,) for file in b.closed])
    many(
        "UPDATE host SET ip = ?, due = ?, delay = ?, ttfb = ?, failures = ?, parked_until = ?, verdict = ?, state = ?,"
        " robots = ?, robots_state = ?, robots_status = ?, crawl_delay = ?, robots_fetched = ?, robots_expires = ?,"
        " pages = ?, bytes = ? WHERE id = ?",
        b.host_rows,
    )
    for (rule, host), (count, examples) in b.refused_counts.items():
        found = con.execute(
            "SELECT count, examples FROM rule_host WHERE rule = ? AND host = ?", (rule, host)
        ).fetchone()
        before, known = (found[0], msgspec.json.decode(found[1])) if found else (0, [])
        told = msgspec.json.encode([*known, *examples][:3]).decode()
        con.execute("INSERT OR REPLACE INTO rule_host VALUES (?, ?, ?, ?)", (rule, host, before + count, told))
    _write_cookies(con, b.cookies)
    many("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(b.meta.items()))


def _write_visits(con: sqlite3.Connection, b: Batch) -> None:
    """Visits name their archive file; the row holds its id. Round 0 means one more than the last."""
    files = {"": 0}
    rows: list[tuple[Any, ...]] = []
    for visit in b.visits:
        id, url, round, *rest, file, offset, length = visit
        if file not in files:
            (files[file],) = con.execute("SELECT id FROM archive WHERE file = ?", (file,)).fetchone()
        if round == 0:
            (round,) = con.execute("SELECT coalesce(max(round), 0) + 1 FROM visit WHERE url = ?", (url,)).fetchone()
        rows.append((id, url, round, *rest, files[file], offset, length))
    con.executemany(f"INSERT INTO visit VALUES ({', '.join('?' * 23)})", rows)


def _write_cookies(con: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
    for row in rows:
        if len(row) == 3:
            con.execute("DELETE FROM cookie WHERE domain = ? AND path = ? AND name = ?", row)
        else:
            con.execute("INSERT OR REPLACE INTO cookie VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _relax(con: sqlite3.Connection, b: Batch, max_depth: int) -> tuple[list[int], int]:
    """Smaller depths, passed on along stored links in bounded steps. (hosts of URLs that are queued now, what is left)."""
    left: dict[int, int] = dict(con.execute("SELECT fp, depth FROM relax LIMIT ?", (RELAX_MAX,)).fetchall())
    con.executemany("DELETE FROM relax WHERE fp = ?", [(fp,) for fp in left])
    work = [*left.items(), *b.relax]
    for id, used in b.settled:
        (depth,) = con.execute("SELECT depth FROM url WHERE id = ?", (id,)).fetchone()
        if depth < used:
            work += _children(con, id, depth)
    requeued: list[int] = []
    steps = 0
    while work and steps < RELAX_MAX:
        fp, depth = work.pop()
        steps += 1
        row = con.execute("SELECT id, host, depth, state FROM url WHERE fp = ?", (fp,)).fetchone()
        if row is None or row[2] <= depth:
            continue
        fits = row[3] == "too_deep" and depth <= max_depth
        con.execute("UPDATE url SET depth = ? WHERE id = ?", (depth, row[0]))
        if fits:
            con.execute("UPDATE url SET state = 'queued', rule = 0 WHERE id = ?", (row[0],))
            requeued.append(row[1])
        elif row[3] == "done":
            work += _children(con, row[0], depth)
    con.executemany(
        "INSERT INTO relax VALUES (?, ?) ON CONFLICT DO UPDATE SET depth = min(depth, excluded.depth)", work
    )
    return requeued, con.execute("SELECT count(*) FROM relax").fetchone()[0]


def _children(con: sqlite3.Connection, id: int, depth: int) -> list[tuple[int, int]]:
    found = con.execute("SELECT flat, targets FROM link WHERE page = ?", (id,)).fetchone()
    if found is None:
        return []
    flat, edges = found
    return [(fp - BIAS, depth + (n >= flat)) for n, fp in enumerate(array("Q", edges))]


def _refill(con: sqlite3.Connection, host: int, limit: int, wall: float, columns: str) -> tuple[list[Row], float]:
    where = " WHERE host = ? AND state = 'queued' AND kind != 'robots'"
    rows = con.execute(f"{SELECT_ROW}{where} AND due <= ? ORDER BY {columns} LIMIT ?", (host, wall, limit)).fetchall()
    due = 0.0
    if len(rows) < limit:
        (due,) = con.execute(f"SELECT min(due) FROM url{where} AND due > ?", (host, wall)).fetchone()
    return [_row(row) for row in rows], due or 0.0


def _row(values: Any) -> Row:
    id, fp, *rest = values
    return Row(id, fp + BIAS, *rest)


def _one(con: sqlite3.Connection, sql: str) -> int:
    return int(con.execute(sql).fetchone()[0])


def _count(what: str, where: str) -> str:
    return f"SELECT {what}, count(*) FROM visit v JOIN url u ON u.id = v.url WHERE {where} GROUP BY 1"


def _chains(con: sqlite3.Connection) -> dict[int, tuple[int, ...]]:
    """The redirects that led to each queued redirect target: at most ten parents each."""
    chains = {}
    for id, parent, hops in con.execute(
        "SELECT id, parent, hops FROM url WHERE state = 'queued' AND hops > 0"
    ).fetchall():
        chain: list[int] = []
        for _ in range(hops):
            found = con.execute("SELECT fp, parent FROM url WHERE id = ?", (parent,)).fetchone()
            if found is None:
                break
            chain.insert(0, found[0] + BIAS)
            parent = found[1]
        chains[id] = tuple(chain)
    return chains
