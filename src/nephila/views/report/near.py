"""Pages that say nearly the same, found without comparing each with each.

A page is the set of its texts (`page.sketch`) without short ones that come back all over its host (`views.repeats`): those are
menus, while a sentence on every page is what makes them alike. Eight bands of three minimum hashes each: two pages of which four
fifths are the same share a band with 99.7 % certainty, two of which a third is the same with 26 %; those are then compared. A
page joins the first one of its kind or becomes one.
Sketches and bands lie in the database, so memory holds one page.
(A. Broder, "On the resemblance and containment of documents", 1997.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np

from nephila.views.repeats import Repeats, hashed

SIMILAR_MIN = 0.8
"""Share of the texts of two pages together that both have."""
TEXTS_MIN = 5
"""A page with fewer texts of its own is not judged."""
CANDIDATES_MAX = 50
_BANDS, _ROWS = 8, 3
_BATCH = 500
_dice = np.random.default_rng(1997)
_A = _dice.integers(1, 1 << 63, _BANDS * _ROWS, np.uint64) | np.uint64(1)
_B = _dice.integers(0, 1 << 63, _BANDS * _ROWS, np.uint64)
_MIX = _dice.integers(0, 1 << 63, (_BANDS, _ROWS), np.uint64) | np.uint64(1)


def pairs(con: sqlite3.Connection) -> Iterator[tuple[int, int, int]]:
    """(page, the page it is like, percent) of table `sketch`, of every body once."""
    con.executescript("CREATE TABLE leader (band INTEGER, page INTEGER, PRIMARY KEY (band, page)) WITHOUT ROWID;")
    with Repeats() as repeats:
        for _, host, texts in _sketches(con):
            if repeats.wanted(host):
                repeats.learn(host, map(str, texts[texts & 1 == 0].tolist()))
        for page, host, texts in _sketches(con):
            own = _own(texts, repeats.of(host))
            if len(own) < TEXTS_MIN:
                continue
            bands = _bands(own)
            best = max(
                (
                    (_likeness(own, _own(other, repeats.of(where))), -leader)
                    for leader, where, other in _met(con, bands)
                ),
                default=(0.0, 0),
            )
            if best[0] >= SIMILAR_MIN:
                yield page, -best[1], int(best[0] * 100)
            else:
                con.executemany("INSERT INTO leader VALUES (?, ?)", [(band, page) for band in bands])


def _sketches(con: sqlite3.Connection) -> Iterator[tuple[int, str, np.ndarray]]:
    """Pages that are alike to the byte are told elsewhere: the first one stands for all."""
    query = """SELECT s.page, s.host, s.texts FROM sketch s JOIN page p ON p.id = s.page WHERE s.page > ? AND (p.digest = ''
      OR p.id = (SELECT min(q.id) FROM page q WHERE q.digest = p.digest)) ORDER BY s.page LIMIT ?"""
    at = 0
    while rows := con.execute(query, (at, _BATCH)).fetchall():
        yield from ((page, host, np.frombuffer(texts, np.uint32)) for page, host, texts in rows)
        at = rows[-1][0]


def _own(texts: np.ndarray, furniture: frozenset[int]) -> np.ndarray:
    """Without what stands on the host's other pages, too; where nothing else is there, all of it."""
    if not furniture:
        return texts
    own = [text for text in texts.tolist() if text & 1 or hashed(str(text)) not in furniture]
    return np.array(own, np.uint32) if own else texts


def _bands(texts: np.ndarray) -> list[int]:
    smallest = (texts.astype(np.uint64)[None, :] * _A[:, None] + _B[:, None]).min(axis=1)
    mixed: list[int] = (smallest.reshape(_BANDS, _ROWS) * _MIX).sum(axis=1).view(np.int64).tolist()
    return mixed


def _met(con: sqlite3.Connection, bands: list[int]) -> Iterator[tuple[int, str, np.ndarray]]:
    marks = ", ".join("?" * len(bands))
    query = f"""SELECT s.page, s.host, s.texts FROM (SELECT DISTINCT page FROM leader WHERE band IN ({marks})
      ORDER BY page LIMIT {CANDIDATES_MAX}) l JOIN sketch s ON s.page = l.page"""
    for page, host, texts in con.execute(query, bands).fetchall():
        yield page, host, np.frombuffer(texts, np.uint32)


def _likeness(one: np.ndarray, other: np.ndarray) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)
