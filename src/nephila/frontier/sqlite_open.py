"""Opening crawl.db: which files are accepted, and what a scheduler is told to carry on from."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from nephila import db
from nephila.errors import Damaged, DiskFull, JobError
from nephila.frontier.batch import BIAS, Snapshot
from nephila.frontier.sqlite_rows import SELECT_ROW, row_of

CACHE_KB = 16_384
"""SQLite's page cache."""
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


def snapshot(con: sqlite3.Connection, seen: Any) -> Snapshot:
    """All that is needed to carry on; `seen` is filled with every known fingerprint."""
    seen.load((fp + BIAS, depth) for fp, depth in con.execute("SELECT fp, depth FROM url"))
    cursor = con.execute("SELECT * FROM host")
    names = [column[0] for column in cursor.description]
    hosts = [dict(zip(names, values, strict=True)) for values in cursor]
    outcomes = dict(con.execute(_count("v.outcome", "u.kind != 'robots'")).fetchall())
    return Snapshot(
        dict(con.execute("SELECT key, value FROM meta").fetchall()),
        hosts,
        dict(con.execute("SELECT host, count(*) FROM url WHERE state = 'queued' AND kind != 'robots' GROUP BY host")),
        [
            (h, row_of(r))
            for h, *r in con.execute(
                SELECT_ROW.replace("SELECT", "SELECT host,") + " WHERE state = 'queued' AND kind = 'robots'"
            )
        ],
        {fp + BIAS: id for fp, id in con.execute("SELECT fp, id FROM url WHERE state = 'refused'")},
        dict(con.execute("SELECT text, id FROM rule")),
        con.execute("SELECT domain, host_only, path, name, value, expires, secure, http_only FROM cookie").fetchall(),
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
        [id for (id,) in con.execute("SELECT id FROM url WHERE parent = 0 AND state = 'queued' AND kind != 'robots'")],
    )


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
