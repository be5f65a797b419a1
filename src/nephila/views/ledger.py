"""What a mirror knows of itself: which files in its folder are its own, and what each was made from.

One table in `.nephila.db`, at the top of the mirror (no host's folder begins with a dot). It makes an export go on where a killed
one ended, leaves alone what has not changed, and removes what is gone but nothing that somebody else put there. Whoever has it
open is the only one who writes into the mirror.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from nephila.errors import ConfigError
from nephila.views.folder import Folder
from nephila.views.names import RESERVED

NAME = ".nephila.db"

_TABLE = """CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, stamp INTEGER NOT NULL, size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL, missing INTEGER NOT NULL) WITHOUT ROWID"""


_OF_PAGES = f"path NOT IN ({', '.join(map(repr, RESERVED))})"
_BATCH = 500


class Written(NamedTuple):
    """A file of the mirror. `stamp` tells what it was made from (0: it is about to be made), `size` and `modified_ns` how it was
    left, `missing` how many of its links lead to what is not kept."""

    path: str
    stamp: int
    size: int
    modified_ns: int
    missing: int


class Ledger:
    """That of the mirror in `target`, held against the plan of what is to be there: `removed` files were gone from it; `bare`: it was
    an empty folder. Raises
    ConfigError when another export has it, or when a file that is not the mirror's is where one of its own has to be."""

    def __init__(self, target: Path, plan: Path, out: Folder) -> None:
        self._target, self._out = target, out
        self.bare = out.is_empty()
        for name in (NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal"):
            out.find(name)  # refuses what is no ordinary file
        self._con = sqlite3.connect(target / NAME, isolation_level=None, timeout=1)
        try:
            self._con.executescript(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
            )
            self._con.execute("BEGIN IMMEDIATE")
            self._con.execute(_TABLE)
            self._con.execute("COMMIT")
            self._con.execute("ATTACH ? AS plan", (str(plan),))
            out.sweep()
            self.removed = self._remove_gone()
            self._claim()
        except BaseException as error:
            self._con.close()
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise ConfigError(
                    f"another export is writing into {target}: wait for it, or give another folder"
                ) from error
            if isinstance(error, sqlite3.DatabaseError):
                raise ConfigError(
                    f"{target / NAME} cannot be used ({error}): remove it or give another folder"
                ) from error
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self._con.close()

    def _claim(self) -> None:
        """Files that will be made now are ours from here on. What is there already, and was not ours, is somebody else's."""
        new = self._con.execute(
            """SELECT path FROM plan.kept WHERE path NOT IN (SELECT path FROM file)
                UNION ALL SELECT value FROM json_each(?) WHERE value NOT IN (SELECT path FROM file)""",
            (msgspec.json.encode(RESERVED).decode(),),
        )
        for (path,) in new if not self.bare else ():
            if self._out.find(path) is not None:
                raise ConfigError(
                    f"{self._target / path} is there and not of this mirror: remove it or give another folder"
                )
        self._con.execute("BEGIN IMMEDIATE")
        self._con.executemany("INSERT OR IGNORE INTO file VALUES (?, 0, 0, 0, 0)", ((name,) for name in RESERVED))
        self._con.execute(
            "INSERT INTO file SELECT path, 0, 0, 0, 0 FROM plan.kept WHERE path NOT IN (SELECT path FROM file)"
        )
        self._con.execute("COMMIT")

    def _remove_gone(self) -> int:
        """Remove the files of pages that are no longer kept. One that was changed since is somebody's now, and stays."""
        removed = 0
        query = f"SELECT * FROM file WHERE path NOT IN (SELECT path FROM plan.kept) AND {_OF_PAGES} LIMIT {_BATCH}"
        while gone := [Written(*row) for row in self._con.execute(query)]:
            for was in gone:
                if not was.stamp or self._is_as_left(was):
                    removed += self._out.remove(was.path)
            self._con.executemany("DELETE FROM file WHERE path = ?", ((was.path,) for was in gone))
        return removed

    def to_do(self) -> Iterator[int]:
        """The numbers (in the plan) of the files that have to be made, or made again."""
        at = -1
        query = f"""SELECT k.n, k.stamp = f.stamp, f.* FROM plan.kept k CROSS JOIN file f ON f.path = k.path
          WHERE k.n > ? ORDER BY k.n LIMIT {_BATCH}"""
        while rows := self._con.execute(query, (at,)).fetchall():
            yield from (n for n, same, *was in rows if not (same and self._is_as_left(Written(*was))))
            at = rows[-1][0]

    def _is_as_left(self, was: Written) -> bool:
        found = self._out.find(was.path)
        return found is not None and (found.st_size, found.st_mtime_ns) == (was.size, was.modified_ns)

    def record(self, files: Iterable[Written]) -> None:
        self._con.execute("BEGIN IMMEDIATE")
        self._con.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)", files)
        self._con.execute("COMMIT")

    def totals(self) -> tuple[int, int, int]:
        """(files, bytes, links to what is not kept) of the pages in the mirror."""
        row = self._con.execute(
            """SELECT count(*), coalesce(sum(f.size), 0), coalesce(sum(f.missing), 0) FROM file f
               JOIN plan.kept k ON k.path = f.path WHERE f.stamp != 0"""
        )
        files, size, missing = row.fetchone()
        return files, size, missing

    def index(self) -> Iterator[bytes]:
        """The lines of index.jsonl: every file with its address, in the order in which the addresses were found."""
        encoder = msgspec.json.Encoder()
        columns = ("path", "url", "status", "charset", "media_type", "fetched")
        rows = self._con.execute(
            """SELECT k.path, k.url, k.status, k.charset, k.media_type, strftime('%Y-%m-%dT%H:%M:%SZ', k.started, 'unixepoch')
               FROM plan.kept k CROSS JOIN file f ON f.path = k.path WHERE f.stamp != 0 ORDER BY k.n"""
        )
        lines = (encoder.encode(dict(zip(columns, row, strict=True))) + b"\n" for row in rows)
        while some := b"".join(islice(lines, _BATCH)):
            yield some
