"""Time, for everyone who asks for it: monotonic for waiting, wall for records. Tests put a fake one in its place."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds on a clock that never jumps (the running event loop's time)."""
        ...

    def wall(self) -> float:
        """Unix time, UTC."""
        ...


class SystemClock:
    """The machine's clocks. asyncio's loops use the same monotonic clock."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()


def iso(moment: float, precision: str = "seconds") -> str:
    """Unix time as ISO 8601 in UTC, such as `2026-12-01T08:30:00Z`. `precision`: `seconds` or `milliseconds`."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec=precision).replace("+00:00", "Z")
