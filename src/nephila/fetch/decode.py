"""Undoing Content-Encoding for reading: gzip, deflate, br and zstd, within limits.

The archive keeps bodies as they came; what is read is decoded here, layer by layer and piece by piece, so that memory
stays near the limit whatever the body claims. Servers label wrongly and cut short: what can be had is handed on, with
the problem named. Nothing raises for what the body holds. (RFC 9110 section 8.4; zstd window: RFC 9659.)
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import brotli  # type: ignore[import-untyped]
import zstandard
from isal import isal_zlib

from nephila.types import Body

PIECE = 1 << 18
"""A layer hands on at most this much at once."""
ZSTD_FEED = 512
"""A zstd decoder has no output limit, and 4 bytes can become 128 KiB: fed so little, it makes 16 MiB at most."""
ZSTD_WINDOW_MAX = 8 << 20
CODINGS_MAX = 3
RATIO_FROM = 1 << 20
"""Below this many bytes no body is a bomb, however well it was compressed."""
SUSPECT_RATIO = 50
"""Text shrinks to a tenth at best; what shrinks more is looked at to its end."""
NO_CODINGS = frozenset({"", "identity", "none", "utf-8", "utf8", "binary", "8bit", "chunked", "aws-chunked"})
"""Words that servers write beside a coding and that change nothing."""
TEXT_LOOK = 512
TEXT = bytes(byte for byte in range(256) if byte >= 32 or byte in b"\t\n\f\r\x1b")
BROKEN: type[Exception] = isal_zlib.error  # type: ignore[assignment]
GZIP_MAGIC = b"\x1f\x8b"

Blocks = Iterator[bytes]


class Decoded(NamedTuple):
    """`problem`: "" · `decode` (cut or damaged: content is the sound prefix) · `bomb` (no content) · `label` (not
    compressed at all, whatever the label says: content is the body) · `coding` (an unknown coding among known ones: no content; alone it counts
    as none). Content longer than the limit is cut without a problem."""

    content: bytes
    problem: str = ""


class _Damaged(Exception):
    """The coded stream ends early or is broken."""


class _Bomb(Exception):
    """A layer grows beyond the allowed ratio."""


def decode(payload: Body, content_encoding: str, limit: int, ratio_max: int) -> Decoded:
    """At most `limit` bytes of `payload` after undoing `content_encoding`; growth above `ratio_max` : 1 is a bomb."""
    if not content_encoding or not payload.size:
        return Decoded(payload.head(limit))
    layers, unknown = _layers(content_encoding)
    if not layers or (layers == [_inflate_gzip] and payload.head(2) != GZIP_MAGIC):
        return Decoded(payload.head(limit), "label" if layers else "")
    if len(layers) > CODINGS_MAX:
        return Decoded(b"", "bomb")
    if unknown:
        return Decoded(b"", "coding")
    most = max(RATIO_FROM, payload.size * ratio_max)
    stream: Blocks = payload.blocks(PIECE)
    for layer in layers:
        stream = _measured(layer(stream), most)
    found = _collect(stream, limit, payload.size * SUSPECT_RATIO)
    if found.problem == "decode" and not found.content and _is_text(payload.head(TEXT_LOOK)):
        return Decoded(payload.head(limit), "label")
    return found


def _layers(content_encoding: str) -> tuple[list[Callable[[Blocks], Blocks]], bool]:
    """(the layers to undo, last applied first; whether there are codings that nobody knows)."""
    names = [name.strip().lower().strip("\"'") for name in content_encoding.split(",")]
    known = [LAYERS[name] for name in reversed(names) if name in LAYERS]
    return known, any(name not in LAYERS and name not in NO_CODINGS for name in names)


def _is_text(head: bytes) -> bool:
    """No control characters but blanks: compressed data has some soon."""
    return not head.translate(None, TEXT) and bool(head)


def _measured(blocks: Blocks, most: int) -> Blocks:
    made = 0
    for block in blocks:
        made += len(block)
        if made > most:
            raise _Bomb
        yield block


def _collect(stream: Blocks, limit: int, suspect: int) -> Decoded:
    """At most `limit` bytes. When that is more than `suspect`, the rest is looked at, too, and thrown away: is it a bomb?"""
    pieces, room = [], limit
    try:
        for piece in stream:
            pieces.append(piece if len(piece) <= room else piece[:room])
            room -= len(pieces[-1])
            if room <= 0:
                break
        if room <= 0 and limit > suspect:
            for _ in stream:
                pass
    except _Bomb:
        return Decoded(b"", "bomb")
    except _Damaged:
        return Decoded(b"".join(pieces), "decode" if room > 0 else "")
    return Decoded(pieces[0] if len(pieces) == 1 else b"".join(pieces))


def _inflate_gzip(blocks: Blocks) -> Blocks:
    """Members one after another; what follows the last one and is no member is padding and ignored."""
    waiting = b""
    members = 0
    for block in blocks:
        waiting += block
        while len(waiting) >= len(GZIP_MAGIC):
            if not waiting.startswith(GZIP_MAGIC):
                if members:
                    return
                raise _Damaged
            waiting = yield from _inflate(waiting, blocks, 31, _skip_gzip_header)
            members += 1
    if waiting and not members:
        raise _Damaged


def _inflate_deflate(blocks: Blocks) -> Blocks:
    """`deflate` is zlib by RFC 9110 and raw deflate from many servers: the first two bytes tell."""
    first = next(blocks, b"")
    wrapped = len(first) > 1 and first[0] & 15 == 8 and int.from_bytes(first[:2], "big") % 31 == 0
    yield from _inflate(first, blocks, 15 if wrapped else -15, _skip_zlib_header if wrapped else _skip_nothing)


def _inflate(data: bytes, blocks: Blocks, wbits: int, skip: Callable[[bytes], int]) -> Generator[bytes, None, bytes]:
    """One deflate stream that starts with `data`. Returns what follows its end in the last block."""
    inflater, first, made = isal_zlib.decompressobj(wbits), data, 0
    while True:
        try:
            piece = inflater.decompress(data, PIECE)
        except BROKEN:
            yield from _salvage(first[skip(first) :] if made < PIECE else b"", made)
            raise _Damaged from None
        if piece:
            made += len(piece)
            yield piece
        if inflater.eof:
            return bytes(inflater.unused_data)
        data = inflater.unconsumed_tail
        if not data and len(piece) < PIECE:
            data = next(blocks, b"")
            if not data:
                raise _Damaged


def _salvage(data: bytes, had: int) -> Blocks:
    """What a raw reading of a damaged stream gives beyond the first `had` bytes: checksums do not count, and of a
    broken block all that comes before the break."""
    inflater = zlib.decompressobj(-15)
    for i in range(0, len(data), 64):
        try:
            piece = inflater.decompress(data[i : i + 64])
        except zlib.error:
            return
        if fresh := piece[had:] if had < len(piece) else b"":
            yield fresh
        had = max(0, had - len(piece))
        if inflater.eof:
            return


def _skip_gzip_header(data: bytes) -> int:
    """Length of a gzip header (RFC 1952 section 2.3)."""
    flags, at = data[3] if len(data) > 3 else 0, 10
    if flags & 4:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for bit in (8, 16):
        if flags & bit:
            at = data.find(b"\0", at) + 1 or len(data)
    return at + (2 if flags & 2 else 0)


def _skip_zlib_header(data: bytes) -> int:
    return 2


def _skip_nothing(data: bytes) -> int:
    return 0


def _inflate_br(blocks: Blocks) -> Blocks:
    decoder = brotli.Decompressor()
    for block in blocks:
        data = block
        while True:
            try:
                piece = decoder.process(data, output_buffer_limit=PIECE)
            except brotli.error:
                raise _Damaged from None
            data = b""
            if piece:
                yield piece
            if decoder.is_finished():
                return
            if decoder.can_accept_more_data() and not piece:
                break
    raise _Damaged


def _inflate_zstd(blocks: Blocks) -> Blocks:
    """Frames one after another, skippable ones included (RFC 8878 section 3)."""
    maker = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
    frame, whole = maker.decompressobj(), False
    for block in blocks:
        view = memoryview(block)
        for i in range(0, len(block), ZSTD_FEED):
            data = bytes(view[i : i + ZSTD_FEED])
            while data:
                if whole:
                    frame = maker.decompressobj()
                try:
                    piece = frame.decompress(data)
                except zstandard.ZstdError:
                    raise _Damaged from None
                if piece:
                    yield piece
                whole = frame.eof
                data = frame.unused_data if whole else b""
    if not whole:
        raise _Damaged


LAYERS: dict[str, Callable[[Blocks], Blocks]] = {
    "gzip": _inflate_gzip,
    "x-gzip": _inflate_gzip,
    "deflate": _inflate_deflate,
    "x-deflate": _inflate_deflate,
    "br": _inflate_br,
    "zstd": _inflate_zstd,
}
