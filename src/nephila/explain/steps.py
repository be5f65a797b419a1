"""The steps of an address's life in words, in English or in Chinese.

Only words are made here; what they say was found out by `record`, `policy` and `links`.
"""

from __future__ import annotations

from typing import Any

from nephila.explain.catalogue import of_reason
from nephila.explain.change import clause
from nephila.explain.links import Linkers, Way
from nephila.explain.model import Step
from nephila.explain.policy import Case
from nephila.explain.record import Record, Row
from nephila.figures import amount, duration, moment
from nephila.robots.rules import Rules
from nephila.types import RobotsFile
from nephila.url.key import key
from nephila.url.parse import host_of, origin

TOKEN = "nephila"
PAUSE_MIN_S = 0.01
"""A shorter pause is none worth a word."""


class Steps:
    """What happened to one address, or was asked of it. `row` and `host` are {} where nothing is known."""

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

    def address(self, given: str) -> Step:
        """How it was asked for, as it is fetched, and what it is known by."""
        identity = key(self._url)
        parts = [self._url]
        if given != self._url:
            parts = [self(f"{given} is spelled {self._url}", f"{given} 规范为 {self._url}")]
        if identity != self._url:
            parts.append(
                self(
                    f"known by {identity} (what chooses no page is left out)",
                    f"以 {identity} 识别（不影响页面的部分被省去）",
                )
            )
        return Step("address", self("; ", "；").join(parts), {"given": given, "url": self._url, "key": identity})

    def same(self) -> Step | None:
        """Another address that stands for this one, or holds the same bytes."""
        row = self._row
        if row["url"] and row["url"] != self._url and row["rule_text"] != "url.too_long":  # that one is stored cut
            text = self(f"taken as the same as {row['url']}, which was met first", f"视同先遇到的 {row['url']}")
            return Step("same", text, {"url": row["url"], "why": "key"})
        if row["same_as_url"] and self._record.source.may_see(row["same_as_access"]):
            text = self(
                f"the same bytes as {row['same_as_url']}, and kept once", f"内容与 {row['same_as_url']} 相同，只存一份"
            )
            return Step("same", text, {"url": row["same_as_url"], "why": "content"})
        return None

    def found(self) -> Step:
        row = self._row
        facts = {name: row[name] for name in ("kind", "depth", "hops")} | {"parent": row["parent_url"]}
        if not row["parent"]:
            text = self("an address to start from", "起始地址")
            if row["kind"] in ("robots", "login"):
                text = self(f"asked for by the crawl itself ({row['kind']})", f"由抓取程序自身请求（{row['kind']}）")
        else:
            links = self("1 link" if row["depth"] == 1 else f"{row['depth']} links", f"{row['depth']} 个链接")
            text = self(
                f"found first on {row['parent_url']} (kind {row['kind']}), {links} from where the crawl began",
                f"最先在 {row['parent_url']} 上发现（类型 {row['kind']}），距起点 {links}",
            )
        return Step("found", text, facts)

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

    def attempts(self) -> list[Step]:
        steps = []
        for one in self._record.attempts(self._row["id"]):
            facts = {name: one[name] for name in ("n", "started", "status", "reason", "ms", "bytes", "retry_due")}
            why = of_reason(one["reason"], self._chinese, host=host_of(self._url), origin=origin(self._url))
            wait = max(one["retry_due"] - one["started"], 0.0) if one["retry_due"] else 0.0
            after = self(f", tried again after {duration(wait)}", f"，{duration(wait)} 后重试") if wait else ""
            text = self(
                f"try {one['n']} on {moment(one['started'])}: {why} ({one['ms']} ms){after}",
                f"第 {one['n']} 次（{moment(one['started'])}）：{why}（{one['ms']} 毫秒）{after}",
            )
            steps.append(Step("attempt", text, facts))
        return steps

    def outcome(self) -> Step:
        row = self._row
        names = [
            "outcome",
            "reason",
            "status",
            "started",
            "ms",
            "bytes",
            "media_type",
            "title",
            "moved_to",
            "protocol",
            "ip",
            "access",
            "round",
            "truncated",
        ]
        why = f" ({self.because()})" if row["reason"] else ""
        text = f"{row['outcome']}{why}: {self._answer()}"
        return Step("outcome", text, {name: row[name] for name in names})

    def _answer(self) -> str:
        row = self._row
        when = moment(row["started"])
        if not row["status"]:
            return self(f"no answer, {when}", f"无应答，{when}")
        kept = f"{row['status']}, {row['media_type'] or '?'}, {amount(row['bytes'])}, {row['ms']} ms, {when}"
        return f"{kept}, → {row['moved_to']}" if row["moved_to"] else kept

    def archive(self) -> Step | None:
        row = self._row
        if not row["file"] or not row["length"]:
            return None
        text = self(
            f"kept in archive/{row['file']} at byte {row['offset']:,}, {row['length']:,} bytes",
            f"存于 archive/{row['file']}，偏移 {row['offset']:,}，长度 {row['length']:,} 字节",
        )
        return Step("archive", text, {name: row[name] for name in ("file", "offset", "length")})

    def links(self, linkers: Linkers) -> Step:
        said = [self._linked(one) for one in linkers.first]
        least = "" if linkers.whole else self("at least ", "至少 ")
        pages = self("page links" if linkers.total == 1 else "pages link", "个页面链接")
        text = (
            self(f"{least}{linkers.total:,} {pages} to it", f"{least}{linkers.total:,} {pages}到它")
            if linkers.total
            else self("no page that was kept links to it", "没有已保存的页面链接到它")
        )
        if not linkers.total and not linkers.whole:
            text = self("no page among those looked at in time links to it", "在限定时间内查看的页面都没有链接到它")
        if said:
            text += self(": ", "：") + self("; ", "；").join(said)
        if linkers.hidden:
            text += self(
                f"; {linkers.hidden} more are shown with the name of a credential",
                f"；另有 {linkers.hidden} 个需提供凭据名称才显示",
            )
        facts = {"pages": linkers.first, "count": linkers.total, "whole": linkers.whole, "hidden": linkers.hidden}
        return Step("links", text, facts)

    def _linked(self, one: dict[str, Any]) -> str:
        text = f" “{one['text']}”" if one.get("text") else ""
        as_written = (
            self(f" as {one['href']}", f" 写作 {one['href']}") if one.get("href", self._url) != self._url else ""
        )
        return f"{one['url']}{text}{as_written}{' nofollow' if one.get('nofollow') else ''}"

    def path(self, way: Way) -> Step:
        kind = self("shortest way", "最短路径") if way.shortest else self("the way it was found", "发现路径")
        shown = way.urls if len(way.urls) <= 12 else [*way.urls[:5], "…", *way.urls[-5:]]
        return Step("path", f"{kind}: {' → '.join(shown)}", {"urls": way.urls, "shortest": way.shortest})

    def near(self, others: list[str]) -> Step:
        return Step(
            "near",
            self(f"met in another spelling: {', '.join(others)}", f"以其他写法遇到过：{', '.join(others)}"),
            {"urls": others},
        )
