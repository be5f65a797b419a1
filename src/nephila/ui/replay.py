"""Pages of the window about what was kept: where a crawl began, when a page was kept, the frame around a kept page, what is missing."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from nephila.ui.archive import FRAME, behind, moment_of, plain
from nephila.ui.desk import Desk
from nephila.url.parse import normalise
from nephila.views.cdxj import digits
from nephila.views.replay import Replay
from nephila.views.source import Kept

LATEST = "99991231235959"


def routes(desk: Desk) -> list[BaseRoute]:
    async def start(request: Request) -> Response:
        return await desk.page(request, "archive.html", seeds=await desk.library.ask(_seeds), latest=LATEST)

    async def go(request: Request) -> Response:
        written = request.query_params.get("url", "").strip()
        url = normalise(written if "://" in written else f"https://{written}")
        return RedirectResponse(f"/times/{as_path(url)}" if url else "/archive", 303)

    async def times(request: Request) -> Response:
        url = normalise(behind(request, "/times/"))
        if url is None:
            return plain("this is no web address", 404)
        captures = await desk.library.ask(Replay.captures, url)
        return await desk.page(
            request,
            "times.html",
            200 if captures else 404,
            url=url,
            captures=[(digits(c.started), c) for c in captures[::-1]],
        )

    async def view(request: Request) -> Response:
        at = request.path_params["at"]
        url, when = normalise(behind(request, f"/view/{at}/")), moment_of(at)
        if url is None or when is None:
            return plain("this is no web address, or no time before it (YYYYMMDDhhmmss)", 404)
        found, last = await desk.library.ask(_nearest, url, when)
        if found is None:
            return await desk.page(request, "missing.html", 404, url=url, last=last)
        return await desk.page(
            request,
            "view.html",
            url=found.url,
            shown_at=found.started,
            address=f"{desk.boot}#{at}/{url}",
            sandbox=FRAME,
        )

    desk.filters["as_path"] = as_path
    return [
        Route("/archive", start),
        Route("/go", go),
        Route("/times/{url:path}", times),
        Route("/view/{at}/{url:path}", view),
    ]


def as_path(url: str) -> str:
    """An address as the end of another's path: what it holds is a serialised URL already."""
    return quote(url, safe="!$&'()*+,;=:@/?%~[]")


def _seeds(replay: Replay) -> list[tuple[str, str]]:
    """(url, title)."""
    found = ((url, replay.captures(url)) for url in replay.source.seeds())
    return [(url, next((kept.title for kept in reversed(captures) if kept.title), "")) for url, captures in found]


def _nearest(replay: Replay, url: str, when: float) -> tuple[Kept | None, Kept | None]:
    """The visit that is shown, and the last one of all."""
    captures = replay.captures(url)
    return replay.nearest(captures, when), captures[-1] if captures else None
