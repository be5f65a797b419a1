"""Many hosts: `python -m benchmarks.wide [--save]`, two crawls of the made-up web.

Without a pause: 2,000 hosts with 50 pages each, to the end; how many visits a second, what front, workers and server cost, and
how evenly the hosts are served. With a pause of 1 s: 500 hosts, none of which runs out of pages; how near the crawl comes to
hosts ÷ pause. A host's own bound is a little less, because the pause begins when a visit is accepted: 1 / (pause + answer).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.sites import save, where
from benchmarks.watch import Served, Watch, expected, kept, rows
from nephila.testing.fairness import jain
from nephila.testing.groups import Crawl, Ended
from nephila.testing.web import Spec

SHARE_MIN = 0.95
WARM_S = 5.0
"""Every host has been asked once by then: left out of the window, as is the last second."""
CLOCK_S = 0.002
"""Starts are written down in the wall clock's milliseconds."""
LIMIT = 3
"""Exit code of a crawl that a limit has ended."""
TIME_S_MAX = 1800.0


class Fast(NamedTuple):
    """The crawl without a pause. `halfway`: Jain index of visits per host when half of all are done."""

    wall_s: float
    visits: int
    whole: bool
    front_s: float
    workers_s: list[float]
    server_s: float
    answers: int
    connections: int
    memory_bytes: int
    halfway: float
    hosts_done_s: list[float]


class Polite(NamedTuple):
    """The crawl with a pause. `seconds`: visits begun in each second of the window; `gaps_s`: from start to start of a host."""

    hosts: int
    delay_s: float
    seconds: list[int]
    jain: float
    gaps_s: list[float]
    cpu_s: float
    least: int
    most: int

    @property
    def share(self) -> float:
        return statistics.mean(self.seconds) * self.delay_s / self.hosts


def main() -> int:
    options = _options()
    fast = None if options.only == "polite" else run_fast(options.hosts, options.pages)
    polite = None if options.only == "fast" else run_polite(options.polite_hosts, options.delay, options.seconds)
    text = report(options, fast, polite)
    print(text)
    if options.save:
        save("wide", text)
    good = fast is None or fast.whole
    kind = polite is None or (polite.share >= SHARE_MIN and polite.gaps_s[0] >= polite.delay_s - CLOCK_S)
    return 0 if good and kind else 1


