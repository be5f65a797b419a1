"""The view `warc`: the records of a job, or of foreign archives in any form, as one WARC file with a gzip member per record.

The bytes of the records are copied as they lie; a job's own archive files hold the same, and with them what `--with` would have
to be given for. A revisit whose original is left out keeps saying what it repeats.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import nephila
from nephila.archive import record
from nephila.archive.group import member
from nephila.archive.reader import Place
from nephila.errors import Damaged
from nephila.views import whole
from nephila.views.registry import Order
from nephila.views.source import Kept, Source

SOFTWARE = f"nephila/{nephila.__version__}"
_BLOCK = 1 << 20


def export(source: Source, order: Order) -> str:
    """The view `warc`."""
    name = order.target.name if order.target else "nephila.warc.gz"
    visits = [0]

    def count(kept: Kept, at: int) -> None:
        visits[0] += 1

    whole.write(members(source, name, count), order.target)
    return f"{visits[0]:,} visits in {order.target or 'standard output'}"


def members(source: Source, name: str, begins: Callable[[Kept, int], object]) -> Iterator[bytes]:
    """The bytes of a file of this name. `begins` is told of each visit before its records come, and of their offset."""
    lead = member(record.warcinfo(name, {"software": SOFTWARE, "format": "WARC File Format 1.1"}))
    yield lead
    at = len(lead)
    for kept in source.visits():
        if kept.length:
            begins(kept, at)
            yield from _copied(source.place(kept))
            at += kept.length


def _copied(place: Place) -> Iterator[bytes]:
    path, at, left = place
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        while left:
            block = os.pread(fd, min(left, _BLOCK), at)
            if not block:
                raise Damaged(f"{path} ends before offset {at + left}")
            yield block
            at, left = at + len(block), left - len(block)
    finally:
        os.close(fd)
