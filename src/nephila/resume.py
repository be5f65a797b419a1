"""Carrying on: what happens to a job between two runs.

Archive files that nobody closed are cut to what is committed; ended URLs are queued again when asked for. What other rules
than before do to stored URLs is the scheduler's affair, at a start as in a running crawl.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from nephila import db
from nephila.config import Config
from nephila.frontier.batch import BIAS
from nephila.frontier.sqlite import SqliteStore
from nephila.frontier.sqlite_rows import unmake
from nephila.lock import lock_archive
from nephila.url.parse import host_of
from nephila.url.site import registrable


def repair_archives(
    store: SqliteStore, folder: Path, name: str, elsewhere: Callable[[str, str, int], bool] = lambda *file: False
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Cut and close every archive file left open; yields (event, fields). Files that were never registered go.

    Of a closed file only the length is looked at: one that is shorter than it was, or gone, is damaged, too, unless it is whole
    `elsewhere` (address of its store, name, length).
    """
    from nephila.archive.warc import repair  # most starts have nothing to repair

    rows = store.query("SELECT id, file, pid, committed, closed, store FROM archive")
    for id, file, pid, committed, closed, place in rows:
        path = folder / file
        if closed and path.is_file() and path.stat().st_size >= committed:
            continue
        if closed and place and elsewhere(place, file, committed):
            path.unlink(missing_ok=True)  # what is left of it is of no use
            continue
        last = store.query("SELECT offset, length FROM visit WHERE file = ? ORDER BY offset DESC LIMIT 1", (id,))
        with lock_archive(path, pid) as there:
            size = path.stat().st_size if there else 0
            sound = repair(path, committed, last[0] if last else None) if there else 0
        if sound < committed:
            yield "archive.damaged", {"file": file, "visits": _requeue_beyond(store, file, sound)}
        elif size != sound:
            yield "archive.cut", {"file": file, "from": size, "to": sound}
        if sound:
            store.query("UPDATE archive SET closed = 1, sha256 = '', store = '' WHERE id = ?", (id,))
        else:
            store.query("DELETE FROM archive WHERE id = ?", (id,))
    yield from _strays(store, folder, name)


def _requeue_beyond(store: SqliteStore, file: str, sound: int) -> int:
    """The visits whose records are lost are queued again, without what hooks made of them; a lost robots.txt counts as never
    asked for. Returns how many."""
    lost = store.requeue_beyond(file, sound)
    store.query(_ITEMS_LEFT)
    store.query(
        "UPDATE host SET robots = NULL, robots_state = '', robots_expires = 0 WHERE id IN"
        " (SELECT host FROM url WHERE kind = 'robots' AND state = 'queued')"
    )
    return lost


_ITEMS_LEFT = (
    "DELETE FROM item WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.url = item.url AND v.round = item.round)"
)
"""What hooks returned goes with its visit: the next one brings it anew."""


