"""Page *Now*: where the crawl stands."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nephila import display, stats
from nephila.ui.desk import Desk

PARTS = {"state": "state.html", "numbers": "now_numbers.html"}


def routes(desk: Desk) -> list[BaseRoute]:
    async def now(request: Request) -> Response:
        facts = await standing()
        del facts["status"]
        return await desk.page(request, "now.html", **facts)

    async def live(request: Request) -> Response:
        return desk.live(request, PARTS, standing)

    async def standing() -> dict[str, Any]:
        assert desk.crawl is not None
        status = await desk.crawl.status()
        failed = sum(n for name, n in status["outcomes"].items() if name not in stats.GOOD)
        return {"status": status, "kept": display.kept(status), "failed": failed}

    return [Route("/", now), Route("/live/now", live)]
