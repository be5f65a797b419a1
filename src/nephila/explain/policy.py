"""What the crawl would do with an address under some settings: the crawl's own rules, asked in the crawl's own order.

Nothing is decided here. Scope, kinds, traps and forms are `url`'s and `wanted`'s, permission is `robots`', private addresses are
the guard's; this only puts the same questions one after another, and stops at the first that says no.
"""

from __future__ import annotations

from typing import NamedTuple

from nephila import wanted
from nephila.config import Config
from nephila.explain.catalogue import of_reason, of_rule
from nephila.explain.record import Record, Row
from nephila.robots.gate import Gate
from nephila.types import ERRANDS, Kind, RobotsFile
from nephila.url.admission import Admission
from nephila.url.guard import Guard
from nephila.url.parse import PORTS, authority_of, host_of, origin
from nephila.url.scope import Scope
from nephila.url.template import DryForms
from nephila.url.traps import switched

PRIVATE = "blocked.private_address"


class Case(NamedTuple):
    """An address as the rules see it. `rule`: what refused it when it was met; `depth` -1: nobody knows; `outcome`: of its last
    visit, or ""."""

    url: str
    kind: str
    stored: bool
    seed: bool
    depth: int
    rule: str
    robots: RobotsFile | None
    ip: str
    outcome: str


def case_of(url: str, row: Row, host: Row, depth: int = -1) -> Case:
    """`row` is {} for an address that was never met."""
    kind = row.get("kind", Kind.PAGE.value)
    robots = None
    if host.get("robots_state"):
        robots = RobotsFile(host["robots_state"], host["robots"] or b"", host["robots_status"], host["crawl_delay"])
    return Case(
        url,
        kind,
        bool(row),
        bool(row) and not row["parent"] and kind == Kind.PAGE,
        depth,
        row["rule_text"] if row and row["state"] == "refused" else "",
        robots,
        host.get("ip", ""),
        row.get("outcome", ""),
    )


def clause(rule: str, case: Case, config: Config, chinese: bool = False) -> str:
    """Why, after "because"."""
    host = host_of(case.url)
    if rule == PRIVATE or rule.startswith("robots_"):
        return of_reason(rule, chinese, host=host, origin=origin(case.url))
    return of_rule(rule, chinese, host=host, depth=case.depth, max_depth=config.max_depth)


class Policy:
    """The rules of a job under the settings `config`, made ready. Raises ConfigError for settings that cannot be."""

    def __init__(self, record: Record, config: Config) -> None:
        self.config, self._fingerprint = config, record.fingerprint
        self._seeds = wanted.requests_of(config)
        self._begun_at = frozenset(request.url for request in self._seeds)
        self.scope = Scope(wanted.scope_of(config, self._seeds, record.widened, record.members))
        self._dry = DryForms(switched(config.traps))
        for rule in record.rules.values():
            self._dry.remember(rule)
        self._guard = Guard(config.allow_private, frozenset(wanted.allowed_of(self._seeds)), config.resolve)

    def refusal(self, case: Case) -> str:
        """The first rule or reason for which it would not be asked for; "" when it would be."""
        return self.unwanted(case) or self.too_deep(case) or self.denial(case) or self.blocked(case)

    def unwanted(self, case: Case) -> str:
        """The rule by which no row would be queued for it. Addresses to start from are wanted whatever the rules."""
        if case.seed or case.url in self._begun_at or case.kind in (*ERRANDS, Kind.PROBE):
            return ""
        if case.stored:
            rule = self.scope.again(case.url, case.kind, case.rule)
        else:
            fresh = Admission(self.scope, self._fingerprint, memo_max=2, sent_max=2)
            rule = fresh.admit_urls([(case.url, Kind(case.kind))]).new[0].rule
        return rule or self._dry.refusal(origin(case.url), case.url, case.kind)

    def too_deep(self, case: Case) -> str:
        far = 0 <= self.config.max_depth < case.depth and case.url not in self._begun_at
        return "max_depth" if far and case.kind not in ERRANDS else ""

    def denial(self, case: Case) -> str:
        if case.robots is None or case.kind in ERRANDS:
            return ""
        gate, name = Gate(enabled=not self.config.no_robots), origin(case.url)
        gate.learn(name, case.robots)
        return gate.denial(name, case.url)

    def blocked(self, case: Case) -> str:
        """As far as the name and the address that its host had last tell."""
        host, port = host_of(case.url).strip("[]"), _port(case.url)
        kind = self._guard.refusal_by_name(host, port) or (case.ip and self._guard.refusal(host, port, case.ip))
        return PRIVATE if kind else ""


def _port(url: str) -> int:
    given = authority_of(url)[len(host_of(url)) :].lstrip(":")
    return int(given) if given else PORTS[url.partition(":")[0]]
