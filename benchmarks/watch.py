"""A crawl of the made-up web, watched: the server's process, and what the crawl's processes and files grow to.

Processor time is that of /proc (hundredths of a second), so a process costs nothing to watch and may end at any time.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec
import xxhash

from benchmarks.measure import resident
from nephila.testing.groups import Crawl
from nephila.testing.web import MadeUpWeb, Spec

TICKS = os.sysconf("SC_CLK_TCK")
MASK = (1 << 64) - 1
OUTCOMES = {200: "OK", 301: "MOVED", 302: "MOVED", 404: "REFUSED", 0: "DENIED"}
"""What a crawl makes of a status of the made-up web."""


class Served:
    """`python -m nephila.testing.web` in a process of its own. `config` is the file to crawl with; a context manager."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        self.config = folder / "web.toml"
        fields = {name: value for name, value in msgspec.structs.asdict(spec).items() if value != getattr(Spec(), name)}
        options = [f"--{name.replace('_', '-')}={value}" for name, value in (fields | {"port": 0}).items()]
        command = [sys.executable, "-m", "nephila.testing.web", f"--config={self.config}", *options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.pid = self._process.pid
        first = self._process.stdout.readline().strip()
        self.web = MadeUpWeb(msgspec.structs.replace(spec, port=int(first.rstrip("/").rpartition(":")[2])))
        self.answers, self.connections, self.cpu_s = 0, 0, 0.0

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the server; afterwards `answers`, `connections` and `cpu_s` say what it did."""
        self._process.send_signal(signal.SIGTERM)
        said = json.loads(self._process.communicate()[0].splitlines()[-1])
        self.answers, self.connections, self.cpu_s = said["answers"], said["connections"], said["cpu_s"]


class Look(NamedTuple):
    """One look: seconds since the watch began, committed visits and pages kept among them, resident bytes of front and
    workers, sizes of files."""

    time: float
    visits: int
    pages: int
    front: int
    workers: tuple[int, ...]
    wal: int
    database: int
    archive: int
    cpu_s: float
    """Processor seconds of all processes so far."""


class Watch:
    """Looks at crawls of one folder every `every_s` seconds until stopped. One watch may see several runs in turn."""

    def __init__(self, folder: Path, every_s: float = 0.2) -> None:
        self._folder, self._every_s = folder, every_s
        self._done = threading.Event()
        self._crawl: Crawl | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._began = time.monotonic()
        self.looks: list[Look] = []
        self.cpu: dict[tuple[str, int], float] = {}
        """(front or worker, process id) → seconds of processor time."""
        self._thread.start()

    def at(self, crawl: Crawl) -> None:
        """From now on look at this one."""
        self._crawl = crawl

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def spent(self, role: str) -> list[float]:
        """Processor seconds of each process with this role."""
        return [seconds for (name, _), seconds in self.cpu.items() if name == role]

    def since(self) -> float:
        return time.monotonic() - self._began

    def _run(self) -> None:
        while not self._done.wait(self._every_s):
            if self._crawl is not None and self._crawl.running:
                self._look(self._crawl)

    def _look(self, crawl: Crawl) -> None:
        workers = crawl.workers()
        for role, pid in [("front", crawl.front), *(("worker", pid) for pid in workers)]:
            self.cpu[role, pid] = max(cpu_s(pid), self.cpu.get((role, pid), 0.0))
        archive = sum(size(path) for path in (self._folder / "archive").glob("*"))
        database = self._folder / "crawl.db"
        self.looks.append(
            Look(
                self.since(),
                committed(self._folder),
                pages(self._folder),
                resident(crawl.front),
                tuple(map(resident, workers)),
                size(self._folder / "crawl.db-wal"),
                size(database),
                archive,
                sum(self.cpu.values()),
            )
        )


def committed(folder: Path) -> int:
    """Visits in the database so far (their numbers have no gaps); 0 when there is none yet."""
    try:
        return int(str(rows(folder, "SELECT coalesce(max(id), 0) FROM visit")[0][0]))
    except sqlite3.Error:
        return 0


def pages(folder: Path) -> int:
    """Pages kept so far; 0 when there is no database yet."""
    try:
        return int(str(rows(folder, "SELECT coalesce(sum(pages), 0) FROM host")[0][0]))
    except sqlite3.Error:
        return 0


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    """The answer of a job's database to a query that is quick: a reader holds the log back."""
    con = sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


class Tally(NamedTuple):
    """How many URLs there are of each outcome, and the sum of their hashes: equal tallies mean equal sets."""

    counts: dict[str, int]
    sums: dict[str, int]


def expected(web: MadeUpWeb) -> Tally:
    """What a crawl of the whole web has to end with."""
    return _tally((url, OUTCOMES[status]) for url, status in web.everything())


def kept(folder: Path) -> Tally:
    """What a crawl ended with, robots.txt files left out: one row per visit, so that nothing kept twice goes unseen."""
    con = sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)
    try:
        return _tally(
            con.execute("SELECT u.url, v.outcome FROM visit v JOIN url u ON u.id = v.url WHERE u.kind != 'robots'")
        )
    finally:
        con.close()


def _tally(pairs: Iterable[tuple[str, str]]) -> Tally:
    counts, sums = Counter[str](), dict[str, int]()
    for url, outcome in pairs:
        counts[outcome] += 1
        sums[outcome] = (sums.get(outcome, 0) + xxhash.xxh3_64_intdigest(url.encode())) & MASK
    return Tally(dict(counts), sums)


def cpu_s(pid: int) -> float:
    """User and system time of a process: fields 14 and 15 of /proc/PID/stat (proc(5)); 0 when it has ended."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
