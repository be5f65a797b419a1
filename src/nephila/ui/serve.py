"""`nephila serve`: kept pages in a browser, on a loopback address, and nothing of them anywhere else.

Two names of one port. On the desk (127.0.0.1) are pages of ours without any script; on the archive's host (replay.localhost) is what
was crawled, whatever it does. A page of the archive is another *site* to the browser than the desk, is shown in a frame that cannot
leave it (`frame-src` and `sandbox` of the desk's page), may load from its own host only (its Content-Security-Policy), and does not know the
token in the desk's addresses. Requests under any other host name are refused: a name that was rebound to 127.0.0.1 opens nothing.
"""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from nephila.errors import ConfigError, Damaged
from nephila.ui import pages
from nephila.ui.library import Library
from nephila.url.parse import normalise
from nephila.views.replay import Replay, moment
from nephila.views.source import Kept, Source

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

DESK, ARCHIVE = "127.0.0.1", "replay.localhost"
ADDRESS_BYTES_MAX = 64 << 10
REQUESTS_MAX = 200
"""At once. More are answered 503."""
_SCRIPTS = ("boot.js", "page.js", "worker.js")
_AT = re.compile(r"[0-9]{4,14}")
_ALWAYS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOADED = "'self' data: blob:"


def run(source: AbstractContextManager[Source], title: str, port: int, tell: Callable[[str], object]) -> None:
    """Serve until interrupted. `tell` is given the address. Raises ConfigError when the port is taken or the extra is missing."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise ConfigError(f"serve needs {error.name}: pip install 'nephila[ui]'") from error
    with Library(source) as library, _listening(port) as listener:
        server = Server(library, title, listener.getsockname()[1])
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
        tell(server.address)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            pass


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
    """An ASGI application. `address` is the one to open."""

    def __init__(self, library: Library, title: str, port: int) -> None:
        from starlette.applications import Starlette

        self._library, self._title = library, title
        self._root, self._inside = f"/{secrets.token_urlsafe(24)}/", f"/{secrets.token_urlsafe(24)}/"
        desk, archive = f"{DESK}:{port}", f"{ARCHIVE}:{port}"
        self.address = f"http://{desk}{self._root}"
        self._archive = f"http://{archive}"
        self._apps = {
            desk: Starlette(routes=self._desk_routes(), exception_handlers={Damaged: _damaged}),
            archive: Starlette(routes=self._archive_routes(), exception_handlers={Damaged: _damaged}),
        }
        self._headers = {
            desk: _ALWAYS
            | {
                "Content-Security-Policy": f"default-src 'none'; style-src 'unsafe-inline'; frame-src {self._archive}; form-action 'self'; "
                "base-uri 'none'; frame-ancestors 'none'",
                "Referrer-Policy": "no-referrer",
                "Cross-Origin-Opener-Policy": "same-origin",
            },
            archive: _ALWAYS
            | {
                "Content-Security-Policy": f"default-src {_LOADED} 'unsafe-inline' 'unsafe-eval'; object-src 'self'; form-action 'self'; "
                f"base-uri 'self'; frame-ancestors http://{desk} 'self'; webrtc 'block'; sandbox {pages.FRAME}",
                "Referrer-Policy": "same-origin",
                "X-DNS-Prefetch-Control": "off",
                "Permissions-Policy": "camera=(), microphone=(), geolocation=(), display-capture=(), usb=(), serial=(), hid=(), payment=()",
            },
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"), "")
        app: ASGIApp = self._apps.get(host, _refuse)
        extra = [(name.lower().encode(), value.encode()) for name, value in self._headers.get(host, _ALWAYS).items()]

        async def told(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message["headers"], *extra]}
            await send(message)

        await app(scope, receive, told)

    # --- the desk: pages of ours ----------------------------------------------------------------------------------------

    def _desk_routes(self) -> list[Any]:
        from starlette.routing import Route

        return [
            Route(self._root, self._start),
            Route(f"{self._root}go", self._go),
            Route(f"{self._root}times/{{url:path}}", self._times),
            Route(f"{self._root}view/{{at}}/{{url:path}}", self._view),
        ]

    async def _start(self, request: Request) -> Response:
        seeds = await self._library.ask(_seeds)
        return _html(pages.start(self._root, self._title, seeds))

    async def _go(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse

        written = request.query_params.get("url", "").strip()
        url = normalise(written if "://" in written else f"https://{written}")
        return RedirectResponse(f"{self._root}times/{url}" if url else self._root, 303)

    async def _times(self, request: Request) -> Response:
        url = normalise(_behind(request, f"{self._root}times/"))
        if url is None:
            return _plain("this is no web address", 404)
        captures = await self._library.ask(Replay.captures, url)
        return _html(pages.times(self._root, url, captures), 200 if captures else 404)

    async def _view(self, request: Request) -> Response:
        at, url = (
            request.path_params["at"],
            normalise(_behind(request, f"{self._root}view/{request.path_params['at']}/")),
        )
        when = _moment(at)
        if url is None or when is None:
            return _plain("this is no web address, or no time before it (YYYYMMDDhhmmss)", 404)
        shown = await self._library.ask(_nearest, url, when)
        if isinstance(shown, list):
            return _html(pages.whole(url, pages.missing(url, shown)), 404)
        inside = f"{self._archive}{self._inside}boot#{at}/{url}"
        return _html(pages.frame(self._root, inside, shown.url, shown.started))

    # --- the archive's host ----------------------------------------------------------------------------------------------

    def _archive_routes(self) -> list[Any]:
        from starlette.routing import Route

        return [
            Route(f"{self._inside}boot", self._boot),
            *(Route(f"{self._inside}{name}", self._script) for name in _SCRIPTS),
            Route(f"{self._inside}{{at}}/{{url:path}}", self._kept),
            Route("/{path:path}", self._led_back),
        ]

    async def _boot(self, request: Request) -> Response:
        return _html(pages.whole("Nephila", '<script src="boot.js"></script>'))

    async def _script(self, request: Request) -> Response:
        from starlette.responses import Response

        name = request.url.path.rpartition("/")[2]
        return Response(files(__package__).joinpath(name).read_text("utf-8"), media_type="text/javascript")

    async def _kept(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse, StreamingResponse

        if "service-worker" in request.headers:
            return _plain("a kept page has no worker of its own", 403)
        if request.headers.get("sec-fetch-dest") == "document":
            return _plain("kept pages are shown in a frame: open the address that nephila serve has printed", 403)
        at = request.path_params["at"]
        when, url = _moment(at), normalise(_behind(request, f"{self._inside}{at}/"))
        if when is None or url is None:
            return _plain("this is no web address, or no time before it (YYYYMMDDhhmmss)", 404)
        lead = f'<script src="{self._inside}page.js"></script>'
        shown = await self._library.ask(Replay.show, url, when, self._inside.rstrip("/"), lead)
        if shown is None:
            captures = await self._library.ask(Replay.captures, url)
            return _html(pages.whole(url, pages.missing(url, captures)), 404)
        if shown.location:
            return RedirectResponse(shown.location, 302)
        headers = {"Content-Type": shown.content_type} if shown.content_type else {}
        status = shown.status if 200 <= shown.status < 600 and shown.status not in (204, 205, 304) else 200
        return StreamingResponse(self._library.blocks(shown.blocks), status, headers)

    async def _led_back(self, request: Request) -> Response:
        """An address like /a/b means the site of the page that asks for it."""
        from starlette.responses import RedirectResponse

        asking = request.headers.get("referer", "")
        found = re.fullmatch(rf"{re.escape(self._archive + self._inside)}({_AT.pattern})/([a-z]+://[^/?#]+).*", asking)
        if not found:
            return _plain("there is nothing here", 404)
        return RedirectResponse(f"{self._inside}{found[1]}/{found[2]}{_behind(request, '')}", 307)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    await _plain("this server answers under the address that it has printed only", 421)(scope, receive, send)


async def _damaged(request: Request, error: Exception) -> Response:
    return _plain(f"this is kept and does not read back: {error}", 502)


def _seeds(replay: Replay) -> list[tuple[str, str]]:
    found = ((url, replay.captures(url)) for url in replay.source.seeds())
    return [(url, next((kept.title for kept in reversed(captures) if kept.title), "")) for url, captures in found]


def _nearest(replay: Replay, url: str, when: float) -> Kept | list[Kept]:
    """The visit that is shown; if there is none, all that there are."""
    captures = replay.captures(url)
    return replay.nearest(captures, when) or captures


def _moment(at: str) -> float | None:
    try:
        return moment(at) if _AT.fullmatch(at) else None
    except ValueError:
        return None


def _behind(request: Request, before: str) -> str:
    """The rest of the address as it was sent, its query included."""
    rest = request.scope["raw_path"].decode("latin-1")[len(before) :]
    query = request.scope["query_string"].decode("latin-1")
    return f"{rest}?{query}" if query else rest


def _html(text: str, status: int = 200) -> Response:
    from starlette.responses import HTMLResponse

    return HTMLResponse(text, status)


def _plain(sentence: str, status: int) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(sentence + "\n", status)
