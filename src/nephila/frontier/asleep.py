"""Hosts asleep: of a wide crawl's millions of hosts most are asked rarely, and cost an id, a count and a time in memory.

All else about them (pause, robots.txt, failures) is their row in the store, and so is their queue. A host falls asleep when it
has nothing under way and its place is wanted, and is awake again, as it was, a moment before it is asked for the next time.
What a row does not tell (a verdict, a penalty: few hosts have one) stays here beside the id. About 60 bytes each.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable
from typing import Any

from nephila.frontier.host import Host

_KNOWN, _IN_LINE, _LIVED, _PRIVATE, _ANSWERED, _ROBOTS_USED, _HELD = (1 << n for n in range(7))


class Asleep:
    """Columns by host id, and a line of those that have something queued, by due time (monotonic)."""

    def __init__(self) -> None:
        self.queued = array("I", [0])
        self._due = array("d", [0.0])
        self._flags = bytearray(1)
        self._line: list[int] = []
        """milliseconds of the due time, then the id: a number costs half of a pair"""
        self._marks: dict[int, tuple[Any, ...]] = {}

    def __len__(self) -> int:
        """How many stand in line, at most."""
        return len(self._line)

    def new(self) -> int:
        """The id of another host, of which nothing is known yet."""
        self.queued.append(0)
        self._due.append(0.0)
        self._flags.append(0)
        return len(self._due) - 1

    def load(self, dues: list[float], queued: Iterable[tuple[int, int]]) -> int:
        """The hosts of before: due times in the order of their ids, from 1, and how many URLs some of them have queued.
        Returns how many that are in all."""
        self._due = array("d", [0.0, *dues])
        self.queued = array("I", bytes(4 * len(self._due)))
        self._flags = bytearray([_KNOWN]) * len(self._due)
        line, total = self._line, 0
        for id, count in queued:
            self.queued[id] = count
            total += count
            self._flags[id] |= _IN_LINE
            line.append(int(self._due[id] * 1000) << 32 | id)
        heapq.heapify(line)
        return total

    def known(self, id: int) -> bool:
        """The store has more to tell of it than its name."""
        return bool(self._flags[id] & _KNOWN)

    def add(self, id: int, now: float) -> None:
        """One more of its URLs is queued, in the store. Who had nothing to give stands in line from now on, not from when it
        could have: else hosts that are met only now would always be first."""
        self.queued[id] += 1
        if not self._flags[id] & (_IN_LINE | _HELD):
            self._enter(id, now)

    def drop(self, id: int, count: int) -> None:
        """So many of its queued URLs are not wanted any more."""
        self.queued[id] -= count

    def hold(self, id: int) -> None:
        """It is not to wake by itself: its site is over budget."""
        self._flags[id] = (self._flags[id] | _HELD) & ~_IN_LINE

    def release(self, id: int, now: float) -> None:
        """Undo `hold`."""
        self._flags[id] &= ~_HELD
        if self.queued[id] and not self._flags[id] & _IN_LINE:
            self._enter(id, now)

    def next_due(self) -> float | None:
        """When the first in line wants to be awake."""
        while self._line and not self._flags[self._line[0] & 0xFFFF_FFFF] & _IN_LINE:
            heapq.heappop(self._line)
        return (self._line[0] >> 32) / 1000 if self._line else None

    def pop_due(self, now: float) -> int:
        """The id of the first in line whose time has come; 0: there is none."""
        due = self.next_due()
        return heapq.heappop(self._line) & 0xFFFF_FFFF if due is not None and due <= now else 0

    def _enter(self, id: int, since: float = 0.0) -> None:
        self._flags[id] |= _IN_LINE
        heapq.heappush(self._line, int(max(self._due[id], since, 0.0) * 1000) << 32 | id)

    # --- falling asleep, waking -------------------------------------------------------------------------------------

    def take(self, host: Host, now: float) -> None:
        """A host falls asleep: whatever of it is in memory only is kept here."""
        id = host.id
        self.queued[id], self._due[id] = host.queued, max(host.due, host.backoff_until)
        self._flags[id] = (
            _KNOWN
            | _LIVED
            | (_PRIVATE if host.private else 0)
            | (_ANSWERED if host.answered else 0)
            | (_ROBOTS_USED if host.robots_used else 0)
        )
        if marks := host.marks(now):
            self._marks[id] = marks
        if host.queued:
            self._enter(id)

    def give(self, host: Host) -> None:
        """A host is awake: its queue and its clock as they are known here."""
        host.queued, self.queued[host.id] = self.queued[host.id], 0
        host.due = self._due[host.id]
        self._flags[host.id] &= ~(_IN_LINE | _HELD)

    def finish(self, host: Host) -> bool:
        """Its row has been read: what is known here counts more. False: it has not been awake since the start."""
        flags = self._flags[host.id]
        if not flags & _LIVED:
            return False
        host.private, host.answered = bool(flags & _PRIVATE), bool(flags & _ANSWERED)
        host.robots_used = bool(flags & _ROBOTS_USED)
        if (marks := self._marks.pop(host.id, None)) is not None:
            host.mark(marks)
        return True

    def forgive(self) -> None:
        """Our own network was gone: silence is nobody's fault, unless it was asked for."""
        for id, marks in list(self._marks.items()):
            if (left := Host.forgiven(marks)) is None:
                del self._marks[id]
            else:
                self._marks[id] = left
