"""Where the records of a WARC file lie: walking gzip members, and how far a file is sound.

Own reader, because repairing needs to know of every member whether it is whole and where it ends, and because our files
are one gzip member per record. Memory: one block, whatever the size of a record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from nephila.errors import Damaged

_BROKEN: type[Exception] = isal_zlib.error  # type: ignore[assignment]
_BLOCK = 1 << 16
_MADE_MAX = 1 << 20
_HEAD_MAX = 1 << 16
"""A longer record header is no header."""


class Entry(NamedTuple):
    """One record: where its member lies, and what its header says."""

    offset: int
    length: int
    type: str
    uri: str
    date: str
    headers: dict[str, str]


class Member:
    """One gzip member being read. `blocks` gives its bytes; afterwards `end` is the offset behind it.

    Raises Damaged when the member is cut, not gzip, or its checksum is wrong.
    """

    def __init__(self, fd: int, offset: int, limit: int) -> None:
        self._fd, self._offset, self._limit = fd, offset, limit
        self.end = offset

    def blocks(self) -> Iterator[bytes]:
        unpack, at, rest, more = isal_zlib.decompressobj(wbits=31), self._offset, b"", False
        while not unpack.eof:
            if not rest and not more:
                rest = os.pread(self._fd, min(_BLOCK, self._limit - at), at)
                at += len(rest)
                if not rest:
                    raise Damaged(f"the gzip member at offset {self._offset} is cut")
            try:
                block = unpack.decompress(rest, _MADE_MAX)
            except _BROKEN as error:
                raise Damaged(f"the gzip member at offset {self._offset} does not decode ({error})") from error
            # A full block may leave output waiting although all input is taken.
            rest, more = unpack.unconsumed_tail, len(block) == _MADE_MAX
            if block:
                yield block
        self.end = at - len(unpack.unused_data)


def walk(path: Path) -> Iterator[Entry]:
    """Every record of a file in order. Raises Damaged, naming the offset, at the first that is not whole."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield from entries(fd, 0, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def entries(fd: int, offset: int, limit: int) -> Iterator[Entry]:
    """The records of an open file between `offset` and `limit`."""
    while offset < limit:
        found = _entry(fd, offset, limit)
        yield found
        offset += found.length


def _entry(fd: int, offset: int, limit: int) -> Entry:
    member = Member(fd, offset, limit)
    blocks = member.blocks()
    head, size = b"", 0
    for block in blocks:
        size += len(block)
        head += block
        if b"\r\n\r\n" in head or len(head) > _HEAD_MAX:
            break
    for block in blocks:
        size += len(block)
    headers = parse_head(head.partition(b"\r\n\r\n")[0], offset)
    expected = head.find(b"\r\n\r\n") + 4 + int(headers.get("content-length", "-1")) + 4
    if size != expected:
        raise Damaged(f"the record at offset {offset} is not whole: {size} bytes where {expected} were announced")
    return entry(offset, member.end - offset, headers)


def entry(offset: int, length: int, headers: dict[str, str]) -> Entry:
    """A record of these header lines."""
    uri = headers.get("warc-target-uri", "").strip("<>").replace(" ", "%20")  # as two old writers spelled it
    return Entry(offset, length, headers.get("warc-type", ""), uri, headers.get("warc-date", ""), headers)


def parse_head(head: bytes, offset: int) -> dict[str, str]:
    """A record's header lines by lower-case name. Raises Damaged when it is none."""
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not version.startswith("WARC/"):
        raise Damaged(f"no WARC record begins at offset {offset}")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if not headers.get("content-length", "").isdecimal():
        raise Damaged(f"the record at offset {offset} has no length")
    return headers


def reads_back(fd: int, offset: int, length: int) -> bool:
    """The group at `offset` decodes, and its last member ends exactly where the group does."""
    try:
        found = list(entries(fd, offset, offset + length))
    except Damaged:
        return False
    return bool(found) and found[-1].offset + found[-1].length == offset + length


def sound_groups(fd: int, limit: int) -> int:
    """Where the last whole group ends. A group ends with its metadata record, so one cut between two records counts as torn."""
    end = 0
    try:
        for found in entries(fd, 0, limit):
            if found.type == "metadata" and found.headers.get("content-type") == "application/warc-fields":
                end = found.offset + found.length
    except Damaged:
        pass
    return end
