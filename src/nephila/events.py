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
from typing import Any, NamedTuple

from nephila.clock import iso


class Event(NamedTuple):
    """What an event says, and the names of its fields (all of them, in order)."""

    says: str
    fields: tuple[str, ...]


def _event(says: str, fields: str = "") -> Event:
    return Event(says, tuple(fields.split()))


EVENTS = {
    "crawl.start": _event("a crawl began in an empty folder", "version seeds workers"),
    "crawl.resume": _event("a crawl was carried on", "queued done"),
    "crawl.end": _event("the crawl ended", "code reason text"),
    "scope.widened": _event(
        "a seed redirected inside its registrable domain, so the target's host is in scope too", "seed target"
    ),
    "seed.elsewhere": _event("a seed redirected to another registrable domain, which is not in scope", "seed target"),
    "seed.http": _event(
        "nothing speaks TLS at an address that was given without a scheme, so http is tried", "origin reason"
    ),
    "worker.start": _event("a worker process was started", "worker pid"),
    "worker.died": _event("a worker process ended unasked", "worker pid status lease reason leases said"),
    "worker.blamed": _event("a page killed the worker that read it", "url reason"),
    "host.parked": _event("a host asked for a long wait, or refused too often in a row", "origin until why"),
    "host.unreachable": _event("a host failed too often in a row and was given up", "origin reason"),
    "host.refused": _event(
        "a host answered 429 or 503, or an FTP server that it is full: it is left alone for a while",
        "origin status until",
    ),
    "site.full": _event("a site has given as many pages as its budget allows; its URLs wait", "site pages budget"),
    "site.hosts": _event("a site has more hosts than site_hosts; the others wait", "site hosts origin"),
    "trap.met": _event(
        "an address was refused as a trap, for the first time in this run under this rule", "rule url page"
    ),
    "trap.suspected": _event(
        "pages of one form of address say nothing new: what is queued and met of it is refused from now on",
        "rule origin form pages samples",
    ),
    "soft_404": _event(
        "a host answers 200 for a name that nobody has; pages that say the same are flagged, their links not followed",
        "url digest",
    ),
    "robots.unreachable": _event("robots.txt could not be fetched, so the origin's URLs are denied", "origin reason"),
    "tls.unverified": _event(
        "a host of `insecure` is read although its TLS certificate or protocol does not hold", "origin reason"
    ),
    "login.ok": _event("the form of a login was taken, and the page after it does not ask any more", "url"),
    "login.failed": _event("a login did not work", "url reason n"),
    "login.lost": _event("pages met the login again, so its session is over", "url pages"),
    "login.given_up": _event(
        "logins failed too often in a row; the site's pages wait for the next start", "url reason"
    ),
    "network.lost": _event("no host answers: our own network is taken to be away, nobody is blamed", "since"),
    "network.back": _event("a host answered again", "seconds"),
    "proxy.lost": _event(
        "a proxy does not work; others of its pool take its place, and it is tried again later", "proxy reason"
    ),
    "proxy.back": _event("a proxy works again", "proxy seconds"),
    "proxy.none": _event(
        "no proxy works (the last one is named): what needs one waits, nobody is blamed", "proxy reason"
    ),
    "clock.jumped": _event("the clock jumped (suspend, or set by hand), so hosts are not hurried", "seconds"),
    "archive.cut": _event("an archive file was cut back to its last committed record", "file from to"),
    "archive.damaged": _event(
        "an archive file does not read back; the visits beyond its sound part are queued again", "file visits"
    ),
    "store.done": _event("an archive file is in the store, checked", "file store bytes seconds"),
    "store.failed": _event(
        "an archive file did not get into the store, and is tried again unless this was the last time of this run",
        "file reason final",
    ),
    "store.aborted": _event("uploads that a kill had left half done were thrown away", "count"),
    "config.changed": _event("a crawl goes on with another setting", "key old new"),
    "rules.changed": _event("stored URLs were held against other rules", "back gone near far"),
    "archive.reread": _event(
        "kept pages were read again, for addresses that a lifted rule had refused and that were only counted",
        "count back text said",
    ),
    "hosts.paused": _event("only hosts are left that the user paused: the crawl waits", "queued origin"),
    "paused": _event("the crawl was paused by the user"),
    "resumed": _event("the crawl was unpaused by the user"),
    "disk.low": _event("the disk is full, or less is free than min_free", "text"),
    "handler.error": _event("a hook raised", "url error"),
}
"""Every event by its name; docs/events.md has the same table."""

FIELDS = {
    "back": "URLs that were refused and are queued now",
    "budget": "pages that a site may give (`site_pages`, `site_pages_max`)",
    "bytes": "size of the file",
    "code": "exit code (commands.md)",
    "count": "how many there were",
    "digest": "digest of the body (schema.md, `visit.digest`)",
    "done": "URLs that have their outcome",
    "error": "what was raised: its class and text",
    "file": "name of a file in DIR/archive",
    "far": "URLs that were queued and are too deep now",
    "final": "true: not tried again in this run",
    "form": "form of address: what differs is written `*`",
    "from": "length before, bytes",
    "gone": "URLs that were queued and are refused now",
    "hosts": "hosts of the site that are asked",
    "key": "key of the settings (options.md)",
    "lease": "id of the lease whose page was being read; 0: none",
    "leases": "leases that were given back",
    "lost": "in any event: lines before this one that could not be written",
    "n": "how often in a row",
    "near": "URLs that were too deep and are queued now",
    "new": "value from now on",
    "old": "value before",
    "origin": "scheme, host and port",
    "page": "id of the page with the link (`url.id`); 0: a seed",
    "pages": "pages: of the form, of the site, or good ones of the session",
    "pid": "process id",
    "proxy": "address of a proxy, without its password",
    "queued": "URLs that wait",
    "reason": "reason as in the tables (network.md); of `crawl.end`: how it ended (commands.md)",
    "rule": "rule that refuses (`rule.text`)",
    "said": "last lines that the process wrote to standard error",
    "samples": "pages of the form that were compared",
    "seconds": "how long, or how far",
    "seed": "address that the crawl was started from",
    "seeds": "how many addresses it was started from",
    "since": "Unix time",
    "site": "registrable domain",
    "status": "status of the answer; of `worker.died`: exit status of the process, negative: the signal that ended it",
    "store": "where it is",
    "target": "address that it redirects to",
    "text": "a sentence",
    "to": "length after, bytes",
    "until": "Unix time",
    "url": "address of the page",
    "version": "version of Nephila",
    "visits": "visits that are queued again",
    "why": "a few words",
    "worker": "number of the worker",
    "workers": "number of worker processes; 0: none, all is done in the front",
}
"""What the fields mean."""

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
