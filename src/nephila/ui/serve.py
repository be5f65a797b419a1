"""The window's server: two host names on one loopback port, and what is said with every answer.

On the desk (127.0.0.1) are pages of ours behind the gate; on the archive's host (replay.localhost) is what was crawled, whatever it does.
Requests under any other host name are refused: a name that was rebound to 127.0.0.1 opens nothing.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from nephila.errors import ConfigError, Damaged
from nephila.ui import window
from nephila.ui.archive import Archive, damaged, plain
from nephila.ui.crawl import Crawl
from nephila.ui.desk import Desk
from nephila.ui.gate import Gate
from nephila.ui.library import Library
from nephila.views.source import Source

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

DESK = "127.0.0.1"
ADDRESS_BYTES_MAX = 64 << 10
REQUESTS_MAX = 200
"""At once. More are answered 503."""
_ALWAYS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def run(
    source: AbstractContextManager[Source],
    title: str,
    port: int,
    tell: Callable[[str], object],
    folder: Path | None = None,
) -> None:
    """Serve until interrupted. `tell` is given the address; `folder`: of the crawl, None for archives of others. Raises ConfigError
    when the port is taken."""
    with contextlib.ExitStack() as open:
        library = open.enter_context(Library(source))
        crawl = open.enter_context(Crawl(folder)) if folder else None
        listener = open.enter_context(_listening(port))
        server = Server(library, title, listener.getsockname()[1], crawl)
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
            timeout_graceful_shutdown=1,
        )
        tell(server.address())
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((DESK, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(
            f"--port {port}: {getattr(error, 'strerror', None) or error}; give another, or 0 for any"
        ) from error
    return listener


class Server:
    """An ASGI application. `address()` makes one to open, once."""

    def __init__(self, library: Library, title: str, port: int, crawl: Crawl | None = None) -> None:
        origin = f"http://{DESK}:{port}"
        archive = Archive(library, origin, port)
        self.desk = Desk(title, library, crawl, archive.boot, self.address)
        app = Starlette(routes=window.routes(self.desk), exception_handlers={Damaged: damaged})
        self._gate = Gate(app, origin, self._stranger)
        self._apps: dict[str, ASGIApp] = {f"{DESK}:{port}": self._gate, archive.host: archive.app}
        self._headers = {
            f"{DESK}:{port}": _ALWAYS
            | {
                "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
                f"form-action 'self'; frame-src {archive.origin}",
                "Referrer-Policy": "same-origin",  # `no-referrer` would take the Origin from our own forms
                "Cross-Origin-Opener-Policy": "same-origin",
            },
            archive.host: _ALWAYS | archive.headers,
        }

    def address(self) -> str:
        return self._gate.address()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
