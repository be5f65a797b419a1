"""Before the rules change: how many stored URLs would go, and how many would come back. Nothing is changed.

The rows are held against the rules as the change itself would hold them. A job may have more of them than can be looked at while
somebody waits: then the numbers are of those that were, and are a lower bound.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from nephila.changes import changed, differences
from nephila.config import Config
from nephila.url.scope import NO_DEPTH, Rules, Scope
from nephila.wanted import requests_of, scope_of

SECONDS_MAX = 1.5
"""Somebody waits; and who reads holds up the folding back of the database's log."""
ROWS_AT_ONCE = 5_000
EXAMPLES_MAX = 5


class Preview(msgspec.Struct, frozen=True):
    """What a change of the rules would do to stored URLs: `gone` from the queue because they are refused then, `far` because they
    are too deep, `back` in it that are refused now, `near` that are too deep. `counted`: refused ones that are not stored, of
    rules and hosts whose examples would be wanted. `at_least`: not every row was looked at."""

    gone: int = 0
    back: int = 0
    near: int = 0
    far: int = 0
    counted: int = 0
    at_least: bool = False
    examples: dict[str, list[str]] = {}
    """`gone`, `back`, `near`, `far` → a few URLs"""
    changes: dict[str, list[Any]] = {}
    """key → [old, new]"""


def preview(
    con: sqlite3.Connection, config: Config, values: Mapping[str, Any], seconds: float = SECONDS_MAX
) -> Preview:
    """What `values` (as `changes.changed` takes them) would do. Raises ConfigError as setting them would."""
    end = time.monotonic() + seconds
    new = changed(config, values)
    meta = dict(con.execute("SELECT key, value FROM meta WHERE key IN ('widened', 'members')").fetchall())
    widened, members = (msgspec.json.decode(meta.get(key, "[]"), type=list[str]) for key in ("widened", "members"))
    scope = Scope(scope_of(new, requests_of(new), tuple(widened), members))
    rules = Rules(scope, new.max_depth if new.max_depth >= 0 else NO_DEPTH)
    moved: dict[str, int] = dict.fromkeys(_MOVES.values(), 0)
    examples: dict[str, list[str]] = {}
    whole = _look(con, rules, end, moved, examples)
    told = {key: [*both] for key, both in differences(config, new).items()}
    return Preview(**moved, counted=_counted(con, rules), at_least=not whole, examples=examples, changes=told)


_MOVES = {
    ("queued", "refused"): "gone",
    ("queued", "too_deep"): "far",
    ("refused", "queued"): "back",
    ("too_deep", "queued"): "near",
}
_ROWS = """
SELECT u.id, u.url, u.kind, u.depth, u.state, r.text FROM url AS u NOT INDEXED LEFT JOIN rule AS r ON r.id = u.rule
WHERE u.id > ? AND u.id <= ? AND u.state IN ('queued', 'refused', 'too_deep')
  AND u.kind NOT IN ('robots', 'probe') AND u.parent != 0
"""


def _look(
    con: sqlite3.Connection, rules: Rules, end: float, moved: dict[str, int], examples: dict[str, list[str]]
) -> bool:
    """Count; False when time was up before the last row."""
    (last,) = con.execute("SELECT coalesce(max(id), 0) FROM url").fetchone()
    for after in range(0, last, ROWS_AT_ONCE):
        if time.monotonic() > end:
            return False
        for _, url, kind, depth, state, text in con.execute(_ROWS, (after, after + ROWS_AT_ONCE)).fetchall():
            move = _MOVES.get((state, rules.judge(url, kind, depth, text if text and state == "refused" else "")[0]))
            if move:
                moved[move] += 1
                if len(known := examples.setdefault(move, [])) < EXAMPLES_MAX:
                    known.append(url)
    return True


def _counted(con: sqlite3.Connection, rules: Rules) -> int:
    """Of the rules and hosts whose refused addresses are only counted, those whose examples would be wanted."""
    rows = con.execute("SELECT r.text, h.count, h.examples FROM rule_host AS h JOIN rule AS r ON r.id = h.rule")
    return sum(
        count
        for text, count, examples in rows
        if any(
            rules.judge(url, "page", 0, text)[0] == "queued" for url in msgspec.json.decode(examples, type=list[str])
        )
    )
