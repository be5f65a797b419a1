"""The map as geometry: clusters on a rim, and the links between them as curves that gather towards the clusters' common groups.

Pure, and the same for the same cut. The unit is a viewBox of 1,040 by 1,040 with the centre at 0, 0. (D. Holten, Hierarchical Edge Bundles,
2006: curves that are bent along the tree stay readable where straight lines are a ball of wool.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nephila.look.cut import Bundle, Cluster, Cut

CURVES_SHOWN = 260
"""Those with most links; the others show when one of their ends is pointed at."""
GROUPS = 8
"""Colours in turn."""
_INNER, _OUTER, _LABEL = 318.0, 336.0, 346.0
_SHORT, _LONG = 26, 11.5
"""Characters of a label, and the room that one takes along the rim."""
_GAP = 0.5
"""Between groups, in widths of a page."""
_WIDEST = 7.0


class Piece(NamedTuple):
    """A part of a cluster's arc: pages of one class (a place in `atlas.CLASSES`)."""

    kind: int
    path: str


class Segment(NamedTuple):
    """A cluster on the rim. `hue`: 0 to `GROUPS` - 1; `turn`: how its label is placed; `flipped`: it reads from the other end."""

    n: int
    cluster: Cluster
    hue: int
    pieces: list[Piece]
    label: str
    turn: str
    flipped: bool


class Curve(NamedTuple):
    bundle: Bundle
    hue: int
    path: str
    width: str
    faint: bool


class Wheel(NamedTuple):
    """`curves`: those with most links last, on top. `arcs`: (hue, path) around the groups that were opened."""

    segments: list[Segment]
    curves: list[Curve]
    arcs: list[tuple[int, str]]


def wheel(cut: Cut) -> Wheel:
    """The picture of a cut."""
    ends = _angles(cut.clusters)
    middles = [(begin + end) / 2 for begin, end in ends]
    groups: dict[int, list[int]] = {}
    for n, cluster in enumerate(cut.clusters):
        groups.setdefault(cluster.group, []).append(n)
    hues = {group: n % GROUPS for n, group in enumerate(groups)}
    centres = {group: (ends[some[0]][0] + ends[some[-1]][1]) / 2 for group, some in groups.items()}
    segments = [_segment(n, cluster, hues[cluster.group], *ends[n]) for n, cluster in enumerate(cut.clusters)]
    most = max((bundle.there + bundle.back for bundle in cut.bundles), default=1)
    curves = []
    for n, bundle in enumerate(cut.bundles):
        a, b = (cut.clusters[n] for n in (bundle.a, bundle.b))
        from_a = bundle.there >= bundle.back
        share = math.sqrt((bundle.there + bundle.back) / most)
        path = _curve(
            middles[bundle.a], centres[a.group], middles[bundle.b], centres[b.group], together=a.group == b.group
        )
        curves.append(
            Curve(bundle, hues[(a if from_a else b).group], path, f"{max(0.8, _WIDEST * share):.1f}", n >= CURVES_SHOWN)
        )
    arcs = [
        (hues[group], _band(ends[some[0]][0], ends[some[-1]][1], _OUTER + 2.5, _OUTER + 4.5))
        for group, some in groups.items()
        if len(some) > 1
    ]
    return Wheel(segments, curves[::-1], arcs)


def _angles(clusters: list[Cluster]) -> list[tuple[float, float]]:
    """Where each begins and ends: wide by the logarithm of its pages, so that a large one does not leave the others no room."""
    widths = [1.0 + math.log10(cluster.pages) for cluster in clusters]
    apart = [
        _GAP if a.group != b.group else 0.08 for a, b in zip(clusters, [*clusters[1:], *clusters[:1]], strict=True)
    ]
    unit = (
        math.tau / (sum(widths) + sum(apart)) if len(clusters) > 1 else math.tau / (widths[0] + 0.04) if widths else 0.0
    )
    ends, at = list[tuple[float, float]](), -math.pi / 2
    for width, gap in zip(widths, apart, strict=True):
        ends.append((at, at + width * unit))
        at += (width + gap) * unit
    return ends


def _segment(n: int, cluster: Cluster, hue: int, begin: float, end: float) -> Segment:
    pieces, at, all = list[Piece](), begin, sum(cluster.classes) or 1
    for kind, count in enumerate(cluster.classes):
        if count:
            to = at + (end - begin) * count / all
            pieces.append(Piece(kind, _band(at, to, _INNER, _OUTER)))
            at = to
    middle = math.degrees((begin + end) / 2)
    flipped = 90 < middle % 360 < 270
    turn = f"rotate({middle:.2f}) translate({_LABEL:.0f} 0)" + (" rotate(180)" if flipped else "")
    label = short(cluster.name) if (end - begin) * _LABEL > _LONG else ""
    return Segment(n, cluster, hue, pieces, label, turn, flipped)


def short(name: str, most: int = _SHORT) -> str:
    """A name that fits: without its scheme, the end of its path, cut in the middle."""
    name = name.partition("://")[2] or name
    if len(name) > most:
        name = "/".join(name.rsplit("/", 2)[1:]) or name
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-most // 2 :]}"


def _band(begin: float, end: float, inner: float, outer: float) -> str:
    """A part of a ring. A whole one is two halves."""
    if end - begin > math.pi * 1.5:
        half = (begin + end) / 2
        return _band(begin, half, inner, outer) + _band(half, end, inner, outer)
    large = int(end - begin > math.pi)
    a, b, c, d = (_at(r, angle) for r, angle in ((outer, begin), (outer, end), (inner, end), (inner, begin)))
    return f"M{a}A{outer:g} {outer:g} 0 {large} 1 {b}L{c}A{inner:g} {inner:g} 0 {large} 0 {d}Z"


def _curve(a: float, of_a: float, b: float, of_b: float, *, together: bool) -> str:
    """Bent towards the middles of the groups: within one not as deep."""
    apart = abs(math.remainder(a - b, math.tau))
    depth = _INNER * (1 - min(0.75, 0.25 + apart / 2)) if together else _INNER * 0.3
    bend = 0.5 if together else 0.65
    by_a, by_b = (
        _at(depth, angle + math.remainder(group - angle, math.tau) * bend) for angle, group in ((a, of_a), (b, of_b))
    )
    return f"M{_at(_INNER - 3, a)}C{by_a} {by_b} {_at(_INNER - 3, b)}"


def _at(radius: float, angle: float) -> str:
    return f"{radius * math.cos(angle):.1f} {radius * math.sin(angle):.1f}"
