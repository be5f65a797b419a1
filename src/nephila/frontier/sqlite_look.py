"""Stored URLs held against the rules of today, some at a time: the writer is never busy with it for long.

Those that are queued or refused stand in the scheduler's memory, too: they are only named here, and the scheduler changes
them in a batch like any other. Whether a URL is too deep only the store knows, because commits pass smaller depths on: those
are changed here.
"""

from __future__ import annotations

import sqlite3

from nephila.frontier.batch import Changed, Looked
from nephila.frontier.sqlite_rows import row_of
from nephila.url.scope import Rules

ROWS_MAX = 10_000
"""Rows of `url` that are passed over in one go: most of them are done."""
READ_AT_ONCE = 500
"""Of which so many are read together: what is read and not looked at is read again by the next step."""
CHANGED_MAX = 100
"""And changed: the scheduler takes them in at once, while everything else waits."""

_ROWS = """
SELECT u.id, u.fp, u.url, u.kind, u.depth, u.hops, u.parent, u.score, u.attempts, u.unread, u.host, u.state, u.rule, r.text
FROM url AS u NOT INDEXED LEFT JOIN rule AS r ON r.id = u.rule
WHERE u.id > ? AND u.id <= ? AND u.state IN ('queued', 'refused', 'too_deep')
  AND u.kind NOT IN ('robots', 'probe') AND u.parent != 0
"""


def look(con: sqlite3.Connection, rules: Rules, after: int, until: int) -> Looked:
    """What the rules say of the next rows, inside a transaction."""
    end = min(after + ROWS_MAX, until)
    queued, refused = list[Changed](), list[Changed]()
    near, named = list[tuple[int, int]](), list[Changed]()
    upto = after
    while upto < end and len(queued) + len(refused) + len(near) + len(named) < CHANGED_MAX:
        first, upto = upto, min(upto + READ_AT_ONCE, end)
        for *values, host, was_state, was, text in con.execute(_ROWS, (first, upto)).fetchall():
            _, _, url, kind, depth, *_ = values
            state, rule = rules.judge(url, kind, depth, text if text and was_state == "refused" else "")
            nameless = was_state == "refused" and not was  # a kill came between the two halves of its change
            if state == was_state and not nameless:
                continue
            changed = Changed(row_of(values), host, was, state, rule)
            if was_state == "queued":
                queued.append(changed)
            elif was_state == "refused" and state != "refused":
                refused.append(changed)
            elif state == "queued":
                near.append((host, changed.row.id))
            else:
                named.append(changed)
            if len(queued) + len(refused) + len(near) + len(named) >= CHANGED_MAX:
                upto = changed.row.id
                break
    con.executemany("UPDATE url SET state = 'queued', rule = 0 WHERE id = ?", [(id,) for _, id in near])
    con.executemany("UPDATE url SET state = 'refused', rule = 0 WHERE id = ?", [(one.row.id,) for one in named])
    return Looked(upto, queued, refused, [host for host, _ in near], named)
