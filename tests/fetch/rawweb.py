"""A web server that says exactly the bytes a test wants, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nephila.config import Config
from nephila.fetch.client import Client
from nephila.testing.wire import Wire
from nephila.types import Lease, Request

Script = bytes | Callable[["Talk"], Awaitable[None]]


class Talk(Wire):
    """One request being answered."""

    def __init__(self, web: Web, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        super().__init__(reader, writer)
        self.web, self.head = web, head


class Web:
    """`scripts` answer the requests in order, the last one again and again. Bytes are sent; a function does as it likes.
    A connection stays open unless the script closes it."""

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None) -> None:
        self.scripts, self.tls = scripts, tls
        self.connections = 0
        self.heads: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.left = asyncio.Event()
        """A client has gone."""

    async def __aenter__(self) -> Web:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._tasks.add(task := asyncio.current_task())
        task.add_done_callback(self._tasks.discard)
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                script = self.scripts[min(len(self.heads), len(self.scripts) - 1)]
                self.heads.append(head)
                if length := re.search(rb"(?i)content-length: (\d+)", head):
                    await reader.readexactly(int(length[1]))
                talk = Talk(self, reader, writer, head)
                if isinstance(script, bytes):
                    await talk.say(script)
                else:
                    await script(talk)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            self.left.set()
            writer.close()


def answer(body: bytes = b"hello", *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body) if length is None else length}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def lease(url: str, *, last: bool = False, cookie: str = "", **request: Any) -> Lease:
    return Lease(1, Request(url, **request), 7, last=last, cookie=cookie)


def client(
    web: Web | None = None, *, folder: Path | None = None, wanted: Any = None, host: str = "127.0.0.1", **config: Any
) -> Client:
    """A client that may reach `web`."""
    allowed = frozenset({(host, web.port)}) if web else frozenset[tuple[str, int]]()
    return Client(Config(**config), allowed=allowed, folder=folder, wanted=wanted)


@asynccontextmanager
async def browsing(*scripts: Script, **config: Any) -> AsyncIterator[tuple[Web, Client]]:
    """A web of these answers, and a client for it that is closed in the end."""
    async with Web(*scripts) as web:
        fetch = client(web, **config)
        try:
            yield web, fetch
        finally:
            await fetch.close()


def run(work: Coroutine[Any, Any, Any], seconds: float = 10.0) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(bounded())
