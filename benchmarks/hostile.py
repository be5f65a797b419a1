"""Good sites beside twenty hostile hosts: `python -m benchmarks.hostile [--rounds 5] [--save]`.

The promise (docs/promises.md, P5): trouble stays where it is. Ten hosts that behave are crawled alone, and then together with twenty that
send bombs, drip, never end a body, redirect for ever, answer 429 to everything, or reset every connection. What is compared is how fast the
good hosts are asked after the first five seconds, by their own log: the medians of rounds that run both in turn. Every host has a pause of 50 ms, good or not: without one, whoever
answers fastest gets most of the processor, which the servers of this benchmark share.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import resident
from benchmarks.sites import save, where
from nephila.config import Config
from nephila.testing.groups import Crawl
from nephila.testing.server import hits
from nephila.testing.torture import ROWS, Case, Talk, TortureServer, answer, html

HOSTS, PAGES = 10, 300
"""Good hosts, and pages of each."""
DELAY_S, ANSWER_S = 0.05, 0.01
WORKERS = 2
WARM_S = 5.0
"""By then every host has been asked, and is known for what it is: left out."""
RATE_MIN = 0.9
TIME_S_MAX = 180.0
LOOK_S = 0.2
SETTINGS = {
    "delay": str(DELAY_S),
    "workers": WORKERS,
    "scope": "any",
    "traps": "off",
    "allow_private": True,
    "min_free": 0,
}

LINKS = [f"/{n}" for n in range(200)]
START = html(*LINKS)
BOMB = gzip.compress(b'<a href="more">more</a>' + b" " * (100 << 20), 9, mtime=0)


class Run(NamedTuple):
    """One crawl. `rate`: pages of the good site per second; `worker_bytes`: most memory of one worker; `asked`: requests that
    the hostile hosts got."""

    rate: float
    worker_bytes: int
    front_bytes: int
    asked: int


async def bomb(talk: Talk) -> None:
    await talk.say(START if talk.path == "/" else answer(BOMB, "Content-Type: text/html", "Content-Encoding: gzip"))


async def drip(talk: Talk) -> None:
    if talk.path == "/":
        return await talk.say(START)
    await talk.drip(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000, 0.5)


async def endless(talk: Talk) -> None:
    if talk.path == "/":
        return await talk.say(START)
    await talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not talk.writer.is_closing():
        await talk.say(b"<a href=x>y</a>" * 1_000)
        talk.sent.clear()
        await asyncio.sleep(0.05)


async def redirects(talk: Talk) -> None:
    onward = answer(b"", f"Location: {talk.path.rstrip('/')}/x", status="302 Found")
    await talk.say(START if talk.path == "/" else onward)


async def too_many(talk: Talk) -> None:
    await talk.say(START if talk.path == "/" else answer(b"", status="429 Too Many Requests"))


async def reset(talk: Talk) -> None:
    if talk.path == "/":
        return await talk.say(START)
    talk.reset()


HOSTILE = [bomb] * 4 + [drip] * 4 + [endless] * 3 + [redirects] * 3 + [too_many] * 3 + [reset] * 3


def main() -> int:
    options = argparse.ArgumentParser("python -m benchmarks.hostile", description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--pages", type=int, default=PAGES, help="of each good host")
    options.add_argument("--save", action="store_true", help="write the result into RESULTS.md")
    given = options.parse_args()
    alone, beside = compare(given.rounds, given.pages)
    text = report(alone, beside)
    print(text)
    if given.save:
        save("hostile", text)
    return 0 if holds(alone, beside) else 1


def compare(rounds: int, pages: int) -> tuple[list[Run], list[Run]]:
    """(alone, beside the hostile hosts), in turn."""
    alone, beside = [], []
    for _ in range(rounds):
        alone.append(run(pages, hostile=False))
        beside.append(run(pages, hostile=True))
    return alone, beside


def ratio(alone: list[Run], beside: list[Run]) -> float:
    """The good site's rate beside the hostile hosts, as a part of that alone: medians."""
    return statistics.median(one.rate for one in beside) / statistics.median(one.rate for one in alone)


def holds(alone: list[Run], beside: list[Run]) -> bool:
    fattest = max(one.worker_bytes for one in beside)
    return ratio(alone, beside) >= RATE_MIN and fattest < Config().worker_memory_max


def report(alone: list[Run], beside: list[Run]) -> str:
    lines = ["## A good site beside twenty hostile hosts\n", where() + "\n"]
    lines += ["| crawl | pages/s of the good site | range | largest worker MB | front MB | requests to hostile hosts |"]
    lines += ["| --- | ---: | --- | ---: | ---: | ---: |"]
    for name, runs in (("alone", alone), ("beside", beside)):
        rates = [one.rate for one in runs]
        asked = statistics.median(one.asked for one in runs)
        lines.append(
            f"| {name} | {statistics.median(rates):,.0f} | {min(rates):,.0f}-{max(rates):,.0f}"
            f" | {max(one.worker_bytes for one in runs) / 1e6:,.0f} | {max(one.front_bytes for one in runs) / 1e6:,.0f} | {asked:,.0f} |"
        )
    share = ratio(alone, beside)
    lines.append(f"\nThe good site keeps {share:.1%} of its speed (promised: {RATE_MIN:.0%}), {len(alone)} rounds.\n")
    return "\n".join(lines)


def run(pages: int, *, hostile: bool) -> Run:
    """Crawl until the good site's last page was asked for."""
    with tempfile.TemporaryDirectory(prefix="nephila-hostile-") as place:
        folder = Path(place)
        log = folder / "good.log"
        command = [sys.executable, "-m", "nephila.testing.server", "--site", f"synthetic:{pages},20,8000"]
        command += ["--hosts", str(HOSTS), "--delay", str(ANSWER_S), "--log", str(log)]
        with (
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as good,
            TortureServer(cases() if hostile else []) as server,
        ):
            assert good.stdout is not None
            assert good.stdin is not None
            first = good.stdout.readline().strip()
            seeds = [first.replace("127.0.0.1", f"127.0.0.{n}") for n in range(1, HOSTS + 1)]
            seeds += [*(place.seed for place in server.places.values())]
            (folder / "settings.toml").write_text(
                "".join(f"{key} = {_toml(value)}\n" for key, value in SETTINGS.items())
            )
            with Crawl([*seeds, "-o", "job", "--config", "settings.toml", "--quiet"], cwd=folder) as crawl:
                worker, front = _watch(crawl, log, pages * HOSTS)
            good.stdin.close()
            times = [hit.time for hit in hits(log) if hit.path != "/robots.txt"]
            asked = sum(len(place.hits) for place in server.places.values())
        times = [when for when in times if when > times[0] + WARM_S]
        return Run((len(times) - 1) / (times[-1] - times[0]), worker, front, asked)


def cases() -> list[Case]:
    return [
        Case(row=ROWS["A13"], name=f"{route.__name__}{n}", route=route, outcome="OK") for n, route in enumerate(HOSTILE)
    ]


def _watch(crawl: Crawl, log: Path, pages: int) -> tuple[int, int]:
    """Most memory of one worker and of the front, until all pages were asked for."""
    worker = front = 0
    end = time.monotonic() + TIME_S_MAX
    while not log.exists() or log.read_bytes().count(b"\n") <= pages:
        if time.monotonic() > end or not crawl.running:
            raise SystemExit(f"the good site was not crawled to its end: {log.read_bytes().count(10)} requests")
        worker = max([worker, *map(resident, crawl.workers())])
        front = max(front, resident(crawl.front))
        time.sleep(LOOK_S)
    return worker, front


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


if __name__ == "__main__":
    sys.exit(main())
