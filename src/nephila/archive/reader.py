"""Reading the log: a visit's records as they were stored, and the content they mean.

Large bodies wait in an unlinked file, as they did when they came in. Content decoding belongs to the room that fetches: it is
handed in (`decode(payload, content_encoding, limit, ratio_max)` → an object with `content`).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from nephila.archive.index import Member, parse_head
from nephila.archive.record import END
from nephila.errors import Damaged
from nephila.types import Body

SPOOL_BYTES = 1 << 20
CONTENT_MAX = 64 << 20
"""Most content handed out at once: more than any page, and less than the memory of a small machine."""
RATIO_MAX = 200
_HEAD_MAX = 1 << 20
_EMPTY_LINE = re.compile(rb"\r?\n\r?\n")

Decode = Callable[[Body, str, int, int], Any]


class Group(NamedTuple):
    """The records of one visit. `type` is that of the first (`response`, `revisit`, `resource`), `headers` its WARC header
    lines by lower-case name; `response_head` and `body` as they came; `metadata` (name, value) in order, names repeat."""

    type: str
    headers: dict[str, str]
    response_head: bytes
    body: Body
    request: bytes
    metadata: list[tuple[str, str]]


class Content(NamedTuple):
    """A visit's answer, decoded. `problem` is "" or says why the content is not whole."""

    head: bytes
    headers: list[tuple[str, str]]
    content: bytes
    problem: str


class Place(NamedTuple):
    """Where the records of a visit lie."""

    path: Path
    offset: int
    length: int


def payload(place: Place, decode: Decode, same_as: Place | None = None, limit: int = CONTENT_MAX) -> Content:
    """The decoded content of the visit at `place`, at most `limit` bytes.

    A revisit record has no body: `same_as` says where the visit it repeats lies. Raises Damaged when nothing reads back.
    """
    with stored(place, same_as) as found:
        body = _whole(found.blocks(), limit) if found.chunked else found.body
        decoded = decode(body, found.encoding, limit, RATIO_MAX)
        return Content(found.head, found.headers, bytes(decoded.content), str(decoded.problem or ""))


class Stored(NamedTuple):
    """An answer as it was kept: `body` still framed as on the wire, `blocks()` without its chunks, both still encoded."""

    head: bytes
    headers: list[tuple[str, str]]
    body: Body
    chunked: bool

    @property
    def encoding(self) -> str:
        return ", ".join(value for name, value in self.headers if name == "content-encoding")

    def blocks(self) -> Iterator[bytes]:
        return dechunked(self.body) if self.chunked else self.body.blocks()


@contextmanager
def stored(place: Place, same_as: Place | None = None) -> Iterator[Stored]:
    """The visit at `place`, its own header with the body it has or repeats. As `payload`, undecoded and without limit."""
    with ExitStack() as opened:
        found = source = _first(*place)
        opened.callback(found.body.close)
        headers = framing = header_pairs(found.head)
        if found.headers.get("warc-type") == "revisit":
            if same_as is None:
                raise Damaged(f"{place.path}: the record at offset {place.offset} repeats one that is not known")
            source = _first(*same_as)
            opened.callback(source.body.close)
            framing = header_pairs(source.head)
        yield Stored(found.head, headers, source.body, is_chunked(framing))


def read_group(path: Path, offset: int, length: int) -> Group:
    """The group at `offset`. The caller closes `body`. Raises Damaged when the file or the group does not read back."""
    records: list[_Read] = []
    try:
        with _opened(path) as fd:
            records.extend(_records(fd, offset, offset + length))
        group = _group(records)
        for found in records[1:]:
            found.body.close()  # a page of very many links has a metadata record that waits in a file, too
        return group
    except Damaged:
        for found in records:
            found.body.close()
        raise


def _first(path: Path, offset: int, length: int) -> _Read:
    """The first record of a group, which holds the answer; the others are not looked at."""
    with _opened(path) as fd:
        return _record(Member(fd, offset, offset + length).blocks(), offset)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Damaged(f"{path} cannot be read: {error.strerror}") from error
    try:
        yield fd
    finally:
        os.close(fd)


class _Read(NamedTuple):
    headers: dict[str, str]
    head: bytes
    body: Body


def _group(records: list[_Read]) -> Group:
    if not records:
        raise Damaged("an empty group")
    first = records[0]
    rest = {found.headers.get("warc-type", ""): found for found in records[1:]}
    request = rest["request"].head if "request" in rest else b""
    fields = rest["metadata"].body.head(_HEAD_MAX << 4) if "metadata" in rest else b""
    return Group(first.headers.get("warc-type", ""), first.headers, first.head, first.body, request, _fields(fields))


def _fields(block: bytes) -> list[tuple[str, str]]:
    parts = (line.partition(": ") for line in block.decode("utf-8", "replace").split("\r\n"))
    return [(name, value) for name, colon, value in parts if colon]


