"""The view `warc`: the records of a job, or of foreign archives in any form, as one WARC file with a gzip member per record.

The bytes of the records are copied as they lie; a job's own archive files hold the same, and with them what `--with` would have
to be given for. A revisit whose original is left out keeps saying what it repeats.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import nephila
from nephila.archive import record
from nephila.archive.group import member
from nephila.errors import Damaged
from nephila.views import whole
from nephila.views.registry import Order
from nephila.views.source import Source

_BLOCK = 1 << 20


def export(source: Source, order: Order) -> str:
    """The view `warc`."""
    name = order.target.name if order.target else "nephila.warc.gz"
    visits = [0]
    whole.write(_members(source, name, visits), order.target)
    return f"{visits[0]:,} visits in {order.target or 'standard output'}"


def _members(source: Source, name: str, visits: list[int]) -> Iterator[bytes]:
    yield member(
        record.warcinfo(name, {"software": f"nephila/{nephila.__version__}", "format": "WARC File Format 1.1"})
    )
    for kept in source.visits():
        if not kept.length:
            continue
        visits[0] += 1
        path, at, left = source.place(kept)
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
