"""What kind of content a body is: the media type and charset of Content-Type, or a look at the bytes when there is none.

Source: https://mimesniff.spec.whatwg.org (sections 4.4 and 7.1) and, for several header values, the Fetch standard's
"extract a MIME type". A declared type is believed: text/plain is never looked into, since a server that shows source
code would become a page. Only a missing or meaningless type is decided by the first bytes.
"""

from __future__ import annotations

import mimetypes
import re
from functools import lru_cache

import msgspec

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_QUOTED_TEXT = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_BLANK = "\n\r\t "
_UNKNOWN = frozenset({"", "application/x-unknown", "unknown/unknown", "application/unknown", "*/*"})

_SNIFF_BYTES = 1445
"""So many bytes decide; the number of the standard."""

_MARKUP = re.compile(
    rb"[\t\n\x0c\r ]*(?:<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\t\n\x0c\r />]|<!--)",
    re.I,
)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


class MediaType(msgspec.Struct, frozen=True):
    """`essence` is `type/subtype`, lower case; `parameters` keep the case of their values."""

    essence: str
    parameters: dict[str, str]


def essence(content_type: str) -> str:
    """`type/subtype` of a Content-Type value (several joined by ", "), lower case; "" when it is missing or broken."""
    found = extract(content_type)
    return found.essence if found else ""


def charset_of(content_type: str) -> str:
    """The charset parameter of a Content-Type value as written, "" when there is none."""
    found = extract(content_type)
    return found.parameters.get("charset", "") if found else ""


def of(content_type: str, content: bytes) -> str:
    """The media type of a body: as declared, or sniffed when the declaration says nothing."""
    declared = essence(content_type)
    return sniff(content) if declared in _UNKNOWN else declared


@lru_cache(maxsize=1024)
def extract(content_type: str) -> MediaType | None:
    """The last type that counts of a combined header value; its charset is inherited from an equal type before it."""
    found: MediaType | None = None
    charset = ""
    for value in _split(content_type):
        parsed = parse(value)
        if parsed is None or parsed.essence == "*/*":
            continue
        if found is None or parsed.essence != found.essence:
            charset = parsed.parameters.get("charset", "")
        elif "charset" not in parsed.parameters and charset:
            parsed.parameters["charset"] = charset
        else:
            charset = parsed.parameters.get("charset", charset)
        found = parsed
    return found


def parse(text: str) -> MediaType | None:
    """One media type by the standard's parser; None when it has no `type/subtype`."""
    head, *rest = text.strip(_BLANK).split(";", 1)
    kind, slash, subtype = head.partition("/")
    subtype = subtype.rstrip(_BLANK)
    if not slash or not _TOKEN.fullmatch(kind) or not _TOKEN.fullmatch(subtype):
        return None
    return MediaType(f"{kind}/{subtype}".lower(), _parameters(rest[0].rstrip(_BLANK)) if rest else {})


def by_name(name: str) -> str:
    """The media type that the ending of a file's name stands for, "" when it stands for none. A compressed file is what it
    was compressed with: `a.tar.gz` is application/gzip."""
    kind, coding = _NAMES.guess_type(name)
    return _CODINGS.get(coding, "application/octet-stream") if coding else kind or ""


_NAMES = mimetypes.MimeTypes()
"""The table of the language, not the one of this machine: the same name means the same everywhere."""
_CODINGS = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
    "compress": "application/x-compress",
    "br": "application/x-brotli",
}


def sniff(content: bytes) -> str:
    """The type that the first bytes show: markup, a known magic number, else text or bytes."""
    head = content[:_SNIFF_BYTES]
    bare = head.removeprefix(b"\xef\xbb\xbf")
    if _MARKUP.match(bare):
        return "text/html"
    if bare.lstrip(b"\t\n\x0c\r ")[:5] == b"<?xml":
        return "text/xml"
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}.get(
            head[8:12], "application/octet-stream"
        )
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if head.startswith((b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")) or not _BINARY.search(head):
        return "text/plain"
    return "application/octet-stream"


def _split(text: str) -> list[str]:
    """A header value at its commas, those in quoted strings apart."""
    if "," not in text:
        return [text]
    parts, start, quoted, at = [], 0, False, 0
    while at < len(text):
        c = text[at]
        if c == "\\" and quoted:
            at += 1
        elif c == '"':
            quoted = not quoted
        elif c == "," and not quoted:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]


def _parameters(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        end = _until(text, at, ";=")
        name = text[at:end].lstrip(_BLANK).lower()
        at = end + 1
        if text[end : end + 1] != "=":
            continue
        if text[at : at + 1] == '"':
            value, at = _quoted(text, at + 1)
            at = _until(text, at, ";") + 1
        else:
            end = _until(text, at, ";")
            value, at = text[at:end].rstrip(_BLANK), end + 1
            if not value:
                continue
        if _TOKEN.fullmatch(name) and _QUOTED_TEXT.fullmatch(value):
            found.setdefault(name, value)
    return found


def _until(text: str, at: int, stops: str) -> int:
    while at < len(text) and text[at] not in stops:
        at += 1
    return at


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The string whose opening quote stands before `at`, and the place after its closing one."""
    value: list[str] = []
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        value.append(text[at])
        at += 1
    return "".join(value), at + 1
