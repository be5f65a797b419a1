"""Taking records out of an archive: a file is written anew without them, and what others repeat of them is kept.

In the place of a visit that goes there is a metadata record that names no address: when it was taken down, why, and the digest of
what it was. A revisit of it becomes a whole response, with the content that it repeated. Everything else is copied byte for
byte. The new file is on the disk before anybody is told of it; the caller switches to it and removes the old one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from nephila.archive import index, reader, record
from nephila.archive.group import member
from nephila.archive.reader import Place
from nephila.types import Body

_BLOCK = 1 << 20
_LEVEL = 2
_OF_A_REVISIT = (
    "warc-profile",
    "warc-refers-to",
    "warc-refers-to-target-uri",
    "warc-refers-to-date",
    "warc-segment-number",
)


class Takedown(NamedTuple):
    """What is to be done with a file. Keys are offsets of groups: those that go, with the digest of each; those that repeat one
    that goes, with the place of that. `uris`: records of these that belong to no visit (any more) go, too. `spans`: where each
    visit's group lies (offset → length)."""

    removed: Mapping[int, str]
    restored: Mapping[int, Place]
    uris: frozenset[str]
    spans: Mapping[int, int]
    reason: str
    when: float


def rewrite(old: Path, new: Path, takedown: Takedown) -> dict[int, tuple[int, int]]:
    """Write `new`. Returns where the groups of `spans` lie in it, by their old offset: (offset, length). Raises Damaged when
    `old` does not read, OSError when `new` cannot be written."""
    fd = os.open(old, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        out = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(out, "wb") as file:
            found: dict[int, tuple[int, int]] = {}
            group, end = -1, 0
            for entry in index.entries(fd, 0, os.fstat(fd).st_size):
                if entry.offset >= end:
                    group = entry.offset if entry.offset in takedown.spans else -1
                    end = entry.offset + takedown.spans.get(entry.offset, entry.length)
                start = file.tell()
                for block in _blocks(fd, old, entry, group, takedown):
                    file.write(block)
                if group >= 0:
                    at, length = found.get(group, (start, 0))
                    found[group] = (at, length + file.tell() - start)
            file.flush()
            os.fsync(file.fileno())
    finally:
        os.close(fd)
    return found


def _blocks(fd: int, old: Path, entry: index.Entry, group: int, takedown: Takedown) -> Iterator[bytes]:
    """What stands for a record in the new file."""
    if group in takedown.removed:
        return iter([_tombstone(takedown, group)]) if entry.offset == group else iter(())
    if entry.uri in takedown.uris and group < 0:
        return iter(())
    if entry.offset == group and group in takedown.restored:
        return _restored(Place(old, entry.offset, entry.length), takedown.restored[group])
    return _copied(fd, entry)


def _copied(fd: int, entry: index.Entry) -> Iterator[bytes]:
    at, end = entry.offset, entry.offset + entry.length
    while block := os.pread(fd, min(_BLOCK, end - at), at):
        yield block
        at += len(block)


def _tombstone(takedown: Takedown, group: int) -> bytes:
    """An address would be what was to be forgotten."""
    fields = {"takedown-date": record.date(takedown.when), "takedown-reason": takedown.reason}
    fields["payload-digest"] = takedown.removed[group]
    block = "".join(f"{name}: {record.one_line(value)}\r\n" for name, value in fields.items() if value)
    return member(
        record.whole(
            "metadata", f"WARC-Date: {record.date(takedown.when)}\r\n", "application/warc-fields", block.encode()
        )
    )


def _restored(revisit: Place, original: Place) -> Iterator[bytes]:
    """The response that a revisit stood for: its own header, the other's content, framed as its header says."""
    group = reader.read_group(*revisit)
    group.body.close()
    with reader.stored(original) as other:
        body = reader.spooled(_framed(group.response_head, other))
    try:
        yield from _response(group, body)
    finally:
        body.close()


def _framed(head: bytes, other: reader.Stored) -> Iterator[bytes]:
    if not reader.is_chunked(reader.header_pairs(head)):
        yield from other.blocks()
        return
    for block in other.blocks():
        yield b"%x\r\n%b\r\n" % (len(block), block)
    yield b"0\r\n\r\n"


def _response(group: reader.Group, body: Body) -> Iterator[bytes]:
    payload, block = hashlib.sha1(), hashlib.sha1(group.response_head)
    for part in body.blocks():
        payload.update(part)
        block.update(part)
    told = {
        "WARC-Type": "response",
        **{name: value for name, value in group.headers.items() if name not in (*_OF_A_REVISIT, *_SET)},
        "WARC-Payload-Digest": record.sha1_text(payload.digest()),
        "WARC-Block-Digest": record.sha1_text(block.digest()),
        "Content-Length": str(len(group.response_head) + body.size),
    }
    head = "WARC/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in told.items()) + "\r\n"
    packer = isal_zlib.compressobj(_LEVEL, wbits=31)
    yield packer.compress(head.encode() + group.response_head)
    for part in body.blocks(_BLOCK):
        yield packer.compress(part)
    yield packer.compress(record.END) + packer.flush()


_SET = ("warc-type", "warc-payload-digest", "warc-block-digest", "content-length")
