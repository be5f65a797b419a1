"""The window's server: two host names on one loopback port, and what is said with every answer.

On the desk (127.0.0.1) are pages of ours behind the gate; on the archive's host (replay.localhost) is what was crawled, whatever it does.
Requests under any other host name are refused: a name that was rebound to 127.0.0.1 opens nothing.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from nephila.errors import Damaged
from nephila.ui import window
from nephila.ui.archive import Archive, damaged, plain
from nephila.ui.beside import HOST, listening
from nephila.ui.crawl import Crawl
from nephila.ui.desk import Desk
from nephila.ui.gate import Gate
from nephila.ui.library import Library
from nephila.views.source import Source

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

ADDRESS_BYTES_MAX = 64 << 10
REQUESTS_MAX = 200
"""At once. More are answered 503."""
GRACE_S = 3
"""For answers that are under way at the end; streams notice it within a second."""
LAST_WORDS_S = 2.5
"""The pages that are looked at get the last numbers, and are told that it is over."""
COMING_S = 1.0
"""A browser that has asked for something so lately may be about to ask for more."""
NICE = 5
"""The crawl goes first when the machine has no time for both."""
_ALWAYS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def run(
    source: AbstractContextManager[Source],
    title: str,
    port: int,
    tell: Callable[[str, str], object],
    folder: Path | None = None,
    token: str = "",
) -> None:
    """Serve until interrupted. `tell` is given the address and the token that programs bring (`token`, or one made now); `folder`: of the
    crawl, None for archives of others. Raises ConfigError when the port is taken."""
    with listening(port, "--port") as listener, _served(source, title, listener, folder, token) as (server, http):
        tell(server.address(), server.gate.token)
        with contextlib.suppress(KeyboardInterrupt):
            http.run(sockets=[listener])


def run_beside(
    source: AbstractContextManager[Source], title: str, folder: Path, descriptor: int, token: str = ""
) -> None:
    """The window of a running crawl, which has made the socket; it ends with standard input, whose first line is a token."""
    os.nice(NICE)
    with (
        socket.socket(fileno=descriptor) as listener,
        _served(source, title, listener, folder, token) as (server, http),
    ):
        server.gate.expect(sys.stdin.readline().strip())
        threading.Thread(target=_end_with_input, args=(server, http), daemon=True).start()
        http.run(sockets=[listener])


@contextmanager
def _served(
    source: AbstractContextManager[Source], title: str, listener: socket.socket, folder: Path | None, token: str
) -> Iterator[tuple[Server, uvicorn.Server]]:
    with Library(source) as library, Crawl(folder) if folder else contextlib.nullcontext() as crawl:
        server = Server(library, title, listener.getsockname()[1], crawl, token)
        config = uvicorn.Config(
            server,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            limit_concurrency=REQUESTS_MAX,
            h11_max_incomplete_event_size=ADDRESS_BYTES_MAX,
            timeout_graceful_shutdown=GRACE_S,
        )
        http = uvicorn.Server(config)
        server.desk.leaving = lambda: http.should_exit
        yield server, http


def _end_with_input(server: Server, http: uvicorn.Server) -> None:
    """Waits for the end of the crawl, lets every page that is looked at say so, and ends."""
    sys.stdin.read()
    desk, ended = server.desk, time.monotonic()
    if desk.crawl:
        desk.crawl.over = True
    # Who has just pressed Stop is between two pages.
    while (now := time.monotonic()) - ended < LAST_WORDS_S and (desk.streams or now - server.asked < COMING_S):
        time.sleep(0.05)
    http.should_exit = True


class Server:
    """An ASGI application. `address()` makes one to open, once."""

    def __init__(self, library: Library, title: str, port: int, crawl: Crawl | None = None, token: str = "") -> None:
        origin = f"http://{HOST}:{port}"
        self.asked = float("-inf")
        """When somebody asked for something last, monotonic."""
        archive = Archive(library, origin, port)
        self.desk = Desk(title, library, crawl, archive.boot, self.address)
        app = Starlette(routes=window.routes(self.desk), exception_handlers={Damaged: damaged})
        self.gate = Gate(app, origin, self._stranger, token)
        self._apps: dict[str, ASGIApp] = {f"{HOST}:{port}": self.gate, archive.host: archive.app}
        self._headers = {
            f"{HOST}:{port}": _ALWAYS
            | {
                "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
                f"form-action 'self'; frame-src {archive.origin}",
                "Referrer-Policy": "same-origin",  # `no-referrer` would take the Origin from our own forms
                "Cross-Origin-Opener-Policy": "same-origin",
            },
            archive.host: _ALWAYS | archive.headers,
        }

    def address(self) -> str:
        return self.gate.address()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked = time.monotonic()
        host = next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"), "")
        app = self._apps.get(host, _refuse)
        extra = [(name.lower().encode(), value.encode()) for name, value in self._headers.get(host, _ALWAYS).items()]

        async def told(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message["headers"], *extra]}
            await send(message)

        await app(scope, receive, told)

    def _stranger(self, request: Request) -> Response:
        return HTMLResponse(self.desk.text(request, "stranger.html"), 401)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    await plain("this server answers under the address that it has printed only", 421)(scope, receive, send)
