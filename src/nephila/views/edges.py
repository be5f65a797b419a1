"""The links between addresses as the database holds them, packed: what the graph and the report walk along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nephila.packed import unpacked
from nephila.views.source import BATCH, Source

_LINKS = f"""WITH RECURSIVE back (id, first) AS (
    SELECT u.id, u.visit FROM url u WHERE u.id IN (SELECT id FROM url WHERE id > ? AND visit > 0 ORDER BY id LIMIT {BATCH})
    UNION ALL SELECT b.id, v.before FROM back b JOIN visit v ON v.id = b.first WHERE v.outcome NOT IN ('OK', 'MOVED')
      OR (v.same_as = v.url AND NOT EXISTS (SELECT 1 FROM link WHERE visit = v.id)))
  SELECT u.id, u.fp, u.kind, v.outcome, v.access, coalesce(l.flat, 0) AS flat, coalesce(l.targets, x'') AS targets
  FROM back b JOIN url u ON u.id = b.id JOIN visit v ON v.id = b.first LEFT JOIN link l ON l.visit = v.id
  WHERE v.outcome IN ('OK', 'MOVED') ORDER BY u.id, v.id"""
"""Back to the first good answer whose links were read: a repeated one of a foreign archive has none of its own."""


def linking(source: Source) -> Iterator[tuple[Any, Any]]:
    """(row, its targets as fingerprints of the database) of the last good answer of every address that may be seen. A row has id,
    fp, kind, outcome (OK or MOVED) and flat."""
    at = 0
    while ids := source.rows(f"SELECT id FROM url WHERE id > ? AND visit > 0 ORDER BY id LIMIT {BATCH}", at):
        yield from ((row, unpacked(row["targets"])) for row in source.rows(_LINKS, at) if source.may_see(row["access"]))
        at = ids[-1]["id"]
