"""Page *Map*: the link structure as a picture, how deep the addresses lie, and how a crawl found them."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nephila.look import urls
from nephila.look.atlas import CLASSES, Atlas, Draft
from nephila.look.cut import Cut, Place, Shape
from nephila.look.growth import Growth, growth
from nephila.look.look import Look
from nephila.ui import charts, wheel
from nephila.ui.desk import Desk
from nephila.ui.looking import Looking
from nephila.ui.urls import number

STEP_S = 1.0
"""So long one answer reads on in what is not read yet."""
FRESH_S = 20.0
"""An atlas of a crawl that has gone on is read anew after this, at most a tenth of the time."""
PAIRS_SHOWN = 40


def routes(desk: Desk) -> list[BaseRoute]:
    looking, cartographer = Looking(desk), Cartographer()

    async def map(request: Request) -> Response:
        given = request.query_params
        place = Place(given.get("at", ""), number(given.get("folders", "")), number(given.get("pages", "")))
        atlas, cut, titles, grown = await looking.ask(cartographer.seen, place)
        if cut is None and grown is not None:
            raise HTTPException(404)
        return await desk.page(
            request, "map.html", atlas=atlas, cut=cut, wheel=wheel.wheel(cut) if cut else None, titles=titles, link=link, classes=CLASSES,
            short=wheel.short, pairs=cut.bundles[:PAIRS_SHOWN] if cut else [], grown=grown,
            depths=charts.depths(grown) if grown else None, curve=charts.curve(grown) if grown else None,
            wide=charts.WIDE, high=charts.HIGH, left=charts.LEFT, below=charts.BELOW,
        )  # fmt: skip

    return [Route("/map", map)]


def link(place: Place) -> str:
    words = {name: value for name, value in place._asdict().items() if value}
    return f"/map?{urlencode(words)}" if words else "/map"


class Cartographer:
    """The atlas that is shown, and one that is being read. Used by the thread that looks."""

    def __init__(self) -> None:
        self._draft: Draft | None = None
        self._shape: Shape | None = None
        self._took = 0.0
        self._growth: tuple[tuple[int, int], float, Growth] | None = None

    def seen(self, look: Look, place: Place) -> tuple[Atlas, Cut | None, dict[int, str], Growth | None]:
        """(atlas, what it shows at a place, titles of the pages in that, how it grew). No cut: it is still read, and then nothing is said of
        the growth either; or there is no such place."""
        if self._shape is None or self._draft is not None or self._stale(look):
            self._draft = self._draft or Draft(look)
            atlas, started = self._draft.atlas, time.monotonic()
            self._draft.step(STEP_S)
            self._took += time.monotonic() - started
            if atlas.done:
                self._shape, self._draft = Shape(atlas), None
            elif self._shape is None:
                return atlas, None, {}, None
        cut = self._shape.cut(place)
        pages = [cluster.id for cluster in cut.clusters if cluster.id] if cut else []
        titles = {row.id: row.title for row in urls.rows(look, pages) if row.title}
        return self._shape.atlas, cut, titles, self._grown(look)

    def _stale(self, look: Look) -> bool:
        assert self._shape is not None
        atlas = self._shape.atlas
        if time.time() - atlas.taken < max(FRESH_S, 10 * self._took):
            return False
        self._took = 0.0
        return (look.one("SELECT max(id) FROM visit") or 0) != atlas.visit or (
            look.one("SELECT max(id) FROM url") or 0
        ) != atlas.of

    def _grown(self, look: Look) -> Growth:
        """Counted anew when something has come since."""
        state: Any = tuple(look.one(f"SELECT max(id) FROM {table}") for table in ("visit", "url"))
        if self._growth is None or (self._growth[0] != state and time.monotonic() - self._growth[1] > FRESH_S / 4):
            self._growth = state, time.monotonic(), growth(look)
        return self._growth[2]
