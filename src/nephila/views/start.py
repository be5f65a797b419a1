"""The first page of a mirror: where the seeds lie, and every host in it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>Mirror · 网站镜像</title>
<style>
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5d6b7a; --line: #d8dee6; --paper: #fbfcfd; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf1; --soft: #9aa7b5; --line: #303a46; --paper: #14191f; --link: #7ab7f5; } }
body { font: 16px/1.55 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; max-width: 52rem;
  margin: 3rem auto; padding: 0 1.25rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; color: var(--soft); font-weight: 600 }
p { color: var(--soft); margin: .25rem 0 } ul { list-style: none; padding: 0; margin: 0 }
li { padding: .55rem 0; border-top: 1px solid var(--line); display: flex; gap: 1rem; justify-content: space-between }
a { color: var(--link); text-decoration: none; overflow-wrap: anywhere } a:hover, a:focus-visible { text-decoration: underline }
span { color: var(--soft); white-space: nowrap }
</style></head><body>
"""


def page(files: int, seeds: Iterable[tuple[str, str, str]], hosts: Iterable[tuple[str, str, int]]) -> str:
    """`seeds`: (url, path, title); `hosts`: (name, path of its first page, files)."""
    parts = [_HEAD, "<h1>Mirror · 网站镜像</h1>\n"]
    parts.append(f"<p>{files:,} files, kept by Nephila. · 共 {files:,} 个文件，由 Nephila 保存。</p>\n")
    parts.append(
        _section(
            "Start here · 从这里开始", [_entry(path, title or url, url if title else "") for url, path, title in seeds]
        )
    )
    parts.append(
        _section(
            "Hosts · 主机", [_entry(path, host, f"{count:,} files · {count:,} 个文件") for host, path, count in hosts]
        )
    )
    parts.append(
        '<p><a href="index.jsonl">index.jsonl</a> — every file and its address · 每个文件及其网址</p>\n</body></html>\n'
    )
    return "".join(parts)


def _section(title: str, entries: list[str]) -> str:
    return f"<h2>{title}</h2>\n<ul>\n{''.join(entries)}</ul>\n" if entries else ""


def _entry(path: str, text: str, note: str) -> str:
    return f'<li><a href="{escape(quote(path))}">{escape(text)}</a><span>{escape(note)}</span></li>\n'
