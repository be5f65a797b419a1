"""Draws lines into an SVG file, for a page of documentation: one look for all plots, and the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Points = Sequence[tuple[float, float]]
"""(x, y) in ascending order of x."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c564b", "#b2b200", "#000000")
"""Told apart by those who see few colours, too (Okabe and Ito); each line has its own mark besides."""
MARKS = "os^Dv<>pXx"


def draw(path: Path, lines: Mapping[str, Points], *, title: str, x: str, y: str, faint: Sequence[str] = ()) -> None:
    """A plot with logarithmic axes, a line per name; those of `faint` are dashed. Needs matplotlib (the extra `bench`)."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "nephila", "font.size": 10})
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for at, (name, points) in enumerate(lines.items()):
        style: dict[str, Any] = {"linestyle": "--", "alpha": 0.6} if name in faint else {}
        xs, ys = zip(*points, strict=True)
        axes.plot(
            xs, ys, label=name, color=COLOURS[at % 10], marker=MARKS[at % 10], markersize=4, linewidth=1.4, **style
        )
    axes.set(title=title, xlabel=x, ylabel=y, xscale="log", yscale="log")
    axes.grid(which="major", color="#dddddd", linewidth=0.7)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
