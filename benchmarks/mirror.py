"""How fast a mirror is written: `python -m benchmarks.mirror [--rounds 3] [--workers 2]`.

The PostgreSQL documentation (small pages) and Python's (large ones) are crawled once from a local server, then exported: by one
process, by several, and once more with nothing to do. Best of the rounds, each into a folder of its own (a file system is slow
where files were removed just now). Times are of the export's processes, without the start of Python.
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
            except Missing as missing:
                print(f"{site}: {missing}", file=sys.stderr)
                return 2
            for workers in (0, args.workers):
                print(row(site, job, Path(scratch), workers, args.rounds), flush=True)
    return 0


def crawled(docs: Path, job: Path) -> Path:
    with Nginx(mounted(docs, 1), log=False) as server:
        _nephila("crawl", f"{server.url}/m1/index.html", "-o", str(job), "--delay", "0", "--per-host", "16", "--quiet")
    return job


def row(site: str, job: Path, scratch: Path, workers: int, rounds: int) -> str:
    """One line of the table."""
    empty = min((_cost(scratch, "--version") for _ in range(rounds)), key=lambda cost: cost.cpu_s)
    first, again, files = [], [], 0
    for n in range(rounds):
        site_folder = scratch / f"site-{workers}-{n}"
        export = ["export", "mirror", str(job), "--to", str(site_folder), "--workers", str(workers)]
        first.append(_cost(scratch, *export))
        again.append(_cost(scratch, *export))
        files = (site_folder / "index.jsonl").read_bytes().count(b"\n")
    cpu_s = min(cost.cpu_s for cost in first) - empty.cpu_s
    wall_s = min(cost.wall_s for cost in first) - empty.wall_s
    idle_s = min(cost.cpu_s for cost in again) - empty.cpu_s
    return (
        f"{site:<10} {files:>6} {max(workers, 1):>10} {cpu_s / files * 1e3:>12.2f} {files / cpu_s:>17,.0f} {files / wall_s:>8,.0f}"
        f" {idle_s / files * 1e3:>18.3f}"
    )


def _cost(scratch: Path, *arguments: str) -> measure.Cost:
    cost = measure.run([sys.executable, "-m", "nephila", *arguments], scratch, TIME_S_MAX)
    if cost.code:
        raise RuntimeError(f"nephila {' '.join(arguments)} ended with {cost.code}")
    return cost


def _nephila(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "nephila", *arguments], check=True, stdout=subprocess.DEVNULL, timeout=TIME_S_MAX
    )


if __name__ == "__main__":
    sys.exit(main())
