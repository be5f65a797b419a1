"""Looked at once a second: when the crawl will end, what holds it up right now, and what somebody should know about.

Nothing of this is done per page. What holds it up is asked of one second at a time, in the order below, and told as the
share of the last minute: who is paused waits for nobody, who has no network for no host, and so on; a crawl whose
workers have room and whose hosts all wait for their pause is held up by its manners.
"""

from __future__ import annotations

import os
import shutil
import string
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nephila import db
from nephila.config import Config
from nephila.frontier.gauge import Gauge
from nephila.stats import forecast

SAMPLES_MAX = 60
"""Seconds that count as right now."""
BUSY = 0.9
"""A process that used so much of a second's processor time had no more."""
HOSTS_MAX = 5
DISK_HOURS = 1.0
"""A disk that is full sooner, at the rate so far, is filling."""
LOG_BYTES_MAX, LOG_S_MAX = 256 << 20, 60.0
"""The database's log grows past this only while a reader holds it back."""
WARNINGS_MAX = 20
TOLD = {
    "trap.suspected": ("trap", "{pages} addresses like {origin}{form} say nothing new: the rest is refused"),
    "host.unreachable": ("host", "{origin} does not answer any more ({reason})"),
    "host.parked": ("host", "{origin} is left alone: {why}"),
    "robots.unreachable": ("host", "{origin}/robots.txt cannot be read ({reason})"),
    "proxy.none": ("proxy", "no proxy works ({proxy}: {reason})"),
    "worker.died": ("worker", "worker {worker} ended unasked and was replaced"),
    "login.given_up": ("login", "the login at {url} is given up ({reason})"),
    "store.failed": ("store", "{file} is not in the store ({reason})"),
    "failing": ("failing", "{origin} has failed {failures} times in a row"),
    "network": ("network", "no network: waiting, nothing is counted as failed"),
    "disk": ("disk", "the disk is filling: {free:,} bytes are free, the crawl stops at {min_free:,}"),
    "reader": ("reader", "a reader holds the database's log back: {bytes:,} bytes; let it end"),
}
"""What is worth a warning: an event, or what is seen here; its kind, and the sentence."""


