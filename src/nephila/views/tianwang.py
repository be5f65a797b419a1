"""The view `tianwang`: the pages kept as a file in the format of the Tianwang page store (`archive/tianwang.py`).

Its readers know no chunks and no content encodings, so the data is the answer's header and its decoded content, with the header
lines that spoke of either left out and the length as it is now.
"""

from __future__ import annotations

from collections.abc import Iterator

from nephila.archive import tianwang
from nephila.errors import Damaged
from nephila.views import whole
from nephila.views.registry import Order
from nephila.views.source import Kept, Source

_GONE = frozenset({"transfer-encoding", "content-encoding", "content-length"})


def export(source: Source, order: Order) -> str:
    """The view `tianwang`; with `compressed` every record's data is."""
    unreadable = list[str]()
    count = whole.write(_records(source, bool(order.chosen.get("compressed")), unreadable), order.target)
    lost = f"; {len(unreadable)} pages could not be read back" if unreadable else ""
    return f"{count:,} pages in {order.target or 'standard output'}{lost}"


def _records(source: Source, compressed: bool, unreadable: list[str]) -> Iterator[bytes]:
    for kept in source.pages():
        try:
            data = _data(source, kept)
        except Damaged:
            unreadable.append(kept.url)
            continue
        origin = kept.parent_url if kept.kind == "redirect" else ""
        yield tianwang.write(tianwang.Answer(kept.url, kept.started, data, kept.ip, origin), compressed=compressed)


def _data(source: Source, kept: Kept) -> bytes:
    found = source.content(kept, tianwang.DATA_MAX)
    if not found.head.startswith(b"HTTP/"):  # FTP: a header says the type, as a page's would
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kept.media_type}\r\n".encode()
    else:
        lines = [line for line in found.head.split(b"\r\n") if _name(line) not in _GONE]
        head = b"\r\n".join(line for line in lines if line) + b"\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(found.content) + found.content


def _name(line: bytes) -> str:
    return line.partition(b":")[0].strip().lower().decode("latin-1")
