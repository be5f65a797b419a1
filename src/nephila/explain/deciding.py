"""In words, in English or in Chinese: what decides about an address, whether it was met or not (rules, depth, robots.txt, its host, the queue).

Only words are made here; what they say was found out by `record` and `policy`.
"""

from __future__ import annotations

from typing import Any

from nephila.explain.catalogue import of_reason
from nephila.explain.model import Step
from nephila.explain.policy import Case, clause
from nephila.explain.record import Record, Row
from nephila.figures import moment
from nephila.robots.rules import Rules
from nephila.types import RobotsFile
from nephila.url.parse import host_of, origin

TOKEN = "nephila"
PAUSE_MIN_S = 0.01
"""A shorter pause is none worth a word."""


class Deciding:
    """What decides about one address. `row` and `host` are {} where nothing is known."""

    def __init__(self, record: Record, url: str, row: Row, host: Row, case: Case, *, chinese: bool) -> None:
        self._record, self._url, self._row, self._host, self._case = record, url, row, host, case
        self._chinese, self._now = chinese, record.now

    def __call__(self, english: str, chinese: str) -> str:
        return chinese if self._chinese else english

    def why(self, rule: str) -> str:
        return clause(rule, self._case, self._record.config, self._chinese)

    def because(self) -> str:
        """Of a visit: its reason as a clause."""
        facts = {"host": host_of(self._url), "origin": origin(self._url)}
        return of_reason(self._row["reason"], self._chinese, **facts)

    def rule(self, refusal: str) -> Step:
        """By the rules of today."""
        c = self._record.config
        facts = {"rule": refusal, "scope": c.scope}
        if refusal:
            return Step(
                "rule",
                self(f"refused by {refusal}: {self.why(refusal)}", f"被 {refusal} 拒绝：{self.why(refusal)}"),
                facts,
            )
        if self._case.seed:
            return Step(
                "rule",
                self("admitted: no rule is asked of an address to start from", "准入：起始地址不受规则限制"),
                facts,
            )
        return Step(
            "rule",
            self(
                f"admitted by scope {c.scope}, and no other rule refuses it",
                f"被 scope {c.scope} 准入，也没有其他规则拒绝",
            ),
            facts,
        )

    def depth(self, refusal: str) -> Step | None:
        most, depth = self._record.config.max_depth, self._case.depth
        if most < 0 or depth < 0:
            return None
        fits = self("within", "未超过") if not refusal else self("beyond", "超过")
        text = self(f"depth {depth}, {fits} max_depth {most}", f"深度 {depth}，{fits} max_depth {most}")
        return Step("depth", text, {"depth": depth, "max_depth": most})

    def robots(self) -> Step:
        """Which line of which group decided."""
        name, c, robots = origin(self._url), self._record.config, self._case.robots
        if c.no_robots:
            return Step(
                "robots",
                self("robots.txt is not asked (no_robots)", "不询问 robots.txt（no_robots）"),
                {"state": "ignored"},
            )
        if robots is None:
            text = self(
                f"the robots.txt of {name} was not read yet: it decides, too",
                f"尚未读取 {name} 的 robots.txt：它也会决定",
            )
            return Step("robots", text, {"state": ""})
        facts: dict[str, Any] = {
            "state": robots.state,
            "status": robots.status,
            "fetched": self._host["robots_fetched"],
        }
        if robots.state != "found":
            absent = robots.state == "absent"
            text = (
                self(
                    f"{name} has no robots.txt (status {robots.status}): all is allowed",
                    f"{name} 没有 robots.txt（状态 {robots.status}）：全部允许",
                )
                if absent
                else self(
                    f"the robots.txt of {name} could not be read: nothing is allowed",
                    f"无法读取 {name} 的 robots.txt：全部禁止",
                )
            )
            return Step("robots", text, facts)
        return self._robots_line(name, robots, facts)

    def _robots_line(self, name: str, robots: RobotsFile, facts: dict[str, Any]) -> Step:
        group, line = Rules.parse(robots.text).deciding(self._url, TOKEN)
        facts |= {"group": group, "line": line.number if line else 0, "text": line.text if line else ""}
        if line is None:
            text = self(
                f"no line of the robots.txt of {name} is about it: allowed",
                f"{name} 的 robots.txt 没有涉及它的行：允许",
            )
        else:
            allowed = line.text.startswith("allow")
            said = self("allows it" if allowed else "forbids it", "允许" if allowed else "禁止")
            text = self(
                f"line {line.number} of the robots.txt of {name} (group {group}) {said}: {line.text}",
                f"{name} 的 robots.txt 第 {line.number} 行（组 {group}）{said}：{line.text}",
            )
        return Step("robots", text, facts)

    def host(self) -> Step | None:
        h = self._host
        if not h:
            return None
        facts = {
            name: h[name] for name in ("origin", "ip", "delay", "failures", "due", "parked_until", "verdict", "state")
        }
        parts = [
            self(
                f"a request every {h['delay']:g} s" if h["delay"] >= PAUSE_MIN_S else "no pause",
                f"每 {h['delay']:g} 秒一次请求" if h["delay"] >= PAUSE_MIN_S else "无间隔",
            )
        ]
        if h["failures"]:
            parts.append(self(f"{h['failures']} failures in a row", f"连续失败 {h['failures']} 次"))
        if held := self.held():
            parts.append(held)
        return Step("host", f"{h['origin']}: {'; '.join(parts)}", facts)

    def held(self) -> str:
        """Why the host is not asked at the moment, or ""."""
        h = self._host
        if not h:
            return ""
        resume = f"nephila host {self._record.source.folder.name} {host_of(self._url)} resume"
        if h["state"] == "paused":
            return self(f"you paused it; {resume} lets it go on", f"你暂停了它；{resume} 可继续")
        if h["state"] == "dropped":
            return self("you dropped it", "你放弃了它")
        if h["parked_until"] > self._now:
            when = moment(h["parked_until"])
            return self(
                f"it is left alone until {when}, because it asked for that or refused too often",
                f"在 {when} 之前不再请求：它要求等待或多次拒绝",
            )
        if h["verdict"]:
            return self(f"given up ({h['verdict']})", f"已放弃（{h['verdict']}）")
        return ""

    def queue(self) -> Step:
        row = self._row
        ahead = self._record.ahead(row)
        due = max(row["due"], self._host.get("due", 0.0), self._host.get("parked_until", 0.0))
        facts = {"ahead": ahead, "due": due, "attempts": row["attempts"]}
        place = (
            self("place unknown", "位置未知")
            if ahead is None
            else self(f"{ahead:,} of its host before it", f"同主机前面还有 {ahead:,} 个")
        )
        when = (
            self("due now", "已到期")
            if due <= self._now
            else self(f"not before {moment(due)}", f"不早于 {moment(due)}")
        )
        return Step("queue", self(f"waits: {place}, {when}", f"等待中：{place}，{when}"), facts)
