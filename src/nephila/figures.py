"""How numbers are written for people, everywhere: bytes, spans of time, moments."""

from __future__ import annotations

from datetime import UTC, datetime


def amount(size: float) -> str:
    """Bytes, decimal: `245 MB`."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def duration(seconds: float) -> str:
    """`0:12:31`, past a day `2d 03:12:31`."""
    hours, rest = divmod(int(seconds), 3600)
    days, hours = divmod(hours, 24)
    clock = f"{rest // 60:02}:{rest % 60:02}"
    return f"{days}d {hours:02}:{clock}" if days else f"{hours}:{clock}"


def moment(when: float) -> str:
    """A Unix time, UTC, to the second; a site may name one that no calendar has."""
    return datetime.fromtimestamp(min(max(when, 0.0), 253402300799.0), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def days(first: float, last: float) -> str:
    """The days of two moments, UTC: one where they are the same."""
    begin, end = (f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d}" for when in (first, last))
    return begin if begin == end else f"{begin} – {end}"
