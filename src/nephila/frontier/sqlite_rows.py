"""Batches as SQL: what a commit writes, how smaller depths are passed on, what a refill reads."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import msgspec

from nephila.frontier import sqlite_known
from nephila.frontier.batch import BIAS, HOST_COLUMNS, ROBOTS_COLUMNS, Ask, Batch, Refill, Row

RELAX_MAX = 20_000
"""Relaxations per commit; the rest waits in table `relax`."""
AT_ONCE = (200, 40, 8, 1)
"""Rows in one statement, the most first."""


def write(con: sqlite3.Connection, b: Batch) -> None:
    """The rows of a batch, inside its transaction."""
    many = con.executemany
    if b.count_anew:
        con.execute("DELETE FROM rule_host")
    _insert(con, "host (id, origin)", b.hosts_new)
    many("INSERT OR IGNORE INTO rule (id, text, since) VALUES (?, ?, ?)", b.rules)
    many("UPDATE rule SET count = count + ? WHERE id = ?", [(n, rule) for rule, n in b.rule_counts.items()])
    _insert(con, "url (id, fp, host, url, kind, depth, hops, parent, score, state, rule, due)", b.urls)
    sqlite_known.append(con, b.urls)
    many("UPDATE url SET kind = ?, depth = ?, parent = ?, state = ?, rule = 0 WHERE id = ?", b.readmitted)
    _update(con, "url", ("state", "rule"), [(*how, id) for id, how in b.aside.items()])
    many("UPDATE url SET due = ?, attempts = ?, unread = ? WHERE id = ?", b.retries)
    many("UPDATE url SET state = 'dropped', rule = 0 WHERE id = ?", b.dropped)
    many("INSERT OR IGNORE INTO archive (file, worker, pid) VALUES (?, ?, ?)", b.opened)
    _write_visits(con, b)
    _update(con, "url", ("attempts", "visit"), b.done, "state = 'done', ")
    _insert(con, "attempt", b.attempts)
    _insert(con, "link (visit, flat, targets)", b.links)
    many("INSERT INTO item (url, round, n, value) VALUES (?, ?, ?, ?)", b.items)
    many("INSERT OR IGNORE INTO site_link VALUES (?, ?)", b.site_links)
    many(
        "UPDATE archive SET committed = max(committed, ?), records = records + ? WHERE file = ?",
        [(end, groups, file) for file, (end, groups) in b.archives.items()],
    )
    many("UPDATE archive SET closed = 1 WHERE file = ?", [(file,) for file in b.closed])
    many("UPDATE archive SET sha256 = ?, store = ? WHERE file = ?", b.stored)
    _update(con, "host", HOST_COLUMNS, b.host_rows)
    _update(con, "host", ROBOTS_COLUMNS, b.robots)
    for (rule, host), (count, examples) in b.refused_counts.items():
        found = con.execute(
            "SELECT count, examples FROM rule_host WHERE rule = ? AND host = ?", (rule, host)
        ).fetchone()
        before, known = (found[0], msgspec.json.decode(found[1])) if found else (0, [])
        told = msgspec.json.encode([*known, *examples][:3]).decode()
        con.execute("INSERT OR REPLACE INTO rule_host VALUES (?, ?, ?, ?)", (rule, host, before + count, told))
    _write_cookies(con, b.cookies)
    many("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(b.meta.items()))


def _insert(con: sqlite3.Connection, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Many rows in a few statements. After each step of a statement the writer needs Python's lock again, which a busy
    scheduler gives away every 5 ms: one by one, rows would wait for it longer than they take."""
    if rows:
        marks = f"({', '.join('?' * len(rows[0]))})"
        for some in _parts(rows):
            con.execute(f"INSERT INTO {into} VALUES {', '.join([marks] * len(some))}", [*chain.from_iterable(some)])


def _update(
    con: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], also: str = ""
) -> None:
    """Set these columns, and what `also` says, in the rows whose id comes last."""
    if rows:
        marks, names = f"({', '.join('?' * len(rows[0]))})", ", ".join(columns)
        told = ", ".join(f"{column} = new.{column}" for column in columns)
        for some in _parts(rows):
            con.execute(
                f"WITH new ({names}, id) AS (VALUES {', '.join([marks] * len(some))})"
                f" UPDATE {table} SET {also}{told} FROM new WHERE {table}.id = new.id",
                [*chain.from_iterable(some)],
            )


