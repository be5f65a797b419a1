"""Reading the head of a response, and the head of a request without its secrets."""

from __future__ import annotations

import re

LENGTH_DIGITS_MAX = 18
"""A longer Content-Length overflows 63 bits."""

SECRET_WORDS = (b"authorization", b"cookie", b"x-api-key", b"-token")
"""One of these is in every secret line."""
_FOLD = re.compile(rb"[ \t]*\r?\n[ \t]+(?![\r\n])")
_WHOLE = re.compile(r"bytes 0-(\d{1,18})/(\d{1,18})")
"""The Content-Range of a part that begins at the beginning and has an end."""
_SECRET_LINE = re.compile(
    rb"(?im)^(?:authorization|cookie|proxy-authorization|x-api-key|[^:\r\n]+-token)[ \t]*:[^\n]*\n"
)


_LINES_MAX, _LINE_BYTES = 4096, 256
_lines: dict[bytes, tuple[str, str]] = {}
"""Header lines met before: a server writes most of them under every page."""


def parse(lines: list[bytes]) -> list[tuple[str, str]]:
    """(lower-case name, value) of each header line after the status line; bytes are read as latin-1.

    A folded line (RFC 9112 section 5.2) goes on with one space; a line that is no header is skipped.
    """
    if any(line[:1] in (b" ", b"\t") for line in lines):
        lines = [line + b"\n" for line in _FOLD.sub(b" ", b"".join(lines)).split(b"\n")[:-1]]
    fields = [_lines.get(line) or _line(line) for line in lines[1:-1]]
    return [field for field in fields if field[0]]


def _line(line: bytes) -> tuple[str, str]:
    """One line as a field, ("", "") when it is none; remembered."""
    name, colon, value = line.decode("latin-1").rstrip("\n").partition(":")
    field = (name.strip(" \t").lower(), value.strip(" \t\r")) if colon and name else ("", "")
    if len(line) <= _LINE_BYTES:
        if len(_lines) >= _LINES_MAX:
            _lines.clear()
        _lines[line] = field
    return field


def status_of(line: bytes) -> int:
    """The status on a status line, 0 when it is not one (`ICY`, `HTTP/2.0` on a text connection, no three digits)."""
    version, _, rest = line.partition(b" ")
    if version not in (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2", b"HTTP/3") or rest[3:4] not in (b" ", b"\r", b"\n", b""):
        return 0
    return int(rest[:3]) if rest[:3].isdigit() and rest[:1] != b"0" else 0


def framing(headers: list[tuple[str, str]]) -> tuple[bool, bool, str]:
    """(chunked, has a Content-Length, problem) of a head. `problem` names a Content-Length that cannot be trusted.

    RFC 9112 section 6.3: with both, chunked wins, and the connection must not be used again; two different lengths are
    an error, a list of equal ones is not.
    """
    values = dict(headers)
    length = values.get("content-length", "")
    if values.get("transfer-encoding", "").rpartition(",")[2].strip().lower() == "chunked":
        return True, bool(length), ""
    if not length or (length.isdecimal() and len(length) <= LENGTH_DIGITS_MAX):
        return False, bool(length), ""  # of lines that differ libcurl takes none
    parts = {part.strip() for part in length.split(",")}
    sound = len(parts) == 1 and min(parts).isdecimal() and len(min(parts)) <= LENGTH_DIGITS_MAX
    return False, True, "" if sound else f"Content-Length: {length[:100]}"


def part_of(status: int, headers: list[tuple[str, str]]) -> str:
    """`unspecified` for a 206 that is not the whole: nobody asked for a part (RFC 9110 section 15.3.7)."""
    if status != 206:
        return ""
    whole = _WHOLE.fullmatch(dict(headers).get("content-range", ""))
    return "" if whole and int(whole[1]) + 1 == int(whole[2]) else "unspecified"


def without_secrets(head: bytes) -> bytes:
    """A request head without the lines that hold a secret."""
    low = head.lower()
    return _SECRET_LINE.sub(b"", head) if any(map(low.__contains__, SECRET_WORDS)) else head


ORIGINS_MAX = 1024
_SPELLED = re.compile(r"https?://[^/?#]*(/[!\"$-~]*)")
"""A URL without fragment, whose path and query are sent as they are written."""


class Sent:
    """How requests are spelled after their first line, by origin, as libcurl told it once."""

    def __init__(self) -> None:
        self._rest: dict[str, tuple[list[str], bytes]] = {}

    def predict(self, origin: str, headers: list[str], url: str) -> bytes:
        """The head of a request for `url`, b"" when it is not known."""
        known = self._rest.get(origin)
        if known is None or known[0] != headers or (path := _SPELLED.fullmatch(url)) is None:
            return b""
        return b"GET %b HTTP/1.1\r\n%b" % (path[1].encode(), known[1])

    def learn(self, origin: str, headers: list[str], url: str, sent: bytes) -> None:
        """A request was told: its first line must be what `predict` would write."""
        path = _SPELLED.fullmatch(url)
        first, _, rest = sent.partition(b"\r\n")
        if path is not None and first == b"GET %b HTTP/1.1" % path[1].encode() and rest.count(b"\r\n\r\n") == 1:
            if len(self._rest) >= ORIGINS_MAX:
                self._rest.clear()
            self._rest[origin] = headers, rest
