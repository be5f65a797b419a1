"""What a crawl of the torture server left, case by case, and what is wrong with it.

`complaints` holds one case against what is promised for it and for all of them: one outcome with a reason, the archive's bytes
those of the wire, a cut body flagged, never two requests to a host at once. What is promised of the folder as a whole is
`folder_complaints`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from nephila.fetch.decode import decode
from nephila.testing.torture.cases import UNASKED, Case
from nephila.testing.torture.server import SENT_MAX, Place
from nephila.views.source import Kept, Source

SLACK_S = 0.01
"""The server's clock starts when the request is read, the crawl's when it is sent."""


class Observed(msgspec.Struct, frozen=True):
    """One URL after the crawl. `state` is that of table `url`, "" when it is not there; `kept` its visit, if it has one."""

    source: Source
    place: Place
    url: str
    state: str = ""
    attempts: int = 0
    kept: Kept | None = None
    head: bytes = b""
    body: bytes = b""
    payload: bytes = b""
    """As archived: the answer's head, its body as framed on the wire, the same without chunks."""

    @property
    def folder(self) -> Path:
        return self.source.folder

    @property
    def outcome(self) -> str:
        return self.kept.outcome if self.kept else self.state or "unknown"

    @property
    def reason(self) -> str:
        return self.kept.reason if self.kept else ""

    def other(self, url: str) -> Observed:
        """Another URL of the same crawl: absolute, or a path on the case's host."""
        return observe(self.source, self.place, url)

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of crawl.db."""
        return [tuple(row) for row in self.source.rows(sql, *values)]


def observe(source: Source, place: Place, url: str) -> Observed:
    """What the crawl in `source` has of a URL: absolute, or a path on the case's host."""
    url = url if "://" in url else place.url(url)
    rows = source.rows("SELECT id, state, attempts FROM url WHERE url = ?", url)
    if not rows:
        return Observed(source, place, url)
    id, state, attempts = rows[0]
    kept = next(iter(source.of([id])), None)
    if kept is None or not kept.file:
        return Observed(source, place, url, state, attempts, kept)
    with source.stored(kept) as stored:
        body, payload = b"".join(stored.body.blocks()), b"".join(stored.blocks())
        return Observed(source, place, url, state, attempts, kept, stored.head, body, payload)


def complaints(folder: Path, place: Place) -> list[str]:
    """What is wrong with one case, each line beginning with its name."""
    case = place.case
    with Source(folder, decode) as source:
        seen = observe(source, place, place.seed)
        found = [*_of_outcome(case, seen), *_of_server(case, place), *_of_archive(case, place, seen)]
        found += [line for url, expected in case.also.items() for line in _of_other(place, seen, url, expected)]
        if case.check is not None:
            found += case.check(seen)
    return [f"{case.id}: {line}" for line in found]


def _of_outcome(case: Case, seen: Observed) -> list[str]:
    found = []
    if (seen.outcome, seen.reason) != (case.outcome, case.reason):
        found.append(f"is {seen.outcome} {seen.reason!r}, not {case.outcome} {case.reason!r}")
    if case.attempts is not None and seen.attempts != case.attempts:
        found.append(f"took {seen.attempts} attempts, not {case.attempts}")
    if seen.kept is None:
        return found
    wanted = case.truncated
    if wanted is None:
        wanted = case.reason.removeprefix("truncated.") if case.reason.startswith("truncated.") else ""
    columns = {"truncated": wanted, **({} if case.links is None else {"links": case.links}), **case.visit}
    is_not = [(name, getattr(seen.kept, name), value) for name, value in columns.items()]
    return found + [f"{name} is {has!r}, not {value!r}" for name, has, value in is_not if has != value]


def _of_server(case: Case, place: Place) -> list[str]:
    hits = place.asked(case.path)
    found = []
    if case.requests is not None and len(hits) != case.requests:
        found.append(f"was asked {len(hits)} times, not {case.requests}")
    if case.connections is not None and place.connections != case.connections:
        found.append(f"took {place.connections} connections, not {case.connections}")
    if case.proxies and (past := place.accepted[place.addresses[0]]):
        found.append(f"was connected {past} times past its proxies")
    if place.in_flight_max > case.settings.get("per_host", 1):
        found.append(f"had {place.in_flight_max} requests at once")
    gaps = [later.time - earlier.time for earlier, later in pairwise(hits)]
    if case.gap_s is not None and gaps and min(gaps) < case.gap_s - SLACK_S:
        found.append(f"was asked again after {min(gaps):.2f} s, not {case.gap_s} s")
    return found


def _of_archive(case: Case, place: Place, seen: Observed) -> list[str]:
    """The archived bytes were on the wire, in one piece."""
    found = []
    if case.body is not None and seen.payload != case.body:
        found.append(f"the body is {seen.payload[:100]!r}, not {case.body[:100]!r}")
    said_only = seen.kept is not None and seen.kept.protocol == "ftp" and seen.outcome != "OK"
    head = b"" if case.joined else seen.head
    stored = b"" if said_only else (head + seen.body)[: SENT_MAX // 2]
    sent = [bytes(talk.sent) for talk in place.talks]
    # A revisit record has the body, and its framing, of another.
    whole = seen.kept is not None and not seen.kept.same_as
    if whole and stored and any(sent) and not any(stored in one for one in sent):
        found.append(f"the archive has bytes that were never sent: {stored[:200]!r}")
    return found


def _of_other(place: Place, seen: Observed, url: str, expected: str) -> list[str]:
    if expected == UNASKED:
        asked = place.asked(url[len(place.url("")) :] if url.startswith(place.url("")) else url)
        return [f"{url} was asked for {len(asked)} times"] if asked else []
    other = seen.other(url)
    said = f"{other.outcome} {other.reason}".strip()
    return [] if said == expected else [f"{url} is {said!r}, not {expected!r}"]


def folder_complaints(folder: Path) -> list[str]:
    """What is wrong with the job as a whole: the log has one JSON object per line and nothing that a terminal obeys, and every
    URL that was asked for ended once."""
    found = []
    for line in (folder / "log.jsonl").read_text("utf-8").splitlines():
        try:
            json.loads(line)
        except ValueError:
            found.append(f"log.jsonl: {line[:100]!r} is no JSON")
        if not line.isprintable():
            found.append(f"log.jsonl: {line[:100]!r} can steer a terminal")
    with Source(folder, decode) as source:
        twice = source.rows("SELECT url, count(*) FROM visit GROUP BY url HAVING count(*) > 1")
        nowhere = source.rows("SELECT url FROM url WHERE state = 'done' AND id NOT IN (SELECT url FROM visit)")
    return (
        found + [f"url {row[0]} has {row[1]} visits" for row in twice] + [f"{row[0]} is done, how?" for row in nowhere]
    )
