"""Opening crawl.db: which files are accepted, and what a scheduler is told to carry on from."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nephila import db
from nephila.errors import Damaged, DiskFull, JobError
from nephila.frontier import sqlite_known
from nephila.frontier.batch import BIAS, Snapshot
from nephila.frontier.sqlite_migrate import migrate
from nephila.frontier.sqlite_rows import row_of
from nephila.frontier.sqlite_tally import Tally, one

CACHE_KB = 16_384
"""SQLite's page cache."""
CHECKPOINT_PAGES = 40_000
"""The log is folded back after this (160 MB): a page that many commits changed is written once and not a dozen times, and the
writer waits for the disk less often."""
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afpfs", "glusterfs", "ceph"}
)


def connect(path: Path, durable: bool) -> sqlite3.Connection:
    """Open or create the database. Refuses network file systems (WAL needs shared memory) and newer schemas."""
    kind = _file_system(path.parent)
    if kind in NETWORK_FILE_SYSTEMS:
        raise JobError(f"{path.parent} is on a network file system ({kind}): put crawl.db elsewhere with --state-dir")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # cookies lie in it; -wal and -shm follow
        con = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
        for pragma in (
            "journal_mode = wal",
            f"synchronous = {'full' if durable else 'off'}",  # what the system has, survives the death of a process
            f"cache_size = -{CACHE_KB}",
            "temp_store = memory",  # an UPDATE of many rows keeps what it would undo; a file for that is made anew each time
            "journal_size_limit = 268435456",
            f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
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
    if int(schema) < db.SCHEMA:
        migrate(con, path, schema)
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


def snapshot(con: sqlite3.Connection, seen: Any, tally: Tally, *, deep: bool) -> Snapshot:
    """All that is needed to carry on; `seen` is filled with every known URL. Hosts and their queues' lengths are still to be
    read when it returns: once, and before anything is written."""
    if seen is not None:
        sqlite_known.fill(con, seen, deep=deep)
    special = con.execute(_SPECIAL).fetchall()
    return Snapshot(
        db.meta(con),
        con.execute("SELECT id, origin, due, parked_until, state FROM host ORDER BY id"),
        _queued(con),
        [(origin, row_of(r)) for origin, *r in special if r[3] == "robots"],
        {fp + BIAS: id for fp, id in con.execute(f"SELECT fp, id FROM url AS u WHERE {_REFUSED}")},
        dict(con.execute("SELECT text, id FROM rule")),
        con.execute("SELECT domain, host_only, path, name, value, expires, secure, http_only FROM cookie").fetchall(),
        one(con, "SELECT coalesce(max(id), 0) FROM url"),
        one(con, "SELECT max((SELECT coalesce(max(id), 0) FROM visit), (SELECT coalesce(max(visit), 0) FROM change))"),
        dict(tally.outcomes),
        dict(tally.reasons),
        tally.outcomes.get("OK", 0),
        tally.bytes,
        tally.found,
        one(con, f"SELECT count(*) FROM url AS u WHERE {_REFUSED}"),
        one(con, "SELECT count(*) FROM relax"),
        {r[0]: _chain(con, r[6], r[5]) for _, *r in special if r[5]},
        [r[0] for _, *r in special if r[6] == 0 and r[3] != "robots"],
        lambda: (
            con.execute("SELECT id, origin, pages FROM host WHERE pages > 0"),
            con.execute("SELECT site, linker FROM site_link"),
        ),
        dict(con.execute("SELECT id, count FROM rule")),
        dict(con.execute("SELECT rule, sum(count) FROM rule_host GROUP BY rule")),
    )


_REFUSED = f"u.state = 'refused' AND {db.ASIDE}"
_SPECIAL = (
    "SELECT h.origin, u.id, u.fp, u.url, u.kind, u.depth, u.hops, u.parent, u.score, u.attempts, u.unread"
    " FROM url AS u INDEXED BY url_special JOIN host AS h ON h.id = u.host"
    " WHERE u.state = 'queued' AND (u.parent = 0 OR u.hops > 0 OR u.kind = 'robots') ORDER BY u.id"
)


def _queued(con: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """(host id, queued URLs), counted in the queue's index alone; requests for robots.txt are no part of a queue."""
    robots = dict(con.execute(_ROBOTS).fetchall())
    for host, count in con.execute(
        "SELECT host, count(*) FROM url INDEXED BY url_queue WHERE state = 'queued' GROUP BY host"
    ):
        if pages := count - robots.get(host, 0):
            yield host, pages


_ROBOTS = (
    "SELECT host, count(*) FROM url INDEXED BY url_special WHERE kind = 'robots'"
    " AND state = 'queued' AND (parent = 0 OR hops > 0 OR kind = 'robots') GROUP BY host"
)


def _chain(con: sqlite3.Connection, parent: int, hops: int) -> tuple[int, ...]:
    """Fingerprints of the redirects that led to a queued redirect target: at most ten parents."""
    chain: list[int] = []
    for _ in range(hops):
        found = con.execute("SELECT fp, parent FROM url WHERE id = ?", (parent,)).fetchone()
        if found is None:
            break
        chain.insert(0, found[0] + BIAS)
        parent = found[1]
    return tuple(chain)
