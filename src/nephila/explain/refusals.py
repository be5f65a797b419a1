"""Everything that was refused, by rule: those stored one by one, those only counted, and visits that a rule ended."""

from __future__ import annotations

from typing import Any

import msgspec

from nephila import db
from nephila.explain.catalogue import RULES, of_reason, of_rule, rule_name
from nephila.explain.model import Refusals, Refused
from nephila.explain.record import Record
from nephila.views.source import Source

EXAMPLES_MAX = 3
RULES_MAX = 200
"""Rules that are shown; a site with very many dry forms has one for each."""
_ASIDE = f"u.state IN ('refused', 'too_deep', 'dropped') AND {db.ASIDE}"


def refusals(source: Source, *, chinese: bool = False) -> Refusals:
    """The largest first. Also visits that ended as DENIED, SKIPPED or BLOCKED: a rule of the site or of ours refused them."""
    record = Record(source)
    found = [*_rules(record, chinese), *_visits(record, chinese)]
    found.sort(key=lambda one: (-one.count, one.rule))
    return Refusals(found[:RULES_MAX], sorted(set(record.unknown)))


def _rules(record: Record, chinese: bool) -> list[Refused]:
    stored = {
        (row["rule"], row["state"]): row
        for row in record.ask(
            "stored",
            f"SELECT u.rule, u.state, count(*) AS n FROM url u WHERE {_ASIDE} GROUP BY u.rule, u.state",
            seconds=1.0,
        )
    }
    counted: dict[int, list[dict[str, Any]]] = {}
    for row in record.ask("counted", "SELECT rule, count, examples FROM rule_host"):
        counted.setdefault(row["rule"], []).append(row)
    ids = {rule for rule, _ in stored} | counted.keys()
    return [_refused(record, id, stored, counted.get(id, []), chinese) for id in sorted(ids)]


def _refused(record: Record, id: int, stored: Any, counted: list[dict[str, Any]], chinese: bool) -> Refused:
    name = record.rules.get(id, "dropped")
    n = sum(row["n"] for (rule, _), row in stored.items() if rule == id)
    examples = _examples(record, f"{_ASIDE} AND u.rule = ?", id) if n else []
    for row in counted:
        examples += msgspec.json.decode(row["examples"])
    said = of_rule(
        name, chinese, host=_host(chinese), depth="过多" if chinese else "too many", max_depth=record.config.max_depth
    )
    if rule_name(name) not in RULES:
        said = of_reason(name, chinese, host=_host(chinese), origin=_host(chinese))
    return Refused(name, said, n + sum(row["count"] for row in counted), n, examples[:EXAMPLES_MAX])


def _visits(record: Record, chinese: bool) -> list[Refused]:
    where = "v.outcome IN ('DENIED', 'SKIPPED', 'BLOCKED') AND v.reason NOT IN ('probe', 'forgotten')"
    rows = record.ask("visits", f"SELECT v.reason, count(*) AS n FROM visit v WHERE {where} GROUP BY v.reason")
    return [
        Refused(
            row["reason"],
            of_reason(row["reason"], chinese, host=_host(chinese), origin=_host(chinese)),
            row["n"],
            row["n"],
            _examples(record, f"{where} AND v.reason = ?", row["reason"]),
        )
        for row in rows
    ]


def _host(chinese: bool) -> str:
    """In place of the name of one."""
    return "该主机" if chinese else "its host"


def _examples(record: Record, where: str, value: object) -> list[str]:
    """A few addresses that may be seen."""
    query = f"""SELECT u.url, u.visit, coalesce(v.access, '') AS access, coalesce(w.access, '') AS parent_access FROM url u
      LEFT JOIN visit v ON v.id = u.visit LEFT JOIN url p ON p.id = u.parent LEFT JOIN visit w ON w.id = p.visit
      WHERE {where} AND u.url != '' LIMIT {4 * EXAMPLES_MAX}"""
    rows = record.ask("examples", query, value)
    return [row["url"] for row in rows if record.may_see(row)][:EXAMPLES_MAX]
