"""Archives of other writers, sound or damaged: WARC, ARC and Tianwang files in any packing, as records that can be read.

A WARC file with one gzip member per record is read where it lies. Everything else (not compressed, one gzip member for the
whole file, Zstandard, members cut at the wrong places, ARC, Tianwang) is packed again, record by record, into a file of the
caller's, since a record must be found again by its place. Damage is told with its offset and costs only the records that it
hit: reading goes on at the next place where one can begin.

Sources: ISO 28500:2017 (WARC 1.1); the Internet Archive's ARC 1.0 format; the WARC community's "Zstandard-compressed WARC"
(a first skippable frame may hold the dictionary of all others). Tianwang: `archive/tianwang.py`.
"""

from __future__ import annotations

import os
import re
import time
from calendar import timegm
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import zstandard
from isal import isal_zlib

from nephila.archive import index, record, tianwang
from nephila.archive.index import Entry
from nephila.archive.reader import spooled
from nephila.archive.stream import Stream
from nephila.errors import Damaged
from nephila.types import Body

_BLOCK = 1 << 18
_TRIED_MAX = 3
_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAX = 16 << 20
_HEAD_MAX = 1 << 16
_WARC_BEGINS = re.compile(rb"WARC/\d\.\d+\r?\n")
_ARC_BEGINS = re.compile(rb"filedesc:[^\n]*\n")
_EMPTY_LINE = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"\n")
_FOLDED = re.compile(rb"\n[ \t]+")
_BROKEN: type[Exception] = isal_zlib.error  # type: ignore[assignment]

Complain = Callable[[str], None]
"""Called with a sentence for each damage."""
Damage = Callable[[int, str], None]
"""The same with its place."""


class Place(NamedTuple):
    """A record, and the file in which it lies as a gzip member of its own."""

    path: Path
    entry: Entry


