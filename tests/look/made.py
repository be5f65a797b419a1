"""A crawl.db row by row, as a crawl would have left it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from nephila import db
from nephila.frontier import sqlite_known
from nephila.url.key import Fingerprints
from nephila.url.parse import origin

HALF = 1 << 63
print_of = Fingerprints(7)


class Made:
    """`add` addresses, `visit` them; then look into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.con = sqlite3.connect(folder / "crawl.db", isolation_level=None)
        self.con.executescript("PRAGMA synchronous = off; " + db.TABLES)
        self.con.executemany("INSERT INTO meta VALUES (?, ?)", [("schema", str(db.SCHEMA)), ("fingerprint_key", "7")])

    def add(self, url: str, parent: int = 0, *, state: str = "queued", **row: Any) -> int:
        """A row of `url`; its id."""
        self.con.execute("INSERT OR IGNORE INTO host (origin) VALUES (?)", (origin(url),))
        (host,) = self.con.execute("SELECT id FROM host WHERE origin = ?", (origin(url),)).fetchone()
        columns = {
            "fp": print_of(url) - HALF,
            "host": host,
            "url": url,
            "kind": "page",
            "depth": 1,
            "parent": parent,
            "state": state,
        }
        id = self._insert("url", columns | row)
        sqlite_known.append(self.con, [(id, columns["fp"])])
        return id

    def visit(self, id: int, *links: str, outcome: str = "OK", flat: int = 0, **row: Any) -> int:
        """A visit of an address, after those it has had, with the links it brought; its id."""
        (before,) = self.con.execute("SELECT visit FROM url WHERE id = ?", (id,)).fetchone()
        columns = {
            "url": id, "round": 1, "started": 1_760_000_000.0 + id, "outcome": outcome, "reason": "", "status": 200, "protocol": "h2",
            "ip": "192.0.2.1", "media_type": "text/html", "charset": "utf-8", "bytes": 100 * id, "ms": id, "digest": "", "truncated": "",
            "access": "", "same_as": 0, "moved_to": "", "title": "", "language": "", "file": 0, "offset": 0, "length": 0, "before": before,
        }  # fmt: skip
        visit = self._insert("visit", columns | row)
        self.con.execute("UPDATE url SET visit = ?, state = 'done' WHERE id = ?", (visit, id))
        if links:
            packed = np.array([print_of(link) for link in links], np.uint64).tobytes()
            self.con.execute("INSERT INTO link VALUES (?, ?, ?)", (visit, flat, packed))
        return visit

    def _insert(self, table: str, row: dict[str, Any]) -> int:
        marks = ", ".join("?" * len(row))
        found = self.con.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        return found.lastrowid or 0
