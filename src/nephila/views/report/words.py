"""What the report says, in English and Chinese: of every finding its name, what it means, how to mend it; of every code and
column what a person calls it."""

from __future__ import annotations

from typing import NamedTuple

from nephila.types import Both
from nephila.views.report.findings import (
    DEPTH_MAX,
    DESCRIPTION_WIDTH_MAX,
    DESCRIPTION_WIDTH_MIN,
    HEAVY_PAGE_BYTES,
    HEAVY_PART_BYTES,
    SLOW_MS,
    TITLE_WIDTH_MAX,
    TITLE_WIDTH_MIN,
)


class Words(NamedTuple):
    name: Both
    meaning: Both
    mend: Both


FINDINGS = {
    "broken_links": Words(
        ("Broken links", "失效链接"),
        ("Visitors who follow these links get an error.", "访问者点击这些链接会看到错误页面。"),
        ("Correct the address, redirect it to its successor, or remove the link.", "改正网址、重定向到新地址，或删除链接。"),
    ),
    "broken_parts": Words(
        ("Missing parts", "缺失的页面资源"),
        ("Pictures, styles or scripts that pages need and that do not load.", "页面所需的图片、样式或脚本无法加载。"),
        ("Put the file back, or take it out of the page.", "恢复该文件，或从页面中移除引用。"),
    ),
    "soft_404": Words(
        ("“Not found” with status 200", "状态为 200 的“未找到”页面"),
        ("The page says that nothing is there, and the status says that all is well: search engines keep such pages.", "页面提示不存在，状态码却表示正常，搜索引擎会收录这类页面。"),
        ("Answer with status 404 or 410, and mend the links that lead here.", "返回状态码 404 或 410，并修正指向此处的链接。"),
    ),
    "mixed_content": Words(
        ("Insecure parts of secure pages", "安全页面中的不安全内容"),
        ("Pages that come over HTTPS load parts over HTTP: browsers block them or warn.", "HTTPS 页面通过 HTTP 加载资源，浏览器会拦截或警告。"),
        ("Write https:// in these addresses.", "把这些网址改为 https://。"),
    ),
    "certificates": Words(
        ("Certificates and encryption", "证书与加密"),
        ("No trusted secure connection: browsers show a warning in place of the page.", "无法建立可信的安全连接，浏览器会显示警告而不是页面。"),
        ("Renew or replace the certificate, with all of its chain.", "更新或更换证书，并提供完整的证书链。"),
    ),
    "redirects": Words(
        ("Redirects that go round or far", "循环或过长的重定向"),
        ("Loops never arrive, chains cost time at every step, some end nowhere.", "循环永远无法到达，链条的每一步都耗费时间，有些最终无处可去。"),
        ("Redirect straight to the final address.", "直接重定向到最终地址。"),
    ),
    "canonicals": Words(
        ("Contradictory canonical addresses", "相互矛盾的规范网址"),
        ("A page names another one as the original, and that one cannot be it.", "页面指定另一页为规范页面，而那一页并不能作为规范页面。"),
        ("Name one address that answers 200, may be indexed and calls itself canonical.", "只指定一个返回 200、允许收录且以自身为规范的网址。"),
    ),
    "robots": Words(
        ("Contradictions with robots.txt and noindex", "与 robots.txt 或 noindex 的矛盾"),
        ("The site points to these addresses and forbids them at the same time.", "网站一边指向这些网址，一边又禁止访问。"),
        ("Allow what should be found; take what should not out of links and sitemaps.", "应被找到的就放行，不应被找到的就从链接和站点地图中去掉。"),
    ),
    "sitemap": Words(
        ("The sitemap and the site differ", "站点地图与网站不一致"),
        ("Pages of the sitemap that nothing links to or that are not there, and pages that it leaves out.", "站点地图中的页面无人链接或并不存在，或有页面未被列入。"),
        ("List exactly the pages that should be found, under their final addresses, and link to each.", "只列出应被找到的页面及其最终网址，并为每一页提供链接。"),
    ),
    "hreflang": Words(
        ("Language versions", "语言版本标注"),
        ("Versions of a page have to name each other; search engines ignore what is not mutual.", "各语言版本必须互相标注，单方面的标注会被搜索引擎忽略。"),
        ("Name all versions on each of them, itself included, by codes such as de or zh-Hans.", "在每个版本上列出全部版本（包括自身），使用 de、zh-Hans 之类的代码。"),
    ),
    "titles": Words(
        ("Titles", "页面标题"),
        (
            f"The title is the headline in lists of results. Shown are {TITLE_WIDTH_MIN} to {TITLE_WIDTH_MAX} columns, of which a Chinese character takes two.",
            f"标题是搜索结果中的标题行，通常显示 {TITLE_WIDTH_MIN} 至 {TITLE_WIDTH_MAX} 个字符宽度（一个汉字占两个）。",
        ),
        ("Give each page a title of its own that says what is there.", "为每一页写一个说明其内容的独特标题。"),
    ),
    "duplicates": Words(
        ("The same page under several addresses", "同一页面有多个网址"),
        ("These pages are the same to the byte: visitors and links are divided among them.", "这些页面逐字节相同，访问量和链接被分散。"),
        ("Keep one address; redirect the others to it or name it as canonical.", "保留一个网址，其余重定向到它，或将其设为规范网址。"),
    ),
    "near_duplicates": Words(
        ("Pages that say nearly the same", "内容几乎相同的页面"),
        ("Most of the text of these pages is the same; numbers are not compared.", "这些页面的大部分文字相同（不比较数字）。"),
        ("Join them, let them say different things, or name one as canonical.", "合并它们、写出差别，或指定其中一页为规范页面。"),
    ),
    "slow": Words(
        ("Slow pages", "缓慢的页面"),
        (f"The page alone took longer than {SLOW_MS / 1000:g} s, seen from where the crawl ran.", f"从抓取所在位置看，仅页面本身就用了超过 {SLOW_MS / 1000:g} 秒。"),
        ("Look at what the server does for these pages, and cache it.", "检查服务器生成这些页面的过程，并加以缓存。"),
    ),
    "heavy": Words(
        ("Heavy pages and parts", "过大的页面与资源"),
        (
            f"Pages above {HEAVY_PAGE_BYTES // 1000:,} kB and parts above {HEAVY_PART_BYTES // 1000:,} kB, as they were sent: slow on a phone.",
            f"超过 {HEAVY_PAGE_BYTES // 1000:,} kB 的页面和超过 {HEAVY_PART_BYTES // 1000:,} kB 的资源（按传输大小），在手机上很慢。",
        ),
        ("Compress, resize, or split them.", "压缩、缩小或拆分。"),
    ),
    "links_to_redirects": Words(
        ("Links to addresses that moved", "指向已迁移网址的链接"),
        ("They work, by a detour.", "链接可用，但要绕路。"),
        ("Link to the final address.", "直接链接到最终网址。"),
    ),
    "descriptions": Words(
        ("Descriptions", "页面描述"),
        (
            f"The description is the text below the headline in lists of results: {DESCRIPTION_WIDTH_MIN} to {DESCRIPTION_WIDTH_MAX} columns are shown.",
            f"描述是搜索结果标题下方的文字，显示 {DESCRIPTION_WIDTH_MIN} 至 {DESCRIPTION_WIDTH_MAX} 个字符宽度。",
        ),
        ("Describe each page in a sentence or two of its own.", "用一两句话分别描述每一页。"),
    ),
    "headings": Words(
        ("Main headings", "主标题（h1）"),
        ("A page should have one main heading (h1) that says what it is about.", "每页应有且只有一个说明主题的主标题（h1）。"),
        ("Give it one; make others h2.", "保留一个 h1，其余改为 h2。"),
    ),
    "deep": Words(
        ("Pages far from the start", "离首页过远的页面"),
        (f"More than {DEPTH_MAX} links away from the start page: seldom found by people and search engines.", f"距起始页超过 {DEPTH_MAX} 次点击，人和搜索引擎都难以找到。"),
        ("Link to them from pages nearer to the start.", "在更靠近首页的页面上添加链接。"),
    ),
}  # fmt: skip

