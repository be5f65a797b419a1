"""How a crawl grew: how many addresses lie how deep, and how many were known after so many visits.

Ids ascend in the order of commit, so the curve is read off a hundred places of table `url`: an address was found by the visit of its parent,
and what lies before it was found earlier.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from nephila.look.look import LOOK_S, Look

POINTS = 100
DEPTH_MAX = 30
"""Deeper ones are counted together with this."""
WAITING = ("queued", "parked")


class Growth(msgspec.Struct, frozen=True):
    """`depths`: per depth, how many are done, waiting, not wanted. `curve`: (visits, addresses found by then that are wanted), ascending.
    `looked` of `of` addresses are in it."""

    depths: list[tuple[int, int, int]]
    curve: list[tuple[int, int]]
    looked: int
    of: int


def growth(look: Look) -> Growth:
    """Depth histogram and discovery curve."""
    last = look.one("SELECT max(id) FROM url") or 0
    until = time.monotonic() + LOOK_S
    depths: dict[int, list[int]] = {}
    curve = [(0, 0)]
    found = looked = 0
    for begin, end in _ranges(last):
        for depth, state, count in look.rows(_COUNTED, begin, end):
            column = 0 if state == "done" else 1 if state in WAITING else 2
            depths.setdefault(min(max(depth, 0), DEPTH_MAX), [0, 0, 0])[column] += count
            found += count if column < 2 else 0
        looked = end
        visits = look.one(_FOUND_BY, end)
        if visits is not None and visits >= curve[-1][0]:
            curve.append((visits, found))
        if time.monotonic() > until:
            break
    if looked == last:
        curve.append((max(look.one("SELECT max(id) FROM visit") or 0, curve[-1][0]), found))
    columns: list[Any] = [tuple(depths.get(depth, (0, 0, 0))) for depth in range(max(depths, default=-1) + 1)]
    return Growth(columns, curve, looked, last)


_COUNTED = """SELECT depth, state, count(*) FROM url
  WHERE id BETWEEN ? AND ? AND kind NOT IN ('robots', 'login') AND url != '' GROUP BY depth, state"""
_FOUND_BY = """WITH RECURSIVE back (id, before) AS (
    SELECT v.id, v.before FROM url u JOIN url p ON p.id = u.parent JOIN visit v ON v.id = p.visit WHERE u.id = ?
    UNION ALL SELECT v.id, v.before FROM back JOIN visit v ON v.id = back.before)
  SELECT min(id) FROM back"""
"""The first visit of the page where an address was found."""


def _ranges(last: int) -> list[tuple[int, int]]:
    step = max(1, -(-last // POINTS))
    return [(begin, min(begin + step - 1, last)) for begin in range(1, last + 1, step)]
