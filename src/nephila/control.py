"""How a running crawl is steered from outside: a socket that only its user can reach, found through the lock file.

It takes one JSON request per line and answers each with one line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from nephila import lock
from nephila.errors import JobError
from nephila.lock import SOCKET_FOLDER, json_object

LINE_BYTES_MAX = 64 << 10
"""A longer request is an error; a status of many hosts fits into an answer of any length."""
ANSWER_BYTES_MAX = 16 << 20
CLIENTS_MAX = 32
"""Connections at the same time: a dashboard and a handful of commands."""
SOCKET_PATH_MAX = 103
"""Bytes of a path in sockaddr_un: 104 on macOS, 108 on Linux, one of them the final zero."""


class Steering(Protocol):
    """What the control socket can do to a crawl. A ValueError or JobError becomes the answer {"error": …}."""

    def status(self) -> dict[str, Any]: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self, now: bool) -> None: ...
    def host(self, host: str, action: str, value: float | None) -> str: ...
    async def set(self, values: dict[str, Any]) -> dict[str, Any]: ...
    def hosts(self, origins: list[str]) -> list[dict[str, Any]]: ...


def ask(folder: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any] | None:
    """One request to the crawl that runs in `folder`, e.g. {"verb": "status"}. None when none is running there.

    Raises TimeoutError when it does not answer in time.
    """
    control = (lock.read(folder) or {}).get("control")
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
    return json_object(line)


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
            answer = {"error": "too many connections"} if busy else await _answer(steering, line)
        if not line:
            return
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
        if busy:
            return


async def _answer(steering: Steering, line: bytes) -> dict[str, Any]:
    request = json_object(line)
    if request is None:
        return {"error": "a request is one JSON object on one line"}
    try:
        return await _act(steering, request)
    except (ValueError, JobError) as error:
        return {"error": str(error)}


async def _act(steering: Steering, request: dict[str, Any]) -> dict[str, Any]:
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
        case {"verb": "host", "host": str(host), "action": "pause" | "resume" | "slow" | "drop" as action}:
            return {"ok": steering.host(host, action, _seconds(request.get("value")))}
        case {"verb": "hosts", "origins": list(origins)}:
            return {"hosts": steering.hosts([str(origin) for origin in origins])}
        case {"verb": "set", "values": dict(values)} if values:
            return await steering.set(values)
    raise ValueError(
        "a request has a verb: status, pause, resume, stop (now: true), "
        "host (host, action: pause, resume, slow or drop, value: seconds), hosts (origins), set (values: key → value)"
    )


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError("value is a number of seconds, 0 or more")
    return float(value)


def _private_folder() -> str:
    """A new folder of mode 0700 whose paths are short enough for a socket: in the runtime folder, else in a temporary one."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if parent and os.path.isdir(parent) and len(os.fsencode(parent)) < SOCKET_PATH_MAX - 32:
            with contextlib.suppress(OSError):
                return tempfile.mkdtemp(prefix=SOCKET_FOLDER, dir=parent)
    raise JobError(
        "no folder for the control socket: set XDG_RUNTIME_DIR or TMPDIR to a writable folder with a short path"
    )
