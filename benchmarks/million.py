"""A crawl of a million pages: `python -m benchmarks.million [--pages 1000000] [--save]`.

The made-up web with 500 pages per host, crawled without a pause; all processes are killed in the middle and the same command
carries on. Looked at every few seconds: pages kept, committed visits, resident memory of front and workers, sizes of log, database and
archive. At the end every expected URL has to have its outcome exactly once, and no tenth of the way may be more than 20 % off
the median pace. It needs about 10 GB for a million pages in a temporary folder (`TMPDIR`), which is deleted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.sites import RESULTS, save, where
from benchmarks.watch import Look, Served, Tally, Watch, committed, expected, kept, rows
from benchmarks.watch import pages as pages_kept
from nephila.testing.groups import Crawl
from nephila.testing.web import Spec

PAGES_PER_HOST = 500
HOSTS_MIN = 64
"""So many connections there are: with fewer hosts some would wait."""
EVERY_S = 2.0
PARTS = 10
START = 0.02
"""Of the pages, left out at the start: robots.txt files, style sheets, empty caches."""
FLAT = 0.20
WAL_BYTES_MAX = 300 << 20
"""The log is cut back past 256 MB."""
TIME_S_MAX = 4 * 3600.0
TROUBLE = {"worker.died", "worker.blamed", "host.unreachable", "host.refused", "robots.unreachable", "network.lost"}
TROUBLE |= {"archive.damaged", "disk.low", "clock.jumped", "handler.error"}
"""Events that have no place in a crawl of a healthy web."""
PLOT = RESULTS.parent.parent / "docs" / "plots" / "million.svg"


class Result(NamedTuple):
    """`killed_s` and `back_s`: when the kill came, and when the first visit after it was committed."""

    looks: list[Look]
    killed_s: float
    back_s: float
    end_s: float
    wanted: Tally
    got: Tally
    visits: int
    pages: int
    trouble: dict[str, int]
    left: list[str]
    server_s: float
    cpu_s: list[float]


def main() -> int:
    options = _options()
    result = run(options.pages, options.kill)
    faults = judge(result)
    text = report(options.pages, result, faults)
    print(text)
    if options.save:
        plot(result, PLOT)
        save("million", text)
    return 1 if faults else 0


def run(pages: int, kill: float) -> Result:
    """The whole crawl, killed when this share of the pages is done. Raises RuntimeError when it ends otherwise than well."""
    hosts = max(HOSTS_MIN, pages // PAGES_PER_HOST)
    with tempfile.TemporaryDirectory(prefix="nephila-million-") as name:
        folder, job = Path(name), Path(name) / "job"
        with Served(Spec(hosts=hosts, pages=max(1, pages // hosts)), folder) as served:
            command = ["--config", str(served.config), "-o", str(job), "--delay", "0", "--quiet"]
            watch = Watch(job, EVERY_S if pages >= 100_000 else 0.1)
            with Crawl(command) as crawl:
                watch.at(crawl)
                _wait_for(job, crawl, int(pages * kill))
                crawl.kill()
                killed_s = watch.since()
                crawl.wait()
            done = committed(job)
            with Crawl(command) as crawl:
                watch.at(crawl)
                _wait_for(job, crawl, done + 1)
                back_s = watch.since()
                ended = crawl.wait(TIME_S_MAX)
                end_s = watch.since()
            watch.stop()
            wanted = expected(served.web)
        if ended.code:
            raise RuntimeError(f"the crawl ended with {ended.code}: {ended.err[-2000:]}")
        ((visits,),) = rows(job, "SELECT count(*) FROM visit")
        left = sorted(path.name for path in job.iterdir() if path.name not in KNOWN)
        cpu = [sum(watch.spent("front")), *watch.spent("worker")]
        return Result(
            watch.looks,
            killed_s,
            back_s,
            end_s,
            wanted,
            kept(job),
            int(str(visits)),
            pages_kept(job),
            _trouble(job),
            left,
            served.cpu_s,
            cpu,
        )


KNOWN = {"crawl.toml", "seeds.txt", "crawl.db", "archive", "log.jsonl", "lock", "crawl.db-wal", "crawl.db-shm"}
"""What a job folder may hold after the end; the last two stay when somebody (we) reads the database just then."""


def _wait_for(job: Path, crawl: Crawl, visits: int) -> None:
    """Until so many visits are committed."""
    end = time.monotonic() + TIME_S_MAX
    while (done := committed(job)) < visits:
        if not crawl.running or time.monotonic() > end:
            raise RuntimeError(f"the crawl has got to {done} visits only: {crawl.wait().err[-2000:]}")
        time.sleep(0.05)


def _trouble(job: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in (job / "log.jsonl").read_text().splitlines():
        event = json.loads(line)["event"]
        if event in TROUBLE:
            found[event] = found.get(event, 0) + 1
    return found


def paces(result: Result) -> list[float]:
    """Pages a second in each tenth of the way; the time from the kill to the first visit after it is left out. Links that lead
    nowhere are visits, too, but no pages: most of them come last."""
    gap = result.back_s - result.killed_s
    points = [
        (look.time - (gap if look.time > result.back_s else 0.0), look.pages)
        for look in result.looks
        if not result.killed_s <= look.time <= result.back_s
    ]
    if result.looks[-1].pages < result.pages:
        points.append((result.end_s - gap, result.pages))
    total = result.pages
    marks = [total * (START + (1 - START) * k / PARTS) for k in range(PARTS + 1)]
    times = [_when(points, mark) for mark in marks]
    return [
        (more - less) / max(after - before, 1e-9)
        for (less, more), (before, after) in zip(pairwise(marks), pairwise(times), strict=True)
    ]


def _when(points: list[tuple[float, int]], pages: float) -> float:
    """When so many were kept, between two looks."""
    for (before, less), (after, more) in pairwise(points):
        if less <= pages <= more and more > less:
            return before + (after - before) * (pages - less) / (more - less)
    return points[-1][0]


def judge(result: Result) -> list[str]:
    """What is wrong, in words."""
    pace = paces(result)
    middle = statistics.median(pace)
    worst = max(abs(value / middle - 1) for value in pace)
    wal = max(look.wal for look in result.looks)
    wanted, got = result.wanted.counts, result.got.counts
    faults = [
        f"{name}: {got.get(name, 0)} in place of {wanted.get(name, 0)}"
        for name in sorted(wanted.keys() | got.keys())
        if got.get(name, 0) != wanted.get(name, 0)
    ]
    if not faults and result.got != result.wanted:
        faults.append("the counts are right, the URLs are not")
    faults += [f"{event} ({count} times)" for event, count in result.trouble.items()]
    faults += [f"left behind: {name}" for name in result.left]
    if worst > FLAT:
        faults.append(f"a tenth is {worst:.0%} off the median pace")
    if wal > WAL_BYTES_MAX:
        faults.append(f"the write-ahead log grew to {wal / 1e6:,.0f} MB")
    return faults


def report(pages: int, result: Result, faults: list[str]) -> str:
    pace, looks = paces(result), result.looks
    gap = result.back_s - result.killed_s
    running_s = result.end_s - gap
    tenth = [
        "| tenth | pages/s | CPU µs per page | front MB | largest worker MB | log MB | database MB | archive MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for k, value in enumerate(pace, 1):
        end = result.pages * (START + (1 - START) * k / PARTS)
        begin = result.pages * (START + (1 - START) * (k - 1) / PARTS)
        inside = [look for look in looks if begin <= look.pages <= end] or [looks[-1]]
        cells = [
            statistics.median(look.front for look in inside),
            statistics.median(max(look.workers, default=0) for look in inside),
            max(look.wal for look in inside),
            inside[-1].database,
            inside[-1].archive,
        ]
        cost = 1e6 * (inside[-1].cpu_s - inside[0].cpu_s) / max(1, inside[-1].pages - inside[0].pages)
        tenth.append(f"| {k} | {value:,.0f} | {cost:,.0f} | {' | '.join(f'{cell / 1e6:,.0f}' for cell in cells)} |")
    spent = sum(result.cpu_s)
    lines = [
        f"{pages:,} pages on {max(HOSTS_MIN, pages // PAGES_PER_HOST):,} hosts, {result.visits:,} visits in {running_s:,.0f} s: **{result.visits / running_s:,.0f} a second**."
        f" Processor time: ours {spent:,.0f} s ({1e6 * spent / result.visits:,.0f} µs a visit, without what the kill cut off), server {result.server_s:,.0f} s.",
        f"Killed with SIGKILL, all processes, at {result.killed_s:,.0f} s; the first visit after it was committed {gap:.1f} s later, start of Python included.",
        f"Pace of the tenths {min(pace):,.0f}-{max(pace):,.0f} pages/s, at most {max(abs(v / statistics.median(pace) - 1) for v in pace):.0%} off their median."
        f" Most memory: front {max(look.front for look in looks) / 1e6:,.0f} MB, a worker {max(max(look.workers, default=0) for look in looks) / 1e6:,.0f} MB; largest log {max(look.wal for look in looks) / 1e6:,.0f} MB.",
        f"Verdict: {'; '.join(faults) if faults else 'every expected URL has its outcome once, no error, nothing left behind'}.",
    ]
    picture = "![pace, memory and files over time](../docs/plots/million.svg)"
    return (
        "\n\n".join([f"### {pages:,} pages of the made-up web", where(), "\n".join(lines), "\n".join(tenth), picture])
        + "\n"
    )


def plot(result: Result, path: Path) -> None:
    """Three charts over time, one below the other."""
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "nephila", "svg.fonttype": "none"})
    from matplotlib import pyplot

    looks = result.looks
    times = [look.time for look in looks]
    step = max(1, len(looks) // 200)
    figure, (pace, memory, files) = pyplot.subplots(3, 1, sharex=True, figsize=(8, 8), layout="constrained")
    some = looks[::step]
    rates = [max(0.0, (b.pages - a.pages) / (b.time - a.time)) for a, b in pairwise(some)]
    pace.plot([look.time for look in some[1:]], rates)
    pace.set(ylabel="pages / s", ylim=(0, None))
    memory.plot(times, [look.front / 1e6 for look in looks], label="front")
    for k in range(max(len(look.workers) for look in looks)):
        memory.plot(
            times, [look.workers[k] / 1e6 if k < len(look.workers) else None for look in looks], label=f"worker {k + 1}"
        )
    memory.set(ylabel="resident MB", ylim=(0, None))
    memory.legend()
    for name in ("archive", "database", "wal"):
        files.plot(times, [max(getattr(look, name), 1) / 1e6 for look in looks], label=name)
    files.set(ylabel="MB on disk", xlabel="seconds", yscale="log")
    files.legend()
    for chart in (pace, memory, files):
        chart.axvspan(result.killed_s, result.back_s, color="tab:red", alpha=0.3)
        chart.grid(alpha=0.3)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--kill", type=float, default=0.5, help="at which share of the pages")
    parser.add_argument(
        "--save", action="store_true", help="write table and plot into benchmarks/RESULTS.md and docs/plots"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
