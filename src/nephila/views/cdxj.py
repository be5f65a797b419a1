"""The view `cdxj`: where the record of every visit lies, as the sorted index that replay tools read.

A line is `SURT 14-DIGIT-TIME JSON` (https://specs.webrecorder.net/cdxj/0.1.0/), in the order of its bytes, so that a reader finds
an address and its captures by halving. Revisits are lines, too (`mime` `warc/revisit`). The lines are sorted on disk.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator

import msgspec

from nephila.archive import index
from nephila.archive.index import Entry
from nephila.archive.reader import Place
from nephila.errors import ConfigError, Damaged
from nephila.url.surt import surt
from nephila.views import whole
from nephila.views.registry import Order
from nephila.views.source import Kept, Source

_ANSWERS = frozenset({"response", "revisit", "resource"})


class Capture(msgspec.Struct, frozen=True, omit_defaults=True):
    """The JSON of a line. Numbers are text, as the tools that read it expect."""

    url: str
    mime: str
    status: str = ""
    digest: str = ""
    length: str = ""
    offset: str = ""
    filename: str = ""


def export(source: Source, order: Order) -> str:
    """The view `cdxj`: the archive files stay where they are."""
    unreadable = 0
    with Lines() as lines:
        for kept in source.visits():
            if not kept.length:
                continue
            place = source.place(kept)
            if place.path.parent == source.folder:  # unpacked for this export, gone after it
                raise ConfigError(
                    f"the records of {place.path.name} are not gzip members that can be found by their place: "
                    "make one file of them first (nephila export warc --from FILE --to X.warc.gz)"
                )
            try:
                found = first(place)
            except Damaged:
                unreadable += 1
                continue
            # A job's file keeps its name also when it is only in the store; those of `--from` have one of their own here.
            lines.add(kept, found, place.path.name if source.files else kept.file, found.offset)
        count = whole.write_lines(lines.sorted(), order.target)
    lost = f"; {unreadable} records could not be read back" if unreadable else ""
    return f"{count:,} captures in {order.target or 'standard output'}{lost}"


def first(place: Place) -> Entry:
    """The first record of a visit: the answer. Raises Damaged when it is not whole."""
    fd = os.open(place.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return next(index.entries(fd, place.offset, place.offset + place.length))
    finally:
        os.close(fd)


class Lines:
    """Lines that come in any order and leave sorted. In a temporary database: memory does not grow with their number."""

    def __init__(self) -> None:
        self._con = sqlite3.connect("", isolation_level=None)
        self._con.executescript("PRAGMA journal_mode = OFF; BEGIN; CREATE TABLE line (line TEXT NOT NULL)")

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        self._con.close()

    def add(self, kept: Kept, found: Entry, filename: str, offset: int) -> None:
        """The record `found` of a visit, which lies at `offset` of `filename`. What is no answer has no line."""
        if found.type in _ANSWERS:
            capture = Capture(
                found.uri.removeprefix("<").removesuffix(">"),
                "warc/revisit" if found.type == "revisit" else kept.media_type or "unk",
                str(kept.status) if kept.status else "",
                found.headers.get("warc-payload-digest", ""),
                str(found.length),
                str(offset),
                filename,
            )
            line = f"{surt(kept.url)} {digits(kept.started)} {msgspec.json.encode(capture).decode()}"
            self._con.execute("INSERT INTO line VALUES (?)", (line,))

    def sorted(self) -> Iterator[bytes]:
        for (line,) in self._con.execute("SELECT line FROM line ORDER BY line"):
            yield line.encode()


def digits(moment: float) -> str:
    """A time as archives write it in addresses: YYYYMMDDhhmmss, UTC."""
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(moment))
