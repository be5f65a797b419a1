"""The report as one HTML file: no script, no request, both languages in it.

Two radio buttons in front of everything choose the language by style alone. The page forbids itself to load anything, so that
whatever a title or an address from the web holds, nothing is asked for when the report is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from nephila.figures import amount, days
from nephila.types import Both
from nephila.views.report import charts
from nephila.views.report.findings import DEPTH_MAX, SLOW_MS
from nephila.views.report.manners import Manners
from nephila.views.report.tables import Shown, both, grade, said, section, table
from nephila.views.report.words import COLUMNS, FINDINGS, GRADES, SAID

HOSTS_MAX = 20
_STYLE = Path(__file__).with_name("report.css")
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>
{style}</style></head><body>
<input class="choice" type="radio" name="language" id="en"{en}><input class="choice" type="radio" name="language" id="zh"{zh}>
"""
_ANSWERS = {"ok": "good", "moved": "notice", "broken": "error", "denied": "warning", "other": "quiet"}
_TIMES = (
    (100, "<0.1 s"),
    (300, "<0.3 s"),
    (1000, "<1 s"),
    (SLOW_MS, f"<{SLOW_MS // 1000} s"),
    (5000, "<5 s"),
    (None, "≥5 s"),
)


class Overview(NamedTuple):
    """The crawl in numbers. `depths`: links from the start → pages, −1: not reached; `times`: milliseconds, upper bound of each
    step (None: beyond) → pages; `weights`: family → bytes."""

    names: list[str]
    first: float
    last: float
    addresses: int
    pages: int
    hosts: int
    bytes: int
    healthy: int
    unread: int
    answers: Mapping[str, int]
    depths: Mapping[int, int]
    times: Mapping[int | None, int]
    weights: Mapping[str, int]


class Proof(NamedTuple):
    """Manners of all hosts together, and those of the `number` that had most requests."""

    total: Manners
    hosts: Sequence[Manners]
    number: int
    no_robots: bool


def page(overview: Overview, findings: Sequence[Shown], proof: Proof | None, language: str) -> Iterable[str]:
    """The file, piece by piece."""
    names = ", ".join(overview.names[:3]) + (" …" if len(overview.names) > 3 else "")
    checked = {name: " checked" if name == language else "" for name in ("en", "zh")}
    title = escape(f"{names} — {' · '.join(SAID['report'])}")
    yield _HEAD.format(title=title, style=_STYLE.read_text("utf-8"), **checked)
    yield (
        '<header><div class="switch"><label for="en" lang="en">English</label><label for="zh" lang="zh">中文</label></div>'
        f'<div class="kicker">{said("report")}</div><h1>{escape(names)}</h1>'
        f'<p class="soft">{said("crawled")} {days(overview.first, overview.last)} (UTC)</p></header>\n<main>\n'
    )
    yield _top(overview, findings)
    yield _charts(overview)
    grades = list(GRADES)
    found = sorted((shown for shown in findings if shown.number), key=lambda shown: grades.index(shown.finding.grade))
    yield _list(found)
    if clean := [shown for shown in findings if not shown.number]:
        names_of = "".join(f"<li>{both(FINDINGS[shown.finding.name].name)}</li>" for shown in clean)
        yield f'<h2>{said("fine")}</h2><div class="card"><ul class="fine">{names_of}</ul></div>\n'
    for shown in found:
        yield section(shown)
    if proof:
        yield _manners(proof)
    yield f"</main><footer>{said('made')}{_unread(overview)}</footer></body></html>\n"


def _unread(overview: Overview) -> str:
    return f" {overview.unread:,} {said('unread')}." if overview.unread else ""


# --- above all --------------------------------------------------------------------------------------------------------


def _top(overview: Overview, findings: Sequence[Shown]) -> str:
    share = overview.healthy / overview.pages if overview.pages else 1.0
    numbers = [("pages", f"{overview.pages:,}", ""), ("addresses", f"{overview.addresses:,}", "")]
    numbers += [("hosts", f"{overview.hosts:,}", ""), ("transferred", amount(overview.bytes), "")]
    for name in GRADES:
        count = sum(shown.number for shown in findings if shown.finding.grade == name)
        numbers.append((f"{name}s", f"{count:,}", name if count else "zero"))
    return (
        f'<div class="card top"><div class="health">{charts.ring(share)}<p>{said("healthy")}</p></div>'
        f"{_tiles((said(name), number, style) for name, number, style in numbers)}</div>\n"
    )


