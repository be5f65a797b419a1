"""The embedded frontier at scale: `python -m benchmarks.frontier [--urls 10000000] [--hosts 100000] [--drain 200000] [--save]`.

A frontier over crawl.db is filled with URLs and then asked for them, exactly as the front process of a crawl does it, and
nothing else runs: no worker, no socket, no page. What is timed is decoding a worker's frames, `accept` (settle), `grant` (take)
and the commits, to the last one; what a worker would do (frames of 64 pages, each with 100 packed links) is made beforehand,
while nothing waits to be committed. Pause 0, robots.txt off, names of public hosts that nobody looks up.

*In*: a page brings 50 URLs that are new, four of five on its own host, and 50 that are known. *Out*: a page brings links that
are all known. A rate is URLs or visits per second of timed work. Memory is that of the whole process, without what the frames
that were just made take. Last, another process opens the folder: how long until it could give out its first lease.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.measure import resident
from benchmarks.sites import save, where
from nephila.clock import SystemClock
from nephila.config import Config
from nephila.frontier.frames import Settled, to_front
from nephila.frontier.scheduler import Scheduler
from nephila.frontier.seen.keytree import KeyTree
from nephila.frontier.sqlite import SqliteStore
from nephila.types import Found, Kind, Lease, NewLink, Outcome, Record, Request, Settlement
from nephila.url.key import Fingerprints
from nephila.url.scope import ScopeSpec

BLOCK = 8_000
"""Pages between two stops of the clock."""
FRAME = 64
"""Settlements in a worker's frame (`remote.BATCH`)."""
EDGES, NEW, OWN = 100, 50, 0.8
POINTS = 10
"""Lines of the table."""


class Line(NamedTuple):
    """What was measured at one point. `rate` is per second, `cpu_us` what each cost all threads; `resident` and `database` are bytes."""

    what: str
    urls: int
    queued: int
    rate: float
    cpu_us: float
    resident: int
    database: int


