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
    "nav.label": ("Pages of the window", "窗口的页面"),
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

URLS = {
    "nav.urls": ("Pages", "网页"),
    "filter.any": ("any", "不限"),
    "filter.outcome": ("Outcome", "结果"),
    "filter.state": ("State", "状态"),
    "filter.kind": ("Kind", "种类"),
    "filter.status": ("Status code", "状态码"),
    "filter.depth": ("Depth", "深度"),
    "filter.media_type": ("Type", "类型"),
    "filter.host": ("Host", "主机"),
    "filter.text": ("Text in address or title", "网址或标题中的文字"),
    "filter.regex": ("Regular expression (RE2) on the address", "网址的正则表达式（RE2）"),
    "filter.show": ("Show", "显示"),
    "filter.clear": ("Clear", "清除"),
    "sort.url": ("Address", "网址"),
    "sort.status": ("Status", "状态码"),
    "sort.bytes": ("Size", "大小"),
    "sort.ms": ("ms", "毫秒"),
    "sort.depth": ("Depth", "深度"),
    "sort.visited": ("Visited", "访问时间"),
    "outcome.OK": ("kept", "已保存"),
    "outcome.UNCHANGED": ("unchanged", "未变化"),
    "outcome.MOVED": ("moved", "已重定向"),
    "outcome.DENIED": ("denied", "robots 禁止"),
    "outcome.REFUSED": ("refused by the server", "服务器拒绝"),
    "outcome.UNREACHABLE": ("unreachable", "无法访问"),
    "outcome.UNREADABLE": ("unreadable", "无法读取"),
    "outcome.TOO_LARGE": ("too large", "过大"),
    "outcome.SKIPPED": ("skipped", "已跳过"),
    "outcome.BLOCKED": ("blocked", "已拦截"),
    "url.queued": ("queued", "排队"),
    "url.done": ("done", "已完成"),
    "url.refused": ("not wanted", "不需要"),
    "url.too_deep": ("too deep", "过深"),
    "url.parked": ("waits for its host", "等待主机"),
    "url.dropped": ("dropped", "已丢弃"),
    "kind.page": ("page", "网页"),
    "kind.embed": ("part of a page", "网页部件"),
    "kind.redirect": ("redirect", "重定向"),
    "kind.canonical": ("canonical", "规范网址"),
    "kind.sitemap": ("sitemap", "站点地图"),
    "kind.feed": ("feed", "订阅源"),
    "kind.script": ("guessed from a script", "由脚本推测"),
    "kind.form": ("form", "表单"),
    "kind.robots": ("robots.txt", "robots.txt"),
    "kind.login": ("login", "登录"),
    "kind.probe": ("probe", "探测"),
    "link.redirect": ("redirect", "重定向"),
    "link.flat": ("part or other name", "部件或别名"),
    "url.open": ("Open an address", "打开网址"),
    "url.slow": ("This takes longer than two seconds; narrow it down.", "查询超过两秒，请缩小范围。"),
    "url.total": ("{} addresses.", "共 {} 个网址。"),
    "url.looked": ("Looked through {} of {} addresses.", "已查看 {} / {} 个网址。"),
    "url.on": ("Go on", "继续查找"),
    "url.none": ("None among those looked through.", "所查看的网址中没有符合的。"),
    "url.paging": ("Pages of this table", "表格分页"),
    "url.first": ("From the beginning", "回到开头"),
    "url.next": ("Next", "下一页"),
    "url.unknown": ("The crawl has not met this address.", "抓取过程中没有遇到此网址。"),
    "url.kept": ("The page as kept", "查看保存的网页"),
    "url.why": ("Why?", "为什么？"),
    "url.row": ("The address", "网址信息"),
    "url.outcome": ("Outcome", "结果"),
    "url.rule": ("Rule", "规则"),
    "url.parent": ("Found first on", "首次发现于"),
    "url.seed": ("a start address, or a page that is not shown", "起始网址，或不显示的网页"),
    "url.due": ("Due", "应访问时间"),
    "url.language": ("Language", "语言"),
    "url.answered": ("Answered by", "应答者"),
    "url.moved": ("Moved to", "重定向到"),
    "url.cut": ("Cut", "截断原因"),
    "url.digest": ("Digest", "摘要"),
    "url.visits": ("Visits", "访问记录"),
    "url.record": ("Archive record", "存档记录"),
    "url.no_record": ("nothing kept", "未保存"),
    "url.place": ("at byte {}, {} long", "位置 {}，长度 {}"),
    "url.no_visit": ("Not visited yet.", "尚未访问。"),
    "url.attempts": ("Attempts that failed", "失败的尝试"),
    "url.reason": ("Reason", "原因"),
    "url.linkers": ("Pages that link here", "链接到此的网页"),
    "url.no_linkers": ("None among those looked through.", "所查看的网页中没有。"),
    "url.linkers_looked": ("Looked through the links of {} of {} visits.", "已查看 {} / {} 次访问的链接。"),
    "url.links": ("Links on this page", "此网页上的链接"),
    "url.links_shown": ("The first {} that the crawl knows.", "显示抓取已知的前 {} 个。"),
    "url.no_links": ("None.", "没有。"),
}  # fmt: skip

