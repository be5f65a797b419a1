"""Tables made from the log: one JSON line per visit, one line per URL.

A table appears under its name only when it is whole: it is written beside it and renamed. `-` is standard output.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from nephila.errors import ConfigError
from nephila.views.registry import Order
from nephila.views.source import Kept, Source


def export_jsonl(source: Source, order: Order) -> str:
    """The view `jsonl`: one JSON object per visit, in order of commit."""
    encoder = msgspec.json.Encoder()
    count = write_lines((encoder.encode(_row(source, kept)) for kept in source.visits()), order.target)
    return f"{count:,} visits in {order.target or 'standard output'}"


def export_urls(source: Source, order: Order) -> str:
    """The view `urls`: one URL per line of the pages that ended OK; with `every` all URLs, each with its state and last
    outcome (tabs between)."""
    if order.chosen.get("every"):
        rows: Iterator[str] = ("\t".join(row) for row in source.addresses())
    else:
        rows = (kept.url for kept in source.pages())
    count = write_lines(map(_plain, rows), order.target)
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
        "started": datetime.fromtimestamp(kept.started, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
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


def write_lines(lines: Iterable[bytes], target: Path | None) -> int:
    """The lines, ended by LF, into `target` at once, or to standard output. Returns how many."""
    if target is None:
        return _pour(lines, sys.stdout.buffer)
    if target.is_symlink():
        raise ConfigError(f"{target} is a symbolic link: give the name of a file")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            count = _pour(lines, file)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return count


def _pour(lines: Iterable[bytes], file: Any) -> int:
    count = 0
    for block in _blocks(lines):
        file.write(b"".join(block))
        count += len(block)
    file.flush()
    return count


def _blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    for line in lines:
        block.append(line + b"\n")
        if len(block) == 500:
            yield block
            block = []
    yield block
