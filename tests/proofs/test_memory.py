"""Memory stays where it is while a crawl grows fivefold, but for what the set of known URLs needs."""

from __future__ import annotations

import sys

import pytest
from benchmarks.memory import measure, report

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="system: /proc is needed"),
]


def test_memory_after_100_000_pages_is_that_after_20_000() -> None:
    early, late = measure(20_000, 100_000)
    print(report(early, late))
    assert late.front <= late.front_max(early)
    assert late.worker <= late.worker_max(early)
