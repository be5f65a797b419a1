"""Who may work in a job folder: one process, and a worker on each archive file that it writes.

The lock is flock on `DIR/lock`; what the file says (JSON: pid, path of the control socket) is only for people and for
`control.ask`. A lock file without a lock is a left-over and no obstacle; it is emptied but never deleted, because a
deleted file can be locked by two.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from nephila.errors import JobError

LOCK_WAIT_S = 5.0
"""A front that is just ending needs a moment; so does a worker that has met the end of its front."""
LOCK_STEP_S = 0.05
"""flock has no form with a time limit, so it is tried this often."""
SAID_BYTES_MAX = 64 << 10
"""Of a longer lock file nothing more is read."""
SOCKET_FOLDER = "nephila-"
"""How the name of a folder begins in which a front puts its control socket."""


class JobLock:
    """The right to write in a job folder, for one process. A context manager; released by the end of the process too."""

    def __init__(self, folder: Path, wait_s: float = LOCK_WAIT_S) -> None:
        self.folder, self._wait_s = folder, wait_s
        self._descriptor = -1

    def acquire(self) -> None:
        """Raises JobError when another process has it (naming it), or when the folder cannot be written."""
        path = self.folder / "lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise JobError(f"{path} cannot be opened ({error.strerror})") from error
        try:
            if not _flock(descriptor, self._wait_s):
                raise JobError(self._in_use())
            _sweep(read(self.folder))
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        try:
            self.publish("")
        except OSError:
            self.release()
            raise

    def publish(self, control: str) -> None:
        """Say in the lock file who we are and where our control socket is ("": nowhere yet)."""
        self._write(json.dumps({"pid": os.getpid(), "control": control}).encode() + b"\n")

    def release(self) -> None:
        if self._descriptor >= 0:
            self._write(b"")
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> JobLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _write(self, data: bytes) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, data, 0)

    def _in_use(self) -> str:
        pid = (read(self.folder) or {}).get("pid")
        who = f"process {pid}" if isinstance(pid, int) else "another process"
        return f"{self.folder} is in use by {who}: wait for it, or end it with `nephila stop {self.folder}`"


def is_held(folder: Path) -> bool:
    """Whether a process has the right to write in `folder` now. Who waits for it is not disturbed."""
    try:
        descriptor = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        return not _flock(descriptor, 0.0, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@contextmanager
def lock_archive(path: Path, pid: int, wait_s: float = LOCK_WAIT_S) -> Iterator[bool]:
    """Hold the lock of an archive file that a dead front left open; `pid` is the worker recorded for it. False: no such
    file. A worker that still holds it after `wait_s` is killed; JobError when it is held by anything else."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield False
        return
    try:
        if not _flock(descriptor, wait_s):
            if is_worker(pid) and _has_open(pid, path):  # the number alone proves nothing: it may have a new owner
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not _flock(descriptor, wait_s):
                raise JobError(f"{path} is locked by a process that is not a worker of this crawl")
        yield True
    finally:
        os.close(descriptor)


def is_worker(pid: int) -> bool:
    """Whether process `pid` is a worker of ours, by its command line."""
    if pid <= 1:
        return False
    if sys.platform == "linux":
        try:
            return b"nephila.worker" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
    done = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, timeout=5, check=False)
    return b"-m nephila.worker " in done.stdout


def _has_open(pid: int, path: Path) -> bool:
    """Whether the process has this very file open; taken as true where the system does not tell."""
    descriptors = Path(f"/proc/{pid}/fd")
    if sys.platform != "linux":
        return True
    with contextlib.suppress(OSError):
        return any(_same(entry, path) for entry in descriptors.iterdir())
    return False


def _same(one: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):
        return one.samefile(other)
    return False


def _sweep(left_over: dict[str, Any] | None) -> None:
    """Remove the control socket of a front that died: only a socket of ours, in a folder of ours that we named."""
    control = (left_over or {}).get("control")
    if not isinstance(control, str) or not os.path.basename(os.path.dirname(control)).startswith(SOCKET_FOLDER):
        return
    with contextlib.suppress(OSError):
        found = os.lstat(control)
        if stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid():
            os.unlink(control)
            os.rmdir(os.path.dirname(control))


def read(folder: Path) -> dict[str, Any] | None:
    """What the lock file says, held or left over; None: nothing, or nothing sensible."""
    try:
        return json_object((folder / "lock").read_bytes()[:SAID_BYTES_MAX])
    except OSError:
        return None


def _flock(descriptor: int, wait_s: float, kind: int = fcntl.LOCK_EX) -> bool:
    """Take the lock within `wait_s`. OSError of a file system that has no locks is a JobError."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
        except OSError as error:
            if error.errno == errno.EINTR:
                continue
            raise JobError(
                f"this file system cannot lock files ({error.strerror}): put the job on a local disk"
            ) from error
        time.sleep(LOCK_STEP_S)


def json_object(line: bytes) -> dict[str, Any] | None:
    """A line as a JSON object; None: it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
