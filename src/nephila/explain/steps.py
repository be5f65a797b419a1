"""In words: what happened to an address, from how it was found to who links to it.

Only words are made here; what they say was found out by `record` and `links`.
"""

from __future__ import annotations

from typing import Any

from nephila.explain.catalogue import of_reason
from nephila.explain.deciding import Deciding
from nephila.explain.links import Linkers, Way
from nephila.explain.model import Step
from nephila.figures import amount, duration, moment
from nephila.url.key import key
from nephila.url.parse import host_of, origin


class Steps(Deciding):
    """All steps of one address: what happened, and what decides."""

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
