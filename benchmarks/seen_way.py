"""One way of remembering URLs, measured in a process of its own: `python -m benchmarks.seen_way NAME --sizes 100000,1000000`.

The set grows from empty through all sizes and is measured at each: a line of JSON per size, and one for the mixed operations.
Nothing else in the process grows: keys are made up from consecutive numbers, a batch at a time, and outside the timing.

- Memory: resident bytes less those before the set was made, without pages of mapped files (those are the file cache's).
- Peak: whenever the high-water mark has risen since the last look (one per percent of growth), it is divided by what is
  resident at that look; the largest ratio since the last size counts. So a passing copy is seen at the size where it happened.
- Insert: time in `add_many` of all growth since the last size, splits and copies included, divided by the URLs added.
- Lost: URLs added for the first time that were taken for known ones.
- Replay: links as pages have them, one in five new; of the others half lead to the last 5,000 URLs and half to popular ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nephila.frontier.seen.door import Keys, Seen
from nephila.frontier.seen.ways import make

Ids = npt.NDArray[np.int64]

BATCH, SMALL = 10_000, 200
FILL = {"file": 500_000}
"""Larger batches for the way that reads everything for each of them, or it would take hours to fill."""
LOOKUPS = {"file": 1}
"""Keys per look-up call, where not 10,000."""
CALLS = 20
NEAR = 5_000
STRANGERS = 1 << 40
"""Numbers from here on are never added."""
READS = "one random read"
"""Not a way: an array of 8 bytes a URL, read at random places, many at a time (`hit_ns`) or each only when the one before
has told where (`miss_ns`, a loop's time included). How both grow with the size is what the machine's caches explain."""
CHAIN = 20_000


class Memory(NamedTuple):
    """Of this process, in bytes: resident without mapped files, and the most that was ever resident with them."""

    resident: int
    peak: int

    @classmethod
    def now(cls) -> Memory:
        lines = Path("/proc/self/status").read_text().splitlines()
        kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("Vm", "Rss"))}
        return cls((kib["VmRSS"] - kib["RssFile"]) * 1024, (kib["VmHWM"] - kib["RssFile"]) * 1024)


def main() -> int:
    options = _options()
    if options.way == READS:
        for size in options.sizes:
            print(json.dumps({"way": READS, "size": size, **random_reads(size)}), flush=True)
        return 0
    with tempfile.TemporaryDirectory(prefix="nephila-seen-") as name:
        for line in measure(options.way, options.sizes, Path(name)):
            print(json.dumps(line), flush=True)
        print(json.dumps(mixed(options.way, options.operations, Path(name))), flush=True)
    return 0


def measure(name: str, sizes: list[int], folder: Path) -> Iterator[dict[str, Any]]:
    """What the way costs at each size, ascending."""
    _warm_up(name, folder)
    before = Memory.now()
    seen = make(name, payload=False, folder=folder)
    growing = _Growing(name, seen, before)
    for size in sizes:
        small, links = min(size // 20, 20_000), min(size // 4, 100_000)
        insert_ns = growing.fill(size - small - links // 5, FILL.get(name, BATCH))
        small_ns = growing.fill(size - links // 5, SMALL) if name not in FILL else None
        replay_ns = growing.replay(links) if name not in FILL else None
        growing.fill(size, BATCH)
        memory = Memory.now()
        disk = getattr(seen, "disk_bytes", 0)
        yield {
            "way": name,
            "size": size,
            "bytes": (memory.resident - before.resident) / size,
            "peak": None if disk else growing.peak(),
            "disk": disk / size,
            "lost": size - len(seen),
            "insert_ns": insert_ns,
            "small_ns": small_ns,
            "replay_ns": replay_ns,
            "hit_ns": growing.look_up(0, size),
            "miss_ns": growing.look_up(STRANGERS, 2 * STRANGERS),
        }
    seen.close()


class _Growing:
    """A set that holds the URLs of the numbers below `count`."""

    def __init__(self, name: str, seen: Seen, before: Memory) -> None:
        self._seen, self._before = seen, before
        self._lookups = LOOKUPS.get(name, BATCH)
        self._dice = np.random.default_rng(11)
        self.count, self._looked, self._high, self._ratio = 0, 0, before.peak, 0.0

    def fill(self, size: int, batch: int) -> float | None:
        """Grow to `size`; nanoseconds per URL."""
        spent, start = 0, self.count
        for at in range(start, size, batch):
            spent += self._add(np.arange(at, min(at + batch, size)))
        self.count = max(size, start)
        return spent / (size - start) if size > start else None

    def replay(self, links: int) -> float:
        """Grow by a fifth of `links`, asking for all of them; nanoseconds per link."""
        spent = 0
        for _ in range(0, links, BATCH):
            ids = self._links(min(BATCH, links))
            spent += self._add(ids)
            self.count = max(self.count, int(ids.max()) + 1)
        return spent / links

    def look_up(self, low: int, high: int) -> float:
        """Nanoseconds per URL, the median of several calls."""
        calls = []
        for _ in range(CALLS):
            keys = keys_of(self._seen, self._dice.integers(low, high, self._lookups))
            start = time.perf_counter_ns()
            self._seen.contains_many(keys)
            calls.append((time.perf_counter_ns() - start) / len(keys))
        return statistics.median(calls)

    def peak(self) -> float:
        """The largest ratio of high-water mark to resident memory since the last call."""
        self._look()
        ratio, self._ratio = self._ratio, 0.0
        return max(ratio, 1.0)

    def _links(self, n: int) -> Ids:
        dice, new = self._dice, n // 5
        near = self.count - 1 - dice.integers(0, min(NEAR, self.count), (n - new) // 2)
        popular = (self.count * dice.random(n - new - len(near)) ** 3).astype(np.int64)
        ids = np.concatenate([np.arange(self.count, self.count + new), near, popular])
        dice.shuffle(ids)
        return ids

    def _add(self, ids: Ids) -> int:
        keys = keys_of(self._seen, ids)
        start = time.perf_counter_ns()
        self._seen.add_many(keys)
        spent = time.perf_counter_ns() - start
        if int(ids[-1]) > self._looked + self._looked // 100:
            self._looked = int(ids[-1])
            self._look()
        return spent

    def _look(self) -> None:
        now = Memory.now()
        if now.peak > self._high and now.resident > self._before.resident:
            self._high = now.peak
            self._ratio = max(self._ratio, (now.peak - self._before.resident) / (now.resident - self._before.resident))


def mixed(name: str, operations: int, folder: Path) -> dict[str, Any]:
    """Adding, asking and forgetting in batches of all sizes, held against one flag per number. `wrong`: answers that differ."""
    seen, dice = make(name, payload=False, folder=folder), np.random.default_rng(12)
    known = np.zeros(max(operations // 4, 100), np.bool_)
    wrong = done = 0
    while done < operations:
        n = int(dice.choice((1, 50, SMALL, 3_000, BATCH)))
        ids, kind = dice.integers(0, len(known), n), dice.random()
        keys = keys_of(seen, ids)
        if kind < 0.3:
            wrong += int(np.count_nonzero(seen.contains_many(keys) != known[ids]))
        elif kind < 0.9 or name == "bloom":
            first = np.zeros(n, np.bool_)
            first[np.unique(ids, return_index=True)[1]] = True
            wrong += int(np.count_nonzero(seen.add_many(keys) != (first & ~known[ids])))
            known[ids] = True
        else:
            seen.discard_many(keys)
            known[ids] = False
        done += n
    wrong += int(seen.exact and len(seen) != int(np.count_nonzero(known)))
    seen.close()
    return {"way": name, "operations": done, "wrong": wrong}


def keys_of(seen: Seen, ids: Ids) -> Keys:
    """Fingerprints (a bijection of the numbers: splitmix64's), or URLs of 68 characters, 200 to a host."""
    if not seen.of_text:
        z = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
    return [f"https://www.site-{n // 200:07d}.example.org/topics/{n % 7}/article-{n:09d}.html" for n in ids.tolist()]


def random_reads(size: int) -> dict[str, float]:
    """Nanoseconds to read 8 bytes at a random place of an array of `size` of them: side by side, and one after the other."""
    dice = np.random.default_rng(13)
    array = dice.integers(0, size, size)
    calls = []
    for _ in range(5 * CALLS):
        places = dice.integers(0, size, BATCH)
        start = time.perf_counter_ns()
        array.take(places)
        calls.append((time.perf_counter_ns() - start) / BATCH)
    chains = [_chain(memoryview(array), size, at) for at in dice.integers(0, size, CALLS).tolist()]  # type: ignore[arg-type]
    return {"hit_ns": statistics.median(calls), "miss_ns": statistics.median(chains)}


def _chain(view: memoryview[int], size: int, place: int) -> float:
    start = time.perf_counter_ns()
    for step in range(CHAIN):
        place = (view[place] + step) % size
    return (time.perf_counter_ns() - start) / CHAIN


def _warm_up(name: str, folder: Path) -> None:
    """Modules and allocators are there before the empty process is weighed."""
    seen = make(name, payload=False, folder=folder)
    growing = _Growing(name, seen, Memory.now())
    growing.fill(BATCH, BATCH)
    growing.look_up(0, BATCH)
    seen.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seen_way", description="One way, measured.")
    parser.add_argument("way")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], required=True)
    parser.add_argument("--operations", type=int, default=100_000)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