def _records(fd: int, offset: int, end: int) -> Iterator[_Read]:
    while offset < end:
        member = Member(fd, offset, end)
        yield _record(member.blocks(), offset)
        offset = member.end


def _record(blocks: Iterator[bytes], offset: int) -> _Read:
    head, rest = _head(b"", blocks, offset)
    headers = parse_head(head, offset)
    size, blocks = int(headers["content-length"]), chain((rest,), blocks)
    http = b""
    if headers.get("content-type", "").startswith("application/http"):
        http, blocks = _http_head(blocks, size, offset)
    return _Read(headers, http, _spooled(blocks, size - len(http), offset))


def _http_head(blocks: Iterator[bytes], size: int, offset: int) -> tuple[bytes, Iterator[bytes]]:
    """The HTTP header in front of a body, with its empty line. Other writers' may end its lines by LF, or be all there is."""
    have = b""
    while not (end := _EMPTY_LINE.search(have)) and len(have) < size:
        block = next(blocks, b"")
        if not block or len(have) > _HEAD_MAX:
            raise Damaged(f"the answer at offset {offset} has no end of header")
        have += block
    cut = min(end.end() if end else size, size)
    return have[:cut], chain((have[cut:],), blocks)


def _head(have: bytes, blocks: Iterator[bytes], offset: int) -> tuple[bytes, bytes]:
    """Up to the first empty line, and what follows it."""
    while b"\r\n\r\n" not in have:
        block = next(blocks, b"")
        if not block or len(have) > _HEAD_MAX:
            raise Damaged(f"the record at offset {offset} has no end of header")
        have += block
    head, _, rest = have.partition(b"\r\n\r\n")
    return head, rest


def _spooled(blocks: Iterator[bytes], size: int, offset: int) -> Body:
    """`size` bytes of a block, behind which only the closing lines come."""
    body = spooled(blocks, len(END))
    if body.size != size:
        body.close()
        raise Damaged(f"the record at offset {offset} is not whole")
    return body


def spooled(blocks: Iterable[bytes], behind: int = 0) -> Body:
    """All of `blocks` but the last `behind` bytes; in an unlinked file when they are many. The caller closes it."""
    parts, size, blocks = [], 0, iter(blocks)
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size > SPOOL_BYTES:
            return _filed(chain(parts, blocks), behind)
    return Body(b"".join(parts)[: max(size - behind, 0)], size=size - behind)


def _filed(blocks: Iterable[bytes], behind: int) -> Body:
    target: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        size = sum(target.write(block) for block in blocks) - behind
        target.flush()
    except BaseException:
        target.close()
        raise
    return Body(file=target, size=size)


def inside(folder: Path, file: str) -> Path:
    """The archive file of this name. A name from the database is only ever a name, never a way out of the folder."""
    if not file or "/" in file or file in {".", ".."}:
        raise Damaged(f"{file!r} is not the name of an archive file")
    return folder / file


def header_pairs(head: bytes) -> list[tuple[str, str]]:
    """The header lines below a status line as (lower-case name, value), bytes read as latin-1; folded lines are joined."""
    pairs: list[tuple[str, str]] = []
    for line in head.decode("latin-1").replace("\r\n ", " ").replace("\r\n\t", " ").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            pairs.append((name.strip().lower(), value.strip()))
    return pairs


def is_chunked(headers: list[tuple[str, str]]) -> bool:
    """The body is in chunks (RFC 9112 section 6.1)."""
    framing = [value for name, value in headers if name == "transfer-encoding"]
    return bool(framing) and framing[-1].lower().endswith("chunked")


def _whole(blocks: Iterator[bytes], limit: int) -> Body:
    """At most about `limit` bytes of `blocks`: compressed content is not longer than what it decodes to."""
    parts, total = [], 0
    for block in blocks:
        parts.append(block)
        total += len(block)
        if total >= limit:
            break
    return Body(b"".join(parts)[:limit])


def dechunked(body: Body) -> Iterator[bytes]:
    """The payload of a chunked body (RFC 9112 section 7.1); a cut or broken one gives what came before."""
    buffer, left, blocks = b"", 0, body.blocks()
    while True:
        if left:
            if not buffer and not (buffer := next(blocks, b"")):
                return
            part, buffer = buffer[:left], buffer[left:]
            left -= len(part)
            yield part
            continue
        while (end := buffer.find(b"\n", 2 if buffer[:2] == b"\r\n" else 0)) < 0:
            block = next(blocks, b"")
            if not block or len(buffer) > _HEAD_MAX:
                return
            buffer += block
        line, buffer = buffer[:end], buffer[end + 1 :]
        size = line.partition(b";")[0].strip()
        if not size or size.strip(b"0123456789abcdefABCDEF") or not (left := int(size[:16], 16)):
            return
