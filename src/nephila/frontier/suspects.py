"""Suspects: pages that were out when their worker died. Each goes out alone, so that a second death is proof."""

from __future__ import annotations

from collections import deque

from nephila.frontier.batch import Row
from nephila.frontier.books import Books, Held
from nephila.frontier.host import Host
from nephila.frontier.lending import Lending
from nephila.types import Lease

PROOF = 2
"""Deaths of workers that held this page and nothing else."""


class Suspects:
    """A line of suspects; one of them is out at a time."""

    def __init__(self, books: Books, lending: Lending) -> None:
        self._books, self._lending = books, lending
        self._line: deque[tuple[Host, Row]] = deque()

    def __bool__(self) -> bool:
        return bool(self._line)

    def add(self, held: Held) -> bool:
        """Its worker died. True: it was alone, and not for the first time; it is not given out again."""
        alone, id = self._books.alone, held.row.id
        alone[id] = alone[id] + 1 if id in alone else 0
        if alone[id] >= PROOF:
            return True
        self._line.append((held.host, held.row))
        return False

    def keep_free(self, worker: int) -> bool:
        """The worker holds a suspect and gets nothing beside it."""
        if not self._books.alone:
            return False
        return any(held.worker == worker and held.row.id in self._books.alone for held in self._books.leases.values())

    def next_due(self, now: float) -> float | None:
        """When the next suspect may go out; None: one is out, or their hosts are silent for long."""
        if not self._line or any(held.row.id in self._books.alone for held in self._books.leases.values()):
            return None
        return min((max(h.due, h.backoff_until) for h, _ in self._line if _is_free(h)), default=None)

    def grant(self, now: float, worker: int) -> list[Lease]:
        """One suspect, to a worker that holds nothing else; until it is out, nobody gets more, so that one runs empty."""
        if any(held.worker == worker for held in self._books.leases.values()):
            return []
        for _ in range(len(self._line)):
            host, row = self._line.popleft()
            if _is_free(host) and max(host.due, host.backoff_until) <= now:
                return [self._lending.lease(host, row, now, worker)]
            self._line.append((host, row))
        return []


def _is_free(host: Host) -> bool:
    return not host.parked_until and host.state != "paused"
