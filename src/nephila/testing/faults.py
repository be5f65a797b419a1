"""Death at a chosen instant: a process kills itself (SIGKILL) at its k-th durable step, or writes down which steps there are.

Rooms that write call `step(name)` before and after every write, rename and commit; in a real crawl that function does
nothing, and nothing of this module is imported. `python -m nephila.testing.crawl` passes the one made here. The plan
stands in the variable NEPHILA_FAULT, clauses parted by `;`:

    kill:17             the 17th step of any process of the crawl, each process counting its own
    kill:front:17       the 17th step of the front process
    kill:worker:17      the 17th step of a worker
    at:look.after:2     the second step of that name, in any process
    once:FILE           the kill happens at most once: FILE is made first, and where it is, nobody is killed
    log:FILE            append `role <tab> pid <tab> number <tab> name` per step
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import msgspec

VARIABLE = "NEPHILA_FAULT"


class Step(msgspec.Struct, frozen=True):
    """One line of a step log."""

    role: str
    pid: int
    number: int
    name: str


class FaultPlan:
    """What happens at the steps of one process. `role` is `front` or `worker`. Raises ValueError for an unknown clause."""

    def __init__(self, text: str, role: str) -> None:
        self.role, self.count = role, 0
        self._kill_at, self._once, self._log = 0, "", -1
        self._name, self._left = "", 0
        self._lock = threading.Lock()
        for clause in filter(None, text.split(";")):
            self._clause(*clause.split(":", 1))

    @classmethod
    def from_environment(cls, role: str) -> FaultPlan:
        return cls(os.environ.get(VARIABLE, ""), role)

    def step(self, name: str) -> None:
        """A durable step begins or has ended. May not return. Any thread may call it."""
        with self._lock:
            self.count += 1
            if self._log >= 0:
                os.write(self._log, f"{self.role}\t{os.getpid()}\t{self.count}\t{name}\n".encode())
            self._left -= name == self._name
            named = name == self._name and self._left == 0
            if (named or self.count == self._kill_at) and self._first():
                os.kill(os.getpid(), signal.SIGKILL)

    def _clause(self, word: str, value: str = "") -> None:
        if word == "kill":
            role, _, number = value.rpartition(":")
            if role in ("", self.role):
                self._kill_at = int(number)
        elif word == "at":
            self._name, _, number = value.rpartition(":")
            self._left = int(number)
        elif word == "once":
            self._once = value
        elif word == "log":
            self._log = os.open(value, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        else:
            raise ValueError(f"{VARIABLE}: {word!r} is not kill, at, once or log")

    def _first(self) -> bool:
        """Whether nobody was killed under this plan before."""
        if not self._once:
            return True
        try:
            os.close(os.open(self._once, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            return False
        return True


def steps(log: Path) -> list[Step]:
    """What `log:FILE` wrote, in order."""
    lines = (line.split("\t") for line in log.read_text().splitlines())
    return [Step(role, int(pid), int(number), name) for role, pid, number, name in lines]
