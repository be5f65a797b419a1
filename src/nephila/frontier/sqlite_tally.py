"""The tally: visits by outcome and reason, bytes and wanted URLs, kept in `meta` by each commit.

Counting them anew at a start takes a minute from ten million visits on. Whoever changes visits or states in another way
than by a commit deletes it, and then they are counted.
"""

from __future__ import annotations

import sqlite3
from collections import Counter

import msgspec

from nephila.frontier.batch import Batch
from nephila.types import UNVERIFIED

_NAMED = f"u.kind != 'robots' AND (v.outcome NOT IN ('OK', 'MOVED') OR v.reason LIKE '{UNVERIFIED}%')"
"""Visits whose reason is counted."""
_BYTES = 11
"""Place of `bytes` in a row of table `visit`."""


class Tally(msgspec.Struct):
    """What a batch adds to is what a count of the tables says."""

    outcomes: dict[str, int]
    reasons: dict[str, int]
    bytes: int
    found: int

    def save(self, con: sqlite3.Connection, batch: Batch, requeued: int) -> None:
        """Add a batch, inside its transaction. `requeued`: URLs that it has brought within the depth limit."""
        self.outcomes = dict(Counter(self.outcomes) + batch.outcomes)
        self.reasons = dict(Counter(self.reasons) + batch.reasons)
        self.bytes += sum(visit[_BYTES] for visit in batch.visits)
        self.found += batch.found + requeued
        con.execute("INSERT OR REPLACE INTO meta VALUES ('tally', ?)", (msgspec.json.encode(self).decode(),))


def load(con: sqlite3.Connection) -> Tally:
    """As it was kept, or counted."""
    kept = con.execute("SELECT value FROM meta WHERE key = 'tally'").fetchone()
    return msgspec.json.decode(kept[0], type=Tally) if kept else count(con)


def count(con: sqlite3.Connection) -> Tally:
    """By looking at every visit and URL."""
    return Tally(
        dict(con.execute(_visits("v.outcome", "u.kind != 'robots'")).fetchall()),
        dict(con.execute(_visits("v.reason", _NAMED)).fetchall()),
        one(con, "SELECT coalesce(sum(bytes), 0) FROM visit"),
        one(con, "SELECT count(*) FROM url WHERE state IN ('queued', 'done') AND kind != 'robots'"),
    )


def one(con: sqlite3.Connection, sql: str) -> int:
    """The number that a query answers with."""
    return int(con.execute(sql).fetchone()[0])


def _visits(what: str, where: str) -> str:
    return f"SELECT {what}, count(*) FROM visit v JOIN url u ON u.id = v.url WHERE {where} GROUP BY 1"
