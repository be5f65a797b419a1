"""How fingerprints lie in crawl.db: signed, minus `db.BIAS`; but in `link.targets` packed as they are, eight bytes each, in the machine's order."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from nephila.db import BIAS


def unpacked(targets: bytes) -> npt.NDArray[np.int64]:
    """Targets of links as fingerprints of the other tables."""
    return (np.frombuffer(targets, np.uint64) ^ np.uint64(BIAS)).view(np.int64)


def needle(fp: int) -> bytes:
    """What stands in `link.targets` for the address with this `url.fp`."""
    return (fp + BIAS).to_bytes(8, sys.byteorder)


def place(targets: bytes, needle: bytes) -> int:
    """Which of the targets it is, -1 when the bytes are not there, or stand there by chance, across two of them."""
    at = targets.find(needle)
    while at >= 0 and at % 8:
        at = targets.find(needle, at + 1)
    return at // 8