def run_fast(hosts: int, pages: int) -> Fast:
    """The whole web, as fast as it goes."""
    with tempfile.TemporaryDirectory(prefix="nephila-wide-") as name:
        folder = Path(name)
        with Served(Spec(hosts=hosts, pages=pages), folder) as served:
            watch, wall_s = _crawl(served, folder, 0, "--delay", "0")
            wanted = expected(served.web)
        job = folder / "job"
        hosts_of = [
            int(str(host))
            for (host,) in rows(job, "SELECT u.host FROM visit v JOIN url u ON u.id = v.url ORDER BY v.id")
        ]
        started = "SELECT max(v.started) - (SELECT min(started) FROM visit) AS s FROM visit v JOIN url u ON u.id = v.url GROUP BY u.host ORDER BY s"
        return Fast(
            wall_s,
            len(hosts_of),
            kept(job) == wanted,
            sum(watch.spent("front")),
            watch.spent("worker"),
            served.cpu_s,
            served.answers,
            served.connections,
            max(look.front + sum(look.workers) for look in watch.looks),
            _evenness(hosts_of[: len(hosts_of) // 2], hosts),
            [float(str(second)) for (second,) in rows(job, started)],
        )


def run_polite(hosts: int, delay_s: float, seconds: float) -> Polite:
    """So many seconds of a web that has more pages than that."""
    with tempfile.TemporaryDirectory(prefix="nephila-wide-") as name:
        folder = Path(name)
        with Served(Spec(hosts=hosts, pages=int(3 * seconds / delay_s) + 20), folder) as served:
            watch, _ = _crawl(served, folder, LIMIT, "--delay", f"{delay_s:g}", "--max-time", f"{seconds:g}")
        query = "SELECT u.host, v.started - (SELECT min(started) FROM visit) FROM visit v JOIN url u ON u.id = v.url WHERE v.status > 0 ORDER BY 2"
        visits = [(int(str(host)), float(str(at))) for host, at in rows(folder / "job", query)]
        begin, end = int(WARM_S), int(visits[-1][1])
        inside = [(host, at) for host, at in visits if begin <= at < end]
        per_second, starts = [0] * (end - begin), dict[int, list[float]]()
        for host, at in inside:
            per_second[int(at) - begin] += 1
            starts.setdefault(host, []).append(at)
        per_host = [len(times) for times in starts.values()]
        gaps = [after - before for times in starts.values() for before, after in itertools.pairwise(times)]
        cpu_s = sum(watch.spent("front")) + sum(watch.spent("worker"))
        fair = _evenness([host for host, _ in inside], hosts)
        return Polite(hosts, delay_s, per_second, fair, sorted(gaps), cpu_s, min(per_host), max(per_host))


def _crawl(served: Served, folder: Path, code: int, *options: str) -> tuple[Watch, float]:
    """One crawl from start to end. Raises RuntimeError when it ends otherwise than with `code`."""
    watch = Watch(folder / "job")
    with Crawl(["--config", str(served.config), "-o", str(folder / "job"), "--quiet", *options]) as crawl:
        watch.at(crawl)
        ended: Ended = crawl.wait(TIME_S_MAX)
        wall_s = watch.since()
    watch.stop()
    if ended.code != code:
        raise RuntimeError(f"the crawl ended with {ended.code}: {ended.err[-2000:]}")
    return watch, wall_s


def _evenness(hosts_of: list[int], hosts: int) -> float:
    """Jain index of visits per host; a host without any counts."""
    counts = dict[int, int]()
    for host in hosts_of:
        counts[host] = counts.get(host, 0) + 1
    return jain([*map(float, counts.values()), *[0.0] * (hosts - len(counts))])


def report(options: argparse.Namespace, fast: Fast | None, polite: Polite | None) -> str:
    parts = ["### Many hosts: the made-up web", where()]
    if fast is not None:
        parts.append(_fast_text(fast, options.hosts, options.pages))
    if polite is not None:
        parts.append(_polite_text(polite))
    return "\n\n".join(parts) + "\n"


def _fast_text(fast: Fast, hosts: int, pages: int) -> str:
    per_visit = 1e6 / fast.visits
    cpu = [
        ("front", fast.front_s),
        *((f"worker {k}", seconds) for k, seconds in enumerate(fast.workers_s, 1)),
        ("server", fast.server_s),
    ]
    table = ["| process | CPU s | µs per visit | of a core |", "| --- | ---: | ---: | ---: |"]
    table += [f"| {name} | {s:.2f} | {s * per_visit:.0f} | {s / fast.wall_s:.0%} |" for name, s in cpu]
    done = fast.hosts_done_s
    marks = ", ".join(f"{share} % by {done[len(done) * share // 100 - 1]:.1f} s" for share in (50, 90, 99, 100))
    ours = fast.front_s + sum(fast.workers_s)
    lines = [
        f"**{hosts:,} hosts × {pages} pages, no pause**: {fast.visits:,} visits in {fast.wall_s:.1f} s, {fast.visits / fast.wall_s:,.0f} a second,"
        f" {fast.visits / ours:,.0f} per CPU second of ours, {fast.answers / fast.connections:.1f} answers per connection,"
        f" {fast.memory_bytes / 1e6:,.0f} MB at most.",
        f"Every expected URL has its outcome once: {'yes' if fast.whole else 'NO'}. Jain index of visits per host at half of all: {fast.halfway:.3f}."
        f" Hosts done: {marks}.",
    ]
    return "\n".join(lines) + "\n\n" + "\n".join(table)


def _polite_text(polite: Polite) -> str:
    seconds, gaps = sorted(polite.seconds), polite.gaps_s
    middle = [gaps[len(gaps) * share // 100] for share in (1, 50, 99)]
    return (
        f"**{polite.hosts:,} hosts, pause {polite.delay_s:g} s**, {len(seconds)} s in which all have work:"
        f" {statistics.mean(seconds):,.1f} visits a second, **{polite.share:.1%}** of hosts ÷ pause"
        f" (slowest second {seconds[0]}, median {statistics.median(seconds):g}, fastest {seconds[-1]})."
        f" From start to start of a host {middle[1]:.3f} s in the median ({middle[0]:.3f} at 1 %, {middle[2]:.3f} at 99 %, {gaps[0]:.3f}-{gaps[-1]:.3f})."
        f" Visits per host {polite.least}-{polite.most}, Jain index {polite.jain:.4f}. CPU {polite.cpu_s:.1f} s."
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("--hosts", type=int, default=2000, help="of the crawl without a pause")
    parser.add_argument("--pages", type=int, default=50, help="of each of them")
    parser.add_argument("--polite-hosts", type=int, default=500, help="of the crawl with a pause")
    parser.add_argument("--delay", type=float, default=1.0, help="that pause, in seconds")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it goes on")
    parser.add_argument("--only", choices=["fast", "polite"], help="one of the two")
    parser.add_argument("--save", action="store_true", help="write the figures into benchmarks/RESULTS.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
