"""Tables made from the log: one JSON line per visit, one line per URL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from nephila.clock import iso
from nephila.views import whole
from nephila.views.registry import Order
from nephila.views.source import Kept, Source


def export_jsonl(source: Source, order: Order) -> str:
    """The view `jsonl`: one JSON object per visit, in order of commit."""
    encoder = msgspec.json.Encoder()
    count = whole.write_lines((encoder.encode(_row(source, kept)) for kept in source.visits()), order.target)
    return f"{count:,} visits in {order.target or 'standard output'}"


def export_urls(source: Source, order: Order) -> str:
    """The view `urls`: one URL per line of the pages that ended OK; with `every` all URLs, each with its state and last
    outcome (tabs between)."""
    if order.chosen.get("every"):
        rows: Iterator[str] = ("\t".join(row) for row in source.addresses())
    else:
        rows = (kept.url for kept in source.pages())
    count = whole.write_lines(map(_plain, rows), order.target)
    return f"{count:,} URLs in {order.target or 'standard output'}"


def _row(source: Source, kept: Kept) -> dict[str, Any]:
    return {
        "url": kept.url,
        "kind": kept.kind,
        "depth": kept.depth,
        "parent": kept.parent_url,
        "round": kept.round,
        "status": kept.status,
        "outcome": kept.outcome,
        "reason": kept.reason,
        "started": iso(kept.started, "milliseconds"),
        "ms": kept.ms,
        "bytes": kept.bytes,
        "media_type": kept.media_type,
        "charset": kept.charset,
        "title": kept.title,
        "language": kept.language,
        "digest": kept.digest,
        "ip": kept.ip,
        "protocol": kept.protocol,
        "moved_to": kept.moved_to,
        "truncated": kept.truncated,
        "items": source.items(kept),
        "links": kept.links,
    }


def _plain(line: str) -> bytes:
    """A URL is printable ASCII; should one not be, it still takes one line and no terminal obeys it."""
    return line.encode("utf-8", "replace") if line.replace("\t", "").isprintable() else repr(line).encode()