def _strays(store: SqliteStore, folder: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A worker was killed between making a file and the commit that registers it: nothing committed lies in it."""
    known = {file for (file,) in store.query("SELECT file FROM archive")}
    for path in sorted(folder.glob("*.warc.gz")):
        if path.name in known or not re.fullmatch(rf"{re.escape(name)}-\d+-\d{{5,}}\.warc\.gz", path.name):
            continue
        with lock_archive(path, 0):
            size = path.stat().st_size
            path.unlink()
        yield "archive.cut", {"file": path.name, "from": size, "to": 0}


def next_serial(folder: Path, name: str, worker: int, known: Iterable[str]) -> int:
    """The number after the highest that a worker's files have, on the disk or in the database (`known`)."""
    files = {*known, *(path.name for path in folder.iterdir())}
    found = [re.fullmatch(rf"{re.escape(name)}-{worker}-(\d+)\.warc\.gz", file) for file in files]
    return max((int(match[1]) + 1 for match in found if match), default=0)


def apply(store: SqliteStore, new: Config, old: Config, retry: list[str]) -> Iterator[str]:
    """Bring stored URLs in line with the settings of today, before the scheduler reads them; yields sentences with numbers. Rules
    are the scheduler's affair (`frontier.changing`)."""
    if old.max_depth < 0 <= new.max_depth:
        _reckon_depths(store)
    if new.no_robots and not old.no_robots:
        store.query("UPDATE url SET state = 'dropped', rule = 0 WHERE state = 'queued' AND kind = 'robots'")
        retry = [*retry, "DENIED"]
    if retry:
        yield from _retry(store, retry)


def _reckon_depths(store: SqliteStore) -> None:
    """Smallest depths from the stored links: without a limit they were not kept up."""
    depths = _least_depths(store)
    with store.transaction() as con:
        for id, fp, depth in con.execute("SELECT id, fp, depth FROM url").fetchall():
            least = depths.get(fp + BIAS, depth)
            if least != depth:
                con.execute("UPDATE url SET depth = ? WHERE id = ?", (least, id))


def _least_depths(store: SqliteStore) -> dict[int, int]:
    """Breadth first from the seeds over the stored links; fingerprint → depth."""
    links = {
        fp + BIAS: (flat, targets)
        for fp, flat, targets in store.query(
            "SELECT u.fp, l.flat, l.targets FROM url u JOIN link l ON l.visit = u.visit"
        )
    }
    depths: dict[int, int] = {}
    level = [fp + BIAS for (fp,) in store.query("SELECT fp FROM url WHERE parent = 0")]
    depth = 0
    while level:
        below: list[int] = []
        while level:
            fp = level.pop()
            if fp in depths:
                continue
            depths[fp] = depth
            flat, targets = links.get(fp, (0, b""))
            edges = array("Q", targets)
            level += edges[:flat]
            below += edges[flat:]
        level, depth = below, depth + 1
    return depths


def _retry(store: SqliteStore, outcomes: list[str]) -> Iterator[str]:
    """URLs that ended so are queued again; their visits become attempts."""
    marks = ", ".join("?" * len(outcomes))
    query = "SELECT v.id, u.id FROM url u JOIN visit v ON v.id = u.visit"
    with store.transaction() as con:
        ended = con.execute(
            f"{query} WHERE v.outcome IN ({marks}) AND u.state = 'done' AND u.kind != 'robots'", outcomes
        ).fetchall()
        con.executemany(
            "INSERT INTO attempt SELECT url, round, 0, started, status, reason, ms, bytes, 0 FROM visit WHERE id = ?",
            [(visit,) for visit, _ in ended],
        )
        unmake(con, ended)
        con.executemany("UPDATE url SET unread = '' WHERE id = ?", [(url,) for _, url in ended])
        con.execute(_ITEMS_LEFT)
    yield f"{len(ended)} URLs that ended as {', '.join(outcomes)} are queued again"


def seed_reasons(folder: Path) -> str:
    """How the seeds ended, for the user: the first few, with their reasons."""
    con = db.reader(folder)
    try:
        rows = con.execute(
            "SELECT u.url, v.outcome, v.reason, v.moved_to, iif(v.reason = 'robots_unreachable', (SELECT r.reason FROM"
            " visit r JOIN url f ON f.id = r.url WHERE f.kind = 'robots' AND f.host = u.host ORDER BY r.id DESC), '')"
            " FROM url u JOIN visit v ON v.id = u.visit"
            " WHERE u.parent = 0 AND u.kind != 'robots' ORDER BY u.id LIMIT 3"
        ).fetchall()
    finally:
        con.close()
    return "; ".join(
        f"{url} {outcome} {reason or moved}".rstrip() + (f" ({why})" if why else "")
        for url, outcome, reason, moved, why in rows
    )


def domains_met(folder: Path) -> list[str]:
    """The registrable domains whose URLs were admitted, sorted."""
    con = db.reader(folder)
    try:
        rows = con.execute(
            "SELECT origin FROM host WHERE id IN (SELECT host FROM url WHERE state IN ('queued', 'done'))"
        )
        return sorted({registrable(host_of(f"{origin}/")) for (origin,) in rows})
    finally:
        con.close()
