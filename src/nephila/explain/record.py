"""What a job has on an address: its row, its host, its visit, its tries. Read-only, in short questions, and never for long.

There is no index of addresses in crawl.db (docs/decisions/0023-frontier-at-scale.md): table `known` is looked through, eight bytes
per address, which takes some 10 ms per million.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import msgspec

from nephila import settings
from nephila.config import Config
from nephila.db import BIAS
from nephila.errors import JobError
from nephila.look import known
from nephila.url.key import Fingerprints
from nephila.views.source import Source

SECONDS_MAX = 2.0
"""All questions of one explanation together; what does not fit is said to be unknown."""

Row = dict[str, Any]


class Record:
    """One job, opened for one explanation. Raises JobError when the folder holds no settings."""

    def __init__(self, source: Source, seconds: float = SECONDS_MAX, now: float | None = None) -> None:
        self.source, self._end = source, time.monotonic() + seconds
        self.now = time.time() if now is None else now
        self.unknown: list[str] = []
        self.toml = source.folder / "crawl.toml"
        if not self.toml.exists():
            raise JobError(f"{self.toml} is missing: without the settings of the crawl nothing can be explained")
        self.config: Config = settings.of_job(source.folder)
        self.meta: dict[str, str] = {
            row["key"]: row["value"] for row in self.ask("meta", "SELECT key, value FROM meta")
        }
        self.fingerprint = Fingerprints(int(self.meta.get("fingerprint_key", "0")))
        self.widened = tuple(msgspec.json.decode(self.meta.get("widened", "[]"), type=list[str]))
        self.members = tuple(msgspec.json.decode(self.meta.get("members", "[]"), type=list[str]))
        self.rules = {row["id"]: row["text"] for row in self.ask("rules", "SELECT id, text FROM rule")}

    def left_s(self) -> float:
        """Seconds that are left for questions."""
        return max(self._end - time.monotonic(), 0.0)

    def ask(self, what: str, query: str, *values: Any, seconds: float = SECONDS_MAX) -> list[Row]:
        """The rows of an answer; none, and a word in `unknown`, when it takes too long."""
        rows = self.source.within(min(seconds, self.left_s()), query, *values)
        if rows is None:
            self.unknown.append(what)
        return [dict(row) for row in rows or ()]

    def rows(self, query: str, *values: Any) -> list[Row]:
        """As `ask`, of a question that somebody else has."""
        return self.ask("addresses", query, *values)

    def ids(self, urls: Iterable[str]) -> dict[str, int]:
        """Which of these URLs the job has met: URL → id of the row that stands for it."""
        fps = {url: self.fingerprint(url) - BIAS for url in urls}
        there = known.ids(self, fps.values()) if fps else {}
        return {url: there[fp] for url, fp in fps.items() if fp in there}

    def row(self, id: int) -> Row:
        """The address, the page where it was found first, and its last visit; {} when there is none."""
        rows = self.ask("row", _ROW, id)
        return rows[0] if rows else {}

    def host(self, origin: str) -> Row:
        """What is known of an origin; {} when it was never met."""
        rows = self.ask("host", "SELECT * FROM host WHERE origin = ?", origin)
        return rows[0] if rows else {}

    def attempts(self, id: int) -> list[Row]:
        """Requests that did not settle it, earliest first; at most 100."""
        return self.ask("attempts", "SELECT * FROM attempt WHERE url = ? ORDER BY rowid LIMIT 100", id)

    def ahead(self, row: Row) -> int | None:
        """How many URLs of its host are asked for before this queued one, by the order of the crawl."""
        columns = [
            (c["name"], c["desc"])
            for c in self.ask(
                "order", "SELECT name, \"desc\" FROM pragma_index_xinfo('url_queue') WHERE key = 1 ORDER BY seqno"
            )
            if c["name"] != "host"
        ]
        if not columns:
            return None
        before, same, values = [], "", list[int]()
        for n, (name, descending) in enumerate(columns):
            before.append(f"({same}{name} {'>' if descending else '<'} ?)")
            same += f"{name} = ? AND "
            values += [row[column] for column, _ in columns[: n + 1]]
        query = f"SELECT count(*) AS n FROM url INDEXED BY url_queue WHERE state = 'queued' AND host = ? AND ({' OR '.join(before)})"
        rows = self.ask("queue", query, row["host"], *values)
        return rows[0]["n"] if rows else None

    def may_see(self, row: Row) -> bool:
        """What was fetched with a credential is shown to those who name it; what was not visited is as open as the page where it
        was found."""
        return self.source.may_see(row["access"] if row["visit"] else row["parent_access"])


_ROW = """SELECT u.*, coalesce(r.text, '') AS rule_text, coalesce(p.url, '') AS parent_url, coalesce(w.access, '') AS parent_access,
  coalesce(p.visit, 0) AS parent_visit, coalesce(v.access, '') AS access, coalesce(v.outcome, '') AS outcome,
  coalesce(v.reason, '') AS reason, coalesce(v.status, 0) AS status, coalesce(v.started, 0) AS started, coalesce(v.ms, 0) AS ms,
  coalesce(v.bytes, 0) AS bytes, coalesce(v.media_type, '') AS media_type, coalesce(v.title, '') AS title,
  coalesce(v.moved_to, '') AS moved_to, coalesce(v.round, 0) AS round, coalesce(v.truncated, '') AS truncated,
  coalesce(v.protocol, '') AS protocol, coalesce(v.ip, '') AS ip,
  coalesce(a.file, '') AS file, coalesce(v.offset, 0) AS offset, coalesce(v.length, 0) AS length,
  coalesce(s.url, '') AS same_as_url, coalesce(t.access, '') AS same_as_access
  FROM url u LEFT JOIN rule r ON r.id = u.rule LEFT JOIN url p ON p.id = u.parent LEFT JOIN visit w ON w.id = p.visit
  LEFT JOIN visit v ON v.id = u.visit LEFT JOIN archive a ON a.id = v.file LEFT JOIN url s ON s.id = v.same_as
  LEFT JOIN visit t ON t.id = s.visit WHERE u.id = ?"""
