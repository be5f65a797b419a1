"""The browsable mirror: the kept pages as files whose links lead to each other, so that a site opens from disk.

First every kept URL gets its place (`plan.py`), then the files are written, by several processes when they are many
(`copyist.py`), each one whole or not at all. The mirror knows what it is made of (`ledger.py`): the same command goes on after a
kill, changes only what changed, and removes what is gone. `index.jsonl` maps every file to its URL.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import msgspec

from nephila.errors import ConfigError
from nephila.views import copyist, plan, start
from nephila.views.folder import Folder
from nephila.views.ledger import Ledger
from nephila.views.registry import Order
from nephila.views.source import Source

WORKERS_MAX = 64
FILES_MIN = 2000
"""Fewer files are written by this process: another takes as long to start as to write some hundred."""


class MirrorReport(msgspec.Struct, frozen=True):
    """What an export did. `files` and `bytes` are what the mirror now holds, `changed` and `removed` files of it this time. `missing`
    counts links to pages that are not kept (they lead to the live site), `unreadable` names kept pages whose content could not
    be read back."""

    files: int
    bytes: int
    changed: int
    removed: int
    missing: int
    unreadable: list[str]


def export(source: Source, order: Order) -> str:
    """The view `mirror`."""
    done = mirror(source, order.path, _workers(order.chosen.get("workers")))
    removed = f", {done.removed:,} removed" if done.removed else ""
    lost = f"; {len(done.unreadable)} pages could not be read back" if done.unreadable else ""
    return (
        f"{done.files:,} files, {done.bytes:,} bytes ({done.changed:,} written{removed}): "
        f"open {order.path / 'index.html'}{lost}"
    )


def _workers(given: str | None) -> int | None:
    if given is None:
        return None
    if not given.isdecimal() or int(given) > WORKERS_MAX:
        raise ConfigError(f"--workers {given}: give a number of processes from 0 to {WORKERS_MAX}")
    return int(given)


def mirror(source: Source, target: Path, workers: int | None = None) -> MirrorReport:
    """Write the mirror of a job into `target` (made if absent), with so many processes (None: as many as there are processors, if
    there is work for them). Raises ConfigError for a bad target."""
    with Folder(target) as out, tempfile.TemporaryDirectory(prefix="nephila-") as scratch:
        places = Path(scratch) / "plan.db"
        plan.make(source, places)
        with Ledger(target, places, out) as ledger:
            changed, unreadable = 0, list[str]()
            todo: Iterator[int] = ledger.to_do()
            if workers is None:
                first = list(islice(todo, FILES_MIN))
                workers, todo = _hands(len(first)), chain(first, todo)
            for share in copyist.shares(source, places, target, todo, workers, fresh=ledger.bare):
                ledger.record(share.files)
                changed += share.changed
                unreadable += share.unreadable[: 1000 - len(unreadable)]
            files, size, missing = ledger.totals()
            out.write("index.jsonl", ledger.index())
            out.write("index.html", [_start(source, places, files, size)])
        return MirrorReport(files, size, changed, ledger.removed, missing, unreadable)


def _hands(files: int) -> int:
    """One process per processor, when there is work for them; a single one would win nothing."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, WORKERS_MAX) if files == FILES_MIN and processors > 1 else 0


def _start(source: Source, places: Path, files: int, size: int) -> bytes:
    with closing(plan.Plan(places)) as found:
        return start.page(files, size, found.seeds(source.seeds()), found.hosts(), *found.numbers()).encode()
