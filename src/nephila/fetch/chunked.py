"""Taking off the chunked transfer coding (RFC 9112 section 7.1), piece by piece.

libcurl finds the end of a chunked body and says when its framing is broken, but hands the bytes on as they came, for the
archive. What is read is made from them here. Lenient like a reader must be: extensions and trailers are skipped, and
what cannot be understood ends the payload.
"""

from __future__ import annotations

LINE_MAX = 16_384
"""A longer chunk-size line or trailer is broken (libcurl stops earlier than this)."""


class Dechunker:
    """`feed` wire bytes, get payload bytes. `done`: the last chunk and its trailers were seen; `broken`: bad framing."""

    __slots__ = ("_line", "_rest", "_state", "broken", "done")

    def __init__(self) -> None:
        self._state = "size"
        self._rest = 0
        self._line = b""
        self.done = self.broken = False

    def feed(self, data: bytes) -> bytes:
        """The payload bytes in `data`, which may start and end anywhere in the stream."""
        out: list[bytes] = []
        at, end = 0, len(data)
        while at < end and not (self.done or self.broken):
            if self._state == "data":
                piece = data[at : at + self._rest]
                out.append(piece)
                at += len(piece)
                self._rest -= len(piece)
                if not self._rest:
                    self._state = "gap"
                continue
            stop = data.find(b"\n", at)
            if stop < 0:
                self._keep(data[at:])
                break
            line, self._line = self._line + data[at:stop], b""
            at = stop + 1
            self._take(line.rstrip(b"\r"))
        return out[0] if len(out) == 1 else b"".join(out)

    def _keep(self, part: bytes) -> None:
        self._line += part
        self.broken = len(self._line) > LINE_MAX or (self._state == "gap" and self._line != b"\r")

    def _take(self, line: bytes) -> None:
        if self._state == "gap":
            self.broken, self._state = line != b"", "size"
        elif self._state == "trailer":
            self.done = line == b""
        else:
            self._rest = _size(line)
            self.broken = self._rest < 0
            self._state = "data" if self._rest else "trailer"


def _size(line: bytes) -> int:
    """The number on a chunk-size line; -1 when it is none."""
    text = line.partition(b";")[0].strip(b" \t")
    if not 0 < len(text) <= 16 or text.strip(b"0123456789abcdefABCDEF"):
        return -1
    return int(text, 16)