MAP = {
    "nav.map": ("Map", "地图"),
    "map.reading": ("The links are being read: {} of {} addresses so far.", "正在读取链接：已读 {} / {} 个网址。"),
    "map.trail": ("Where this is", "当前位置"),
    "map.all": ("All sites", "全部站点"),
    "map.picture": ("{} groups of pages and the links between them; arrow keys go from one to the next, Enter opens one, Escape goes up.", "{} 组网页及其间的链接；方向键切换，回车打开，Esc 返回上级。"),
    "map.how": ("Point at a group to see its links; open it to see what is in it.", "指向一组即可看到它的链接；点击可打开查看其中内容。"),
    "map.others": ("others", "其他"),
    "map.more": ("{} others", "其他 {} 个"),
    "map.pages": ("{} pages", "{} 个网页"),
    "map.links": ("links: {} within, {} out, {} in", "链接：内部 {}，链出 {}，链入 {}"),
    "map.links_in_all": ("{} links", "{} 个链接"),
    "map.outside": ("And {} links to pages that are not shown here, {} from there.", "另有 {} 个链接通向此处未显示的网页，{} 个来自那里。"),
    "map.first": ("The first {} of {} addresses.", "仅含最先发现的 {} / {} 个网址。"),
    "map.links_left": ("{} links were too many for the map.", "有 {} 个链接超出地图容量。"),
    "map.cluster": ("Group", "分组"),
    "map.count": ("Pages", "网页"),
    "map.within": ("Within", "内部"),
    "map.out": ("Out", "链出"),
    "map.into": ("In", "链入"),
    "map.strongest": ("Most links between two groups", "两组间链接最多者"),
    "map.from": ("From", "从"),
    "map.to": ("To", "到"),
    "map.there": ("There", "去"),
    "map.back": ("Back", "回"),
    "map.empty": ("No page has been found yet.", "尚未发现网页。"),
    "map.kept": ("kept", "已保存"),
    "map.moved": ("moved", "已重定向"),
    "map.failed": ("failed", "失败"),
    "map.denied": ("not allowed or not wanted", "禁止或不需要"),
    "map.waiting": ("waiting", "等待中"),
    "map.depths": ("Links from the nearest start address (depth)", "距最近起始网址的链接数（深度）"),
    "map.depth": ("Depth {}: {} done, {} waiting, {} not wanted", "深度 {}：已完成 {}，等待 {}，不需要 {}"),
    "map.curve": ("Addresses found after so many visits", "随访问次数发现的网址"),
    "map.found": ("found", "已发现"),
    "map.news": ("new per visit, on a scale of its own", "每次访问的新增（单独比例）"),
    "map.visits": ("Visits", "访问次数"),
    "map.as_table": ("As a table", "以表格显示"),
}  # fmt: skip

SEARCH = {
    "nav.search": ("Search", "搜索"),
    "search.none": ("This crawl has no search index that is up to date. This command makes one:", "此抓取没有可用的搜索索引。用以下命令建立："),
    "search.none_why": ("It may take minutes for a large crawl, so looking at the window does not start it.", "大型抓取可能需要几分钟，因此查看窗口时不会自动建立。"),
    "search.behind": ("The index does not know the last {} visits yet. To bring it up:", "索引尚未包含最近 {} 次访问。更新："),
    "search.count": ("{} found in {} ms", "找到 {} 个，用时 {} 毫秒"),
    "search.nothing": ("Nothing was found.", "没有找到。"),
    "search.more": ("More", "更多"),
    "search.how": ("All words must be there. Besides words there are:", "须包含全部词语。此外还可以使用："),
}  # fmt: skip

WORDS = FRAME | NOW | ARCHIVE | URLS | MAP | SEARCH

Say = Callable[..., str]


def speaker(language: str) -> Say:
    """A function from a key (and what its `{}` take) to the text. Raises KeyError for a key that is not here."""
    column = LANGUAGES.index(language)

    def say(key: str, *facts: object) -> str:
        return WORDS[key][column].format(*facts)

    return say