def _parts(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """In few sizes: a statement that was prepared once is used again."""
    at = 0
    for size in AT_ONCE:
        while at + size <= len(rows):
            yield rows[at : at + size]
            at += size


def _write_visits(con: sqlite3.Connection, b: Batch) -> None:
    """Visits name their archive file; the row holds its id. Round 0 means one more than the last, which is named, too.

    A URL knows its last visit, a visit the one before it: an index of visits by URL would cost each commit another page of
    the database per visit. (docs/decisions/0037-visits-in-a-chain.md)
    """
    files = {"": 0}
    rows: list[tuple[Any, ...]] = []
    for visit in b.visits:
        id, url, round, *rest, file, offset, length = visit
        if file not in files:
            (files[file],) = con.execute("SELECT id FROM archive WHERE file = ?", (file,)).fetchone()
        before = 0
        if round == 0:
            round, before = con.execute(_BEFORE, (url,)).fetchone() or (1, 0)
        rows.append((id, url, round, *rest, files[file], offset, length, before))
    _insert(con, "visit", rows)


_BEFORE = "SELECT v.round + 1, v.id FROM url u JOIN visit v ON v.id = u.visit WHERE u.id = ?"


def unmake(con: sqlite3.Connection, visits: list[tuple[int, int]]) -> None:
    """Take back visits (their id, their URL's): each goes out of its URL's chain, with its links, and the URL is queued."""
    for visit, url in visits:
        (before,) = con.execute("SELECT before FROM visit WHERE id = ?", (visit,)).fetchone()
        con.execute(_PASS_OVER, {"url": url, "visit": visit, "before": before})
        con.execute("UPDATE url SET visit = ? WHERE id = ? AND visit = ?", (before, url, visit))
        con.execute("UPDATE url SET state = 'queued', attempts = 0, due = 0 WHERE id = ?", (url,))
        con.execute("DELETE FROM visit WHERE id = ?", (visit,))
        con.execute("DELETE FROM link WHERE visit = ?", (visit,))


_PASS_OVER = """
WITH RECURSIVE later (id) AS (
  SELECT visit FROM url WHERE id = :url
  UNION ALL SELECT v.before FROM later JOIN visit v ON v.id = later.id WHERE v.before NOT IN (0, :visit))
UPDATE visit SET before = :before WHERE id IN later AND before = :visit
"""


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
    found = con.execute(
        "SELECT flat, targets FROM url u JOIN link l ON l.visit = u.visit WHERE u.id = ?", (id,)
    ).fetchone()
    if found is None:
        return []
    flat, edges = found
    return [(fp - BIAS, depth + (n >= flat)) for n, fp in enumerate(array("Q", edges))]


def first_rows(con: sqlite3.Connection, asked: list[Ask], limit: int, wall: float, columns: str) -> list[Refill]:
    """The first queued rows of each host that are due, in order, and when the next one is; the host's row if it is waking.

    What many hosts have is one row of JSON: each step of a cursor costs a turn of Python's lock, and the scheduler has it
    mostly.
    """
    queues = _asked(con, _FIRST.format(columns=columns), (wall, limit), [ask.host for ask in asked], _ROWS)
    short = [ask.host for ask, rows in zip(asked, queues, strict=True) if len(rows) < limit]
    dues = dict(zip(short, _asked(con, _NEXT, (wall,), short, _DUES), strict=True))
    hosts = _host_rows(con, [ask.host for ask in asked if ask.waking])
    return [
        Refill(
            [Row(id, fp + BIAS, *rest) for id, fp, *rest in rows],
            dues.get(ask.host, 0.0),
            hosts[ask.host] if ask.waking else None,
        )
        for ask, rows in zip(asked, queues, strict=True)
    ]


_FIRST = """
SELECT json_group_array((
  SELECT json_group_array(json_array(id, fp, url, kind, depth, hops, parent, score, attempts, unread)) FROM (
    SELECT * FROM url WHERE host = ask.value AND state = 'queued' AND kind != 'robots' AND due <= ?
    ORDER BY {columns} LIMIT ?)
)) FROM json_each(?) AS ask
"""
_NEXT = """
SELECT json_group_array((
  SELECT coalesce(min(due), 0.0) FROM url
  WHERE host = ask.value AND state = 'queued' AND kind != 'robots' AND due > ?
)) FROM json_each(?) AS ask
"""
_ROWS = msgspec.json.Decoder(list[list[list[Any]]])
_DUES = msgspec.json.Decoder(list[float])
T = TypeVar("T")


def _asked(
    con: sqlite3.Connection, sql: str, values: tuple[Any, ...], ids: list[int], decoder: msgspec.json.Decoder[list[T]]
) -> list[T]:
    """One answer for each id."""
    (text,) = con.execute(sql, (*values, msgspec.json.encode(ids).decode())).fetchone()
    return decoder.decode(text)


def _host_rows(con: sqlite3.Connection, ids: list[int]) -> dict[int, dict[str, Any]]:
    """Rows of table `host` by id."""
    names = ("id", "origin", *HOST_COLUMNS, *ROBOTS_COLUMNS)
    sql = f"SELECT {', '.join(names)} FROM host WHERE id IN (SELECT value FROM json_each(?))"
    rows = con.execute(sql, (msgspec.json.encode(ids).decode(),)) if ids else ()
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def row_of(values: Any) -> Row:
    """id, fp, url, kind, depth, hops, parent, score, attempts, unread."""
    id, fp, *rest = values
    return Row(id, fp + BIAS, *rest)
