"""Batches as SQL: what a commit writes, how smaller depths are passed on, what a refill reads."""

from __future__ import annotations

import sqlite3
from array import array
from typing import Any

import msgspec

from nephila.frontier.batch import BIAS, Batch, Refill, Row

RELAX_MAX = 20_000
"""Relaxations per commit; the rest waits in table `relax`."""
SELECT_ROW = "SELECT id, fp, url, kind, depth, hops, parent, score, attempts, unread FROM url"


def write(con: sqlite3.Connection, b: Batch) -> None:
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


def relax(con: sqlite3.Connection, b: Batch, max_depth: int) -> tuple[list[int], int]:
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


def refill(con: sqlite3.Connection, host: int, limit: int, wall: float, columns: str) -> Refill:
    """The first queued rows of a host that are due, in order, and when the next one is."""
    where = " WHERE host = ? AND state = 'queued' AND kind != 'robots'"
    rows = con.execute(f"{SELECT_ROW}{where} AND due <= ? ORDER BY {columns} LIMIT ?", (host, wall, limit)).fetchall()
    due = 0.0
    if len(rows) < limit:
        (due,) = con.execute(f"SELECT min(due) FROM url{where} AND due > ?", (host, wall)).fetchone()
    return Refill([row_of(row) for row in rows], due or 0.0)


def row_of(values: Any) -> Row:
    """Columns as `SELECT_ROW` gives them."""
    id, fp, *rest = values
    return Row(id, fp + BIAS, *rest)