def _tiles(numbers: Iterable[tuple[str, str, str]]) -> str:
    tiles = (f'<div class="{style}"><dt>{name}</dt><dd>{number}</dd></div>' for name, number, style in numbers)
    return f'<dl class="tiles">{"".join(tiles)}</dl>'


def _charts(overview: Overview) -> str:
    depths = [
        ((str(depth),) * 2, count, "warning" if depth > DEPTH_MAX else "plain")
        for depth, count in sorted(overview.depths.items())
        if depth >= 0
    ]
    if overview.depths.get(-1):
        depths.append((SAID["unlinked"], overview.depths[-1], "error"))
    times = [
        ((name, name), overview.times.get(high, 0), "plain" if high and high <= SLOW_MS else "warning")
        for high, name in _TIMES
    ]
    answers = [(name, overview.answers.get(name, 0), style) for name, style in _ANSWERS.items()]
    weights = sorted(overview.weights.items(), key=lambda item: -item[1])
    colours = ("plain", "notice", "good", "warning", "error", "quiet", "quiet", "quiet")
    parts = (
        (SAID[name], number, style, amount(number)) for (name, number), style in zip(weights, colours, strict=False)
    )
    pictures = [
        ("answers", _divided((SAID[name], number, style, f"{number:,}") for name, number, style in answers)),
        ("weights", _divided(parts)),
        ("depth", charts.bars(depths)),
        ("times", charts.bars(times)),
    ]
    cards = (f'<div class="card"><h3>{said(name)}</h3>{picture}</div>' for name, picture in pictures)
    return f'<h2>{said("picture")}</h2><div class="charts">{"".join(cards)}</div>\n'


def _divided(parts: Iterable[tuple[Both, int, str, str]]) -> str:
    shown = [part for part in parts if part[1]]
    legend = (f'<li><span class="dot {style}"></span>{both(name)}<b>{text}</b></li>' for name, _, style, text in shown)
    return (
        charts.divided([(number, style) for _, number, style, _ in shown])
        + f'<ul class="legend">{"".join(legend)}</ul>'
    )


# --- what was found, and how it was asked -----------------------------------------------------------------------------


def _list(found: Sequence[Shown]) -> str:
    rows = (
        f'<a href="#{shown.finding.name}">{grade(shown.finding)}<span>{both(FINDINGS[shown.finding.name].name)}</span>'
        f"<b>{shown.number:,}</b></a>"
        for shown in found
    )
    body = "".join(rows) if found else f'<p class="nothing">{said("nothing")}</p>'
    return f'<h2>{said("to_mend")}</h2><div class="card list">{body}</div>\n'


def _manners(proof: Proof) -> str:
    total = proof.total
    numbers = [
        (said("requests"), f"{total.requests:,}", ""),
        (said("at_once"), f"{total.at_once_max:,}", ""),
        (said("pause"), _seconds(total.pause_min_s), ""),
        (said("disallowed"), f"{total.disallowed_fetched:,}", "error" if total.disallowed_fetched else "good"),
        (said("robots_once"), f"{total.robots_requests:,}", ""),
        (said("early"), f"{total.early:,}", "error" if total.early else "good"),
    ]
    columns = [(COLUMNS["origin"], "text")]
    columns += [(SAID[name], "number") for name in ("requests", "at_once", "pause", "disallowed", "early")]
    rows = (
        (
            escape(host.origin),
            f"{host.requests:,}",
            str(host.at_once_max),
            _seconds(host.pause_min_s),
            str(host.disallowed_fetched),
            str(host.early),
        )
        for host in proof.hosts
    )
    rest = "manners.csv" if proof.number > len(proof.hosts) else ""
    ignored = f"<p><b>{said('no_robots')}</b></p>" if proof.no_robots else ""
    return (
        f'<h2 id="manners">{said("manners")}</h2><section class="finding card"><header><p class="soft">{said("manners_said")}</p>'
        f'<a class="all" href="manners.csv">{said("all_rows")} (CSV)</a></header>{ignored}{_tiles(numbers)}'
        f"{table(columns, rows, rest)}</section>\n"
    )


def _seconds(pause: float) -> str:
    return f"{pause:,.3f} s" if pause >= 0 else "–"