class Work:
    """Wall clock and CPU of what is timed."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall_s += time.perf_counter() - wall
        self.cpu_s += time.process_time() - cpu


class Bench:
    """One frontier in `folder`."""

    def __init__(self, folder: Path, hosts: int) -> None:
        self.path, self._hosts = folder / "crawl.db", hosts
        self._store = SqliteStore(self.path)
        seen = KeyTree()
        config = Config(delay="0", no_robots=True, seeds=["http://0.example/"], scope="any")
        self._fingerprint = Fingerprints(7)
        self.scheduler = Scheduler(
            config,
            self._store,
            self._store.load(seen),
            seen=seen,
            scope=ScopeSpec("any", ("http://0.example/",)),
            fingerprint=self._fingerprint,
            clock=SystemClock(),
            rng=random.Random(1),
        )
        self._changed = asyncio.Event()
        self.scheduler.on_change = self._changed.set
        self._decode = to_front()
        self._rng = np.random.default_rng(1)
        self._made = 0
        self._leases: list[Lease] = []
        self._known = np.zeros(1_000_000, np.uint64)
        """Some fingerprints that were met before."""

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._store.start(loop.call_soon_threadsafe)
        self.scheduler.attach(loop.call_later)
        for number in range(8):
            self.scheduler.opened(f"bench-0-{number:05}.warc.gz", 0, os.getpid())

    async def seed(self) -> Work:
        """One page of each host."""
        work = Work()
        for first in range(0, self._hosts, 10_000):
            hosts = range(first, min(first + 10_000, self._hosts))
            with work.timed():
                self.scheduler.put(Request(f"http://{host}.example/") for host in hosts)
                await self.scheduler.flush()
        return work

    async def fill(self, count: int) -> Work:
        """Queue so many more."""
        work, target = Work(), self._made + count
        while self._made < target:
            await self.block(NEW, work)
        return work

    async def drain(self, visits: int) -> Work:
        work = Work()
        for _ in range(visits // BLOCK):
            await self.block(0, work)
        return work

    async def block(self, new: int, work: Work) -> None:
        """Settle all leases that are out and take as many again, until the last is committed."""
        if not self._leases:
            self._leases = await self._take(BLOCK)
            await self.scheduler.flush()
        leases, self._leases = self._leases, []
        frames = [self._frame(leases[at : at + FRAME], new) for at in range(0, len(leases), FRAME)]
        with work.timed():
            for frame in frames:
                self._leases += await self._take(await self._settle(frame))
            await self.scheduler.flush()

    async def _settle(self, frame: bytes) -> int:
        settled = self._decode.decode(frame)
        assert isinstance(settled, Settled)
        self.scheduler.accept(settled.settlements)
        await asyncio.sleep(0)
        while self.scheduler.full():
            await self._change()
        return len(settled.settlements)

    async def _take(self, count: int) -> list[Lease]:
        leases: list[Lease] = []
        while len(leases) < count:
            granted = self.scheduler.grant(count - len(leases))
            leases += granted
            if not granted:
                await self._change()
        return leases

    async def _change(self) -> None:
        if error := self.scheduler.error:
            raise error
        self._changed.clear()
        await self._changed.wait()

    # --- what a worker would send -----------------------------------------------------------------------------------

    def _frame(self, leases: list[Lease], new: int) -> bytes:
        return msgspec.msgpack.encode(Settled([self._settlement(lease, new) for lease in leases]))

    def _settlement(self, lease: Lease, new: int) -> Settlement:
        own = int(lease.origin[7:].partition(".")[0])
        known = self._known[self._rng.integers(0, min(max(self._made, 1), len(self._known)), EDGES - new)]
        links = list(self._links(own, new))
        edges = np.concatenate([np.array([link.fp for link in links], np.uint64), known]).tobytes()
        return Settlement(
            lease.id,
            Outcome.OK,
            requested=True,
            started=time.time(),
            ms=120,
            ttfb=0.08,
            status=200,
            protocol="http/1.1",
            ip=f"9.{own >> 16}.{own >> 8 & 255}.{own & 255}",
            media_type="text/html",
            charset="utf-8",
            bytes=40_000,
            title="A page like any other",
            language="en",
            found=Found(edges, 0, links),
            record=Record(f"bench-0-{lease.id % 8:05}.warc.gz", lease.id * 10_000, 9_000, "sha1:" + "A" * 32),
        )

    def _links(self, own: int, new: int) -> Iterator[NewLink]:
        if not new:
            return
        others, mine = self._rng.integers(0, self._hosts, new).tolist(), (self._rng.random(new) < OWN).tolist()
        for other, is_mine in zip(others, mine, strict=True):
            self._made += 1
            url = f"http://{own if is_mine else other}.example/articles/2026/page-{self._made:x}.html"
            fp = self._fingerprint(url)
            self._known[self._made % len(self._known)] = fp
            yield NewLink(fp, url, Kind.PAGE)

    def line(self, what: str, count: int, work: Work) -> Line:
        queued = self.scheduler.status()["queued"]
        size = sum(path.stat().st_size for path in self.path.parent.glob("crawl.db*"))
        return Line(
            what, self._made, queued, count / work.wall_s, work.cpu_s / count * 1e6, resident(os.getpid()), size
        )


async def measure(folder: Path, urls: int, hosts: int, drained: int) -> list[Line]:
    """Fill and drain, saying each line as it is known."""
    bench, lines = Bench(folder, hosts), list[Line]()

    def told(line: Line) -> None:
        lines.append(line)
        print(as_row(line), flush=True)

    bench.start()
    print(HEAD, flush=True)
    told(bench.line("seeds", hosts, await bench.seed()))
    for _ in range(POINTS):
        told(bench.line("in", urls // POINTS, await bench.fill(urls // POINTS)))
    for _ in range(4):
        told(bench.line("out", drained // 4, await bench.drain(drained // 4)))
    bench.scheduler.give_back([lease.id for lease in bench._leases], suspect=False)
    bench.scheduler.close()
    return lines


HEAD = (
    "| | URLs | queued | per second | CPU, µs each | memory, MB | database, bytes per URL |\n"
    "|---|---:|---:|---:|---:|---:|---:|"
)


def as_row(line: Line) -> str:
    what, urls, queued, rate, cpu, memory, database = line
    size = database / max(queued, 1)
    return f"| {what} | {urls:,} | {queued:,} | {rate:,.0f} | {cpu:.1f} | {memory / 1e6:,.0f} | {size:,.0f} |"


def resume(folder: Path) -> str:
    """Open the folder as a start does, up to the first lease; a sentence."""
    empty, start = resident(os.getpid()), time.perf_counter()
    store, seen = SqliteStore(folder / "crawl.db"), KeyTree()
    snapshot = store.load(seen)
    loaded = time.perf_counter()
    scheduler = Scheduler(
        Config(delay="0", no_robots=True, seeds=["http://0.example/"], scope="any"),
        store,
        snapshot,
        seen=seen,
        scope=ScopeSpec("any", ("http://0.example/",)),
        fingerprint=Fingerprints(7),
        clock=SystemClock(),
        rng=random.Random(1),
    )
    made = time.perf_counter()
    leases = len(scheduler.grant(100))
    end = time.perf_counter()
    return (
        f"Start with {len(seen):,} known URLs: {end - start:.2f} s (set and tables {loaded - start:.2f}, hosts {made - loaded:.2f},"
        f" first {leases} leases {end - made:.2f}); memory {(resident(os.getpid())) / 1e6:,.0f} MB (before: {empty / 1e6:,.0f})."
    )


def main() -> int:
    options = _options()
    if options.resume:
        print(resume(Path(options.resume)))
        return 0
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # as `front` does
    with tempfile.TemporaryDirectory(prefix="nephila-bench-", dir=options.folder) as folder:
        lines = asyncio.run(measure(Path(folder), options.urls, options.hosts, options.drain))
        again = [sys.executable, "-m", "benchmarks.frontier", "--resume", folder]
        started = subprocess.run(again, capture_output=True, text=True, check=True).stdout.strip()
        print(started)
    if options.save:
        said = f"{options.urls:,} URLs over {options.hosts:,} hosts. {where()}"
        save("frontier", "\n".join([said, "", HEAD, *map(as_row, lines), "", started]))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__)
    parser.add_argument("--urls", type=int, default=10_000_000, help="URLs to queue")
    parser.add_argument("--hosts", type=int, default=100_000, help=f"at least {BLOCK}: so many are asked at once")
    parser.add_argument("--drain", type=int, default=200_000, help="visits without new links, at the end")
    parser.add_argument("--folder", default=None, help="where the database is made (about 160 bytes per URL)")
    parser.add_argument("--save", action="store_true", help="write the table into benchmarks/RESULTS.md")
    parser.add_argument("--resume", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name, least in {"hosts": BLOCK, "urls": POINTS * BLOCK * NEW, "drain": 4 * BLOCK}.items():
        if (given := getattr(options, name)) < least and not options.resume:
            parser.error(f"--{name} {given}: at least {least} are needed, since {BLOCK} pages are asked for at a time")
    return options


if __name__ == "__main__":
    sys.exit(main())
