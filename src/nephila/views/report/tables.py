"""Tables of the report's page: what was found, with what it means and how to mend it. All that comes from the web is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from nephila.figures import amount
from nephila.types import Both
from nephila.views.report.findings import Finding
from nephila.views.report.words import COLUMNS, FINDINGS, GRADES, PROBLEMS, SAID

SHOWN_MAX = 20
"""Rows of a finding on the page; all are in its CSV file."""
_NUMBERS = frozenset(
    {"status", "pages", "addresses", "hops", "width", "headings", "bytes", "percent", "milliseconds", "depth"}
)
_ADDRESSES = frozenset(
    {"page", "link", "part", "example", "linked_from", "address", "end", "leads_to", "canonical", "sitemap", "same_as"}
    | {"like", "way"}
)


class Shown(NamedTuple):
    """A finding with some of its rows; `number`: how many its CSV file has; `complete`: the rows are all there is to show."""

    finding: Finding
    number: int
    rows: Sequence[Sequence[Any]]
    complete: bool


def section(shown: Shown) -> str:
    """A finding: its name, what it means, how to mend it, its first rows."""
    finding, words = shown.finding, FINDINGS[shown.finding.name]
    names = finding.shown_columns or finding.columns
    columns = [(COLUMNS[name], _kind(name)) for name in names]
    rows = ([_text(finding, *cell) for cell in zip(names, row, strict=True)] for row in shown.rows)
    return (
        f'<section class="finding card" id="{finding.name}"><header>{grade(finding)}<h3>{both(words.name)}</h3>'
        f'<span class="soft">{_places(shown.number)}</span>'
        f'<a class="all" href="{finding.file}">{said("all_rows")} (CSV)</a></header>'
        f'<p>{both(words.meaning)}</p><p class="mend">→ {both(words.mend)}</p>'
        f"{table(columns, rows, '' if shown.complete else finding.file)}</section>\n"
    )


def table(columns: Sequence[tuple[Both, str]], rows: Iterable[Sequence[str]], rest: str) -> str:
    """`columns`: (label, `number`, `address` or `text`); `rows`: HTML; `rest`: the file with all rows, "" when these are all.
    Each cell has its label, too, which shows on a narrow screen."""
    heads = "".join(f'<th class="{kind}">{both(label)}</th>' for label, kind in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}{"" if cell else " none"}"><i class="label">{both(label)}</i><span>{cell}</span></td>'
            for (label, kind), cell in zip(columns, row, strict=True)
        )
        + "</tr>\n"
        for row in rows
    )
    more = f'<div class="more">… <a href="{rest}">{rest}</a> ({said("first_rows")})</div>' if rest else ""
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>\n{body}</tbody></table>{more}</div>'


def grade(finding: Finding) -> str:
    return f'<span class="grade {finding.grade}">{both(GRADES[finding.grade])}</span>'


def said(name: str) -> str:
    return both(SAID[name])


def both(words: Both) -> str:
    """The two languages, of which the page shows one."""
    return f'<span class="en" lang="en">{escape(words[0])}</span><span class="zh" lang="zh">{escape(words[1])}</span>'


def _places(number: int) -> str:
    return both((f"{number:,} {'place' if number == 1 else 'places'}", f"{number:,} 处"))


def _kind(column: str) -> str:
    return "number" if column in _NUMBERS else "address" if column in _ADDRESSES else "text"


def _text(finding: Finding, column: str, value: Any) -> str:
    """A cell as HTML."""
    if column == "problem":
        words = PROBLEMS.get(finding.name, {}).get(value)
        return both(words) if words else escape(str(value))
    if column in _ADDRESSES:
        return "<br>".join(map(_address, str(value or "").split()))
    if column == "bytes":
        return amount(value)
    if column == "milliseconds":
        return f"{value / 1000:.1f} s"
    if column in _NUMBERS:
        return f"{value:,}" if value else ""
    return escape(str(value or ""))


def _address(url: str) -> str:
    """A link that shows what tells addresses apart: the path, with the host in a quiet colour."""
    if not url.startswith(("http://", "https://", "ftp://")):
        return escape(url)
    start = url.find("/", 8)
    start = start if start > 0 else len(url)
    host, path = url[:start].removeprefix("https://"), url[start:]
    return (
        f'<a href="{escape(url)}" rel="noreferrer noopener"><span class="host">{escape(host)}</span>{escape(path)}</a>'
    )
