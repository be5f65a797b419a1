"""The Tianwang page store (Peking University, 2003): how its records are written and read.

A file is records one after the other: a head of `name: value` lines ended by LF, the first `version`, the last `length`; an
empty line; `length` bytes of data, which are an HTTP answer with its header; one LF. `url` is where the page was found in
the end, `origin` what was asked for if it led elsewhere, `date` as in HTTP, `ip` the server's address. With `unzip-length`
the data is compressed (zlib, RFC 1950) and that is its length before. A damaged record is passed over: the next one begins at
the next line `version: `. The rules of 2003 end a record with two LF and all programs with one: one is written, none to two are
read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate, parsedate_to_datetime
from typing import NamedTuple

from nephila.archive.stream import Stream

BEGINS = re.compile(rb"version: ?[^\n]{0,20}\r?\n")
_NEXT = re.compile(rb"(?<=\n)version: ?[^\n]{0,20}\r?\n")
_BEGIN = b"version:"
_EMPTY_LINE = re.compile(rb"\r?\n\r?\n")
_HEAD_MAX = 1 << 16
DATA_MAX = 256 << 20
"""A record that announces more is damaged."""

Complain = Callable[[int, str], None]
"""Called with the offset of a damage and a sentence."""


class Answer(NamedTuple):
    """One page: `data` is the whole HTTP answer; `date` Unix time, 0.0 when it was not readable; `origin` "" without redirect."""

    url: str
    date: float
    data: bytes
    ip: str = ""
    origin: str = ""


def write(answer: Answer, *, compressed: bool = False) -> bytes:
    """One record. Raises ValueError when an address holds a line end."""
    data = zlib.compress(answer.data) if compressed else answer.data
    fields = {
        "version": "1.0",
        "url": answer.url,
        "origin": answer.origin,
        "date": formatdate(answer.date, usegmt=True),
        "ip": answer.ip,
        "unzip-length": str(len(answer.data)) if compressed else "",
        "length": str(len(data)),
    }
    if any("\n" in value or "\r" in value for value in fields.values()):
        raise ValueError(f"a line end in the head of {answer.url!r}")
    head = "".join(f"{name}: {value}\n" for name, value in fields.items() if value)
    return head.encode() + b"\n" + data + b"\n"


def read(stream: Stream, complain: Complain) -> Iterator[Answer]:
    """The records of a file; of damaged ones only a complaint."""
    while start := stream.peek(1):
        if start in b"\r\n":
            stream.take(1)
            continue
        at = stream.at
        found = _record(stream)
        if isinstance(found, Answer):
            yield found
        else:
            complain(at, found)
            if not stream.skip_to(_NEXT):
                return


def _record(stream: Stream) -> Answer | str:
    if not BEGINS.match(stream.peek(64)):
        return "no record begins here"
    head = stream.until(_EMPTY_LINE, _HEAD_MAX)
    if not head:
        return "a record without an end of its head"
    lines = (line.partition(":") for line in head.decode("utf-8", "replace").splitlines())
    fields = {name.strip().lower(): value.strip() for name, colon, value in lines if colon}
    length = fields.get("length", "")
    if not length.isdecimal() or int(length) > DATA_MAX or not fields.get("url"):
        return "a record without an address or a sound length"
    return _answer(stream, fields, int(length))


def _answer(stream: Stream, fields: dict[str, str], length: int) -> Answer | str:
    data = stream.peek(length + len(_BEGIN))
    data, behind = data[:length], data[length:]
    if len(data) < length:
        return "a record that is cut"
    if behind and behind[0] not in b"\r\n" and behind != _BEGIN:
        return "a record whose length is wrong"
    if "unzip-length" in fields:
        unpack = zlib.decompressobj()
        try:
            data = unpack.decompress(data, DATA_MAX)
        except zlib.error as error:
            return f"a record that does not decompress ({error})"
        if not unpack.eof:
            return "a record that does not decompress whole"
    stream.take(length)
    return Answer(fields["url"], _date(fields.get("date", "")), data, fields.get("ip", ""), fields.get("origin", ""))


def _date(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0
