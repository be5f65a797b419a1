"""One worker as a process: launched with a wire and a slot, listened to, killed, reaped, weighed.

The slot is eight bytes of memory that the worker shares with us and in which the lease stands whose page it is reading.
Linux-only means have their portable twin here: memfd (unlinked file), pidfd (a thread that waits), /proc (ps).
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from nephila.worker import DEAF

SAID_BYTES = 16 << 10
"""What is kept of a worker's standard error: the end of it."""


def launch(worker: int, *, engine: str = "") -> Hand:
    """Start worker number `worker`: at once, so that it imports while the front opens its database.

    Must be called on the thread that outlives the crawl: Linux ties a child to the *thread* that made it. `engine` names
    another builder of the engine (`module:function`) in place of the job's.
    """
    ours, theirs = socket.socketpair()
    slot = _shared()
    said, write = os.pipe()
    os.set_blocking(said, False)
    command = [sys.executable, "-P", "-m", "nephila.worker", "--wire", str(theirs.fileno()), "--slot", str(slot)]
    command += ["--front", str(os.getpid())]
    command += ["--engine", engine] if engine else []
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # hooks are found there as they were here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, DEAF)  # inherited, so that none comes before it is deaf
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            pass_fds=(theirs.fileno(), slot),
            env={**os.environ, "PYTHONPATH": path},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        os.close(write)
    cells = memoryview(mmap.mmap(slot, 8)).cast("Q")
    os.close(slot)
    return Hand(worker, process, ours, cells, said)


class Hand:
    """A worker process and what the front holds of it. Made by `launch`, before or after the front's loop runs."""

    def __init__(
        self, worker: int, process: subprocess.Popen[bytes], sock: socket.socket, cells: memoryview, said: int
    ) -> None:
        self.worker, self.process, self.sock, self.cells = worker, process, sock, cells
        self.dismissed = False
        """We ended it ourselves: nobody is to blame."""
        self.reason = ""
        """Why the watch killed it: `read_time` or `read_memory`."""
        self._said_fd, self._said = said, bytearray()
        self._reading: tuple[int, float] = (0, 0.0)

    @property
    def lease(self) -> int:
        """The lease whose page it is reading, else 0."""
        return int(self.cells[0])

    @property
    def said(self) -> str:
        """The end of what it wrote to standard output and error."""
        return self._said.decode("utf-8", "replace")

    def begin(self) -> None:
        """Listen to it on the running loop: a worker must never wait to be heard."""
        asyncio.get_running_loop().add_reader(self._said_fd, self.listen)

    def listen(self) -> None:
        """Take what it has said so far; never waits. At the end of the file the reader leaves the loop."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._said_fd, SAID_BYTES):
                self._said += data
                del self._said[:-SAID_BYTES]
            asyncio.get_running_loop().remove_reader(self._said_fd)

    def reading_s(self, now: float) -> float:
        """How long it has been reading the same page, as far as our looks at the slot tell."""
        lease = self.lease
        if lease != self._reading[0]:
            self._reading = (lease, now)
        return now - self._reading[1] if lease else 0.0

    def look_anew(self) -> None:
        """Forget how long it has been reading: we have not been looking."""
        self._reading = (0, 0.0)

    def kill(self, reason: str = "") -> None:
        self.reason = self.reason or reason
        self.process.kill()

    def close(self) -> None:
        """Release everything; the process must be dead."""
        with contextlib.suppress(RuntimeError):  # launched, but never listened to by a loop
            asyncio.get_running_loop().remove_reader(self._said_fd)
        self.sock.close()
        os.close(self._said_fd)


async def exit_status(process: subprocess.Popen[bytes]) -> int:
    """Wait until a process has ended and reap it. Negative: the signal that ended it."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # no Linux, or a sandbox without it
        threading.Thread(target=_wait_for, args=(process, loop, ended), daemon=True).start()
        await ended
        return process.wait()
    loop.add_reader(descriptor, _done, ended)
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return process.wait()


async def resident_bytes(pids: list[int]) -> dict[int, int]:
    """Resident memory of processes; one that has just ended is missing or 0."""
    if sys.platform == "linux":
        return {pid: _resident(pid) for pid in pids}
    return await asyncio.to_thread(resident_by_ps, pids)


def resident_by_ps(pids: list[int]) -> dict[int, int]:
    """The same from `ps`, which counts in KiB: macOS has no /proc."""
    if not pids:
        return {}
    listing = ",".join(map(str, pids))
    done = subprocess.run(
        ["ps", "-o", "pid=,rss=", "-p", listing], capture_output=True, text=True, timeout=5, check=False
    )
    return {int(pid): int(kib) << 10 for pid, kib in (line.split() for line in done.stdout.splitlines())}


def _resident(pid: int) -> int:
    """Second field of /proc/PID/statm, in pages (proc_pid_statm(5))."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError):
        return 0


def _shared() -> int:
    """Descriptor of eight zero bytes of memory that nobody else can open."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("nephila-slot")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, 8)
    return descriptor


def _wait_for(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):  # the loop is gone, and so is who asked
        loop.call_soon_threadsafe(_done, ended)


def _done(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
