"""The archive's host: what was crawled, whatever it does, and nothing of ours but four scripts.

A kept page is another *site* to the browser than the window, is shown in a frame that cannot leave it (`frame-src` and `sandbox` of the
window's page), may load from its own host only (its Content-Security-Policy), and knows neither token nor cookie of the window.
"""

from __future__ import annotations

import re
import secrets
from html import escape
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from nephila.errors import Damaged
from nephila.ui.library import Library
from nephila.url.parse import normalise
from nephila.views.replay import Replay, moment
from nephila.views.start import head

HOST = "replay.localhost"
"""A name that browsers lead to this machine."""
FRAME = "allow-scripts allow-same-origin allow-forms allow-modals"
"""What a kept page may do in its frame. `allow-same-origin`: of the archive's own host, which is another than that of the frame."""
_SCRIPTS = ("boot.js", "page.js", "shut.js", "worker.js")
_AT = re.compile(r"[0-9]{4,14}")
_LOADED = "'self' data: blob:"
_BARE = {"Content-Security-Policy": "sandbox"}
"""Of what does not begin with our scripts: a document of it has no scripts, and no page on this host reaches into it."""


class Archive:
    """`app` is the ASGI application; `boot` the address that shows `TIME/ADDRESS` behind its `#`; `headers` go with every answer."""

    def __init__(self, library: Library, desk: str, port: int) -> None:
        self._library = library
        self._root = f"/{secrets.token_urlsafe(24)}/"
        self.host = f"{HOST}:{port}"
        self.origin = f"http://{self.host}"
        self.boot = f"{self.origin}{self._root}boot"
        self.headers = {
            "Content-Security-Policy": f"default-src {_LOADED} 'unsafe-inline' 'unsafe-eval'; object-src 'self'; frame-src 'self'; form-action 'self'; "
            f"base-uri 'self'; frame-ancestors {desk} 'self'; webrtc 'block'; sandbox {FRAME}",
            "Referrer-Policy": "same-origin",
            "X-DNS-Prefetch-Control": "off",
            "Permissions-Policy": "camera=(), microphone=(), geolocation=(), display-capture=(), usb=(), serial=(), hid=(), payment=()",
        }
        routes = [
            Route(f"{self._root}boot", self._boot),
            *(Route(f"{self._root}{name}", self._script) for name in _SCRIPTS),
            Route(f"{self._root}{{at}}/{{url:path}}", self._kept),
            Route("/{path:path}", self._led_back),
        ]
        self.app = Starlette(routes=routes, exception_handlers={Damaged: damaged})

    async def _boot(self, request: Request) -> Response:
        return HTMLResponse(
            f'{head("Nephila")}<script src="shut.js"></script><script src="boot.js"></script></body></html>\n'
        )

    async def _script(self, request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        text = files(__package__).joinpath("inside", name).read_text("utf-8")
        return Response(text, media_type="text/javascript")

    async def _kept(self, request: Request) -> Response:
        if "service-worker" in request.headers:
            return plain("a kept page has no worker of its own", 403)
        if request.headers.get("sec-fetch-dest") == "document":
            return plain("kept pages are shown in a frame: open the address that nephila serve has printed", 403)
        at = request.path_params["at"]
        when, url = moment_of(at), normalise(behind(request, f"{self._root}{at}/"))
        if when is None or url is None:
            return plain("this is no web address, or no time before it (YYYYMMDDhhmmss)", 404)
        lead = "".join(f'<script src="{self._root}{name}.js"></script>' for name in ("shut", "page"))
        shown = await self._library.ask(Replay.show, url, when, self._root.rstrip("/"), lead)
        if shown is None:
            return HTMLResponse(_missing(url), 404, _BARE)
        if shown.location:
            return RedirectResponse(shown.location, 302)
        headers = ({"Content-Type": shown.content_type} if shown.content_type else {}) | ({} if shown.led else _BARE)
        status = shown.status if 200 <= shown.status < 600 and shown.status not in (204, 205, 304) else 200
        return StreamingResponse(self._library.blocks(shown.blocks), status, headers)

    async def _led_back(self, request: Request) -> Response:
        """An address like /a/b means the site of the page that asks for it."""
        asking = request.headers.get("referer", "")
        found = re.fullmatch(rf"{re.escape(self.origin + self._root)}({_AT.pattern})/([a-z]+://[^/?#]+).*", asking)
        if not found:
            return plain("there is nothing here", 404)
        return RedirectResponse(f"{self._root}{found[1]}/{found[2]}{behind(request, '')}", 307)


def _missing(url: str) -> str:
    """Also what a link on a kept page leads to, in the frame: it says where else the page may be."""
    shown = escape(url)
    return (
        f"{head(url)}<p>Nothing is kept of {shown}. · 没有保存这个网页。</p>\n<p>On the live web · 原网址: "
        f'<a href="{shown}" rel="noreferrer noopener" target="_blank">{shown}</a></p>\n</body></html>\n'
    )


def moment_of(at: str) -> float | None:
    """`YYYYMMDDhhmmss`, or its beginning, as Unix time."""
    try:
        return moment(at) if _AT.fullmatch(at) else None
    except ValueError:
        return None


def behind(request: Request, before: str) -> str:
    """The rest of the address as it was sent, its query included."""
    rest = request.scope["raw_path"].decode("latin-1")[len(before) :]
    query = request.scope["query_string"].decode("latin-1")
    return f"{rest}?{query}" if query else rest


def plain(sentence: str, status: int) -> Response:
    return PlainTextResponse(sentence + "\n", status, _BARE)


async def damaged(request: Request, error: Exception) -> Response:
    return plain(f"this is kept and does not read back: {error}", 502)
