"""Depth histogram and discovery curve as geometry for templates: numbers in, places out."""

from __future__ import annotations

from typing import NamedTuple

from nephila.look.growth import Growth

WIDE, HIGH = 600, 220
LEFT, BELOW = 64, 26
TICKS = 4


class Bar(NamedTuple):
    """The parts of one depth, from below: (kind, y, height)."""

    x: float
    width: float
    depth: int
    counts: tuple[int, int, int]
    parts: list[tuple[str, float, float]]


class Chart(NamedTuple):
    """`ticks`: (y, number) of the scale on the left; `marks`: (x, number) of the one below."""

    bars: list[Bar]
    line: str
    area: str
    news: str
    ticks: list[tuple[float, int]]
    marks: list[tuple[float, int]]


def depths(growth: Growth) -> Chart:
    """A bar for each depth: what is wanted there. The others, often many times as many, are told in figures."""
    most = _round(max((done + waiting for done, waiting, _ in growth.depths), default=0))
    step = (WIDE - LEFT) / max(len(growth.depths), 1)
    bars = []
    for depth, counts in enumerate(growth.depths):
        at, parts = float(HIGH - BELOW), []
        for kind, count in zip(("done", "waiting"), counts, strict=False):
            high = count / most * (HIGH - BELOW - 8)
            at -= high
            parts.append((kind, round(at, 1), round(high, 1)))
        bars.append(Bar(round(LEFT + depth * step + step * 0.12, 1), round(step * 0.76, 1), depth, counts, parts))
    every = max(1, len(bars) // 15)
    marks = [(bar.x + bar.width / 2, bar.depth) for bar in bars if bar.depth % every == 0]
    return Chart(bars, "", "", "", _ticks(most), marks)


def curve(growth: Growth) -> Chart:
    """Found after so many visits; `news` is what a visit found at that time, on a scale of its own."""
    visits, found = (_round(max(column, default=0)) for column in zip(*growth.curve, strict=True))

    def x(n: float) -> float:
        return round(LEFT + n / visits * (WIDE - LEFT - 8), 1)

    def y(n: float) -> float:
        return round(HIGH - BELOW - n / found * (HIGH - BELOW - 8), 1)

    points = [f"{x(a)} {y(b)}" for a, b in growth.curve]
    line = "M" + "L".join(points)
    area = f"{line}L{x(growth.curve[-1][0])} {HIGH - BELOW}L{LEFT} {HIGH - BELOW}Z"
    pace = [((b - a) / (w - v), v, w) for (v, a), (w, b) in zip(growth.curve, growth.curve[1:], strict=False) if w > v]
    top = max((each for each, _, _ in pace), default=1) or 1
    news = "".join(
        f"{'M' if n == 0 else 'L'}{x(v)} {y(found * each / top)}L{x(w)} {y(found * each / top)}"
        for n, (each, v, w) in enumerate(pace)
    )
    marks = [(x(visits * n / TICKS), visits * n // TICKS) for n in range(TICKS + 1)]
    return Chart([], line, area, news, _ticks(found), marks)


def _ticks(most: int) -> list[tuple[float, int]]:
    return [(round(HIGH - BELOW - n / TICKS * (HIGH - BELOW - 8), 1), most * n // TICKS) for n in range(TICKS + 1)]


def _round(number: int) -> int:
    """The next number that is easily read in quarters."""
    size = 4
    while True:
        for step in (1, 1.5, 2, 3, 5, 7.5):
            if size * step >= number and size * step % 4 == 0:
                return int(size * step)
        size *= 10
