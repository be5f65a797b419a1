"""Page *Why*: why an address is there or not, what would change it, and what was refused by which rule."""

from __future__ import annotations

import re
import shlex
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nephila.errors import ConfigError, JobError
from nephila.explain import Explanation, Refusals, Step, explain, parsed, refusals
from nephila.ui.desk import Desk, language_of
from nephila.views.replay import Replay

TONES = {"kept": "good", "moved": "good", "waiting": "warn", "elsewhere": "warn", "unseen": "warn", "hidden": "warn"}
"""Verdict → how it is coloured; others are bad."""
ADDRESS_CHARS_MAX = 10_000


def routes(desk: Desk) -> list[BaseRoute]:
    async def why(request: Request) -> Response:
        assert desk.crawl is not None
        asked = request.query_params
        address, given = asked.get("url", "").strip()[:ADDRESS_CHARS_MAX], asked.get("set", "").strip()
        chinese, running = language_of(request) == "zh", bool((await desk.crawl.status())["running"])
        facts: dict[str, Any] = {"answer": None, "refused": None, "wrong": ""}
        try:
            if address:
                facts["answer"] = await desk.library.ask(_explained, address, given, chinese, running)
            else:
                facts["refused"] = await desk.library.ask(_refused, chinese)
        except (ConfigError, JobError) as error:
            facts["wrong"] = str(error)
        return await desk.page(request, "why.html", address=address, given=given, tones=TONES, parts=parts, **facts)

    return [Route("/why", why)]


def _explained(replay: Replay, address: str, given: str, chinese: bool, running: bool) -> Explanation:
    return explain(replay.source, address, parsed(_pairs(given)), chinese=chinese, running=running)


def _pairs(given: str) -> list[str]:
    """`max_depth=4 include='a b'` as a shell would read it."""
    try:
        return shlex.split(given)
    except ValueError as error:
        raise ConfigError(f"{given}: KEY=VALUE is expected, such as max_depth=4 ({error})") from error


def _refused(replay: Replay, chinese: bool) -> Refusals:
    return refusals(replay.source, chinese=chinese)


def parts(step: Step, url: str) -> list[tuple[str, str]]:
    """The text of a step in pieces: (text, the address it is, if another than `url` that may be explained, too)."""
    facts = step.facts
    others = {facts.get("parent"), facts.get("moved_to"), facts.get("url") if step.name == "same" else ""}
    others |= {*facts.get("urls", ()), *(page["url"] for page in facts.get("pages", ()))}
    known = sorted(filter(None, others | {url}), key=len, reverse=True)
    pieces = re.split(rf"({'|'.join(map(re.escape, known))})(?![^\s;,)；，）])", step.text)
    return [(piece, piece if piece in others and piece != url else "") for piece in pieces if piece]
