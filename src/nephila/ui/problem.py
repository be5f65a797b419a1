"""What a program is told when its request cannot be answered: problem details (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True):
    """Why a request was not answered."""

    title: Annotated[str, Meta(description="what the status means")]
    status: Annotated[int, Meta(description="the same as that of the answer", ge=400, le=599)]
    detail: Annotated[str, Meta(description="what was wrong, and what would be right")]


def problem(status: int, detail: str, **headers: str) -> Response:
    body = msgspec.json.encode(Problem(HTTPStatus(status).phrase, status, detail))
    return Response(body, status, headers, media_type=TYPE)
