"""Numbers as pictures: where the points of a curve are, how far a bar reaches, how dark a tile is. Templates write the SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 600, 120
LEVELS = 7
SHARES_MAX = 7


class Curve(NamedTuple):
    """`line` and `area` are SVG paths in a box of WIDTH × HEIGHT; `top` is the value at its upper edge."""

    line: str
    area: str
    top: float


class Share(NamedTuple):
    """`name` is "" for all others together; `part` 0 to 1."""

    name: str
    number: int
    part: float


def curve(values: Sequence[float]) -> Curve:
    top = nice(max(values, default=0.0))
    step = WIDTH / max(len(values) - 1, 1)
    points = [f"{i * step:.1f} {HEIGHT - HEIGHT * value / top:.1f}" for i, value in enumerate(values)]
    if not points:
        return Curve("", "", top)
    line = "M" + "L".join(points)
    return Curve(line, f"{line}L{(len(values) - 1) * step:.1f} {HEIGHT}L0 {HEIGHT}Z", top)


def nice(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def shares(counts: Iterable[tuple[str, int]]) -> list[Share]:
    """The largest, and the rest as one."""
    ranked = sorted(((name, n) for name, n in counts if n > 0), key=lambda pair: (-pair[1], pair[0]))
    total = sum(n for _, n in ranked) or 1
    found = [Share(name, n, n / total) for name, n in ranked[:SHARES_MAX]]
    rest = sum(n for _, n in ranked[SHARES_MAX:])
    return [*found, Share("", rest, rest / total)] if rest else found


def level(value: float, most: float) -> int:
    """0 (nothing) to LEVELS, by the logarithm: queues differ by powers of ten."""
    if value <= 0 or most <= 0:
        return 0
    return max(1, min(LEVELS, math.ceil(LEVELS * math.log1p(value) / math.log1p(most))))
