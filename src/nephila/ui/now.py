"""Page *Now*: where the crawl stands, how fast it is and what limits it, when it may end, what came last, what to look after."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nephila import display
from nephila.stats.course import RECENT_S, Course, Recent, recent
from nephila.types import GOOD
from nephila.ui import drawing
from nephila.ui.desk import Desk
from nephila.views.replay import Replay

PARTS = {
    "state": "state.html",
    "orders": "steer.html",
    "numbers": "now_numbers.html",
    "speed": "now_speed.html",
    "end": "now_end.html",
    "warnings": "now_warnings.html",
    "shares": "now_shares.html",
    "recent": "now_recent.html",
}
STEP_S = 5
"""Of the curve of the last minutes: shorter ones show the rhythm of the pauses and not the speed."""
PIECES_MAX = 25
"""Of the course, read before the page is shown; what is missing comes while it is looked at."""
REST_S = 0.02
"""Between two pieces, so that a long crawl is not read at full speed beside the one that runs."""
FAILING_MIN = 3


def routes(desk: Desk) -> list[BaseRoute]:
    course = Course()

    async def now(request: Request) -> Response:
        facts = await standing()
        del facts["status"]
        return await desk.page(request, "now.html", **facts)

    async def live(request: Request) -> Response:
        return desk.live(request, PARTS, standing)

    async def standing() -> dict[str, Any]:
        assert desk.crawl is not None
        status = await desk.crawl.status()
        for _ in range(PIECES_MAX):
            if not await desk.crawl.ask(course.catch_up):
                break
            await asyncio.sleep(REST_S)
        return {
            "status": status,
            "kept": display.kept(status),
            "failed": sum(n for name, n in status["outcomes"].items() if name not in GOOD),
            "curves": _curves(course, status["running"]),
            "outcomes": drawing.shares(status["outcomes"].items()),
            "media_types": drawing.shares(course.media_types.items()),
            "reasons": drawing.shares(status["reasons"].items()),
            "recent": await desk.library.ask(_open_to_all, await desk.crawl.ask(recent)),
            "failing": [host for host in status["hosts"] if host["failures"] >= FAILING_MIN],
            "low": status.get("warnings"),
            "forecast": status.get("forecast"),
            "limited_by": status.get("limited_by"),
        }

    return [Route("/", now), Route("/live/now", live)]


def _open_to_all(replay: Replay, visits: list[Recent]) -> list[Recent]:
    """Without those that were made with a credential which was not named."""
    return [visit for visit in visits if replay.source.may_see(visit.access)]


def _curves(course: Course, running: bool) -> list[tuple[str, str, drawing.Curve, int, float]]:
    """(what, of which time, its curve, seconds that it spans, the value it ends with or, of the whole, the mean)."""
    now = int(time.time()) if running else course.last
    now -= now % STEP_S
    lately = course.lately(now, STEP_S)
    # The last point is a step that is not over: a fall that is none.
    whole = course.points[:-1] if len(course.points) > 1 else course.points
    found = []
    for what, column in (("pages_s", 0), ("bytes_s", 1)):
        for time_of, points, width_s in (("lately", lately, STEP_S), ("whole", whole, course.width_s)):
            span_s = RECENT_S if time_of == "lately" else len(points) * width_s
            values = [point[column] / width_s for point in points]
            number = values[-1] if values and time_of == "lately" else sum(values) / max(len(values), 1)
            found.append((what, time_of, drawing.curve(values), span_s, number))
    return found
