"""How fast a mirror is written: `python -m benchmarks.mirror [--rounds 3] [--workers 2]`.

The PostgreSQL documentation (small pages) and Python's (large ones) are crawled once from a local server, then exported: by one
process, by several, and once more with nothing to do. Best of the rounds, each into a folder of its own (a file system is slow
where files were removed just now). What the export of a single page costs, the start of its processes included, is taken off.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import measure
from benchmarks.servers import Missing, Nginx, mounted, postgres_docs, python_docs

SITES: dict[str, Callable[[], Path]] = {"postgresql": postgres_docs, "python": python_docs}
TIME_S_MAX = 600
FINISHED, LIMIT = 0, 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mirror", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where mirrors are written (default: the temporary folder)")
    args = parser.parse_args()
    print("site        files  processes  ms CPU/file  files/s per core  files/s  again ms CPU/file")
    for site, docs in SITES.items():
        with tempfile.TemporaryDirectory(prefix="nephila-mirror-", dir=args.folder) as scratch:
            try:
                job = crawled(docs(), Path(scratch) / "job")
                single = crawled(docs(), Path(scratch) / "single", "--max-pages", "1")
            except Missing as missing:
                print(f"{site}: {missing}", file=sys.stderr)
                return 2
            for workers in (0, args.workers):
                print(row(site, job, single, Path(scratch), workers, args.rounds), flush=True)
    return 0


def crawled(docs: Path, job: Path, *options: str) -> Path:
    with Nginx(mounted(docs, 1), log=False) as server:
        crawl = ["crawl", f"{server.url}/m1/index.html", "-o", str(job), "--delay", "0", "--per-host", "16", "--quiet"]
        done = subprocess.run([sys.executable, "-m", "nephila", *crawl, *options], timeout=TIME_S_MAX)
    if done.returncode not in (FINISHED, LIMIT):
        raise RuntimeError(f"the crawl ended with {done.returncode}")
    return job


def row(site: str, job: Path, single: Path, scratch: Path, workers: int, rounds: int) -> str:
    """One line of the table."""
    costs: dict[str, list[measure.Cost]] = {"start": [], "first": [], "again": []}
    files = 0
    for n in range(rounds):
        target = scratch / f"mirror-{workers}-{n}"
        costs["start"].append(_export(single, scratch / f"single-{workers}-{n}", workers))
        costs["first"].append(_export(job, target, workers))
        costs["again"].append(_export(job, target, workers))
        files = (target / "index.jsonl").read_bytes().count(b"\n")
    cpu_s = {name: min(cost.cpu_s for cost in found) for name, found in costs.items()}
    wall_s = {name: min(cost.wall_s for cost in found) for name, found in costs.items()}
    spent = cpu_s["first"] - cpu_s["start"]
    again = cpu_s["again"] - cpu_s["start"]
    return (
        f"{site:<10} {files:>6} {max(workers, 1):>10} {spent / files * 1e3:>12.2f} {files / spent:>17,.0f}"
        f" {files / (wall_s['first'] - wall_s['start']):>8,.0f} {again / files * 1e3:>18.3f}"
    )


def _export(job: Path, target: Path, workers: int) -> measure.Cost:
    command = ["export", "mirror", str(job), "--to", str(target), "--workers", str(workers)]
    cost = measure.run([sys.executable, "-m", "nephila", *command], job.parent, TIME_S_MAX)
    if cost.code:
        raise RuntimeError(f"the export ended with {cost.code}")
    return cost


if __name__ == "__main__":
    sys.exit(main())
