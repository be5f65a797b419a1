"""Page *Hosts*: a table and a heat map of all hosts, and what can be done with one."""

from __future__ import annotations

import time
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from nephila.stats import hosts as store
from nephila.stats.hosts import HostRow
from nephila.ui import drawing
from nephila.ui.crawl import Crawl
from nephila.ui.desk import Desk

PARTS = {"state": "state.html", "hosts": "hosts_table.html", "heat": "hosts_heat.html"}
ACTIONS = ("pause", "resume", "slow", "drop")
TILES_MAX = 600
"""Of the heat map."""
STORED_S, STORED_SHARE = 5.0, 0.02
"""The order of the hosts, and the heat map, are made anew so often, and in no more than this share of the time; what a running crawl
knows of the hosts shown is asked every second."""
MEASURES = ("queued", "delay", "failures", "ttfb", "pages")
"""What the heat map can show."""


class Asked(NamedTuple):
    """What the address of the page says."""

    text: str
    shown: str
    sort: str
    falling: bool
    page: int
    heat: str

    def address(self, path: str = "/hosts", **changed: object) -> str:
        values = self._replace(**changed)._asdict()  # type: ignore[arg-type]
        return (
            f"{path}?{urlencode({name: int(v) if isinstance(v, bool) else v for name, v in values.items() if v != ''})}"
        )


class Tile(NamedTuple):
    host: HostRow
    level: int


def routes(desk: Desk) -> list[BaseRoute]:
    crawl = desk.crawl
    assert crawl is not None

    async def page(request: Request) -> Response:
        asked = asked_of(request)
        facts = await _Answers(crawl, asked)()
        del facts["status"]
        return await desk.page(request, "hosts.html", actions=ACTIONS, measures=MEASURES, **facts)

    async def live(request: Request) -> Response:
        return desk.live(request, PARTS, _Answers(crawl, asked_of(request)))

    async def steer(request: Request) -> Response:
        fields = await desk.fields(request)
        form = dict(fields)
        origins = [value for name, value in fields if name == "host"][: store.ROWS_MAX]
        action = form.get("action", "")
        seconds = _seconds(form.get("seconds", ""))
        if action not in ACTIONS or not origins:
            return PlainTextResponse("choose hosts, and what to do with them\n", 400)
        order = {"verb": "host", "action": action} | ({"value": seconds} if action == "slow" and seconds else {})
        answers = [await crawl.tell(order | {"host": origin}) for origin in origins]
        done = {"ok": f"{desk.say(request)('hosts.do_' + action)}: {', '.join(origins)}"}
        failed = [answer for answer in answers if answer is None or "error" in answer]
        return desk.done(request, form, failed[0] if failed else done)

    return [Route("/hosts", page), Route("/live/hosts", live), Route("/hosts/steer", steer, methods=["POST"])]


def asked_of(request: Request) -> Asked:
    """Words that mean nothing here count as not said."""
    given = request.query_params
    sort, shown, heat = given.get("sort", ""), given.get("shown", ""), given.get("heat", "")
    page = given.get("page", "")
    return Asked(
        given.get("text", "").strip()[:200],
        shown if shown in store.SHOWN else "all",
        sort if sort in store.SORTS else "queued",
        given.get("falling", "1") != "0",
        max(int(page), 1) if page.isdecimal() and len(page) < 7 else 1,
        heat if heat in MEASURES else MEASURES[0],
    )


class _Answers:
    """Facts for one page that is being looked at."""

    def __init__(self, crawl: Crawl, asked: Asked) -> None:
        self._crawl, self._asked = crawl, asked
        self._facts: dict[str, Any] = {}
        self._next = float("-inf")

    async def __call__(self) -> dict[str, Any]:
        began = time.monotonic()
        if began >= self._next:
            self._facts = await self._stored()
            took = time.monotonic() - began
            self._next = began + max(STORED_S, took / STORED_SHARE)
        rows: list[HostRow] = self._facts["stored"]
        live = await self._crawl.tell({"verb": "hosts", "origins": [row.origin for row in rows]}) if rows else None
        now = {host["origin"]: host for host in (live or {}).get("hosts", ())}
        status = await self._crawl.status()
        return self._facts | {"status": status, "rows": [(row, now.get(row.origin)) for row in rows]}

    async def _stored(self) -> dict[str, Any]:
        a, crawl = self._asked, self._crawl
        offset = (a.page - 1) * store.ROWS_MAX
        rows = await crawl.ask(store.hosts, a.text, a.shown, a.sort, a.falling, offset)
        hottest = await crawl.ask(store.hosts, a.text, a.shown, a.heat, True, 0, TILES_MAX)
        most = max((float(getattr(row, a.heat)) for row in hottest), default=0.0)
        return {
            "asked": a,
            "stored": rows,
            "count": await crawl.ask(store.count, a.text, a.shown),
            "per_page": store.ROWS_MAX,
            "tiles": [Tile(row, drawing.level(float(getattr(row, a.heat)), most)) for row in hottest],
        }


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= 86_400 else None
