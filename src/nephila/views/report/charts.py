"""Pictures of the report as inline SVG: a ring, bars, a divided bar. Colours come from the page's style, by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from nephila.types import Both

_WIDTH, _HEIGHT, _FOOT, _HEAD = 360, 96, 20, 14
_RADIUS = 52


def ring(share: float) -> str:
    """A ring of which `share` (0 to 1) is filled, with the percentage inside. It says 100 only when all is filled."""
    around = 2 * math.pi * _RADIUS
    percent = f"{math.floor(share * 100)}"
    return (
        f'<svg class="ring" viewBox="0 0 128 128" role="img" aria-label="{percent} %">'
        f'<circle class="track" cx="64" cy="64" r="{_RADIUS}"/>'
        f'<circle class="fill" cx="64" cy="64" r="{_RADIUS}" stroke-dasharray="{around * share:.1f} {around:.1f}"'
        f' transform="rotate(-90 64 64)"/><text x="64" y="73">{percent}<tspan class="unit" dx="2">%</tspan></text></svg>'
    )


def bars(values: Sequence[tuple[Both, int, str]]) -> str:
    """A column each of (label, number, class)."""
    most = max((number for _, number, _ in values), default=0) or 1
    step = _WIDTH / max(len(values), 1)
    parts = [f'<svg class="bars" viewBox="0 0 {_WIDTH} {_HEIGHT + _FOOT + _HEAD}" role="img">']
    for i, (label, number, style) in enumerate(values):
        height = max(_HEIGHT * number / most, 1.5 if number else 0)
        top, middle = _HEAD + _HEIGHT - height, step * (i + 0.5)
        wide = min(step * 0.72, 56)
        parts.append(
            f'<rect class="{style}" x="{middle - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{height:.1f}" rx="2">'
            f"<title>{escape(label[0])} · {escape(label[1])}: {number:,}</title></rect>"
            f'<text class="number" x="{middle:.1f}" y="{top - 4:.1f}">{short(number) if number else ""}</text>'
            + both_texts(label, middle, _HEAD + _HEIGHT + 15)
        )
    parts.append(f'<path class="axis" d="M0 {_HEAD + _HEIGHT}H{_WIDTH}"/></svg>')
    return "".join(parts)


def divided(values: Sequence[tuple[int, str]]) -> str:
    """One bar, divided by (number, class)."""
    total, at = sum(number for number, _ in values) or 1, 0.0
    parts = ['<svg class="divided" viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">']
    for number, style in values:
        wide = 1000 * number / total
        parts.append(f'<rect class="{style}" x="{at:.2f}" y="0" width="{wide:.2f}" height="24"/>')
        at += wide
    return "".join((*parts, "</svg>"))


def both_texts(label: Both, x: float, y: float) -> str:
    """A label in both languages at one place; the page shows one."""
    if label[0] == label[1]:
        return f'<text x="{x:.1f}" y="{y:.1f}">{escape(label[0])}</text>'
    return "".join(
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
        for style, text in zip(("en", "zh"), label, strict=True)
    )


def short(number: float) -> str:
    """`12,345` as `12k`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= 10 * size or (number >= size and size > 1000):
            return f"{number / size:.0f}{unit}"
    return f"{number:,.0f}"
