"""Table `known`: the fingerprints of table `url` once more, packed by the thousand in the order of `url.id`.

At a start the set of what was met is filled from it: eight bytes a URL, read in one go and sorted, where an index of single
entries costs 17 and has to be read entry by entry. And it is written in one piece, where an index of random numbers touches
another page for every URL: at three million it made inserting half as fast, and the more there were, the slower
(docs/decisions/0023-frontier-at-scale.md). What an index would have promised is looked at when it is read: every URL is
there, and none twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nephila.errors import Damaged
from nephila.frontier.batch import BIAS
from nephila.frontier.seen.door import Fingerprints

SORTED_AT_ONCE = 1 << 25
"""Fingerprints in memory beside the set that is filled (256 MB, and as much again for a moment)."""
ROWS_AT_ONCE = 200_000
"""Rows of `url` in one question."""

Signed = npt.NDArray[np.int64]


def append(con: sqlite3.Connection, urls: list[tuple[Any, ...]]) -> None:
    """The fingerprints of new rows of `url` (their second column); their ids follow each other."""
    if urls:
        packed = np.fromiter((row[1] for row in urls), "<i8", len(urls)).tobytes()
        con.execute("INSERT INTO known VALUES (?, ?)", (urls[0][0], packed))


def fill(con: sqlite3.Connection, seen: Any, *, deep: bool) -> None:
    """Tell `seen` of every URL; Damaged when one is missing, or there twice."""
    total = _count(con)
    if seen.of_text:
        for texts in _texts(con):
            seen.add_many(texts)
    elif deep:
        for fps, depths in _with_depths(con, total):
            seen.add_many(fps, depths)
    elif hasattr(seen, "load_sorted"):
        seen.load_sorted(_ascending(con, total))
    else:
        for fps in _ascending(con, total):
            seen.add_many(fps)
    if seen.exact and not seen.of_text and len(seen) != total:  # a robots.txt may be there under several fingerprints
        raise Damaged(f"crawl.db has {total} URLs, but {len(seen)} of them are known: it is damaged")


def rebuild(con: sqlite3.Connection) -> None:
    """Fill the table from table `url`, inside a transaction."""
    con.execute("DELETE FROM known")
    at = 0
    while rows := con.execute("SELECT id, fp FROM url WHERE id > ? ORDER BY id LIMIT ?", (at, ROWS_AT_ONCE)).fetchall():
        append(con, rows)
        at = rows[-1][0]


def _count(con: sqlite3.Connection) -> int:
    """How many URLs there are. Damaged when `known` does not tell of exactly these."""
    expected = 1
    for first, size in con.execute("SELECT first, length(fps) FROM known ORDER BY first"):
        if first != expected or size % 8:
            raise Damaged(f"crawl.db is damaged: table known does not tell of URL {expected}")
        expected += size // 8
    (last,) = con.execute("SELECT coalesce(max(id), 0) FROM url").fetchone()
    if last != expected - 1:
        raise Damaged(f"crawl.db is damaged: table known tells of {expected - 1} URLs, table url of {last}")
    return expected - 1


def _packed(con: sqlite3.Connection) -> Iterator[Signed]:
    for (packed,) in con.execute("SELECT fps FROM known ORDER BY first"):
        yield np.frombuffer(packed, "<i8")


def _in_order(con: sqlite3.Connection, total: int) -> Signed:
    """All fingerprints, by `url.id`."""
    fps, at = np.empty(total, np.int64), 0
    for packed in _packed(con):
        fps[at : at + len(packed)] = packed
        at += len(packed)
    return fps


def _ascending(con: sqlite3.Connection, total: int) -> Iterator[Fingerprints]:
    """All fingerprints in ascending order: by ranges of equal width, each in memory and sorted in its turn."""
    parts = 1
    while total // parts > SORTED_AT_ONCE:
        parts *= 2
    width = (1 << 64) // parts
    for part in range(parts):
        low = part * width - BIAS
        some = _sorted(con, total if parts == 1 else 0, low, low + width - 1)
        if np.any(some[1:] == some[:-1]):
            raise Damaged("crawl.db is damaged: a fingerprint stands in table url twice")
        yield _unsigned(some)


def _sorted(con: sqlite3.Connection, total: int, low: int, high: int) -> Signed:
    if total:
        some = _in_order(con, total)
    else:
        found = [packed[(packed >= low) & (packed <= high)] for packed in _packed(con)]
        some = np.concatenate(found) if found else np.empty(0, np.int64)
    some.sort()
    return some


def _with_depths(con: sqlite3.Connection, total: int) -> Iterator[tuple[Fingerprints, npt.NDArray[np.uint8]]]:
    """Smaller depths are found in table `url` only."""
    fps = _in_order(con, total)
    for begin in range(0, total, ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, total)
        (text,) = con.execute(
            "SELECT group_concat(depth) FROM (SELECT depth FROM url WHERE id > ? AND id <= ? ORDER BY id)", (begin, end)
        ).fetchone()
        depths = np.fromstring(text or "", np.int64, sep=",")
        if len(depths) != end - begin:
            raise Damaged(f"crawl.db is damaged: URLs between {begin} and {end} are missing in table url")
        yield _unsigned(fps[begin:end]), np.clip(depths, 0, 255).astype(np.uint8)


def _texts(con: sqlite3.Connection) -> Iterator[list[str]]:
    at = 0
    while rows := con.execute(
        "SELECT id, url FROM url WHERE id > ? ORDER BY id LIMIT ?", (at, ROWS_AT_ONCE)
    ).fetchall():
        yield [text for _, text in rows]
        at = rows[-1][0]


def _unsigned(signed: Signed) -> Fingerprints:
    return signed.view(np.uint64) ^ np.uint64(BIAS)