def records(path: Path, spare: Path, complain: Complain) -> Iterator[Place]:
    """Every record of `path` that can be read, in order. `spare` is made when records have to be packed again. Raises Damaged
    when the file cannot be opened."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Damaged(f"{path} cannot be read: {error.strerror}") from error
    try:
        if _by_member(fd):
            for entry in _members(fd, path, complain):
                yield Place(path, entry)
            return
        with open(os.dup(fd), "rb") as file:
            file.seek(0)
            yield from _packed_again(file, path, spare, complain)
    finally:
        os.close(fd)


def _by_member(fd: int) -> bool:
    """One of the first gzip members is one whole WARC record; the very first may be damaged."""
    at, size = 0, os.fstat(fd).st_size
    for _ in range(_TRIED_MAX):
        if at >= size or os.pread(fd, 3, at) != _GZIP:
            return False
        try:
            next(index.entries(fd, at, size))
            return True
        except Damaged:
            at = _next_member(fd, at + 1, size)
    return False


def _members(fd: int, path: Path, complain: Complain) -> Iterator[Entry]:
    at, size = 0, os.fstat(fd).st_size
    while at < size:
        try:
            for entry in index.entries(fd, at, size):
                yield entry
                at = entry.offset + entry.length
        except Damaged as damage:
            complain(f"{path}: {damage}")
            at = _next_member(fd, at + 1, size)


def _next_member(fd: int, at: int, size: int) -> int:
    """Where the next bytes lie that may begin a gzip member; the end if there are none."""
    while at < size:
        block = os.pread(fd, _BLOCK, at)
        if (found := block.find(_GZIP)) >= 0:
            return at + found
        if len(block) < 3:
            break
        at += len(block) - 2
    return size


# --- packing again --------------------------------------------------------------------------------------------------


def _packed_again(file: IO[bytes], path: Path, spare: Path, complain: Complain) -> Iterator[Place]:
    def damage(at: int, what: str) -> None:
        complain(f"{path}: {what} at byte {at:,}")

    stream = Stream(_unpacked(file, damage))
    start = stream.peek(1 << 10)
    if not start:
        return
    reads = next((reads for begins, reads in _FORMS if begins.match(start)), None)
    if reads is None and _WARC_BEGINS.search(start):
        reads = _warc  # rubbish in front
    if reads is None:
        raise Damaged(f"{path} is no WARC, ARC or Tianwang file")
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as out:
        for head, body in reads(stream, damage):
            entry = _pack(out, head, body)
            out.flush()
            yield Place(spare, entry)


def _pack(out: IO[bytes], head: bytes, body: Body) -> Entry:
    """One record as one gzip member; its length is that of its body, whatever was announced."""
    packer, start = isal_zlib.compressobj(1, wbits=31), out.tell()
    head += b"Content-Length: %d" % body.size
    out.write(packer.compress(head + record.END))
    for block in body.blocks():
        out.write(packer.compress(block))
    out.write(packer.compress(record.END) + packer.flush())
    body.close()
    return index.entry(start, out.tell() - start, index.parse_head(head, start))


def _unpacked(file: IO[bytes], damage: Damage) -> Iterator[bytes]:
    """The bytes of a file without its compression; of a damaged one those before the damage."""
    start = file.read(4)
    file.seek(0)
    if start[:3] == _GZIP:
        yield from _ungzipped(file, damage)
    elif start in (_ZSTD, _ZSTD_DICTIONARY):
        yield from _from_zstd(file, damage)
    else:
        while block := file.read(_BLOCK):
            yield block


def _ungzipped(file: IO[bytes], damage: Damage) -> Iterator[bytes]:
    """Members one after the other, wherever they were cut. One that ends too early has given what it held, and the record in
    it is told as cut; zeros behind the last one are no damage."""
    unpack, more = isal_zlib.decompressobj(wbits=31), False
    rest = b""
    while rest or more or (rest := file.read(_BLOCK)):
        try:
            made = unpack.decompress(rest, _BLOCK)
        except _BROKEN as error:
            damage(
                file.tell() - len(rest), f"the compressed data does not decode ({error}); nothing behind it is read,"
            )
            return
        if made:
            yield made
        if unpack.eof:
            rest, more = unpack.unused_data.lstrip(b"\0"), False
            unpack = isal_zlib.decompressobj(wbits=31)
        else:
            rest, more = unpack.unconsumed_tail, len(made) == _BLOCK


def _from_zstd(file: IO[bytes], damage: Damage) -> Iterator[bytes]:
    dictionary = _dictionary(file)
    unpack = zstandard.ZstdDecompressor(dict_data=dictionary) if dictionary else zstandard.ZstdDecompressor()
    try:
        with unpack.stream_reader(file, read_across_frames=True) as reader:
            while block := reader.read(_BLOCK):
                yield block
    except zstandard.ZstdError as error:
        damage(file.tell(), f"the compressed data does not decode ({error}); nothing behind it is read,")


def _dictionary(file: IO[bytes]) -> zstandard.ZstdCompressionDict | None:
    """The dictionary in a first skippable frame: as it is, or a Zstandard frame itself."""
    if file.read(4) != _ZSTD_DICTIONARY:
        file.seek(0)
        return None
    data = file.read(min(int.from_bytes(file.read(4), "little"), _DICTIONARY_MAX))
    if data[:4] == _ZSTD:
        data = zstandard.ZstdDecompressor().decompress(data, max_output_size=_DICTIONARY_MAX)
    return zstandard.ZstdCompressionDict(data)


# --- the forms ------------------------------------------------------------------------------------------------------

Raw = Iterator[tuple[bytes, Body]]
"""Records as WARC header lines without Content-Length, and their block."""


def _warc(stream: Stream, damage: Damage) -> Raw:
    while stream.skip_to(_WARC_BEGINS):
        at = stream.at
        head = _FOLDED.sub(b" ", stream.until(_EMPTY_LINE, _HEAD_MAX).replace(b"\r\n", b"\n").strip(b"\n"))
        try:
            size = int(index.parse_head(head.replace(b"\n", b"\r\n"), at)["content-length"])
        except Damaged as error:
            damage(at, str(error))
            stream.take(1)
            continue
        body = spooled(stream.pieces(size))
        if body.size < size:
            damage(at, f"a record that is cut, {body.size:,} of {size:,} bytes,")
            body.close()
            return
        behind = stream.peek(64).lstrip(b"\r\n")
        if behind and not _WARC_BEGINS.match(behind):
            damage(at, "a record whose length is wrong")
        lines = [line for line in head.split(b"\n") if not line.lower().startswith(b"content-length:")]
        yield b"".join(line + b"\r\n" for line in lines), body


def _arc(stream: Stream, damage: Damage) -> Raw:
    """ARC 1.0: a line `URL IP DATE TYPE LENGTH` before each block; the first block describes the file."""
    while stream.peek(1):
        at = stream.at
        line = stream.until(_LINE, _HEAD_MAX)
        if not line.strip():
            if not line:
                stream.take(_HEAD_MAX)  # no end of a line in sight
            continue
        url, *fields = line.decode("utf-8", "replace").strip().rsplit(" ", 4)
        if len(fields) < 4:
            damage(at, "a line that begins no record")
            continue
        ip, date, media_type, length = fields
        if not length.isdecimal():
            damage(at, f"a record of length {length!r}")
        body = spooled(stream.pieces(int(length) if length.isdecimal() else 0))
        if url.startswith("filedesc:"):
            body.close()
        else:
            yield _as_warc(url, ip, _arc_date(date), media_type, body), body


def _tianwang(stream: Stream, damage: Damage) -> Raw:
    for answer in tianwang.read(stream, damage):
        body = Body(answer.data)
        yield _as_warc(answer.url, answer.ip, answer.date, "", body), body


def _as_warc(url: str, ip: str, moment: float, media_type: str, body: Body) -> bytes:
    """Header lines of an answer that came without WARC's."""
    http = body.head(5) == b"HTTP/"
    lines = [
        "WARC/1.1",
        f"WARC-Type: {'response' if http else 'resource'}",
        f"WARC-Record-ID: {record.new_id()}",
        f"WARC-Target-URI: {record.target(url)}",
        f"WARC-Date: {record.date(moment)}",
        *([f"WARC-IP-Address: {record.one_line(ip)}"] if ip.strip("0.-") else []),
        f"Content-Type: {'application/http; msgtype=response' if http else record.one_line(media_type)}",
    ]
    return "".join(f"{line}\r\n" for line in lines).encode()


def _arc_date(text: str) -> float:
    """14 digits, or as many of them as there are."""
    digits = text[:14] if text.isdecimal() else ""
    try:
        return float(timegm(time.strptime(digits, "%Y%m%d%H%M%S")))
    except ValueError:
        return 0.0


_FORMS = ((_WARC_BEGINS, _warc), (tianwang.BEGINS, _tianwang), (_ARC_BEGINS, _arc))
