"""Runs a command and says what it cost: wall clock, CPU of all its processes, most memory at one time."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

SAMPLE_S = 0.1
"""How often memory is looked at: a look takes about 2 ms, so it costs the measured tool two percent of a core."""


class Cost(NamedTuple):
    """`cpu_s` counts every process that was waited for; `memory_bytes` is the largest sum over the processes at one time."""

    code: int
    wall_s: float
    cpu_s: float
    memory_bytes: int


def run(command: list[str], folder: Path, time_s_max: float) -> Cost:
    """Run `command` in `folder`, silent, in a session of its own. Killed (code -9) after `time_s_max` seconds."""
    before = _peak(resource.getrusage(resource.RUSAGE_SELF))
    start = time.perf_counter()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    memory = _Memory(process.pid)
    deadline = threading.Timer(time_s_max, os.killpg, (process.pid, signal.SIGKILL))
    deadline.start()
    _, status, used = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    deadline.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    own = _peak(used)  # that of this process is in it, from before it became the command
    return Cost(
        process.returncode, wall_s, used.ru_utime + used.ru_stime, max(memory.stop(), own if own > before else 0)
    )


class _Memory(threading.Thread):
    """Looks at the resident memory of a session's processes until stopped (Linux; elsewhere it sees nothing)."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self._session, self._most, self._done = session, 0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self._done.wait(SAMPLE_S):
            self._most = max(self._most, _resident(self._session))

    def stop(self) -> int:
        self._done.set()
        self.join()
        return self._most


def _resident(session: int) -> int:
    """Resident bytes of all processes of a session: fields 6 and 24 of /proc/PID/stat, counted after the name (proc(5))."""
    pages = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[3]) == session:
            pages += int(fields[21])
    return pages * resource.getpagesize()


def _peak(used: resource.struct_rusage) -> int:
    """The largest single process, for runs that end between two looks (Linux counts KiB, macOS bytes)."""
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def resident(pid: int) -> int:
    """Resident bytes of a process: second field of /proc/PID/statm (proc_pid_statm(5)); 0 when it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0
