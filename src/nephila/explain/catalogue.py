"""Every rule and every reason as a clause that follows "because", in English and in Chinese.

The names are those of tables `rule` and `visit`. A test holds the list against what the code can say.
"""

from __future__ import annotations

from http import HTTPStatus

from nephila.types import UNVERIFIED, Both
from nephila.url.traps import trap_of

RULES: dict[str, Both] = {
    "scope.host": (
        "the crawl stays on the hosts it began at (scope host), and {host} is none of them",
        "抓取限于起始主机（scope host），而 {host} 不在其中",
    ),
    "scope.site": (
        "the crawl stays on the sites it began at (scope site), and {host} belongs to none of them",
        "抓取限于起始站点（scope site），而 {host} 不属于其中任何一个",
    ),
    "scope.name": (
        "the crawl stays with the names it began at (scope name), and {host} has another one",
        "抓取限于起始地址的域名主名（scope name），而 {host} 的主名不同",
    ),
    "scope.prefix": (
        "the crawl stays below the folders it began at (scope prefix), and this lies elsewhere",
        "抓取限于起始地址所在的目录（scope prefix），而该地址在别处",
    ),
    "include": (
        "none of the patterns of include is found in the address",
        "include 的所有模式都不匹配该地址",
    ),
    "exclude": (
        "the pattern {pattern} of exclude is found in the address",
        "exclude 的模式 {pattern} 匹配该地址",
    ),
    "logout": (
        "by the look of its address it logs out, on a site where we are logged in",
        "从地址看它会退出登录，而我们在该站点已登录",
    ),
    "nofollow": (
        "the pages that link to it ask that their links are not followed (nofollow)",
        "链接到它的页面要求不跟随链接（nofollow）",
    ),
    "kind.form": (
        "it is where a form is sent to, and forms are not sent",
        "它是表单的提交地址，而表单不会被提交",
    ),
    "kind.sitemap": ("it is a sitemap, and sitemaps are not read", "它是站点地图，而当前不读取站点地图"),
    "sitemap.depth": (
        "it is a sitemap below ten others, which is taken for a chain without end",
        "它位于十层站点地图之下，被视为无尽的链",
    ),
    "url.too_long": (
        "the address is longer than 8,192 characters, as only traps are",
        "地址超过 8,192 个字符，只有陷阱才会这样",
    ),
    "scheme": (
        "only http, https and ftp can be fetched",
        "只能抓取 http、https 和 ftp 地址",
    ),
    "max_depth": (
        "it is {depth} links away from where the crawl began, and max_depth is {max_depth}",
        "它离起点的链接数（{depth}）超过 max_depth（{max_depth}）",
    ),
    "trap:repeated_segment": (
        "its path repeats itself, as addresses of pages do that link to themselves (trap repeated_segment)",
        "路径自我重复，像是不断链接到自身的页面（陷阱 repeated_segment）",
    ),
    "trap:growing_path": (
        "its path has grown beyond what pages have (trap growing_path)",
        "路径增长到超出正常页面（陷阱 growing_path）",
    ),
    "trap:growing_query": (
        "its query holds the same thing again and again (trap growing_query)",
        "查询串反复包含相同内容（陷阱 growing_query）",
    ),
    "trap:session_id": (
        "it is a known page under the id of another session (trap session_id)",
        "它是已知页面，只是会话标识不同（陷阱 session_id）",
    ),
    "trap:calendar": (
        "addresses of its form ({form}) are dates whose pages said nothing new (trap calendar)",
        "这种形式的地址（{form}）是日期页，其页面没有新内容（陷阱 calendar）",
    ),
    "trap:template": (
        "pages of its form ({form}) said nothing new (trap template)",
        "这种形式（{form}）的页面没有新内容（陷阱 template）",
    ),
    "trap:soft_404": (
        "it was linked only from pages that say 'not found' with status 200 (trap soft_404)",
        "只有以 200 状态显示“未找到”的页面链接到它（陷阱 soft_404）",
    ),
}

