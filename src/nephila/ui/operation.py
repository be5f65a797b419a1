"""One operation of the JSON API: what it takes, what it gives, and how a request becomes the one and the other.

The structs say it once: requests are checked by them, answers are written from them, and the description of the API is made from them.
"""

from __future__ import annotations

import typing
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

BODY_BYTES_MAX = 64 << 10


class Operation(NamedTuple):
    """`takes`: a struct, of the query's fields for a GET and of the JSON body for a POST; `gives`: what `run` returns. `refuses`: statuses
    that it may end with besides those that every operation has."""

    method: str
    path: str
    summary: str
    run: Callable[[Any], Awaitable[Any]]
    gives: Any
    takes: type[msgspec.Struct] | None = None
    refuses: tuple[int, ...] = ()


def route(operation: Operation) -> Route:
    async def answer(request: Request) -> Response:
        found = await operation.run(await _taken(operation, request))
        return Response(msgspec.json.encode(found), media_type="application/json")

    return Route(operation.path, answer, methods=[operation.method])


async def _taken(operation: Operation, request: Request) -> Any:
    """The request as a struct. Raises HTTPException 400, 413 or 415."""
    try:
        if operation.method == "GET":
            return _query(operation.takes, request)
        return await _body(operation.takes, request)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, str(error)) from error


def _query(takes: type[msgspec.Struct] | None, request: Request) -> Any:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(takes)} if takes else {}
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name not in fields:
            raise HTTPException(400, f"there is no parameter {name!r}: {', '.join(fields) or 'none is taken'}")
        if _is_list(fields[name]):
            given.setdefault(name, []).append(value)
        elif name in given:
            raise HTTPException(400, f"{name} is given twice")
        else:
            given[name] = value
    return msgspec.convert(given, takes, strict=False) if takes else None


def _is_list(kind: Any) -> bool:
    while typing.get_origin(kind) is typing.Annotated:
        kind = kind.__origin__
    return typing.get_origin(kind) is list


async def _body(takes: type[msgspec.Struct] | None, request: Request) -> Any:
    body = b""
    async for block in request.stream():
        body += block
        if len(body) > BODY_BYTES_MAX:
            raise HTTPException(413, f"a request has at most {BODY_BYTES_MAX} bytes")
    if takes is None:
        if body:
            raise HTTPException(400, "nothing is taken: leave the body empty")
        return None
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "a request is application/json")
    return msgspec.json.decode(body, type=takes)
