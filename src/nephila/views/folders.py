"""The listing of an FTP folder as a page of the mirror: names that lead to the kept files, with size and date."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from nephila.page.charset import decode
from nephila.page.listing import FOLDER, LINK, Entry, entries, href
from nephila.url.parse import path_of
from nephila.views.rewrite import Addresses
from nephila.views.source import Kept

_HEAD = """<!doctype html>
<html><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{title}</title><style>
:root {{ color-scheme: light dark }} body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem }}
td {{ padding: .1rem 1.5rem .1rem 0 }} td + td {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }}
</style></head><body><h1>{title}</h1>
<table>
"""


def page(content: bytes, kept: Kept, addresses: Addresses) -> str:
    """HTML, whatever names the server chose."""
    path, charset = path_of(kept.url).partition(";type=")[0], kept.charset
    parts = [_HEAD.format(title=escape(kept.title or path))]
    if path != "/":
        parts.append(f'<tr><td><a href="{escape(addresses("../"))}">..</a></td><td></td><td></td></tr>\n')
    parts += [_row(entry, href(entry, path), charset, addresses) for entry in entries(content, kept.started)]
    return "".join((*parts, "</table>\n</body></html>\n"))


def _row(entry: Entry, place: str, charset: str, addresses: Addresses) -> str:
    name = escape(decode(entry.name, charset)[0] + ("/" if entry.kind == FOLDER else ""))
    if place:
        name = f'<a href="{escape(addresses(place))}">{name}</a>'
    if entry.kind == LINK and entry.target:
        name += f" → {escape(decode(entry.target, charset)[0])}"
    size = f"{entry.size:,}" if entry.size >= 0 and entry.kind != FOLDER else ""
    date = f"{datetime.fromtimestamp(entry.modified, UTC):%Y-%m-%d %H:%M}" if entry.modified >= 0 else ""
    return f"<tr><td>{name}</td><td>{size}</td><td>{date}</td></tr>\n"
