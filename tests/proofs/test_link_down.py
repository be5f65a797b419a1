"""The cable is pulled in the middle of a crawl: it waits, blames nobody, and ends as if nothing had happened.

Crawler and server each stand in a network namespace of their own, joined by a pair of virtual cables (ip-netns(8), veth(4)), so
that nothing here touches the machine's own network. The server's end going down is a router that fell silent (EHOSTUNREACH
after some seconds, or nothing at all); our own end going down is a cable out of the machine (ENETUNREACH at once). Requests that
were under way only stall, and kept connections look alive.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from crash.compare import left

from nephila.testing.groups import until
from nephila.types import SILENCE

ADDRESS, PORT = "198.18.0.2", 8000
"""Benchmarking addresses (RFC 2544), which no network routes."""
PAGES = 400
AFTER_S_MAX = 90.0
"""A crawl that takes longer than this after the outage waits for something that does not come."""

SHORT = {
    "offline_after_s": 2.0,
    "offline_probe_s": 1.0,
    "connect_timeout_s": 2.0,
    "header_timeout_s": 2.0,
    "low_speed_s": 2.0,
    "retry_wait_s": 0.2,
    "retry_wait_max_s": 1.0,
}
"""Waits that let an outage of some seconds be noticed."""


class Done(NamedTuple):
    """What a crawl left: events in order, outcome of every URL, and the attempts that counted, as (reason, how many)."""

    events: list[dict[str, Any]]
    outcomes: dict[str, tuple[str, str]]
    attempts: dict[str, int]


class Away:
    """Two namespaces and a cable. `crawler` and `server` name their ends; `undo` removes it all."""

    def __init__(self) -> None:
        self.crawler, self.server = (f"nephila-{os.getpid()}-{side}" for side in "cs")

    def make(self) -> Away:
        with ExitStack() as undo:
            for space in (self.crawler, self.server):
                ip("netns", "add", space)
                undo.callback(ip, "netns", "delete", space)
            ip("link", "add", "cable", "netns", self.crawler, "type", "veth", "peer", "cable", "netns", self.server)
            for space, address in ((self.crawler, "198.18.0.1"), (self.server, ADDRESS)):
                ip("-n", space, "address", "add", f"{address}/30", "dev", "cable")
                self.plug(space, "up")
            self.undo = undo.pop_all()
        return self

    def plug(self, space: str, state: str) -> None:
        ip("-n", space, "link", "set", "cable", state)

    def start(self, space: str, *command: str, **streams: Any) -> subprocess.Popen[str]:
        """A Python command inside a namespace."""
        return subprocess.Popen(["ip", "netns", "exec", space, sys.executable, *command], text=True, **streams)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=10)


EARLY_MAX = 2 * 8
"""Requests under way when the cable was pulled end in silence, and may be tried once more, before `offline_after_s` is over."""


@pytest.fixture
def away() -> Iterator[Away]:
    if not sys.platform.startswith("linux") or shutil.which("ip") is None:
        pytest.skip("system: no ip command (Debian package iproute2)")
    if os.geteuid() != 0:
        pytest.skip("system: network namespaces are for root only")
    made = Away()
    try:
        made.make()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"system: no network namespaces here ({error.stderr.decode().strip()})")
    with made.undo:
        yield made


@pytest.mark.parametrize("end", ["server", pytest.param("crawler", marks=pytest.mark.long)])
def test_an_outage_of_some_seconds_changes_nothing(end: str, away: Away, tmp_path: Path) -> None:
    calm = crawl(away, tmp_path / "calm", SHORT)
    torn = crawl(away, tmp_path / "torn", SHORT, end, outage_s=10.0)
    complaints = differences(torn, calm)
    assert complaints == []


@pytest.mark.long
@pytest.mark.parametrize("end", ["server", "crawler"])
def test_a_minute_without_network_changes_nothing(end: str, away: Away, tmp_path: Path) -> None:
    """With the limits that a user has who sets none."""
    calm = crawl(away, tmp_path / "calm", {})
    torn = crawl(away, tmp_path / "torn", {}, end, outage_s=60.0)
    complaints = differences(torn, calm)
    assert complaints == []


def differences(torn: Done, calm: Done) -> list[str]:
    """What the outage changed, and what should have been said about it and was not."""
    found = [
        f"{url}: {torn.outcomes.get(url)}, undisturbed {outcome}"
        for url, outcome in calm.outcomes.items()
        if torn.outcomes.get(url) != outcome
    ]
    found += [f"met in one crawl only: {url}" for url in calm.outcomes.keys() ^ torn.outcomes.keys()]
    found += [f"counted: {n} x {reason}" for reason, n in torn.attempts.items() if reason not in SILENCE]
    if (early := sum(torn.attempts.values())) > EARLY_MAX:
        found.append(f"counted {early} times, and only what was under way before anyone could know may count")
    network = [event["event"] for event in torn.events if event["event"].startswith("network.")]
    return found if network == ["network.lost", "network.back"] else [*found, f"said of the network: {network}"]


def crawl(away: Away, folder: Path, config: dict[str, float], end: str = "", outage_s: float = 0.0) -> Done:
    """A whole crawl of 400 pages; with `end`, that end of the cable is out for a while after a quarter of them."""
    hits = folder.with_suffix(".hits")
    file = folder.with_suffix(".toml")
    file.write_text("".join(f"{key} = {value}\n" for key, value in config.items()))
    options = ["--allow-private", "--delay", "0", "--per-host", "8", "--workers", "2", "--quiet", "--config", str(file)]
    site = [str(Path(__file__).with_name("away.py")), ADDRESS, str(PORT), f"synthetic:{PAGES},20,3000"]
    with (
        hits.open("w") as out,
        away.start(away.server, *site, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL) as server,
    ):
        until(lambda: "ready" in hits.read_text(), 10.0, lambda: "the server does not start")
        command = ["-m", "nephila", "crawl", f"http://{ADDRESS}:{PORT}/", "-o", str(folder), *options]
        with away.start(away.crawler, *command) as running:
            try:
                if end:
                    until(lambda: hits.read_text().count("\n") > PAGES // 4, 30.0, lambda: "the crawl does not start")
                    interrupt(away, getattr(away, end), outage_s)
                assert running.wait(AFTER_S_MAX) == 0
            finally:
                running.kill()
        assert server.stdin is not None
        server.stdin.close()
    return read(folder)


def interrupt(away: Away, space: str, outage_s: float) -> None:
    away.plug(space, "down")
    time.sleep(outage_s)
    away.plug(space, "up")


def read(folder: Path) -> Done:
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    with sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True) as con:
        attempts = dict(con.execute("SELECT reason, count(*) FROM attempt GROUP BY reason").fetchall())
    con.close()
    return Done(events, left(folder).outcomes, attempts)