REASONS: dict[str, Both] = {
    # permission
    "robots_disallow": ("the robots.txt of {origin} forbids it", "{origin} 的 robots.txt 禁止抓取它"),
    "robots_unreachable": (
        "the robots.txt of {origin} could not be read, so there is no permission",
        "无法读取 {origin} 的 robots.txt，因此没有许可",
    ),
    "on_request": ("the program that runs the crawl said no (its hook on_request)", "运行抓取的程序拒绝了它（钩子 on_request）"),
    "dropped": ("you dropped its host", "你放弃了该主机"),
    "forgotten": ("it was taken down (nephila forget)", "它已被撤下（nephila forget）"),
    "probe": (
        "it is a name that nobody has, asked for to see what the host says then",
        "它是一个不存在的名字，用来试探主机此时如何回答",
    ),
    "login_required": ("the site wanted a login where a page was expected", "站点要求登录，而不是给出页面"),
    "type:": (
        "its media type is {type}, and types does not name it",
        "其媒体类型为 {type}，不在 types 之列",
    ),
    "blocked.private_address": (
        "it leads to an address inside a private network ({host})",
        "它指向专用网络内的地址（{host}）",
    ),
    "unsafe_request": (
        "its address cannot be sent without changing what is asked (a control character)",
        "该地址含控制字符，无法原样安全发送",
    ),
    "ftp_proxy": ("FTP does not go through a proxy, and one is set for the host", "FTP 不经过代理，而该主机设置了代理"),
    # redirects
    "too_many_redirects": ("too many redirects led from one address to the next", "重定向次数过多"),
    "redirect_loop": ("it redirects in a circle", "它循环重定向"),
    "redirect_without_location": ("the server redirects and does not say where to", "服务器重定向但未说明去处"),
    "redirect_ambiguous": ("the server names several places to go to", "服务器给出多个重定向去处"),
    "redirect_target": ("it redirects to what is no address that can be fetched", "它重定向到无法抓取的地址"),
    "cookie_wall": ("it redirects to itself, even with the cookie that it set", "即使带上它设置的 Cookie，仍重定向到自身"),
    # names and connections
    "bad_host": ("no host is named so", "没有主机会这样命名"),
    "dns.not_found": ("there is no such host: its name is not found", "没有这样的主机：域名不存在"),
    "dns.temporary": ("the name server did not answer the question for its host", "域名服务器未能回答该主机的查询"),
    "timeout.dns": ("no name server answered in time", "域名服务器未及时回答"),
    "timeout.connect": ("its host did not answer in time", "主机未及时响应连接"),
    "timeout.tls": ("the TLS handshake took too long", "TLS 握手超时"),
    "timeout.headers": ("the answer did not begin in time", "响应未及时开始"),
    "timeout.body": ("its content did not come in time", "内容未及时到达"),
    "connect.refused": ("nothing listens there", "该端口没有服务"),
    "connect.unreachable": ("there is no way to its host", "无法到达该主机"),
    "connect.failed": ("its host could not be connected", "无法连接该主机"),
    "conn_reset": ("the connection broke off", "连接中断"),
    "empty_reply": ("the server hung up without an answer", "服务器未作答即断开"),
    "host_unreachable": ("its host failed too often in a row and was given up", "该主机连续失败过多，已放弃"),
    "http2": ("what came was not HTTP/2 as agreed", "收到的不是约定的 HTTP/2"),
    "http3": ("what came was not HTTP/3 as agreed", "收到的不是约定的 HTTP/3"),
    # answers
    "bad_url": ("the address cannot be asked for", "该地址无法请求"),
    "bad_status_line": ("what answered does not speak HTTP", "应答方不是 HTTP"),
    "bad_header": ("the header of the answer is broken", "响应头损坏"),
    "header_too_large": ("the header of the answer is too large", "响应头过大"),
    "late_answer": ("the answer to an earlier request came in its place", "收到的是先前请求的响应"),
    "short_body": ("the content ended too early", "内容提前结束"),
    "bad_chunk": ("the framing of the content is broken", "内容的分块损坏"),
    "damaged": ("the content did not decode", "内容无法解码"),
    "decode": ("the content did not decode", "内容无法解码"),
    "bomb": ("the content is a bomb: it unpacks to very much more than was sent", "内容是压缩炸弹：解压后远大于传输量"),
    "label": ("the content is in a coding that nobody knows", "内容使用未知编码"),
    "too_large": ("it is too large", "它过大"),
    "soft_404": ("it says 'not found' with status 200", "它以 200 状态显示“未找到”"),
    "status.": ("the server answered {status}", "服务器回答 {status}"),
    # reading
    "read_time": ("reading it took longer than read_seconds_max", "读取它的时间超过 read_seconds_max"),
    "read_memory": ("reading it took more memory than worker_memory_max", "读取它的内存超过 worker_memory_max"),
    "read_crash": ("reading it killed the workers that tried", "读取它使工作进程崩溃"),
    "cut.page": ("it is longer than is read for links", "它长于读取链接的上限"),
    "cut.links": ("it has more links than are taken", "它的链接多于可取的上限"),
    "sitemap.none": ("it was asked for as a sitemap, and is none", "它被当作站点地图请求，但并不是"),
    "sitemap.broken": ("it is a sitemap that is cut or not well-formed", "它是残缺或格式不正确的站点地图"),
    "truncated.length": ("it was cut at body_bytes_max", "它在 body_bytes_max 处被截断"),
    "truncated.time": ("it was cut because it came too slowly", "它因传输太慢被截断"),
    "truncated.disconnect": ("it was cut because the connection broke off", "它因连接中断被截断"),
    "truncated.decode": ("it was cut where it did not decode", "它在无法解码处被截断"),
    "truncated.unspecified": ("the server sent only a part of it", "服务器只发送了一部分"),
    # TLS
    "tls.expired": ("its certificate has expired", "其证书已过期"),
    "tls.not_yet_valid": ("its certificate is not valid yet", "其证书尚未生效"),
    "tls.self_signed": ("its certificate is signed by nobody but itself", "其证书是自签名的"),
    "tls.unknown_ca": ("the authority of its certificate is not trusted", "其证书的颁发者不受信任"),
    "tls.wrong_host": ("its certificate is for another host", "其证书属于另一主机"),
    "tls.revoked": ("its certificate was revoked", "其证书已被吊销"),
    "tls.weak": ("its key or signature is too weak", "其密钥或签名太弱"),
    "tls.certificate": ("its certificate does not hold", "其证书不成立"),
    "tls.protocol": ("it speaks no version of TLS that is still safe", "它不支持任何仍安全的 TLS 版本"),
    "tls.plain": ("what answers there speaks no TLS", "应答方不使用 TLS"),
    "tls.closed": ("the server hung up in the middle of the TLS handshake", "服务器在 TLS 握手中途断开"),
    "tls.handshake": ("the server refused the TLS handshake", "服务器拒绝 TLS 握手"),
    UNVERIFIED: ("its certificate does not hold, and insecure names its host", "其证书不成立，但 insecure 允许该主机"),
    # proxies
    "proxy_unreachable": ("the proxy could not be connected", "无法连接代理"),
    "proxy_tls": ("TLS with the proxy failed", "与代理的 TLS 失败"),
    "proxy_auth": ("the proxy wants other credentials", "代理要求其他凭据"),
    "proxy_refused": ("the proxy refused to connect it", "代理拒绝连接"),
    "proxy_timeout": ("the proxy did not answer in time", "代理未及时回答"),
    "proxy_closed": ("the proxy hung up", "代理断开了连接"),
    # FTP
    "ftp_not_found": ("the FTP server has no such file, or does not show it", "FTP 服务器没有该文件或不予显示"),
    "ftp_login": ("the FTP server lets nobody in, or not us", "FTP 服务器不允许登录"),
    "ftp_busy": ("the FTP server is full", "FTP 服务器已满"),
    "ftp_refused": ("the FTP server refused", "FTP 服务器拒绝"),
    "ftp_data": ("the FTP server's data connection failed", "FTP 数据连接失败"),
    "ftp_reply": ("what answers there speaks no FTP", "应答方不是 FTP"),
    # a program's own
    "handler_error": ("a hook of the program raised an error", "程序的钩子出错"),
}  # fmt: skip


