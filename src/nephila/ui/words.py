"""What the window says, in English and Chinese. A test checks that every key is used and that both are there.

Templates write `say("now.kept")`; `{}` in a text takes what is given besides the key, in order. A key that is made up of a part and a
name (`say("state." ~ status.state)`) counts for all that begin with the part.
"""

from __future__ import annotations

from collections.abc import Callable

LANGUAGES = ("en", "zh")

FRAME = {
    "nav.now": ("Now", "现状"),
    "nav.hosts": ("Hosts", "主机"),
    "nav.archive": ("Archive", "存档"),
    "nav.pages": ("Pages of the window", "窗口的页面"),
    "frame.language": ("中文", "English"),
    "frame.light": ("Light", "浅色"),
    "frame.dark": ("Dark", "深色"),
    "frame.another": ("Open in another browser", "在另一个浏览器中打开"),
    "frame.docs": ("All times are UTC.", "所有时间均为 UTC。"),
    "state.running": ("running", "运行中"),
    "state.paused": ("paused", "已暂停"),
    "state.finished": ("finished", "已完成"),
    "state.limit": ("limit reached", "达到上限"),
    "state.interrupted": ("interrupted", "已中断"),
    "state.parked": ("hosts wait", "主机等待中"),
    "state.offline": ("no network", "没有网络"),
    "state.no_seed": ("no seed answered", "起始地址均无回应"),
    "state.disk": ("disk full", "磁盘已满"),
    "state.stopping": ("stopping", "正在停止"),
    "steer.pause": ("Pause", "暂停"),
    "steer.resume": ("Resume", "继续"),
    "steer.stop": ("Stop", "停止"),
    "steer.gone": ("No crawl is running.", "没有正在运行的抓取。"),
    "steer.done": ("Done: {}", "已执行：{}"),
    "steer.failed": ("Not done: {}", "未执行：{}"),
    "over.text": ("The crawl has ended, and this window with it. To look at it:", "抓取已结束，此窗口随之关闭。之后查看请运行："),
    "another.title": ("Another browser", "另一个浏览器"),
    "another.about": ("This address lets one browser in, once. Whoever has it may see and steer this crawl.", "此地址只能让一个浏览器进入一次。持有者可以查看并控制这次抓取。"),
}  # fmt: skip

NOW = {
    "now.found": ("found", "已发现"),
    "now.kept": ("kept", "已保存"),
    "now.queued": ("queued", "排队"),
    "now.in_flight": ("in flight", "进行中"),
    "now.failed": ("not kept", "未保存"),
    "now.bytes": ("bytes", "字节"),
}

ARCHIVE = {
    "archive.about": ("What was crawled, as it was.", "抓取到的网页，保持原样。"),
    "archive.address": ("Address", "网址"),
    "archive.open": ("Open", "打开"),
    "archive.start": ("Start here", "从这里开始"),
    "archive.times": ("All times", "所有时间"),
    "archive.missing": ("Nothing is kept of {}.", "没有保存 {}。"),
    "archive.last": ("The last visit, at {}: {}", "最近一次访问（{}）：{}"),
    "archive.live": ("On the live web", "原网址"),
}

WORDS = FRAME | NOW | ARCHIVE

Say = Callable[..., str]


def speaker(language: str) -> Say:
    """A function from a key (and what its `{}` take) to the text. Raises KeyError for a key that is not here."""
    column = LANGUAGES.index(language)

    def say(key: str, *facts: object) -> str:
        return WORDS[key][column].format(*facts)

    return say
