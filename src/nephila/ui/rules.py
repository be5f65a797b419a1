"""Page *Rules*: scope, patterns, budgets and pauses as they are; what others would do to stored URLs; and setting them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nephila import settings
from nephila.changes import changed, differences
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.explain import Preview, preview
from nephila.ui.desk import Desk
from nephila.url.scope import MODES

LISTS, SWITCHES = ("include", "exclude"), ("embeds", "sitemaps", "ignore_nofollow")
TEXTS = ("max_depth", "traps", "max_pages", "max_bytes", "max_time", "delay", "per_host")
SET_S_MAX = 120.0
"""Millions of stored URLs are looked at in that time."""


def routes(desk: Desk) -> list[BaseRoute]:
    crawl = desk.crawl
    assert crawl is not None

    def stored(con: sqlite3.Connection) -> Config:
        return settings.of_job(crawl.folder)

    async def page(request: Request) -> Response:
        config = await crawl.ask(stored)
        return await shown(request, config, as_written(config))

    async def shown(
        request: Request, config: Config, form: Mapping[str, str], seen: Preview | None = None, wrong: str = ""
    ) -> Response:
        return await desk.page(
            request, "rules.html", now=as_written(config), form=form, seen=seen, wrong=wrong,
            modes=MODES, lists=LISTS, switches=SWITCHES, texts=TEXTS,
        )  # fmt: skip

    async def look(request: Request) -> Response:
        """The form again as it was filled in, with what it would do."""
        form = await desk.form(request)
        config = await crawl.ask(stored)
        try:
            values = wanted(config, form)
            if not values:
                return await shown(request, config, form, Preview())
            seen = await crawl.ask(preview, config, values)
        except ConfigError as error:
            return await shown(request, config, form, wrong=str(error))
        return await shown(request, config, form, seen)

    async def apply(request: Request) -> Response:
        form = await desk.form(request)
        config = await crawl.ask(stored)
        try:
            values = wanted(config, form)
        except ConfigError as error:
            return await shown(request, config, form, wrong=str(error))
        answer = await crawl.tell({"verb": "set", "values": values}, SET_S_MAX) if values else {"ok": "–"}
        return desk.done(request, form | {"back": "/rules"}, answer)

    return [
        Route("/rules", page),
        Route("/rules/look", look, methods=["POST"]),
        Route("/rules/set", apply, methods=["POST"]),
    ]


def as_written(config: Config) -> dict[str, str]:
    """The values of the form's fields; a switch that is off has none, as in a form that is sent."""
    found = {"scope": config.scope}
    found |= {key: "\n".join(getattr(config, key)) for key in LISTS}
    found |= {key: "1" for key in SWITCHES if getattr(config, key)}
    return found | {key: _text(getattr(config, key)) for key in TEXTS}


def wanted(config: Config, form: Mapping[str, str]) -> dict[str, Any]:
    """Settings of the form that differ from those of the crawl. Raises ConfigError for what they cannot be."""
    given: dict[str, Any] = {key: form[key].strip() for key in ("scope", *TEXTS) if key in form}
    given |= {key: form[key].splitlines() for key in LISTS if key in form}
    given |= {key: key in form for key in SWITCHES}
    return {key: given[key] for key in differences(config, changed(config, given))}


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
