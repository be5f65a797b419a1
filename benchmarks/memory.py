"""Does memory grow with the crawl? `python -m benchmarks.memory [--pages 100000] [--early 20000] [--workers 2]`.

A synthetic site of more pages than that is crawled, and the resident memory of the front and of each worker is looked at
around the early count and around the late one. What may grow is the set of known URLs in the front; all else has a fixed size.
"""

from __future__ import annotations

import argparse
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import resident
from nephila.testing.groups import Crawl

SEEN_BYTES = 80
"""What one more known URL may cost the front."""
GROWTH_MAX = 1.10
SAMPLE_S = 0.1
WINDOW = 0.02
"""A figure is the median of the samples within ± 2 % of the late count."""
TIME_S_MAX = 900.0
ENOUGH = 5


class Sample(NamedTuple):
    """One look: requests answered so far, and resident bytes of the front and of each worker."""

    pages: int
    front: int
    workers: tuple[int, ...]


class Figures(NamedTuple):
    """Medians around one count. `known` = URLs in the database then."""

    pages: int
    known: int
    front: int
    worker: int

    def front_max(self, early: Figures) -> float:
        """Bytes that the front may have here, given its figures at an earlier count."""
        return early.front * GROWTH_MAX + SEEN_BYTES * (self.known - early.known)

    def worker_max(self, early: Figures) -> float:
        return early.worker * GROWTH_MAX


def main() -> int:
    options = _options()
    early, late = measure(options.early, options.pages, options.workers, options.fanout)
    print(report(early, late))
    return 0 if late.front <= late.front_max(early) and late.worker <= late.worker_max(early) else 1


def measure(early: int, late: int, workers: int = 2, fanout: int = 20) -> tuple[Figures, Figures]:
    """Crawl until `late` pages and a few more are answered; the crawl is killed there. Figures at both counts."""
    margin = int(late * WINDOW)
    with tempfile.TemporaryDirectory(prefix="nephila-memory-") as name:
        folder = Path(name)
        with _Site(folder, f"synthetic:{late + 3 * margin},{fanout},4000") as site:
            options = ["--delay", "0", "--per-host", "32", "--workers", str(workers), "--quiet"]
            with Crawl([site.url, "-o", str(folder / "job"), *options]) as crawl:
                return _watch(crawl, site.answered, folder / "job" / "crawl.db", (early, late), margin)


def _watch(
    crawl: Crawl, answered: Callable[[], int], database: Path, counts: tuple[int, int], margin: int
) -> tuple[Figures, Figures]:
    first, second = (_gather(crawl, answered, database, count, margin) for count in counts)
    return first, second


def _gather(crawl: Crawl, answered: Callable[[], int], database: Path, count: int, margin: int) -> Figures:
    """The medians of all looks taken while between `count` − `margin` and `count` + `margin` pages are answered."""
    samples: list[Sample] = []
    end = time.monotonic() + TIME_S_MAX
    while (pages := answered()) < count + margin:
        if not crawl.running or time.monotonic() > end:
            raise RuntimeError(f"the crawl has got to {pages} pages only")
        if pages >= count - margin:
            samples.append(Sample(pages, resident(crawl.front), tuple(map(resident, crawl.workers()))))
        time.sleep(SAMPLE_S)
    if len(samples) < ENOUGH:
        raise RuntimeError(f"{len(samples)} looks around {count} pages are too few")
    worker = statistics.median(max(sample.workers, default=0) for sample in samples)
    front = statistics.median(sample.front for sample in samples)
    return Figures(count, _known(database), int(front), int(worker))


def _known(database: Path) -> int:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as con:
        return int(con.execute("SELECT count(*) FROM url").fetchone()[0])


class _Site:
    """The test server in a process of its own. `answered()` counts the lines of its log."""

    def __init__(self, folder: Path, site: str) -> None:
        self._log = folder / "hits.log"
        command = [sys.executable, "-m", "nephila.testing.server", "--site", site, "--log", str(self._log)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self._at = self._lines = 0

    def __enter__(self) -> _Site:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()

    def answered(self) -> int:
        with self._log.open("rb") as file:
            file.seek(self._at)
            added = file.read()
        self._at, self._lines = self._at + len(added), self._lines + added.count(b"\n")
        return self._lines


def report(early: Figures, late: Figures) -> str:
    """A Markdown table, in MB."""
    rows = [
        ("pages", f"{early.pages:,}", f"{late.pages:,}", ""),
        ("known URLs", f"{early.known:,}", f"{late.known:,}", ""),
        ("front", _mb(early.front), _mb(late.front), _mb(late.front_max(early))),
        ("largest worker", _mb(early.worker), _mb(late.worker), _mb(late.worker_max(early))),
    ]
    head = ["| | early | late | may be |", "| --- | ---: | ---: | ---: |"]
    return "\n".join(head + [f"| {' | '.join(row)} |" for row in rows])


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000, help="the late count")
    parser.add_argument("--early", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fanout", type=int, default=20, help="links to new pages per page")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
