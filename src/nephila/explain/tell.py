"""The sentence that answers: why an address is there, or not."""

from __future__ import annotations

from nephila.explain.links import Linkers
from nephila.explain.steps import Steps
from nephila.figures import moment
from nephila.types import KEPT, Both
from nephila.url.parse import origin

ENDED: dict[str, Both] = {
    "finished": ("the crawl is finished", "抓取已完成"),
    "limit": ("the crawl ended at a limit", "抓取因达到限额而结束"),
    "interrupted": ("the crawl was stopped", "抓取已停止"),
    "parked": ("the crawl ended with only parked hosts left", "抓取结束时只剩暂停的主机"),
    "offline": ("the crawl ended without network", "抓取因无网络而结束"),
    "disk": ("the crawl ended because the disk was full", "抓取因磁盘已满而结束"),
    "no_seed": ("the crawl ended because no seed could be fetched", "抓取因起始地址都无法抓取而结束"),
}


class Teller(Steps):
    """The steps, and what they come to."""

    def visited(self) -> tuple[str, str]:
        """(verdict, sentence) of what has its outcome."""
        row, when = self._row, moment(self._row["started"])
        if row["outcome"] in KEPT:
            flaw = self(f", but {self.because()}", f"，但{self.because()}") if row["reason"] else ""
            return "kept", self(f"It is there: fetched on {when}{flaw}.", f"已保存：于 {when} 抓取{flaw}。")
        if row["outcome"] == "MOVED":
            to = row["moved_to"]
            return "moved", self(
                f"There is no page of its own there: it redirects to {to}.", f"该地址本身没有页面：它重定向到 {to}。"
            )
        why = self.because() if row["reason"] else row["outcome"]
        if row["reason"] == "robots_disallow" and (line := self.robots().facts).get("line"):
            why += self(f" (line {line['line']}: {line['text']})", f"（第 {line['line']} 行：{line['text']}）")
        return "failed", self(
            f"It is not there, because {why} ({row['outcome']}).", f"没有保存，因为{why}（{row['outcome']}）。"
        )

    def waiting(self, running: bool) -> str:
        """The sentence of a queued address: what it waits for."""
        row, meta = self._row, self._record.meta
        if held := self.held():
            return self(
                f"It is not there yet: its host {origin(self._url)} is not asked ({held}).",
                f"尚未抓取：主机 {origin(self._url)} 目前不请求（{held}）。",
            )
        if meta.get("paused", "0") == "1":
            return self(
                "It is not there yet: the crawl is paused, and nephila resume lets it go on.",
                "尚未抓取：抓取已暂停，nephila resume 可继续。",
            )
        again = ""
        if row["attempts"] and row["due"] > self._now:
            again = self(
                f" it failed ({row['attempts']} of {self._record.config.tries} tries) and is due again on {moment(row['due'])}",
                f"已失败（第 {row['attempts']} 次，共 {self._record.config.tries} 次），将于 {moment(row['due'])} 重试",
            )
        if running:
            again = again or self(" it waits for its turn", "正在排队")
            return self(f"It is not there yet:{again}.", f"尚未抓取：{again}。")
        ended = ENDED.get(meta.get("state", ""), ENDED["interrupted"])[self._chinese]
        also = again and self(f"{again}; ", f"{again}；")
        return self(
            f"It is not there yet:{also or ' '}{ended} while it waited; the same command carries on.",
            f"尚未抓取：{also}{ended}时它仍在等待；同样的命令可继续。",
        )

    def refused(self, rule: str) -> str:
        return self(f"It is not there, because {self.why(rule)}.", f"没有抓取，因为{self.why(rule)}。")

    def dropped(self) -> str:
        return self(
            "It is not there, because you dropped its host while it waited.", "没有抓取，因为它等待时你放弃了该主机。"
        )

    def unseen(self, rule: str, linkers: Linkers, others: list[str]) -> str:
        if others:
            start = self(
                f"It was never met in this spelling, but {others[0]} was", f"没有遇到过这种写法，但遇到过 {others[0]}"
            )
        elif linkers.total:
            start = self(
                "It was met and only counted, as one of very many refused addresses",
                "遇到过，但作为大量被拒地址之一只计了数",
            )
        else:
            start = self("It was never met: no page that was kept links to it", "从未遇到：没有已保存的页面链接到它")
        if rule:
            return self(
                f"{start}; and it would be refused, because {self.why(rule)}.",
                f"{start}；而且会被拒绝，因为{self.why(rule)}。",
            )
        return (
            self(f"{start}; if one did, it would be fetched.", f"{start}；如有链接，就会抓取它。")
            if not others
            else self(f"{start}.", f"{start}。")
        )

    def hidden(self) -> str:
        row = self._row
        if not row["visit"]:
            return self(
                "It was found on a page of members: name its credential with --with to see more.",
                "它在会员页面上发现：用 --with 给出凭据名称以查看更多。",
            )
        names, title = row["access"], row["title"]
        said = f" “{title}”" if title else ""
        return self(
            f"It is there{said}, fetched with {names}: --with names what may be seen.",
            f"已保存{said}，以 {names} 抓取：用 --with 给出名称方可查看。",
        )
