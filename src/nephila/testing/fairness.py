"""How evenly hosts are served: Jain's index, and the part of a log in which all of them had work.

An index of a running crawl would tell nothing: a host met an hour ago has more pages than one met now, and rightly so.
It means something among hosts that had work from the same moment on, and until the first of them ran out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from nephila.testing.fakeweb import Access


def jain(shares: Collection[float]) -> float:
    """(Σx)² / n·Σx² (Jain, Chiu and Hawe 1984): 1 when all are alike, 1/n when one has everything, 0 when nobody has."""
    total = sum(shares)
    return total * total / (len(shares) * sum(x * x for x in shares)) if total else 0.0


def while_all_have_work(log: Iterable[Access], queued: dict[str, int]) -> Counter[str]:
    """Host → requests begun before the first host had all of its `queued` ones answered. Hosts without any are in it, too."""
    log = sorted(log, key=lambda access: access.end)
    left, ends = Counter(queued), float("inf")
    for access in log:
        left[access.host] -= 1
        if left[access.host] <= 0:
            ends = access.end
            break
    counts = Counter(dict.fromkeys(queued, 0))
    counts.update(access.host for access in log if access.start < ends and access.host in queued)
    return counts
