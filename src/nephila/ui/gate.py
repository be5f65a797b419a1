"""Who may come in: the one who was given the printed address, and after that the browser that holds its cookie.

The address ends in `#token=…`, a part that browsers send to nobody. The page's script exchanges the token, once, for a cookie that no
script reads and no other site sends. A request that changes something, or that would go on for ever, must besides come from
a page of ours: `Origin` and `Sec-Fetch-Site` say so, and no page can forge them. The name in `Host` is checked by the server before this.

Programs bring a token of their own with every request for what is theirs (`Authorization: Bearer …`); nothing else opens to it. The window's
pages may read there with their cookie, and change nothing.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from nephila.ui.problem import problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKENS_MAX = 8
"""Printed addresses that wait to be opened; older ones open nothing any more."""
TOKEN_BYTES_MAX = 256
OPEN = ("/static/window.css", "/static/enter.js", "/static/icon.svg")
"""What the page for those who have no cookie is made of."""
STREAMS = "/live/"
"""What begins so goes on for ever, and is for pages of ours alone."""
PROGRAMS = ("/api/", "/metrics")
"""What begins so is for programs."""
_OURS = ("same-origin", "none")
_SAFE = ("GET", "HEAD")


class Gate:
    """An ASGI application in front of `inner`. `stranger` is the page for who has no cookie, `token` the one that programs bring."""

    def __init__(self, inner: ASGIApp, origin: str, stranger: Callable[[Request], Response], token: str = "") -> None:
        self._inner, self._origin, self._stranger = inner, origin, stranger
        self.token = token or secrets.token_urlsafe(32)
        self._name = f"nephila-{origin.rpartition(':')[2]}"
        self._secret = secrets.token_urlsafe(32)
        self._tokens: deque[str] = deque(maxlen=TOKENS_MAX)

    def address(self) -> str:
        """One that lets a browser in, once."""
        self.expect(token := secrets.token_urlsafe(32))
        return f"{self._origin}/#token={token}"

    def expect(self, token: str) -> None:
        """Let in, once, who has this token."""
        self._tokens.append(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.url.path.startswith(PROGRAMS):
            answer = self._program(request)
            await (answer or self._inner)(scope, receive, send)
            return
        answer = self._refusal(request)
        if answer is None and request.url.path == "/enter":
            answer = await self._enter(request)
        elif answer is None and request.url.path not in OPEN and not self._known(request):
            answer = self._stranger(request)
        await (answer or self._inner)(scope, receive, send)

    def _program(self, request: Request) -> Response | None:
        """A refusal, of whoever has neither the token nor, for reading, the cookie."""
        if self._foreign(request):
            return problem(403, "no other page may ask for this")
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), self.token.encode()):
            return None
        if request.method in _SAFE and self._known(request):
            return None
        headers = {"WWW-Authenticate": 'Bearer realm="nephila"'}
        return problem(401, "send the token of this window as Authorization: Bearer TOKEN (docs/api.md)", **headers)

    def _foreign(self, request: Request) -> bool:
        """A page of another site asks."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        return (origin is not None and origin != self._origin) or (site is not None and site not in _OURS)

    def _refusal(self, request: Request) -> Response | None:
        """For what another page asks for."""
        origin, site, foreign = (
            request.headers.get("origin"),
            request.headers.get("sec-fetch-site"),
            self._foreign(request),
        )
        if request.method in _SAFE:
            # Others may lead a browser here, as a link does; they may not use what comes back.
            led = request.headers.get("sec-fetch-mode") == "navigate" and origin in (None, self._origin)
            led = led and not request.url.path.startswith(STREAMS)
            return _no("no other page may ask for this") if foreign and not led else None
        if foreign or (origin is None and site is None):
            return _no("only the window's own pages may change something")
        return None

    async def _enter(self, request: Request) -> Response:
        if request.method != "POST":
            return _no("POST the token", 405)
        body = b""
        async for block in request.stream():
            body += block
            if len(body) > TOKEN_BYTES_MAX:
                return _no("no such token")
        given = next((one for one in self._tokens if secrets.compare_digest(one.encode(), body)), None)
        if given is None:
            return _no("this address was used, or never given out")
        self._tokens.remove(given)
        answer = Response(status_code=204)
        answer.set_cookie(self._name, self._secret, httponly=True, samesite="strict", path="/")
        return answer

    def _known(self, request: Request) -> bool:
        return secrets.compare_digest(request.cookies.get(self._name, "").encode(), self._secret.encode())


def _no(sentence: str, status: int = 403) -> Response:
    return PlainTextResponse(sentence + "\n", status)
