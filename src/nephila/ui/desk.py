"""What every page of the window shares: the crawl it speaks of, who asks in which language, and how a page is made."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from nephila import display, figures
from nephila.types import LANGUAGES
from nephila.ui import words

if TYPE_CHECKING:
    from nephila.ui.crawl import Crawl
    from nephila.ui.library import Library

THEMES = ("light", "dark")
FORM_BYTES_MAX = 64 << 10
SAID_MAX = 50
"""Sentences about what was done that wait for the page which shows them."""
LIVE_S = 1.0
"""Between two renderings of what moves by itself."""
STREAMS_MAX = 20
"""Pages that are live at the same time; more are shown and stand still."""

Facts = Callable[[], Awaitable[dict[str, Any]]]


class Page(NamedTuple):
    """One entry of the navigation. `of_crawl`: makes no sense for archives of others. `under`: how addresses of its other pages begin."""

    name: str
    path: str
    routes: Callable[[Desk], list[BaseRoute]]
    of_crawl: bool = True
    under: tuple[str, ...] = ()


class Desk:
    """Given to every page's `routes`."""

    def __init__(self, title: str, library: Library, crawl: Crawl | None, boot: str, invite: Callable[[], str]) -> None:
        self.title, self.library = title, library
        self.crawl = crawl
        """None when archives of others are shown: then there is nothing to steer."""
        self.boot = boot
        """Address on the archive's host that shows `TIME/ADDRESS` behind its `#`."""
        self.invite = invite
        """Makes an address that lets another browser in."""
        self.leaving: Callable[[], bool] = lambda: False
        """The server is about to end."""
        self.pages: tuple[Page, ...] = ()
        self._said: dict[int, str] = {}
        self._numbers = itertools.count(1)
        self.streams = 0
        """Pages that are live."""
        self._env = Environment(
            loader=PackageLoader("nephila.ui"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.filters = self._env.filters
        self.filters |= {
            "amount": figures.amount,
            "count": "{:,}".format,
            "duration": figures.duration,
            "moment": figures.moment,
            "shown": display.safe,
        }

    async def page(self, request: Request, template: str, status_code: int = 200, **facts: Any) -> Response:
        """A whole page: `template` extends base.html and is given `facts`, and `status` (of the crawl, or None)."""
        status = await self.crawl.status() if self.crawl else None
        said = request.query_params.get("said", "")
        sentence = self._said.get(int(said), "") if said.isdecimal() else ""
        return HTMLResponse(self.text(request, template, status=status, said=sentence, **facts), status_code)

    def text(self, request: Request, template: str, **facts: Any) -> str:
        """A template as text: a page, or a part of one."""
        theme = request.cookies.get("theme", "")
        return self._env.get_template(template).render(
            say=self.say(request),
            warned=words.warned,
            language=language_of(request),
            theme=theme if theme in THEMES else "",
            path=request.url.path,
            here=f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path,
            title=self.title,
            pages=self.pages,
            **facts,
        )

    def say(self, request: Request) -> words.Say:
        """The words in the language of who asks."""
        return words.speaker(language_of(request))

    async def form(self, request: Request) -> dict[str, str]:
        """What a form of ours has sent, each name once."""
        return dict(await self.fields(request))

    async def fields(self, request: Request) -> list[tuple[str, str]]:
        """What a form of ours has sent."""
        body = b""
        async for block in request.stream():
            body += block
            if len(body) > FORM_BYTES_MAX:
                raise HTTPException(413)
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)

    def done(self, request: Request, form: Mapping[str, str], answer: dict[str, Any] | None) -> Response:
        """Back to the page that the form names in `back`, with what the crawl has answered to an order as a sentence there."""
        say = self.say(request)
        if answer is None:
            sentence = say("steer.gone")
        elif "error" in answer:
            sentence = say("steer.failed", answer["error"])
        else:
            sentence = say("steer.done", answer["ok"])
        number = next(self._numbers)
        self._said[number] = sentence
        self._said.pop(number - SAID_MAX, None)
        address = urlsplit(back(form.get("back", "")))
        query = [pair for pair in address.query.split("&") if pair and not pair.startswith("said=")]
        return RedirectResponse(f"{address.path}?{'&'.join([*query, f'said={number}'])}", 303)

    def live(self, request: Request, parts: Mapping[str, str], facts: Facts) -> Response:
        """A stream of the parts of a page, each (name → template) whenever it has changed, until the crawl that the window
        belongs to is over."""
        if self.streams >= STREAMS_MAX:
            raise HTTPException(503)
        return StreamingResponse(self._events(request, parts, facts), media_type="text/event-stream")

    async def _events(self, request: Request, parts: Mapping[str, str], facts: Facts) -> AsyncIterator[str]:
        sent: dict[str, str] = {}
        self.streams += 1
        try:
            while not self.leaving():
                over = self.crawl is not None and self.crawl.over
                now = await facts()
                made = {name: self.text(request, template, **now) for name, template in parts.items()}
                fresh = {name: text for name, text in made.items() if sent.get(name) != text}
                sent |= fresh
                yield f"data: {json.dumps(fresh)}\n\n"  # an empty one, too: it says that we are there
                if over:
                    yield "event: over\ndata: {}\n\n"
                    return
                await asyncio.sleep(LIVE_S)
        finally:
            self.streams -= 1


def language_of(request: Request) -> str:
    """`en` or `zh`: as chosen, else as the browser prefers."""
    chosen = request.cookies.get("language", "")
    wanted = [name.strip()[:2] for name in request.headers.get("accept-language", "").lower().split(",")]
    return next((name for name in (chosen, *wanted) if name in LANGUAGES), LANGUAGES[0])


def back(address: str) -> str:
    """A path of ours that a form names, or the first page: never another site."""
    local = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if local else "/"
