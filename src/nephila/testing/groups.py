"""A crawl as a group of processes that can be watched, killed whole or in part, and must leave nobody behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

POLL_S = 0.005
"""How often a log is looked at: some pages of a fast crawl, and next to no CPU."""


class Process(msgspec.Struct, frozen=True):
    pid: int
    parent: int
    group: int
    dead: bool
    """A zombie: it has ended and waits to be reaped."""


class Ended(msgspec.Struct, frozen=True):
    """How a crawl's front process ended. `code` is negative for a signal, as in subprocess."""

    code: int
    out: str
    err: str


class Crawl:
    """`python -m MODULE crawl ARGS` in a process group of its own. A context manager: whoever is left is killed at its end.

    `module` is `nephila`, or `nephila.testing.crawl` for one with fault points. `env` is added to the environment.
    """

    def __init__(
        self,
        args: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        module: str = "nephila",
    ) -> None:
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, "crawl", *args],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )
        self.front = self._process.pid

    def __enter__(self) -> Crawl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._process.wait()
        self._out.close()
        self._err.close()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def workers(self) -> list[int]:
        """Process ids of the front's living children."""
        return [p.pid for p in processes() if p.parent == self.front and not p.dead]

    def left(self) -> list[int]:
        """Processes of the group that live. Empty is how it has to be after the end."""
        return [p.pid for p in processes() if p.group == self.front and not p.dead]

    def kill(self) -> None:
        """SIGKILL to the whole group at once."""
        try:
            os.killpg(self.front, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def kill_front(self) -> None:
        """SIGKILL to the front alone: its workers have to notice by themselves."""
        if self.running:
            os.kill(self.front, signal.SIGKILL)

    def kill_worker(self, number: int = 0) -> bool:
        """SIGKILL to one worker alone. False when there is none (any more)."""
        workers = self.workers()
        if not workers:
            return False
        try:
            os.kill(workers[number % len(workers)], signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def signal(self, number: int) -> None:
        """A signal to the whole group, as a terminal sends it for Ctrl-C."""
        os.killpg(self.front, number)

    def wait(self, timeout_s: float = 60.0) -> Ended:
        """Until the front has ended. Raises TimeoutError, telling what the crawl has said so far."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                f"still running after {timeout_s} s\n{self.said(self._out)}\n{self.said(self._err)}"
            ) from None
        return Ended(code, self.said(self._out), self.said(self._err))

    def wait_alone(self, timeout_s: float = 5.0) -> None:
        """Until nobody of the group lives. Raises TimeoutError naming who does."""
        until(lambda: not self.left(), timeout_s, lambda: f"left behind: {self.left()}")

    @staticmethod
    def said(file: object) -> str:
        """What was written to a captured stream so far."""
        descriptor: int = file.fileno()  # type: ignore[attr-defined]
        return os.pread(descriptor, 1 << 20, 0).decode(errors="replace")

    def wait_for_growth(self, log: Path, lines: int, timeout_s: float = 60.0) -> bool:
        """Until a log has grown by this many lines since now. False when the crawl ended before."""
        return Growth(log).wait(lines, lambda: self.running, timeout_s)


class Growth:
    """The growth of a log file since this object was made."""

    def __init__(self, log: Path) -> None:
        self._log, self._at, self._lines = log, log.stat().st_size if log.exists() else 0, 0

    def lines(self) -> int:
        """Lines added so far."""
        if self._log.exists() and self._log.stat().st_size > self._at:
            with self._log.open("rb") as file:
                file.seek(self._at)
                added = file.read()
            self._at, self._lines = self._at + len(added), self._lines + added.count(b"\n")
        return self._lines

    def wait(self, lines: int, running: Callable[[], bool], timeout_s: float = 60.0) -> bool:
        """Until that many were added: True. False when `running` says no before. Raises TimeoutError."""
        until(
            lambda: self.lines() >= lines or not running(),
            timeout_s,
            lambda: f"{self._log}: {self._lines} lines in {timeout_s} s",
        )
        return self.lines() >= lines


def until(true: Callable[[], bool], timeout_s: float, complaint: Callable[[], str]) -> None:
    """Look every 5 ms until something is true. Raises TimeoutError with the complaint."""
    end = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(complaint())
        time.sleep(POLL_S)


def processes() -> list[Process]:
    """Every process of the machine: from /proc where there is one, else from ps."""
    if not Path("/proc/self/stat").exists():
        return _from_ps()
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                text = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue  # it ended while we looked
            state, parent, group = text.rpartition(")")[2].split()[:3]
            found.append(Process(int(name), int(parent), int(group), state in "ZX"))
    return found


def _from_ps() -> list[Process]:
    text = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split() for line in text.splitlines())
    return [Process(int(pid), int(parent), int(group), state.startswith("Z")) for pid, parent, group, state in rows]