class Gauges:
    """`look` gives the scheduler's gauge, `room` how many requests may run at once, `pids` the processes that do the work."""

    def __init__(
        self,
        folder: Path,
        look: Callable[[], Gauge],
        config: Callable[[], Config],
        room: Callable[[], int],
        pids: Callable[[], list[int]],
    ) -> None:
        self._folder, self._look, self._config, self._room, self._pids = folder, look, config, room, pids
        self._history = forecast.History()
        self._held: deque[tuple[str, tuple[str, ...]]] = deque(maxlen=SAMPLES_MAX)
        self._warnings: dict[tuple[str, str], dict[str, Any]] = {}
        self._seen_s: dict[int, float] = {}
        self._at = 0.0
        self._free: tuple[float, int] | None = None
        self._log_since: float | None = None
        self._forecast: forecast.Forecast | None = None

    def status(self) -> dict[str, Any]:
        """Keys `forecast`, `limited_by` and `warnings` of the status (docs/commands.md)."""
        held = Counter(what for what, _ in self._held)
        hosts = dict(self._held)
        limits = [
            {"what": what, "share": round(n / len(self._held), 2), "hosts": list(hosts[what])}
            for what, n in held.most_common()
        ]
        return {
            "forecast": self._forecast._asdict() if self._forecast else None,
            "limited_by": limits,
            "warnings": sorted(self._warnings.values(), key=lambda one: one["since"]),
        }

    def heard(self, event: str, fields: dict[str, Any]) -> None:
        """An event of the log. Some are worth a warning until the crawl ends."""
        if event in TOLD:
            about = str(fields.get("form") or fields.get("origin") or fields.get("worker") or fields.get("file") or "")
            self._warn(event, about, fields)

    def sample(self) -> None:
        """Look. Once a second."""
        gauge, c = self._look(), self._config()
        hosts = {line.origin: forecast.Line(line.done, line.queued, line.request_s) for line in gauge.lines}
        found = gauge.visits + gauge.queued
        moment = forecast.Moment(gauge.seconds, gauge.visits, found, gauge.queued, gauge.kept, gauge.bytes, hosts)
        if not gauge.paused and gauge.offline_since is None:
            self._history.add(moment)
        budgets = forecast.Budgets(c.max_pages, c.max_bytes, c.max_time, c.site_pages if not c.site_pages_max else 0)
        self._forecast = forecast.forecast(self._history.moments, moment, budgets)
        self._held.append(self._holds_up(gauge))
        self._watch(gauge, c)

    # --- what holds it up -------------------------------------------------------------------------------------------

    def _holds_up(self, gauge: Gauge) -> tuple[str, tuple[str, ...]]:
        """One word for this second, and the hosts it is about."""
        busy = self._busy(gauge.now)
        if gauge.paused:
            return "paused", ()
        if gauge.held and not gauge.queued and not gauge.leases:
            return "paused", tuple(gauge.held[:HOSTS_MAX])
        if gauge.offline_since is not None:
            return "network", ()
        if gauge.full:
            return "disk", ()
        if busy:
            return "cpu", ()
        if gauge.leases >= self._room():
            return "connections", ()
        if gauge.looked_up and not gauge.due and not gauge.leases:
            return "dns", ()
        if gauge.lines:
            return "manners", tuple(line.origin for line in gauge.lines[:HOSTS_MAX])
        return ("dns", ()) if gauge.looked_up else ("nothing", ())

    def _busy(self, now: float) -> bool:
        """Whether the front or one of the workers had no more processor time since the last look."""
        used = {pid: spent for pid in [os.getpid(), *self._pids()] if (spent := processor_s(pid)) is not None}
        before, passed = self._seen_s, now - self._at
        self._seen_s, self._at = used, now
        return passed > 0 and any(spent - before.get(pid, spent) > BUSY * passed for pid, spent in used.items())

    # --- warnings ---------------------------------------------------------------------------------------------------

    def _watch(self, gauge: Gauge, c: Config) -> None:
        """What is so now; what is not so any more is taken back."""
        failing = dict(gauge.failing)
        for kind, about in [key for key in self._warnings if key[0] == "failing" and key[1] not in failing]:
            del self._warnings[kind, about]
        for origin, failures in failing.items():
            self._warn("failing", origin, {"origin": origin, "failures": failures})
        offline = gauge.offline_since
        self._now(offline is not None, "network", {}, offline)
        self._watch_disk(gauge, c)
        self._watch_log(gauge.now)

    def _watch_disk(self, gauge: Gauge, c: Config) -> None:
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError:
            return
        self._free = self._free or (gauge.now, free)
        since, at_first = self._free
        rate = (at_first - free) / max(gauge.now - since, 1.0)
        left_s = (free - c.min_free) / rate if rate > 0 and gauge.now - since > SAMPLES_MAX else float("inf")
        low = free < 2 * c.min_free or left_s < 3600 * DISK_HOURS
        self._now(low, "disk", {"free": free, "min_free": c.min_free})

    def _watch_log(self, now: float) -> None:
        try:
            size = os.stat(f"{db.database(self._folder)}-wal").st_size
        except OSError:
            size = 0
        self._log_since = (self._log_since or now) if size > LOG_BYTES_MAX else None
        held = self._log_since is not None and now - self._log_since >= LOG_S_MAX
        self._now(held, "reader", {"bytes": size})

    def _now(self, so: bool, name: str, facts: dict[str, Any], since: float | None = None) -> None:
        if so:
            self._warn(name, "", facts, since)
        else:
            self._warnings.pop((name, ""), None)

    def _warn(self, name: str, about: str, fields: dict[str, Any], since: float | None = None) -> None:
        """Since when: since it was so first."""
        kind, sentence = TOLD[name]
        facts = {key: fields[key] for _, key, _, _ in string.Formatter().parse(sentence) if key}
        known = self._warnings.get((kind, about))
        begun = known["since"] if known else since or time.time()
        text = sentence.format(**facts)
        self._warnings[kind, about] = {
            "kind": kind,
            "text": text,
            "since": round(begun, 3),
            "name": name,
            "facts": facts,
        }
        if len(self._warnings) > WARNINGS_MAX:
            del self._warnings[next(iter(self._warnings))]


def processor_s(pid: int) -> float | None:
    """Processor time that a process has used: fields 14 and 15 of /proc/PID/stat (proc_pid_stat(5)). Our own everywhere; of
    others None where there is no /proc."""
    if pid == os.getpid():
        return time.process_time()
    if sys.platform != "linux":
        return None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return None
