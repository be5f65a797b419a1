"""Good sites beside hostile ones keep their speed, and no worker grows beyond its limit (docs/promises.md, P5)."""

from __future__ import annotations

import pytest
from benchmarks import hostile
from benchmarks.hostile import Run


@pytest.mark.long
def test_good_sites_beside_twenty_hostile_hosts() -> None:
    alone, beside = hostile.compare(rounds=3, pages=300)
    assert min(one.asked for one in beside) > 100
    assert hostile.holds(alone, beside), hostile.report(alone, beside)


def test_a_tenth_less_is_too_slow() -> None:
    alone = [Run(100.0, 0, 0, 0), Run(10.0, 0, 0, 0), Run(120.0, 0, 0, 0)]
    assert hostile.holds(alone, [Run(91.0, 0, 0, 1)] * 3)
    assert not hostile.holds(alone, [Run(89.0, 0, 0, 1)] * 3)
    assert not hostile.holds(alone, [Run(100.0, 2 << 30, 0, 1)] * 3)
