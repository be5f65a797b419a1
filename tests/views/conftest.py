"""A made-up job: a crawl.db and an archive as a crawl leaves them, without a crawl."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nephila import db
from nephila.archive.warc import Writer
from nephila.fetch.decode import decode
from nephila.types import Body, Kind, Lease, Outcome, Request, Response, Timings, Visit


class Job:
    """Add visits with `page`, then read `folder`."""

    Outcome, Kind = Outcome, Kind

    def __init__(self, folder: Path) -> None:
        self.folder, self.decode = folder, decode
        (folder / "archive").mkdir(parents=True)
        self.con = sqlite3.connect(folder / "crawl.db", isolation_level=None)
        self.con.executescript("PRAGMA journal_mode = WAL;" + db.TABLES)
        self.con.execute("INSERT INTO meta VALUES ('schema', ?)", (str(db.SCHEMA),))
        self.files: dict[str, int] = {}
        self.writer = Writer(
            folder / "archive",
            "job",
            1,
            bytes_max=1 << 30,
            fsync=False,
            software="nephila/test",
            info={},
            on_open=self._opened,
            on_close=lambda file, length: None,
        )

    def _opened(self, file: str, pid: int) -> None:
        self.files[file] = self.con.execute("INSERT INTO archive (file, worker) VALUES (?, 1)", (file,)).lastrowid or 0

    def page(
        self,
        url: str,
        data: bytes | str = b"",
        media_type: str = "text/html",
        *,
        outcome: Outcome = Outcome.OK,
        head: str = "",
        wire: bytes | None = None,
        round: int = 1,
        kind: Kind = Kind.PAGE,
        parent: int = 0,
        **row: Any,
    ) -> int:
        """Store one visit; returns url.id. `row` overrides columns of the visit."""
        data = data.encode() if isinstance(data, str) else data
        known = self.con.execute("SELECT id FROM url WHERE url = ?", (url,)).fetchone()
        id = known[0] if known else self._url(url, kind, parent)
        status = row.get("status", 301 if outcome is Outcome.MOVED else 200)
        payload = Body(data)
        line = f"HTTP/1.1 {status} X\r\nContent-Type: {media_type}\r\n{head}\r\n".encode()
        body = payload if wire is None else Body(wire)
        response = Response(
            url, status, "http/1.1", line, [], body, payload, b"GET / HTTP/1.1\r\n\r\n", 1_700_000_000.5, Timings()
        )
        record = self.writer(Visit(Lease(id, Request(url, kind), id), outcome, response=response))
        assert record is not None
        columns: dict[str, Any] = {
            "url": id,
            "round": round,
            "started": response.started,
            "outcome": str(outcome),
            "reason": "",
            "status": status,
            "protocol": "http/1.1",
            "ip": "192.0.2.1",
            "media_type": media_type,
            "charset": "",
            "bytes": len(data),
            "ms": 12,
            "digest": record.digest,
            "truncated": "",
            "access": "",
            "same_as": record.same_as,
            "moved_to": "",
            "title": "",
            "language": "",
            "file": self.files[record.file],
            "offset": record.offset,
            "length": record.length,
        }
        (columns["before"],) = self.con.execute("SELECT visit FROM url WHERE id = ?", (id,)).fetchone()
        columns |= row
        visit = self.con.execute(
            f"INSERT INTO visit ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
            tuple(columns.values()),
        ).lastrowid
        self.con.execute("UPDATE url SET visit = ? WHERE id = ?", (visit, id))
        return id

    def moved(self, url: str, target: str) -> int:
        return self.page(url, b"", outcome=Outcome.MOVED, moved_to=target)

    def _url(self, url: str, kind: Kind, parent: int) -> int:
        count = self.con.execute("SELECT count(*) FROM url").fetchone()[0]
        row = (count + 1, count + 1, url, str(kind), 1, parent, "done")
        self.con.execute(
            "INSERT INTO url (id, fp, host, url, kind, depth, parent, state) VALUES (?, ?, 1, ?, ?, ?, ?, ?)", row
        )
        return count + 1

    def mirror(self, **more: Any) -> Mirror:
        from nephila.views.mirror import mirror
        from nephila.views.source import Source

        target = more.pop("target", self.folder / "views" / "mirror")
        workers = more.pop("workers", None)
        with Source(self.folder, decode, **more) as source:
            report = mirror(source, target, workers)
        return Mirror(target, report)


class Mirror:
    def __init__(self, target: Path, report: Any) -> None:
        self.target, self.report = target, report
        lines = (target / "index.jsonl").read_bytes().splitlines()
        self.index = [msgspec.json.decode(line) for line in lines]
        self.paths = {row["url"]: row["path"] for row in self.index}

    def text(self, url: str) -> str:
        return (self.target / self.paths[url]).read_text("utf-8")


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path / "out")
    yield made
    made.writer.close()
    made.con.close()
