"""Page *Pages*: tables of addresses, and the page of one address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from nephila.errors import ConfigError
from nephila.look import address, known, urls
from nephila.look.urls import KINDS, OUTCOMES, STATES, Question
from nephila.ui.desk import Desk
from nephila.ui.looking import Looking
from nephila.views.cdxj import digits

TEXT_CHARS_MAX = 500
_DEFAULTS = msgspec.structs.asdict(Question())
_FILTERS = ("outcome", "state", "status", "media_type", "kind", "depth", "host", "text", "regex")
_FALLING_FIRST = ("visited", "bytes", "ms", "status")
"""Of these the largest are looked for."""


def routes(desk: Desk) -> list[BaseRoute]:
    looking = Looking(desk)

    async def table(request: Request) -> Response:
        asked, wrong = Question(), ""
        answer = None
        try:
            asked = question(dict(request.query_params))
            answer = await looking.ask(urls.table, asked)
        except ConfigError as error:
            wrong = str(error)
        except TimeoutError:
            wrong = "timeout"
        return await desk.page(
            request, "urls.html", 400 if wrong and wrong != "timeout" else 200,
            asked=asked, answer=answer, wrong=wrong, given=dict(request.query_params), outcomes=OUTCOMES, states=STATES, kinds=KINDS,
            sorted_by=lambda name: link(turned(asked, name)), link=link, filtered=any(name in _changed(asked) for name in _FILTERS),
        )  # fmt: skip

    async def find(request: Request) -> Response:
        """The page of the address that somebody wrote."""
        written = request.query_params.get("url", "")[: TEXT_CHARS_MAX * 20]
        id = await looking.ask(known.find, written)
        if not id:
            return await desk.page(request, "no_url.html", 404, url=written)
        return RedirectResponse(f"/page/{id}", 303)

    async def one(request: Request) -> Response:
        id = request.path_params["id"]
        found = await looking.ask(address.address, id)
        if found is None:
            raise HTTPException(404)
        after = number(request.query_params.get("after", ""))
        around = await looking.ask(address.around, found, after)
        kept = next((seen for seen in found.visits if seen.length and seen.outcome in ("OK", "REFUSED", "MOVED")), None)
        return await desk.page(
            request, "url.html", found=found, row=found.row, after=after, **around._asdict(),
            kept=kept, digits=digits, has_why=any(page.name == "why" for page in desk.pages),
        )  # fmt: skip

    return [Route("/pages", table), Route("/page", find), Route("/page/{id:int}", one)]


def question(given: dict[str, str]) -> Question:
    """From a query string; what is empty asks for nothing. Raises ConfigError."""
    words: dict[str, Any] = {name: given[name].strip() for name in given if name in _DEFAULTS and given[name].strip()}
    for name, value in words.items():
        if len(value) > TEXT_CHARS_MAX * 20 or (name in ("text", "host", "media_type") and len(value) > TEXT_CHARS_MAX):
            raise ConfigError(f"{name}: {len(value):,} characters are too many")
    try:
        return msgspec.convert(words | _place(words), Question, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from error


def _place(words: dict[str, Any]) -> dict[str, Any]:
    """The value of the last row is a text where texts are compared, else a number."""
    if "value" not in words:
        return {}
    if words.get("sort") == "url":
        return {"value": words["value"]}
    try:
        return {"value": float(words["value"])}
    except ValueError:
        raise ConfigError(f"value: {words['value']!r} is no number") from None


def number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


def turned(asked: Question, sort: str) -> Question:
    """The same from the first page on, in another order; in the other direction when it is in that order already."""
    falling = not asked.falling if sort == asked.sort else sort in _FALLING_FIRST
    return msgspec.structs.replace(asked, sort=sort, falling=falling, first=0, last=0, value=0, id=0)


def link(asked: Question) -> str:
    """The address of a table."""
    return f"/pages?{urlencode(_changed(asked))}"


def _changed(asked: Question) -> dict[str, Any]:
    """What differs from a question for everything."""
    found = msgspec.structs.asdict(asked)
    changed = {
        name: value for name, value in found.items() if value != _DEFAULTS[name] or (name == "value" and asked.id)
    }
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in changed.items()}
