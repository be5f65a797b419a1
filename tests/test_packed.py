"""Packed fingerprints: a needle is found where it is a target, and not where its bytes stand by chance."""

from __future__ import annotations

import sys

from nephila.db import BIAS
from nephila.packed import needle, place, unpacked


def test_bytes_across_two_targets_are_none_and_hide_none() -> None:
    wanted = needle(5)
    across = bytes(3) + wanted + bytes(5)
    assert across.find(wanted) == 3
    assert place(across, wanted) == -1
    assert place(across + wanted, wanted) == 2
    assert place(wanted + across, wanted) == 0
    assert place(b"", wanted) == -1


def test_what_is_packed_is_what_the_tables_hold() -> None:
    fps = [0, 5, -5, BIAS - 1, -BIAS]
    assert unpacked(b"".join(map(needle, fps))).tolist() == fps
    assert needle(-BIAS) == bytes(8)
    assert needle(1 - BIAS) == (1).to_bytes(8, sys.byteorder)
