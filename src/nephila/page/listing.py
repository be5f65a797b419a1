"""The listing of an FTP folder: names, sizes and dates of what is in it, and the links to that.

Two ways to ask give three forms: MLSD (RFC 3659 section 7), made for programs, and LIST, made for people: lines as `ls -l`
writes them, or as MS-DOS does. Each line is read by itself; one that is none of these is no entry. A listing is kept as it
came, so `entries` can read it again, for a search by name or an index page.

A server may lie: a name with a slash, a line end or a NUL in it, or `..`, is no entry. A symbolic link is followed under the
name of what it points to, worked out here, so that a tree which contains itself is walked once.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes

from nephila.page import charset
from nephila.page.harvest import Harvest, Resolve
from nephila.types import Kind, Page

MEDIA_TYPE = "text/x-ftp-listing"
LINE_BYTES = 4096
"""A longer line is no entry: names have at most 255 bytes on nearly every system."""

FILE, FOLDER, LINK = "file", "folder", "link"

_LINE = re.compile(rb"[^\n]+")
_MLSD = re.compile(rb"((?:[A-Za-z0-9.\-]+=[^;]*;)+) (.+)", re.DOTALL)
_WORDS = 11
"""The name begins at the latest behind so many words."""
_MODE = re.compile(rb"[-dlbcpsD][-A-Za-z]{8,9}[+.@]?\Z")
_DOS = re.compile(
    rb"(\d\d|\d{4})[-/](\d\d)[-/](\d{4}|\d\d)[ \t]{1,9}(\d\d?):(\d\d)(?::\d\d)?[ \t]{0,3}([AP]M)?[ \t]{1,40}"
    rb"(?:(<[A-Z]{3,12}>)|([\d,.]{1,30}))[ \t]{1,40}(.+)",
    re.I | re.DOTALL,
)
_ISO = re.compile(rb"(\d{4})-(\d\d)-(\d\d)\Z")
_MONTHS = {name: n for n, name in enumerate(b"jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_DAY_S = 86_400.0


class Entry(NamedTuple):
    """One thing in a folder. `name` and `target` (of a link; b"" when it is not told) are bytes as the server has them; `size`
    in bytes, `modified` Unix time (LIST has no time zone: read as UTC), both -1 when they are not told."""

    name: bytes
    kind: str
    size: int = -1
    modified: float = -1.0
    target: bytes = b""


def entries(content: bytes, fetched: float) -> Iterator[Entry]:
    """The entries of a listing that was fetched at the Unix time `fetched` (a date without year means the last such day)."""
    for found in _LINE.finditer(content):
        line = found[0].removesuffix(b"\r")
        if len(line) > LINE_BYTES:
            continue
        entry = _mlsd(line) or _unix(line, fetched) or _dos(line)
        if entry is not None and _is_name(entry.name):
            yield entry


def read(content: bytes, url: str, fetched: float, links_max: int, resolve: Resolve) -> Page:
    """The page of a listing of the folder `url`. A link's anchor is the name, its tag says what it leads to; `document` gives
    the entries."""
    path = url[url.find("/", 8) :]
    harvest = Harvest(links_max)
    for entry in entries(content, fetched):
        if harvest.cut:
            break
        if place := href(entry, path):
            harvest.add(place, Kind.PAGE, entry.kind, "name")
    encoding = charset.decode(content, "")[1]

    def details(i: int) -> tuple[str, str]:
        return unquote(harvest.hrefs[i].rstrip("/").rpartition("/")[2], encoding, "replace"), ""

    return Page(
        media_type=MEDIA_TYPE,
        charset=encoding,
        title=unquote(path, encoding, "replace"),
        links=harvest.links(url, "utf-8", resolve, details),
        links_cut=harvest.cut,
        document=lambda: list(entries(content, fetched)),
    )


def href(entry: Entry, path: str) -> str:
    """Where an entry of the folder `path` leads, percent-encoded; "" when it leads nowhere, or up."""
    if entry.kind != LINK:
        return quote_from_bytes(entry.name, "") + ("/" if entry.kind == FOLDER else "")
    return _followed(entry.target, path) if entry.target else ""


def _followed(target: bytes, path: str) -> str:
    """The path of what a symbolic link in the folder `path` points to; "" when that lies above the top or is a folder above."""
    above = unquote_to_bytes(path).split(b"/")[1:-1]
    steps: list[bytes] = [] if target.startswith(b"/") else list(above)
    for step in target.split(b"/"):
        if step == b"..":
            if not steps:
                return ""
            steps.pop()
        elif step not in (b"", b"."):
            steps.append(step)
    if steps == above[: len(steps)] or not all(map(_is_name, steps)):
        return ""
    return "/" + "/".join(quote_from_bytes(step, "") for step in steps)


def _is_name(name: bytes) -> bool:
    return name not in (b"", b".", b"..") and not any(byte in name for byte in b"/\r\n\0")


def _mlsd(line: bytes) -> Entry | None:
    """`type=file;size=5;modify=20240102030405; name`."""
    found = _MLSD.match(line)
    if found is None:
        return None
    facts = dict(fact.split(b"=", 1) for fact in found[1].split(b";")[:-1])
    facts = {name.lower(): value for name, value in facts.items()}
    kind, _, target = facts.get(b"type", b"file").partition(b":")
    kind = kind.lower()
    if kind in (b"cdir", b"pdir"):
        return None
    of = FOLDER if kind == b"dir" else LINK if kind.startswith((b"os.unix=slink", b"os.unix=symlink")) else FILE
    return Entry(found[2], of, _number(facts.get(b"size", b"")), _time_value(facts.get(b"modify", b"")), target)


def _unix(line: bytes, fetched: float) -> Entry | None:
    """`-rw-r--r-- 1 owner group 5 Jan  2 03:04 name`, with or without group, links, month first or day first, or ISO dates.

    The size is the last number before the first thing that reads as a date: what stands in front of it differs most.
    """
    words = line.split(None, _WORDS)
    if len(words) < 5 or not _MODE.match(words[0]):
        return None
    for i in range(1, len(words) - 3):
        if words[i].isdigit() and (date := _date(words[i + 1 : i + 4], fetched)):
            modified, used = date
            name = _behind(line, i + used + 1)
            letter = words[0][:1]
            kind = FOLDER if letter == b"d" else LINK if letter == b"l" else FILE
            target = b""
            if kind == LINK:
                name, _, target = name.partition(b" -> ")
            return Entry(name, kind, _number(words[i]), modified, target)
    return None


def _behind(line: bytes, words: int) -> bytes:
    """What follows so many words and one blank: a name may begin with blanks."""
    found = line.split(None, words)
    at = len(line) - len(found[-1])
    return line[len(line[:at].rstrip(b" \t")) + 1 :] if len(found) > words else b""


def _dos(line: bytes) -> Entry | None:
    """`01-02-24  03:04AM  <DIR>  name`."""
    found = _DOS.match(line)
    if found is None:
        return None
    first, second, third, hour, minute, half, mark, size, name = found.groups()
    year, month, day = (first, second, third) if len(first) == 4 else (third, first, second)
    hours = int(hour) % 12 + 12 * (half.upper() == b"PM") if half else int(hour)
    century = 0 if len(year) == 4 else 1900 if int(year) >= 70 else 2000
    modified = _moment(int(year) + century, int(month), int(day), hours, int(minute))
    if mark:  # <DIR>, <JUNCTION>, <SYMLINKD>: where the latter two lead is not told
        return Entry(name, FOLDER if mark.upper() == b"<DIR>" else LINK, -1, modified)
    return Entry(name, FILE, _number(size.translate(None, b",.")), modified)


def _date(words: list[bytes], fetched: float) -> tuple[float, int] | None:
    """(Unix time, words used) of `Jan 2 03:04`, `2 Jan 2024`, `2024-01-02 03:04`; None when these words are no date."""
    if iso := _ISO.match(words[0]):
        hours, minutes = _clock(words[1]) or (0, 0)
        return _moment(int(iso[1]), int(iso[2]), int(iso[3]), hours, minutes), 2
    if len(words) < 3:
        return None
    month, day = words[0], words[1]
    if month.isdigit():
        month, day = day, month
    number = _MONTHS.get(month[:3].lower(), 0)
    if not number or not day.isdigit() or len(day) > 2:
        return None
    if clock := _clock(words[2]):
        year = datetime.fromtimestamp(fetched, UTC).year
        modified = _moment(year, number, int(day), *clock)
        return (modified if modified <= fetched + _DAY_S else _moment(year - 1, number, int(day), *clock)), 3
    if len(words[2]) == 4 and words[2].isdigit():
        return _moment(int(words[2]), number, int(day), 0, 0), 3
    return None


def _clock(word: bytes) -> tuple[int, int] | None:
    hours, colon, rest = word.partition(b":")
    minutes = rest[:2]
    return (int(hours), int(minutes)) if colon and len(hours) <= 2 and hours.isdigit() and minutes.isdigit() else None


def _time_value(text: bytes) -> float:
    """RFC 3659 section 2.3: YYYYMMDDHHMMSS, parts of a second ignored."""
    if len(text) < 14 or not text[:14].isdigit():
        return -1.0
    year, month, day, hour, minute, second = int(text[:4]), *(int(text[i : i + 2]) for i in range(4, 14, 2))
    moment = _moment(year, month, day, hour, minute)
    return moment + second if moment >= 0 else moment


def _moment(year: int, month: int, day: int, hour: int, minute: int) -> float:
    if not (1970 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60):
        return -1.0
    return float(timegm((year, month, day, hour, minute, 0)))


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) <= 18 else -1
