"""What would change the answer: a rule names the settings that could lift it, and the policy says whether they do.

A change is tried, not believed: the rules are asked again under the other settings, and if the next one says no, its own
changes are tried on top of it, up to three in all. What only the network can answer (a page that failed) is never promised.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from nephila import settings
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.explain.model import Would
from nephila.explain.policy import PRIVATE, Case, Policy, clause
from nephila.explain.record import Record
from nephila.types import GOOD, Kind, Outcome
from nephila.url.parse import path_of
from nephila.url.traps import TRAPS, switched, trap_of
from nephila.values import FIELDS, TYPES, option_name

TRIED_MAX = 40
"""Sets of rules made for one answer."""
FOUND_MAX = 6
TOGETHER_MAX = 3
"""Changes in one answer."""

Values = dict[str, Any]


class Change(NamedTuple):
    """Other values of keys."""

    set: Values
    families: frozenset[str] = frozenset()
    """Of the rules that it is meant to lift."""

    def and_then(self, other: Change) -> Change:
        return Change(self.set | other.set, self.families | other.families)


def found(record: Record, case: Case, rule: str, *, chinese: bool = False) -> list[Would]:
    """What would have it asked for in spite of `rule`, the first that refuses it: single changes before several."""
    waiting = deque([(record.config, change) for change in _lifting(rule, case, record.config)])
    result: list[Would] = []
    tried = 0
    while waiting and tried < TRIED_MAX and len(result) < FOUND_MAX:
        config, change = waiting.popleft()
        tried += 1
        other = msgspec.structs.replace(config, **change.set)
        left = Policy(record, other).refusal(case)
        if not left:
            result.append(would(record, case, other, change, "", chinese))
        elif _family(left) not in change.families and len(change.set) < TOGETHER_MAX:
            waiting += [(other, change.and_then(more)) for more in _lifting(left, case, other)]
    return result


def asked(record: Record, case: Case, given: dict[str, Any], *, chinese: bool = False) -> Would:
    """What the settings that the user names would do. Raises ConfigError naming what is wrong with them."""
    other = settings.load(given, {}, None, record.toml)
    settings.check(other)
    changed = {key: getattr(other, key) for key in given}
    rule = Policy(record, other).refusal(case)
    return would(record, case, other, Change(changed), rule, chinese)


def _family(rule: str) -> str:
    """`scope.host` → scope: what a change is for, and so not tried against again."""
    return rule if rule.startswith("blocked.") else rule.partition(".")[0]


def _lifting(rule: str, case: Case, c: Config) -> Iterator[Change]:
    """Single changes that may lift a rule, the narrowest first."""
    family = frozenset({_family(rule)})
    yield from (change._replace(families=family) for change in _changes(rule, case, c))


def _changes(rule: str, case: Case, c: Config) -> Iterator[Change]:
    name = rule.partition(":")[0]
    if rule.startswith("scope."):
        if case.kind == Kind.EMBED:
            yield Change({"embeds": True})
        for mode in ("site", "name", "any"):
            if mode != c.scope:
                yield Change({"scope": mode})
        yield Change({"seeds": [*c.seeds, case.url]})
    elif rule == "include":
        yield Change({"include": [*c.include, f"^{re.escape(_folder(case.url))}"]})
        yield Change({"include": []})
    elif name == "exclude":
        yield Change({"exclude": [pattern for pattern in c.exclude if f"exclude:{pattern}" != rule]})
    elif trap_of(rule):
        yield Change({"traps": _without(c.traps, trap_of(rule))})
    elif rule == "max_depth":
        yield Change({"max_depth": case.depth})
    elif rule == PRIVATE:
        yield Change({"allow_private": True})
    elif rule.startswith("robots_"):
        yield Change({"no_robots": True})
    elif rule in _SWITCHES:
        yield Change({_SWITCHES[rule]: True})


_SWITCHES = {"kind.sitemap": "sitemaps", "nofollow": "ignore_nofollow", "logout": "follow_logout"}


def _folder(url: str) -> str:
    return url[: len(url) - len(path_of(url))] + path_of(url).partition("?")[0].rpartition("/")[0] + "/"


def _without(traps: str, name: str) -> str:
    on = switched(traps) - {name}
    off = sorted(TRAPS.keys() - on)
    return ",".join(f"no-{one}" for one in off) if on else "off"


def would(record: Record, case: Case, other: Config, change: Change, rule: str, chinese: bool) -> Would:
    """What `change`, which makes `other` of the settings, does; `rule` still refuses the address, or none does ("")."""
    shown = {key: "…" if FIELDS[key][1]["secret"] else value for key, value in change.set.items()}
    retry = [case.outcome] if case.outcome in FAILED and not (case.outcome == "DENIED" and other.no_robots) else []
    options = as_options(shown, retry, record.config)
    if rule:
        why = clause(rule, case, other, chinese)
        sentence = (
            f"用 {options} 仍不会抓取：{why}"
            if chinese
            else f"with {options} it would still not be fetched, because {why}"
        )
    elif not DECIDING & change.set.keys():
        sentence = (
            f"{options} 不决定是否抓取该地址"
            if chinese
            else f"{options} has no part in whether it is fetched: by the rules it would be"
        )
    elif "seeds" in change.set:
        sentence = (
            f"作为新的起始地址会被抓取：{options}"
            if chinese
            else f"would be fetched as one more address to start from: {options}"
        )
    elif case.stored or case.seed:
        sentence = f"用 {options} 会抓取它" if chinese else f"would be fetched with {options}"
    else:
        sentence = (
            f"用 {options}，如有页面链接到它，就会抓取它"
            if chinese
            else f"would be fetched with {options}, if a page linked to it"
        )
    return Would(shown, options, not rule, sentence, retry)


FAILED = frozenset(Outcome) - GOOD
"""What ended so is asked for again only when it is queued again (`--retry`); of DENIED `no_robots` takes care itself."""
DECIDING = frozenset(
    {"seeds", "scope", "include", "exclude", "embeds", "sitemaps", "max_depth", "ignore_nofollow", "traps", "no_robots"}
    | {
        "follow_logout",
        "allow_private",
        "resolve",
        "types",
        "max_pages",
        "max_bytes",
        "max_time",
        "site_pages",
        "site_hosts",
    }
)
"""Keys that have a part in whether an address is asked for."""


def as_options(values: Values, retry: list[str], before: Config) -> str:
    """The same as one would write it after `nephila crawl`; what is no option, as a line of a settings file."""
    parts: list[str] = []
    for key, value in values.items():
        flag = option_name(key)
        if key == "seeds":
            new = [seed for seed in value if seed not in before.seeds]
            parts += map(shlex.quote, [*before.seeds[:1], *new])  # a crawl is known by an address it has
        elif not FIELDS[key][1]["option"]:
            parts.append(f"{key} = {value} (--config)")
        elif isinstance(value, bool):
            parts.append(
                flag if value else "--" + key[3:].replace("_", "-") if key[:3] == "no_" else f"--no-{flag[2:]}"
            )
        elif isinstance(value, list):
            parts.append(" ".join(f"{flag} {shlex.quote(one)}" for one in value or [""]))
        else:
            parts.append(f"{flag} {shlex.quote(f'{value:g}' if isinstance(value, float) else str(value))}")
    if retry:
        parts.append(f"--retry {','.join(retry)}")
    return " ".join(parts)


def parsed(pairs: Iterable[str]) -> Values:
    """`["max_depth=4", "include=/a", "include=/b"]` → key → text, or texts line by line; a key alone is switched on. Raises
    ConfigError for what is no pair."""
    values: Values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        key = name.strip().replace("-", "_")
        if not equals and TYPES.get(key) is not bool:
            raise ConfigError(f"--set {pair}: KEY=VALUE is expected, such as max_depth=4")
        if key in FIELDS and FIELDS[key][1]["secret"]:
            raise ConfigError(f"--set {key}: a secret changes no rule; start the crawl with it and see")
        text = text if equals else "true"
        values[key] = f"{values[key]}\n{text}" if key in values else text
    return values
