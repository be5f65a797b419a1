"""The first page of a mirror: its numbers, where the seeds lie, and the hosts in it, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from nephila.figures import amount, days

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{title}</title>
<style>
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5d6b7a; --line: #d8dee6; --paper: #fbfcfd; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf1; --soft: #9aa7b5; --line: #303a46; --paper: #14191f; --link: #7ab7f5; } }
body { font: 16px/1.55 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; max-width: 52rem;
  margin: 3rem auto; padding: 0 1.25rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; color: var(--soft); font-weight: 600 }
p { color: var(--soft); margin: .25rem 0 } ul { list-style: none; padding: 0; margin: 0 }
li { padding: .55rem 0; border-top: 1px solid var(--line); display: flex; gap: 1rem; justify-content: space-between }
a { color: var(--link); text-decoration: none; overflow-wrap: anywhere } a:hover, a:focus-visible { text-decoration: underline }
span { color: var(--soft); overflow-wrap: anywhere; text-align: right; font-variant-numeric: tabular-nums }
dl { display: flex; flex-wrap: wrap; gap: .75rem 2.5rem; margin: 1.5rem 0 0 } dt { color: var(--soft); font-size: .85rem }
dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums }
</style></head><body>
"""


def head(title: str) -> str:
    """The beginning of a page of ours, up to its body."""
    return _HEAD.replace("{title}", escape(title), 1)


def page(
    files: int,
    size: int,
    seeds: Sequence[tuple[str, str, str]],
    hosts: Sequence[tuple[str, str, int]],
    hosts_all: int,
    first: float,
    last: float,
) -> str:
    """`seeds`: (url, path, title); `hosts`: (name, path of its first page, files), of `hosts_all`; `first` and `last`: when the
    pages were fetched (Unix time)."""
    fetched = days(first, last)
    numbers = [
        (f"{files:,}", "files · 文件"),
        (f"{hosts_all:,}", "hosts · 主机"),
        (amount(size), "size · 大小"),
        (fetched if files else "–", "fetched (UTC) · 抓取日期"),
    ]
    starts = [_entry(path, title or url, url if title else "") for url, path, title in seeds]
    names = [_entry(path, host, f"{count:,}") for host, path, count in hosts]
    more = (
        f"<p>… {hosts_all - len(hosts):,} more: see index.jsonl · 其余见 index.jsonl</p>\n"
        if hosts_all > len(hosts)
        else ""
    )
    return "".join(
        (
            head("Mirror · 网站镜像"),
            "<h1>Mirror · 网站镜像</h1>\n<p>Kept by Nephila. · 由 Nephila 保存。</p>\n<dl>",
            *(f"<div><dt>{name}</dt><dd>{number}</dd></div>" for number, name in numbers),
            "</dl>\n",
            _section("Start here · 从这里开始", starts),
            _section("Hosts and their files · 主机及其文件数", names),
            more,
            '<h2>Index · 索引</h2>\n<p><a href="index.jsonl">index.jsonl</a> — every file and its address · 每个文件及其网址</p>\n',
            "</body></html>\n",
        )
    )


def _section(title: str, entries: list[str]) -> str:
    return f"<h2>{title}</h2>\n<ul>\n{''.join(entries)}</ul>\n" if entries else ""


def _entry(path: str, text: str, note: str) -> str:
    return f'<li><a href="{escape(quote(path))}">{escape(text)}</a><span>{escape(note)}</span></li>\n'