PROBLEMS: dict[str, dict[str, Both]] = {
    "redirects": {
        "chain": ("several in a row", "连续多次"),
        "loop": ("goes round in a circle", "循环"),
        "endless": ("too many", "次数过多"),
        "broken": ("ends at an error", "最终出错"),
    },
    "canonicals": {
        "several": ("names several", "指定了多个"),
        "broken": ("is broken", "已失效"),
        "redirect": ("is a redirect", "是重定向"),
        "disallowed": ("is forbidden by robots.txt", "被 robots.txt 禁止"),
        "chain": ("names another one itself", "又指向另一页"),
        "noindex_target": ("may not be indexed", "不允许收录"),
        "noindex": ("the page itself says noindex", "本页声明了 noindex"),
        "other_site": ("is on another host", "在另一主机上"),
    },
    "robots": {
        "linked": ("linked and forbidden", "有链接但被禁止"),
        "part": ("needed by pages and forbidden", "页面需要但被禁止"),
        "listed": ("in the sitemap and forbidden", "在站点地图中但被禁止"),
        "listed_noindex": ("in the sitemap and noindex", "在站点地图中但为 noindex"),
        "unreachable": ("robots.txt cannot be fetched", "无法获取 robots.txt"),
    },
    "sitemap": {
        "not_linked": ("no page links to it", "没有页面链接到它"),
        "not_listed": ("not in the sitemap", "不在站点地图中"),
        "broken": ("listed and broken", "已列出但失效"),
        "redirect": ("listed and moved", "已列出但已迁移"),
        "canonical": ("listed, calls another page canonical", "已列出，但规范网址是另一页"),
        "unreadable": ("the sitemap is cut or not well-formed", "站点地图不完整或格式错误"),
    },
    "hreflang": {
        "code": ("no language code", "语言代码无效"),
        "broken": ("leads to an error or a redirect", "指向错误或重定向"),
        "no_return": ("is not mutual", "没有反向标注"),
        "no_self": ("does not name itself", "没有标注自身"),
        "twice": ("one language, several addresses", "同一语言有多个网址"),
    },
    "titles": {
        "missing": ("missing", "缺失"),
        "duplicate": ("on several pages", "多页重复"),
        "short": ("short", "过短"),
        "long": ("long", "过长"),
    },
    "headings": {
        "missing": ("missing", "缺失"),
        "empty": ("empty", "为空"),
        "several": ("several", "多个"),
    },
}
PROBLEMS["descriptions"] = PROBLEMS["titles"]
"""Codes of column `problem`, by finding; a finding that is not here has plain words there."""