def rule_name(rule: str) -> str:
    """The name under which `RULES` has a rule: `exclude:/x` → exclude, `trap:template http://a/x?*` → trap:template."""
    if rule.startswith("exclude:"):
        return "exclude"
    return f"trap:{trap_of(rule)}" if trap_of(rule) else rule


def reason_name(reason: str) -> str:
    """The name under which `REASONS` has a reason: `status.404` → `status.`, `insecure.expired` → `insecure.`."""
    for family in ("status.", "type:", UNVERIFIED):
        if reason.startswith(family):
            return family
    return reason


def of_rule(rule: str, chinese: bool = False, **facts: object) -> str:
    """The clause of a rule; `facts` are host, depth, max_depth."""
    form = rule.partition(" ")[2]
    pair = RULES.get(rule_name(rule), ("the rule {rule} refuses it", "规则 {rule} 拒绝了它"))
    return pair[chinese].format(rule=rule, pattern=rule.partition(":")[2], form=form, **facts)


def of_reason(reason: str, chinese: bool = False, **facts: object) -> str:
    """The clause of a reason; `facts` are host and origin."""
    pair = REASONS.get(reason_name(reason), ("of {reason}", "原因是 {reason}"))
    number = reason.partition(".")[2]
    said = f"{number} {HTTPStatus(int(number)).phrase}" if number in _NUMBERS else number
    return pair[chinese].format(reason=reason, status=said, type=reason.partition(":")[2], **facts)


_NUMBERS = frozenset(str(status.value) for status in HTTPStatus)
