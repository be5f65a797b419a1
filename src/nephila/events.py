"""log.jsonl: what happened to a crawl, one JSON object per line, for people and for tools.

The log explains, the database decides: a line that cannot be written (full disk, lost mount) is counted and never stops
the crawl; the next line that can be written says how many are missing.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nephila.clock import iso

EVENTS = {
    "crawl.start": "a crawl began in an empty folder: version, seeds, workers",
    "crawl.resume": "a crawl was carried on: how much was queued and done",
    "crawl.end": "the crawl ended: exit code, reason, totals",
    "scope.widened": "a seed redirected inside its registrable domain, so the target's host is in scope too: seed, target",
    "seed.elsewhere": "a seed redirected to another registrable domain, which is not in scope: seed, target",
    "seed.http": "nothing speaks TLS at an address that was given without a scheme, so http is tried: origin, reason",
    "worker.start": "a worker process was started: worker, pid",
    "worker.died": "a worker process ended unasked: worker, pid, how, leases given back",
    "worker.blamed": "a page killed the worker that read it: url, how often",
    "host.parked": "a host asked for a long wait, or is over its budget: origin, until",
    "host.unreachable": "a host failed too often in a row and was given up: origin, reason",
    "host.refused": "a host answered 429 or 503, or an FTP server that it is full: origin",
    "host.paused": "a host asked for a pause by Retry-After: origin, seconds",
    "site.full": "a site has given as many pages as its budget allows; its URLs wait: site, pages, budget",
    "site.hosts": "a site has more hosts than site_hosts; the others wait: site, hosts, origin of the first that does",
    "trap.met": "an address was refused as a trap, for the first time in this run under this rule: rule, url, page (url.id)",
    "trap.suspected": "pages of one form of address say nothing new: what is queued and met of it is refused from now on: rule,"
    " origin, form, pages, samples",
    "soft_404": "a host answers 200 for a name that nobody has; pages that say the same are flagged, their links not"
    " followed: url, digest",
    "robots.unreachable": "robots.txt could not be fetched, so the origin's URLs are denied: origin, reason",
    "tls.unverified": "a host of `insecure` is read although its TLS certificate or protocol does not hold: origin, reason",
    "login.ok": "the form of a login was taken, and the page after it does not ask any more: url",
    "login.failed": "a login did not work: url, reason, n (in a row)",
    "login.lost": "pages met the login again, so its session is over: url, pages (good ones in it)",
    "login.given_up": "logins failed too often in a row; the site's pages wait for the next start: url, reason",
    "network.lost": "no host answers: our own network is taken to be away, nobody is blamed",
    "network.back": "a host answered again: seconds without network",
    "proxy.lost": "a proxy does not work; others of its pool take its place, and it is tried again later: proxy, reason",
    "proxy.back": "a proxy works again: proxy, seconds",
    "proxy.none": "no proxy works: what needs one waits, nobody is blamed: proxy (the last one), reason",
    "clock.jumped": "the clock jumped (suspend, or set by hand), so hosts are not hurried: seconds",
    "archive.cut": "an archive file was cut back to its last committed record: file, from, to",
    "archive.damaged": "an archive file does not read back; the visits beyond its sound part are queued again: file, visits",
    "store.done": "an archive file is in the store, checked: file, store, bytes, seconds",
    "store.failed": "an archive file did not get into the store, and is tried again unless this was the last time of this run:"
    " file, reason, final",
    "store.aborted": "uploads that a kill had left half done were thrown away: count",
    "config.changed": "a resumed crawl has another setting: key, old, new, effect in numbers",
    "limit.reached": "a budget is used up: which, value",
    "paused": "the crawl was paused by the user",
    "resumed": "the crawl was unpaused by the user",
    "disk.low": "less is free on the disk than --min-free: free",
    "handler.error": "a hook raised: hook, url, error",
}
"""Every event: name → what it says."""

UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Characters that a terminal or an editor obeys instead of showing: C0, DEL, C1, line separators, bidirectional controls,
invisible tags; and lone surrogates, which no UTF-8 file can hold."""

ROLL_BYTES = 100_000_000


class Log:
    """The event log of one job. One process writes it; readers may follow it line by line."""

    def __init__(self, path: Path, wall: Callable[[], float] = time.time, roll_bytes: int = ROLL_BYTES) -> None:
        self._path, self._wall, self._roll_bytes = path, wall, roll_bytes
        self._fd = -1
        self.lost = 0
        """Lines that could not be written since the last one that could."""

    def emit(self, name: str, /, **fields: Any) -> None:
        """Append one event. Raises KeyError for a name that is not in EVENTS (a bug)."""
        if name not in EVENTS:
            raise KeyError(name)
        now = iso(self._wall(), "milliseconds")
        lost = {"lost": self.lost} if self.lost else {}
        self._append(line({"time": now, "event": name} | fields | lost))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _append(self, data: bytes) -> None:
        """One write(2) per line, so that a kill leaves whole lines."""
        try:
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            before = os.fstat(self._fd).st_size
            if before and before + len(data) > self._roll_bytes:
                self._roll()
                before = 0
            if os.write(self._fd, data) < len(data):
                os.ftruncate(self._fd, before)
                raise OSError("short write")
            self.lost = 0
        except OSError:
            self.lost += 1

    def _roll(self) -> None:
        """The old log becomes log.1.jsonl; the one before it goes."""
        self.close()
        os.replace(self._path, self._path.with_name(f"{self._path.stem}.1{self._path.suffix}"))
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def line(event: dict[str, Any]) -> bytes:
    """`event` as one line of JSON. Chinese stays readable; what a terminal would obey is escaped."""
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"), default=str)
    return (UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n").encode()
