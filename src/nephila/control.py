"""Who may work in a job folder, and how a running crawl is steered from outside.

The lock is flock on `DIR/lock`; what the file says (JSON: pid, path of the control socket) is only for people and for
`ask`. A lock file without a lock is a left-over and no obstacle; it is emptied but never deleted, because a deleted file
can be locked by two. The control socket takes one JSON request per line and answers each with one line.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from nephila.errors import JobError

LOCK_WAIT_S = 5.0
"""A front that is just ending needs a moment; so does a worker that has met the end of its front."""
LOCK_STEP_S = 0.05
"""flock has no form with a time limit, so it is tried this often."""
LINE_BYTES_MAX = 64 << 10
"""A longer request is an error; a status of many hosts fits into an answer of any length."""
ANSWER_BYTES_MAX = 16 << 20
CLIENTS_MAX = 32
"""Connections at the same time: a dashboard and a handful of commands."""
SOCKET_PATH_MAX = 103
"""Bytes of a path in sockaddr_un: 104 on macOS, 108 on Linux, one of them the final zero."""
PREFIX = "nephila-"


class Steering(Protocol):
    """What the control socket can do to a crawl. A ValueError or JobError becomes the answer {"error": …}."""

    def status(self) -> dict[str, Any]: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self, now: bool) -> None: ...
    def host(self, host: str, action: str, value: float | None) -> str: ...
    def set(self, key: str, value: str) -> str: ...


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
            _sweep(_read(self.folder))
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
        pid = (_read(self.folder) or {}).get("pid")
        who = f"process {pid}" if isinstance(pid, int) else "another process"
        return f"{self.folder} is in use by {who}: wait for it, or end it with `nephila stop {self.folder}`"


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


def ask(folder: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any] | None:
    """One request to the crawl that runs in `folder`, e.g. {"verb": "status"}. None when none is running there.

    Raises TimeoutError when it does not answer in time.
    """
    control = (_read(folder) or {}).get("control")
    if not isinstance(control, str) or not control:
        return None
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(timeout_s)
        try:
            sock.connect(control)
            sock.sendall(json.dumps(request).encode() + b"\n")
            with sock.makefile("rb") as lines:
                line = lines.readline(ANSWER_BYTES_MAX)
        except (ConnectionError, FileNotFoundError, PermissionError):
            return None
    return _object(line)


@asynccontextmanager
async def control_socket(steering: Steering) -> AsyncIterator[str]:
    """Listen for requests while the block runs; gives the path of the socket, which is gone afterwards."""
    folder = _private_folder()
    path = os.path.join(folder, "control")
    clients: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        try:
            await _converse(steering, reader, writer, busy=len(clients) > CLIENTS_MAX)
        except (ConnectionError, asyncio.CancelledError):  # it left, or we do
            pass
        finally:
            clients.discard(task)
            writer.close()

    try:
        server = await asyncio.start_unix_server(serve, path, limit=LINE_BYTES_MAX)
        os.chmod(path, 0o600)  # the folder is 0700, so nobody came in before this
        try:
            yield path
        finally:
            server.close()
            for task in clients:
                task.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _converse(
    steering: Steering, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, busy: bool
) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            line, busy = b"{}", True
            answer = {"error": f"a request is at most {LINE_BYTES_MAX} bytes"}
        else:
            answer = {"error": "too many connections"} if busy else _answer(steering, line)
        if not line:
            return
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
        if busy:
            return


def _answer(steering: Steering, line: bytes) -> dict[str, Any]:
    request = _object(line)
    if request is None:
        return {"error": "a request is one JSON object on one line"}
    try:
        return _act(steering, request)
    except (ValueError, JobError) as error:
        return {"error": str(error)}


def _act(steering: Steering, request: dict[str, Any]) -> dict[str, Any]:
    match request:
        case {"verb": "status"}:
            return steering.status()
        case {"verb": "pause"}:
            steering.pause()
            return {"ok": "paused"}
        case {"verb": "resume"}:
            steering.resume()
            return {"ok": "resumed"}
        case {"verb": "stop"}:
            steering.stop(request.get("now") is True)
            return {"ok": "stopping"}
        case {"verb": "host", "host": str(host), "action": "pause" | "slow" | "drop" as action}:
            return {"ok": steering.host(host, action, _seconds(request.get("value")))}
        case {"verb": "set", "key": str(key), "value": str(value)}:
            return {"ok": steering.set(key, value)}
    raise ValueError(
        "a request has a verb: status, pause, resume, stop (now: true), "
        "host (host, action: pause, slow or drop, value: seconds), set (key, value)"
    )


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError("value is a number of seconds, 0 or more")
    return float(value)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _private_folder() -> str:
    """A new folder of mode 0700 whose paths are short enough for a socket: in the runtime folder, else in a temporary one."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if parent and os.path.isdir(parent) and len(os.fsencode(parent)) < SOCKET_PATH_MAX - 32:
            with contextlib.suppress(OSError):
                return tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    raise JobError(
        "no folder for the control socket: set XDG_RUNTIME_DIR or TMPDIR to a writable folder with a short path"
    )


def _sweep(left_over: dict[str, Any] | None) -> None:
    """Remove the control socket of a front that died: only a socket of ours, in a folder of ours that we named."""
    control = (left_over or {}).get("control")
    if not isinstance(control, str) or not os.path.basename(os.path.dirname(control)).startswith(PREFIX):
        return
    with contextlib.suppress(OSError):
        found = os.lstat(control)
        if stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid():
            os.unlink(control)
            os.rmdir(os.path.dirname(control))


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        return _object((folder / "lock").read_bytes()[:LINE_BYTES_MAX])
    except OSError:
        return None


def _flock(descriptor: int, wait_s: float) -> bool:
    """Take the lock within `wait_s`. OSError of a file system that has no locks is a JobError."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
