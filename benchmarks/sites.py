"""Whole sites side by side: `python -m benchmarks.sites --site A --rounds 5 [--tools nephila,wget2] [--save]`.

A: the PostgreSQL documentation mounted 20 times (23,460 files of 14 KB); B: the Python documentation mounted 10 times
(5,550 files of 95 KB). Each round runs every tool once, in shuffled order, so that whatever else the machine does meets all
alike; what is compared is the median over the rounds of the ratio within a round. A run counts only if the tool ended well
and kept every HTML page that a plain walk over the folder finds. The floor (`benchmarks.floor`) runs among the tools.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import nephila
from benchmarks import measure
from benchmarks.floor import PARTS
from benchmarks.servers import Missing, Nginx, mounted, postgres_docs, python_docs
from benchmarks.tools import NO_PARTS, Tool, Work, tools

RESULTS = Path(__file__).with_name("RESULTS.md")
HREF = re.compile(rb"""<a\s[^>]*?href=["']([^"'#?]+)""", re.IGNORECASE)
COLUMNS = [
    "tool",
    "pages/s",
    "wall s",
    "CPU s",
    "pages per CPU s",
    "memory MB",
    "wall / {}",
    "CPU / {}",
    "runs",
]


class Site(NamedTuple):
    title: str
    folder: Callable[[], Path]
    mounts: int


class Run(NamedTuple):
    """One counted run, for the whole site. `parts`: its CPU seconds by part, of the floor only."""

    wall_s: float
    cpu_s: float
    memory_bytes: int
    parts: Mapping[str, float] = NO_PARTS


class Mark(NamedTuple):
    """What Nephila is to reach: the other tool's `cost` divided by its own, as the median of the rounds, is at least `least`."""

    other: str
    cost: Callable[[Run], float]
    least: float
    form: str
    text: str


SITES = {
    "A": Site("PostgreSQL documentation", postgres_docs, 20),
    "B": Site("Python documentation", python_docs, 10),
}
WGET2_LEAST = {"A": 0.8, "B": 0.6}
WARC_LEAST = 2.0
FLOOR_LEAST = 0.5


def main() -> int:
    options = _options()
    site = SITES[options.site]
    mounts = options.mounts or site.mounts
    chosen = _available(options.tools.split(","))
    compileall.compile_dir(str(Path(nephila.__file__).parent), quiet=1)
    pages = reachable(site.folder())  # also brings the files into the page cache
    rounds: list[dict[str, Run]] = []
    with Nginx(mounted(site.folder(), mounts), log=False) as server:
        urls = [f"{server.url}/m{i}/" for i in range(1, mounts + 1)]
        for number in range(options.rounds):
            random.Random(f"{options.seed}/{number}").shuffle(chosen)
            rounds.append({})
            for tool in chosen:
                if counted := _run(tool, urls, pages, options.time_s_max):
                    rounds[-1][tool.name] = counted
    text = report(options.site, site, mounts, len(pages), rounds)
    print(text)
    if options.save:
        save(options.site, text)
    return 0 if all(len(done) == len(chosen) for done in rounds) else 1


def reachable(folder: Path) -> list[str]:
    """The HTML pages of the folder that links lead to from index.html: a walk on the disk, by other means than any tool's."""
    todo, met = [folder / "index.html"], {folder / "index.html"}
    while todo:
        page = todo.pop()
        for href in HREF.findall(page.read_bytes()):
            target = Path(os.path.normpath(page.parent / href.decode("utf-8", "replace")))
            if target.suffix == ".html" and target not in met and target.is_relative_to(folder) and target.is_file():
                met.add(target)
                todo.append(target)
    return sorted(page.relative_to(folder).as_posix() for page in met)


def _run(tool: Tool, mounts: list[str], pages: list[str], time_s_max: float) -> Run | None:
    """One run in a fresh folder, or None with a line on stderr when it does not count. `mounts`: URLs that end with a slash."""
    given = mounts[: tool.mounts] if tool.mounts else mounts
    scale = len(mounts) / len(given)
    work = Work([f"{url}index.html" for url in given], [url + quote(page) for url in given for page in pages])
    with tempfile.TemporaryDirectory(prefix="nephila-bench-") as name:
        folder = Path(name)
        cost = measure.run(tool.command(work, folder), folder, time_s_max)
        try:
            kept = tool.kept(folder)
        except Exception as error:
            print(f"{tool.name}: left nothing to count ({error}); exit {cost.code}", file=sys.stderr)
            return None
        ok = cost.code in tool.exits and kept.html == len(work.pages)
        print(
            f"{tool.name}: {cost.wall_s:.2f} s wall, {cost.cpu_s:.2f} s CPU, {kept.html} pages, exit {cost.code}"
            + ("" if ok else f"; does not count: {len(work.pages)} pages are there\n{_tail(folder)}"),
            file=sys.stderr,
        )
    grown_s, grown_cpu_s = kept.crawl_s or cost.wall_s, kept.crawl_cpu_s or cost.cpu_s
    cpu_s = sum(kept.parts.values()) or cost.cpu_s + (scale - 1) * grown_cpu_s
    return Run(cost.wall_s + (scale - 1) * grown_s, cpu_s, cost.memory_bytes, kept.parts) if ok else None


def _tail(folder: Path) -> str:
    return (folder / "output.txt").read_text(errors="replace")[-1000:]


def report(name: str, site: Site, mounts: int, pages: int, rounds: list[dict[str, Run]]) -> str:
    """A Markdown table: medians over the rounds, and medians of the ratios within the rounds to the first tool there; the marks."""
    total = pages * mounts
    names = [tool for tool in tools() if any(tool in done for done in rounds)]
    base = names[0] if names else "nephila"
    head = [column.format(base) for column in COLUMNS]
    rows = [_row(tool, base, total, rounds) for tool in names]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    notes = [
        f"{len(rounds)} rounds, in an order shuffled in each; medians, and in brackets the smallest and the largest ratio within a round."
    ]
    if scaled := ", ".join(tool for tool in names if tools()[tool].mounts):
        notes.append(f"One mount measured and scaled to {mounts}: {scaled}.")
    notes.append(f"Versions: {', '.join(dict.fromkeys(tools()[tool].version() for tool in names))}.")
    notes += _floor_notes(total, rounds)
    title = f"### Site {name}: {site.title}, {mounts} x {pages} HTML pages"
    marked = "\n".join(f"- {_verdict(mark, rounds)}" for mark in marks(name))
    return "\n\n".join([title, where(), table, "\n".join(notes), f"Marks:\n\n{marked}"]) + "\n"


def marks(name: str) -> list[Mark]:
    """What Nephila is to reach on a site, set before it was measured."""
    return [
        Mark("wget2", _wall, WGET2_LEAST[name], ".2f", "x the speed of wget2 (wall time)"),
        Mark("wget-warc", _wall, WARC_LEAST, ".2f", "x the speed of wget --warc-file (wall time)"),
        Mark("floor", _cpu, FLOOR_LEAST, ".0%", "of the floor's pages per CPU second"),
    ]


def _wall(run: Run) -> float:
    return run.wall_s


def _cpu(run: Run) -> float:
    return run.cpu_s


def _verdict(mark: Mark, rounds: list[dict[str, Run]]) -> str:
    """One line: what was to be reached, what was, and whether that is enough."""
    pairs = [(done[mark.other], done["nephila"]) for done in rounds if mark.other in done and "nephila" in done]
    ratios = [mark.cost(other) / mark.cost(own) for other, own in pairs]
    aim = f"At least {mark.least:{mark.form}} {mark.text}"
    if not ratios:
        return f"{aim}: not measured."
    return f"{aim}: {_ratio(ratios, mark.form)}, {'met' if statistics.median(ratios) >= mark.least else 'missed'}."


def _floor_notes(pages: int, rounds: list[dict[str, Run]]) -> list[str]:
    """CPU time of the floor's parts per page, each the median over the rounds."""
    runs = [done["floor"] for done in rounds if "floor" in done]
    if not runs:
        return []
    part_us = {part: statistics.median(run.parts[part] for run in runs) / pages * 1e6 for part in PARTS}
    sum_us = statistics.median(run.cpu_s for run in runs) / pages * 1e6
    named = ", ".join(f"{part} {us:.0f}" for part, us in part_us.items())
    return [f"CPU time of the floor per page, its start not counted: {named}, together {sum_us:.0f} µs."]


def _row(tool: str, base: str, pages: int, rounds: list[dict[str, Run]]) -> list[str]:
    runs = [done[tool] for done in rounds if tool in done]
    pairs = [(done[tool], done[base]) for done in rounds if tool in done and base in done]
    wall_s, cpu_s = statistics.median(run.wall_s for run in runs), statistics.median(run.cpu_s for run in runs)
    memory = max(run.memory_bytes for run in runs) / 1e6
    return [
        tools()[tool].title or tool,
        f"{pages / wall_s:,.0f}",
        f"{wall_s:.2f}",
        f"{cpu_s:.2f}",
        f"{pages / cpu_s:,.0f}",
        f"{memory:,.0f}",
        _ratio([one.wall_s / other.wall_s for one, other in pairs]),
        _ratio([one.cpu_s / other.cpu_s for one, other in pairs]),
        f"{len(runs)} of {len(rounds)}",
    ]


def _ratio(ratios: list[float], form: str = ".2f") -> str:
    if not ratios:
        return "no pair"
    return f"{statistics.median(ratios):{form}} ({min(ratios):{form}}-{max(ratios):{form}})"


def where() -> str:
    """Commit, day, machine and how busy it was: figures without them cannot be compared later."""
    commit = _git("rev-parse", "--short", "HEAD") or "not committed"
    changed = (
        " with changes" if _git("status", "--porcelain", "--", "src", "benchmarks", ":!benchmarks/RESULTS.md") else ""
    )
    day = datetime.datetime.now(datetime.UTC).date()
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, CPython {platform.python_version()}"
    return f"Commit {commit}{changed}, {day}, {system}, load {os.getloadavg()[2]:.1f} over 15 minutes."


def _git(*words: str) -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    root = RESULTS.parents[1]  # paths in `words` are relative to it
    return subprocess.run([git, *words], cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def save(name: str, text: str, path: Path = RESULTS) -> None:
    """Put the text between the two marks of its site in RESULTS.md, at the end if there are none; everything else stays."""
    begin, end = f"<!-- site {name} -->", f"<!-- end of site {name} -->"
    before, _, rest = path.read_text().partition(begin)
    after = rest.partition(end)[2] or "\n"
    path.write_text(f"{before.rstrip()}\n\n{begin}\n{text}{end}{after}")


def _available(names: list[str]) -> list[Tool]:
    """The tools that are installed; the others are named and left out."""
    known, found = tools(), []
    for name in names:
        if name not in known:
            raise SystemExit(f"--tools: {name} is not one of {', '.join(known)}")
        try:
            known[name].version()
            found.append(known[name])
        except Missing as missing:
            print(f"left out: {missing}", file=sys.stderr)
    if not found:
        raise SystemExit("none of these tools is installed")
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites", description=__doc__)
    parser.add_argument("--site", choices=sorted(SITES), required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tools", default=",".join(tools()), help="names, with commas (default: all)")
    parser.add_argument("--mounts", type=int, default=0, help="a smaller site than the full one")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round")
    parser.add_argument("--time-s-max", type=float, default=600.0, help="a run that takes longer is killed")
    parser.add_argument("--save", action="store_true", help="write the table into benchmarks/RESULTS.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
