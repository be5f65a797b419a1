"""One address explained: what the job has on it, what the rules say, what would change that.

Everything is asked of the database as it is, in at most two seconds, whether the crawl runs, has ended or was killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nephila.errors import ConfigError
from nephila.explain import change, helping, links
from nephila.explain.links import Graph
from nephila.explain.model import Explanation, Step, Would
from nephila.explain.policy import Policy, case_of
from nephila.explain.record import Record, Row
from nephila.explain.tell import Teller
from nephila.types import ERRANDS
from nephila.url.key import key
from nephila.url.parse import host_of, normalise, origin, path_of, seed, without_userinfo
from nephila.views.source import Source

NEAR_MAX = 5


def explain(
    source: Source,
    address: str,
    given: Mapping[str, Any] | None = None,
    *,
    chinese: bool = False,
    running: bool = False,
    now: float | None = None,
) -> Explanation:
    """Why `address` is or is not there. `given`: settings (key → text, as `change.parsed` gives them) of which is told what they
    would do; without them what would change the answer is looked for. `running`: a front process holds the job; `now`: Unix time (default: the clock's).

    Raises JobError when the folder has no settings, ConfigError when `given` is wrong.
    """
    record = Record(source, now=now)
    url = _spelled(address, record)
    if url is None:
        said = _no_address(address)
        return Explanation(
            "",
            "",
            "invalid",
            "",
            f"它不是可抓取的地址：{said}" if chinese else f"It is no address that can be fetched: {said}.",
        )
    found = record.ids([url, *_spellings(url)])
    row = record.row(found[url]) if url in found else {}
    host = record.host(origin(url))
    if {"addresses", "row"} & set(record.unknown):
        late = (
            "未能在限定时间内查到：请再问一次。" if chinese else "It could not be looked up in two seconds: ask again."
        )
        return Explanation(url, key(url), "unknown", "", late, unknown=record.unknown)
    if row and not record.may_see(row):
        tell = Teller(record, url, row, host, case_of(url, row, host), chinese=chinese)
        return Explanation(url, key(url), "hidden", "", tell.hidden(), [tell.address(_shown(address))])
    return _Answer(record, url, row, host, given or {}, chinese, running).made(
        _shown(address), [name for name in found if name != url]
    )


class _Answer:
    """One explanation in the making."""

    def __init__(
        self, record: Record, url: str, row: Row, host: Row, given: Mapping[str, Any], chinese: bool, running: bool
    ) -> None:
        self._record, self._url, self._row, self._host = record, url, row, host
        self._given, self._chinese, self._running = given, chinese, running
        self._linkers = links.linkers(record, url, row)
        self._graph: Graph | None = links.graph_of(record) if row else None
        self._case = case_of(url, row, host, self._depth())
        self._tell = Teller(record, url, row, host, self._case, chinese=chinese)
        self._policy = Policy(record, record.config)
        self._rule = self._policy.refusal(self._case)

    def made(self, address: str, spellings: list[str]) -> Explanation:
        others = self._others(spellings)
        verdict, rule, sentence = self._verdict(others)
        steps = [step for step in self._steps(address, others) if step]
        would, unknown = self._would(verdict, rule), sorted(set(self._record.unknown))
        return Explanation(self._url, key(self._url), verdict, rule, sentence, steps, would, unknown)

    def _depth(self) -> int:
        """Links from where the crawl began: on the shortest way where that is known, else as it was found; -1: nobody knows."""
        if not self._row:
            rows = [
                self._record.row(id) for id in self._record.ids(one["url"] for one in self._linkers.first[:1]).values()
            ]
            return rows[0]["depth"] + 1 if rows and rows[0] else -1
        least = self._graph.depth(self._row["id"]) if self._graph else -1
        return least if least >= 0 else int(self._row["depth"])

    def _others(self, spellings: list[str]) -> list[str]:
        """Spellings of it that were met and may be seen; of no use when it was met itself."""
        if self._row:
            return []
        rows = (self._record.row(id) for id in self._record.ids(spellings).values())
        return [row["url"] for row in rows if row and row["url"] and self._record.may_see(row)][:NEAR_MAX]

    def _verdict(self, others: list[str]) -> tuple[str, str, str]:
        """(verdict, deciding rule or reason, sentence)."""
        row, tell = self._row, self._tell
        if not row:
            rule = self._rule
            return "elsewhere" if others else "unseen", rule, tell.unseen(rule, self._linkers, others)
        if row["state"] == "done" or row["reason"] == "forgotten":
            verdict, sentence = tell.visited()
            return verdict, row["reason"], sentence
        if row["state"] == "refused":
            return "refused", row["rule_text"], tell.refused(row["rule_text"])
        if row["state"] == "too_deep":
            return "too_deep", "max_depth", tell.refused("max_depth")
        if row["state"] == "dropped":
            return "dropped", "dropped", tell.dropped()
        return "waiting", "", tell.waiting(self._running)

    def _steps(self, address: str, others: list[str]) -> list[Step | None]:
        row, tell, case = self._row, self._tell, self._case
        unwanted = row["rule_text"] if row and row["state"] == "refused" else self._policy.unwanted(case)
        steps = [tell.address(address), tell.same() if row else None, tell.near(others) if others else None]
        steps += [tell.found() if row else None, tell.rule(unwanted), tell.depth(self._policy.too_deep(case))]
        if case.kind not in ERRANDS and not unwanted:
            steps.append(tell.robots())
            if blocked := self._policy.blocked(case):
                steps.append(Step("guard", tell.why(blocked), {"reason": blocked}))
        if row and not unwanted:
            steps.append(tell.host())
        if row and row["state"] == "queued":
            steps.append(tell.queue())
        if row and row["state"] in ("queued", "done"):
            steps += tell.attempts()
        if row and row["visit"]:
            steps += [tell.outcome(), tell.archive()]
        steps.append(tell.links(self._linkers))
        if row and (way := links.way(self._record, row, self._graph)):
            steps.append(tell.path(way))
        return steps

    def _would(self, verdict: str, rule: str) -> list[Would]:
        case, chinese = self._case, self._chinese
        if self._given:
            return [change.asked(self._record, case, dict(self._given), chinese=chinese)]
        if verdict in ("kept", "moved", "dropped"):
            return []
        if self._rule and (verdict != "failed" or rule.startswith("robots_")):
            return change.found(self._record, case, self._rule, chinese=chinese)
        if verdict == "failed":
            return helping.after(self._record, case, rule, chinese=chinese)
        if verdict == "waiting":
            return helping.limits(self._record, case, chinese=chinese)
        return helping.begun(self._record, case, chinese=chinese)


def _spelled(address: str, record: Record) -> str | None:
    """The address as it would be fetched. One without a scheme is https, or http where only that was met."""
    try:
        url, guessed = seed(address)
    except ConfigError:
        found = normalise(address.strip())
        return without_userinfo(found) if found else None
    url = without_userinfo(url).partition("#")[0]
    plain = url.replace("https:", "http:", 1)
    return plain if guessed and plain in record.ids([plain]) and url not in record.ids([url]) else url


def _no_address(address: str) -> str:
    try:
        seed(address)
    except ConfigError as error:
        return str(error)
    return _shown(address)


def _shown(address: str) -> str:
    """As it was given, without what is secret."""
    return without_userinfo(address) if "://" in address else address


def _spellings(url: str) -> list[str]:
    """Other ways in which people write what may be the same page. None is guessed to be: they are only looked up."""
    bare = url.partition("?")[0]
    path = path_of(bare)
    scheme, rest = url.partition("://")[::2]
    host = host_of(url)
    ways = [f"{other}://{rest}" for other in ("https", "http") if other != scheme]
    swapped = host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"
    ways.append(url.replace(f"://{host}", f"://{swapped}", 1))
    ways += [f"{'https' if scheme == 'http' else 'http'}{one[len(scheme) :]}" for one in ways[-1:]]
    if "?" in url:
        ways.append(bare)
    else:
        ways.append(url[:-1] if url.endswith("/") and path != "/" else f"{url}/" if not url.endswith("/") else url)
        ways += [f"{url}{name}" for name in ("index.html", "index.htm", "index.php") if url.endswith("/")]
        ways += [
            url.removesuffix(name) for name in ("index.html", "index.htm", "index.php") if url.endswith(f"/{name}")
        ]
    ways.append(url[: len(bare) - len(path)] + path_of(url).lower())
    return [one for one in dict.fromkeys(filter(None, map(normalise, ways))) if one != url]
