"""The pages of `serve` that are ours: where a crawl began, when a page was kept, the frame around a kept page, and what is missing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from nephila.views.cdxj import digits
from nephila.views.source import Kept
from nephila.views.start import head

FRAME = "allow-scripts allow-same-origin allow-forms allow-modals"
"""What a kept page may do in its frame. `allow-same-origin`: of the archive's own host, which is another than that of the frame."""

_BAR = """<style>body { max-width: none; margin: 0; padding: 0; display: flex; flex-direction: column; height: 100vh }
header { display: flex; gap: 1rem; padding: .5rem 1rem; border-bottom: 1px solid var(--line); align-items: baseline }
header b { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; flex: 1; font-weight: 500 }
iframe { flex: 1; border: 0; background: #fff }</style>
"""


def start(root: str, folder: str, seeds: Iterable[tuple[str, str]]) -> str:
    """`seeds`: (url, title)."""
    entries = "".join(
        _entry(f"{root}view/99991231235959/{_safe(url)}", title or url, url if title else "") for url, title in seeds
    )
    return (
        f"{head(folder)}<h1>{escape(folder)}</h1>\n<p>What was crawled, as it was. · 抓取到的网页，保持原样。</p>\n"
        f'<form action="{root}go"><p><input name="url" size="50" placeholder="https://…" aria-label="Address · 网址" required> '
        f"<button>Open · 打开</button></p></form>\n"
        f"<h2>Start here · 从这里开始</h2>\n<ul>\n{entries}</ul>\n</body></html>\n"
    )


def times(root: str, url: str, captures: Iterable[Kept]) -> str:
    """Every visit of an address, the last one first."""
    entries = "".join(
        _entry(f"{root}view/{digits(kept.started)}/{_safe(url)}", _utc(kept.started), _said(kept))
        for kept in reversed(list(captures))
    )
    body = f"<ul>\n{entries}</ul>\n" if entries else missing(url, [])
    return f"{head(url)}<p><a href='{root}'>Start · 首页</a></p>\n<h1>{escape(url)}</h1>\n{body}{_live(url)}</body></html>\n"


def frame(root: str, inside: str, url: str, moment: float) -> str:
    """A kept page below a bar of ours; `inside` is its address on the archive's host."""
    return (
        f"{head(url)}{_BAR}<header><a href='{root}'>Start · 首页</a><b>{escape(url)}</b><span>{_utc(moment)}</span>"
        f"<a href='{root}times/{escape(_safe(url))}'>All times · 所有时间</a></header>\n"
        f'<iframe sandbox="{FRAME}" referrerpolicy="no-referrer" src="{escape(inside)}" title="{escape(url)}"></iframe>\n</body></html>\n'
    )


def missing(url: str, captures: list[Kept]) -> str:
    """A sentence on what is not there, and where it would be."""
    why = f" ({escape(_said(captures[-1]))}, {_utc(captures[-1].started)})" if captures else ""
    return f"<p>Nothing is kept of {escape(url)}{why}. · 没有保存这个网页。</p>\n{_live(url)}"


def whole(title: str, body: str) -> str:
    """A page of ours with nothing but this."""
    return f"{head(title)}{body}</body></html>\n"


def _live(url: str) -> str:
    return f'<p>On the live web · 原网址: <a href="{escape(url)}" rel="noreferrer noopener" target="_blank">{escape(url)}</a></p>\n'


def _entry(address: str, text: str, note: str) -> str:
    return f'<li><a href="{escape(address)}">{escape(text)}</a><span>{escape(note)}</span></li>\n'


def _said(kept: Kept) -> str:
    return " ".join(filter(None, (kept.outcome, kept.reason, str(kept.status or ""), kept.title[:80])))


def _safe(url: str) -> str:
    """An address as the end of another's path: what it holds is a serialised URL already."""
    return quote(url, safe="!$&'()*+,;=:@/?%~[]")


def _utc(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))
