"""Page *Search*: full text, where the index is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nephila.errors import ConfigError
from nephila.look import known
from nephila.look.look import Look
from nephila.ui.desk import Desk
from nephila.ui.looking import Looking
from nephila.ui.urls import number
from nephila.views import search
from nephila.views.replay import Replay
from nephila.views.search import Answer, Hit

SHOWN, SHOWN_MAX = 20, 200


class Found(NamedTuple):
    """A hit with its place in the job (0: an entry of a listing that is no row), and its snippet in pieces, marked or not."""

    hit: Hit
    id: int
    pieces: list[tuple[str, bool]]


def routes(desk: Desk) -> list[BaseRoute]:
    looking = Looking(desk)

    async def page(request: Request) -> Response:
        text = request.query_params.get("q", "").strip()
        shown = min(max(number(request.query_params.get("shown", "")), SHOWN), SHOWN_MAX)
        noindex = request.query_params.get("noindex") == "1"
        answer, state, wrong, found = None, None, "", list[Found]()
        try:
            closed = await looking.ask(Look.closed)
            state = await desk.library.ask(lambda replay: search.standing(replay.source))
            if text and state.ready:
                answer = await desk.library.ask(_answer, text, closed, shown, noindex)
                found = await looking.ask(_found, answer.hits)
        except ConfigError as error:
            wrong = str(error)
        return await desk.page(
            request, "search.html", q=text, shown=shown, more=min(shown * 2, SHOWN_MAX), noindex=noindex, answer=answer, found=found, wrong=wrong,
            state=state, folder=str(desk.crawl.folder) if desk.crawl else "",
        )  # fmt: skip

    return [Route("/search", page)]


def _answer(replay: Replay, text: str, closed: list[str], shown: int, noindex: bool) -> Answer:
    return search.search_standing(replay.source, text, closed, limit=shown, with_noindex=noindex)


def _found(look: Look, hits: list[Hit]) -> list[Found]:
    ids = known.find_all(look, [hit.url for hit in hits])
    return [Found(hit, ids.get(hit.url, 0), list(_pieces(hit))) for hit in hits]


def _pieces(hit: Hit) -> Iterator[tuple[str, bool]]:
    at = 0
    for begin, end in hit.marks:
        if begin < at:
            continue
        yield hit.snippet[at:begin], False
        yield hit.snippet[begin:end], True
        at = end
    yield hit.snippet[at:], False
