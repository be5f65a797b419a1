"""The JSON API for programs, /api/v1/…: what the window shows and does, as one table of operations.

The table serves the requests and describes itself at /api/v1/openapi.json. What is wrong with a request is a problem (RFC 9457), never a
page. /metrics has the numbers for Prometheus. Who may ask is the gate's question (docs/api.md).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from nephila import settings
from nephila.errors import ConfigError, Damaged, JobError
from nephila.explain import Explanation, Preview, Refusals, explain, parsed, preview, refusals
from nephila.ui import facts, lookups, metrics, openapi
from nephila.ui.crawl import TOLD_S_MAX, Crawl
from nephila.ui.desk import Desk
from nephila.ui.operation import Operation, route
from nephila.ui.problem import problem
from nephila.ui.rules import SET_S_MAX
from nephila.ui.tables import Tables

BASE = "/api/v1"
STEERS = (409, 422)


def routes(desk: Desk) -> list[BaseRoute]:
    """All of it, for a window on a crawl; archives of others have none."""
    if desk.crawl is None:
        return []
    crawl, table = desk.crawl, operations(desk, desk.crawl)

    async def description(request: Request) -> Response:
        return JSONResponse(openapi.described(table, f"{request.url.scheme}://{request.url.netloc}{BASE}"))

    async def numbers(request: Request) -> Response:
        text, kind = metrics.exposed(await crawl.status(), request.headers.get("accept", ""))
        return Response(text, headers={"content-type": kind})

    api = Starlette(
        routes=[*map(route, table), Route("/openapi.json", description)],
        exception_handlers={
            HTTPException: _refused,
            ConfigError: _meant_otherwise,
            JobError: _unusable,
            sqlite3.OperationalError: _too_long,
            TimeoutError: _too_long,
            Damaged: _damaged,
        },
    )
    return [Mount(BASE, app=api), Route("/metrics", numbers)]


def operations(desk: Desk, crawl: Crawl) -> list[Operation]:
    tables = Tables(desk, crawl)
    return [
        Operation("GET", "/status", "Where the crawl stands", _nothing(crawl.status), facts.Status),
        Operation("GET", "/hosts", "Hosts, sorted and searched", tables.hosts, lookups.HostTable, lookups.Hosts),
        Operation("GET", "/urls", "Addresses, filtered and sorted, a page at a time", tables.urls, lookups.UrlTable, lookups.Urls, (422,)),
        Operation("GET", "/url", "One address with its visits, and what links to it", tables.url, lookups.UrlFound, lookups.OneUrl, (404,)),
        Operation("GET", "/search", "Full text, where the index is there", tables.search, lookups.Found, lookups.Query, STEERS),
        Operation("POST", "/pause", "Ask for no more pages until resume, restarts included", _nothing(_order(crawl, "pause")), facts.Done, refuses=STEERS),
        Operation("POST", "/resume", "Go on after pause", _nothing(_order(crawl, "resume")), facts.Done, refuses=STEERS),
        Operation("POST", "/stop", "End the crawl so that it can be carried on", _order(crawl, "stop"), facts.Done, facts.Stop, STEERS),
        Operation("POST", "/host", "Pause, resume, slow or drop a host", _order(crawl, "host"), facts.Done, facts.HostOrder, STEERS),
        Operation("POST", "/settings", "Go on with other rules, budgets or manners", _settings(crawl), facts.Changed, facts.Settings, STEERS),
        Operation("POST", "/settings/preview", "How many stored URLs other rules would move; nothing is changed", _preview(crawl), Preview, facts.Settings, (422,)),
        Operation("GET", "/explain", "Why an address is there or not, and what would change it", _explain(desk), Explanation, facts.Why, STEERS),
        Operation("GET", "/refused", "Everything that was refused, by rule", _refusals(desk), Refusals, refuses=(409,)),
    ]  # fmt: skip


def _nothing(run: Callable[[], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """Of an operation that takes nothing."""

    async def answered(taken: None) -> Any:
        return await run()

    return answered


def _order(crawl: Crawl, verb: str) -> Callable[..., Awaitable[facts.Done]]:
    async def ordered(taken: Any = None) -> facts.Done:
        return facts.Done((await _told(crawl, verb, taken))["ok"])

    return ordered


def _settings(crawl: Crawl) -> Callable[[facts.Settings], Awaitable[facts.Changed]]:
    async def changed(taken: facts.Settings) -> facts.Changed:
        answer = await _told(crawl, "set", taken, SET_S_MAX)
        return facts.Changed(answer["ok"], msgspec.convert(answer["effect"], facts.Effect))

    return changed


def _preview(crawl: Crawl) -> Callable[[facts.Settings], Awaitable[Preview]]:
    def looked(con: sqlite3.Connection, values: dict[str, facts.Setting]) -> Preview:
        return preview(con, settings.of_job(crawl.folder), values)

    async def previewed(taken: facts.Settings) -> Preview:
        return await crawl.ask(looked, taken.values)

    return previewed


async def _told(crawl: Crawl, verb: str, taken: msgspec.Struct | None, timeout_s: float = TOLD_S_MAX) -> dict[str, Any]:
    """The answer of the crawl to an order. Raises HTTPException when nobody takes it, or it is refused."""
    answer = await crawl.tell({"verb": verb} | (msgspec.structs.asdict(taken) if taken else {}), timeout_s)
    if answer is None:
        raise HTTPException(409, "no crawl is running in this folder")
    if "error" in answer:
        raise HTTPException(503 if answer.get("late") else 422, answer["error"])
    return answer


def _explain(desk: Desk) -> Callable[[facts.Why], Awaitable[Explanation]]:
    async def explained(taken: facts.Why) -> Explanation:
        assert desk.crawl is not None
        given, running = parsed(taken.set), (await desk.crawl.status())["running"]
        return await desk.library.ask(lambda replay: explain(replay.source, taken.url, given, running=running))

    return explained


def _refusals(desk: Desk) -> Callable[[None], Awaitable[Refusals]]:
    async def refused(taken: None) -> Refusals:
        return await desk.library.ask(lambda replay: refusals(replay.source))

    return refused


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, **(error.headers or {}))


async def _meant_otherwise(request: Request, error: Exception) -> Response:
    return problem(422, str(error))


async def _unusable(request: Request, error: Exception) -> Response:
    return problem(409, str(error))


async def _too_long(request: Request, error: Exception) -> Response:
    return problem(503, f"this took too long ({error}): ask again, or for less")


async def _damaged(request: Request, error: Exception) -> Response:
    return problem(500, str(error))
