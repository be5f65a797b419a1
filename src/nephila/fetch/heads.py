"""Reading the head of a response, and the head of a request without its secrets."""

from __future__ import annotations

import re

LENGTH_DIGITS_MAX = 18
"""A longer Content-Length overflows 63 bits."""

SECRET_NAME = re.compile(r"(?i)(?:authorization|cookie|proxy-authorization|x-api-key|.+-token)\Z")
SECRET_WORDS = (b"authorization", b"cookie", b"x-api-key", b"-token")
"""One of these is in every secret line."""
_FOLD = re.compile(r"[ \t]*\r?\n[ \t]+(?![\r\n])")
_SECRET_LINE = re.compile(
    rb"(?im)^(?:authorization|cookie|proxy-authorization|x-api-key|[^:\r\n]+-token)[ \t]*:[^\n]*\n"
)


def parse(head: bytes) -> list[tuple[str, str]]:
    """(lower-case name, value) of each header line after the status line; bytes are read as latin-1.

    A folded line (RFC 9112 section 5.2) goes on with one space; a line that is no header is skipped.
    """
    text = head.decode("latin-1")
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub(" ", text)
    headers = []
    for line in text.split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon and name:
            headers.append((name.strip(" \t").lower(), value.strip(" \t\r")))
    return headers


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
    if values.get("transfer-encoding", "").lower().endswith("chunked"):
        return True, bool(length), ""
    if not length or (length.isdecimal() and len(length) <= LENGTH_DIGITS_MAX):
        return False, bool(length), ""  # of lines that differ libcurl takes none
    parts = {part.strip() for part in length.split(",")}
    sound = len(parts) == 1 and min(parts).isdecimal() and len(min(parts)) <= LENGTH_DIGITS_MAX
    return False, True, "" if sound else f"Content-Length: {length[:100]}"


def without_secrets(head: bytes) -> bytes:
    """A request head without the lines that hold a secret."""
    low = head.lower()
    return _SECRET_LINE.sub(b"", head) if any(map(low.__contains__, SECRET_WORDS)) else head