COLUMNS: dict[str, Both] = {
    "page": ("page", "页面"),
    "pages": ("pages", "页数"),
    "link": ("link", "链接"),
    "part": ("part", "资源"),
    "text": ("text", "文字"),
    "tag": ("tag", "标签"),
    "status": ("status", "状态"),
    "reason": ("reason", "原因"),
    "example": ("for example on", "例如出现在"),
    "title": ("title", "标题"),
    "linked_from": ("linked from", "链接来源"),
    "origin": ("host", "主机"),
    "problem": ("problem", "问题"),
    "addresses": ("addresses", "网址数"),
    "address": ("address", "网址"),
    "hops": ("steps", "步数"),
    "end": ("leads to", "最终到达"),
    "leads_to": ("leads to", "最终到达"),
    "way": ("way", "路径"),
    "canonical": ("canonical", "规范网址"),
    "sitemap": ("sitemap", "站点地图"),
    "language": ("language", "语言"),
    "width": ("columns", "宽度"),
    "description": ("description", "描述"),
    "headings": ("headings", "数量"),
    "heading": ("heading", "主标题"),
    "same_as": ("the same as", "相同于"),
    "bytes": ("size", "大小"),
    "like": ("is like", "近似于"),
    "percent": ("alike, %", "相似度 %"),
    "milliseconds": ("time", "耗时"),
    "media_type": ("type", "类型"),
    "depth": ("links away", "点击距离"),
}

GRADES: dict[str, Both] = {
    "error": ("error", "错误"),
    "warning": ("warning", "警告"),
    "notice": ("notice", "提示"),
}

SAID: dict[str, Both] = {
    "report": ("Site report", "网站体检报告"),
    "crawled": ("crawled", "抓取于"),
    "healthy": ("of pages without errors", "的页面没有错误"),
    "pages": ("pages", "页面"),
    "addresses": ("addresses", "网址"),
    "hosts": ("hosts", "主机"),
    "transferred": ("transferred", "传输量"),
    "errors": ("errors", "错误"),
    "warnings": ("warnings", "警告"),
    "notices": ("notices", "提示"),
    "to_mend": ("What to mend", "需要改进的地方"),
    "fine": ("Looked for and not found", "已检查，未发现问题"),
    "picture": ("The site at a glance", "网站概览"),
    "answers": ("Answers", "响应结果"),
    "depth": ("Links from the start page", "距起始页的点击数"),
    "times": ("Time per page", "页面耗时"),
    "weights": ("Bytes by type", "各类型的字节数"),
    "ok": ("fine", "正常"),
    "moved": ("moved", "已迁移"),
    "broken": ("broken", "失效"),
    "denied": ("forbidden by robots.txt", "被 robots.txt 禁止"),
    "other": ("other", "其他"),
    "unlinked": ("not linked", "无链接"),
    "all_rows": ("all rows", "全部"),
    "first_rows": ("first of them shown", "仅显示前几行"),
    "manners": ("Proof of manners", "抓取礼貌证明"),
    "manners_said": (
        "How the crawl asked the site, reckoned from the log of all requests.",
        "根据全部请求日志计算：抓取过程对网站的请求方式。",
    ),
    "requests": ("requests", "请求数"),
    "at_once": ("most at once to a host", "同一主机的最大并发"),
    "pause": ("smallest pause", "最小间隔"),
    "disallowed": ("fetched though forbidden", "违反 robots.txt 的抓取"),
    "robots_once": ("requests for robots.txt per host, at most", "每个主机最多请求 robots.txt 次数"),
    "early": ("retries before their time (Retry-After)", "早于允许时间的重试（Retry-After）"),
    "no_robots": ("The crawl was told to ignore robots.txt.", "本次抓取按设置忽略了 robots.txt。"),
    "html": ("pages", "页面"),
    "images": ("pictures", "图片"),
    "scripts": ("scripts", "脚本"),
    "styles": ("styles", "样式"),
    "fonts": ("fonts", "字体"),
    "documents": ("documents", "文档"),
    "media": ("sound and film", "音视频"),
    "unread": ("pages could not be read back", "个页面无法读回"),
    "made": ("Made by Nephila from the archive of the crawl; nothing was fetched for it.", "由 Nephila 根据抓取存档生成，未为此发出任何请求。"),
    "nothing": ("Nothing was found that needs mending.", "没有发现需要改进的地方。"),
}  # fmt: skip
