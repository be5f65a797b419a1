"""The description of the JSON API (OpenAPI 3.1), made from the table of operations that serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from nephila import __version__
from nephila.ui.operation import Operation
from nephila.ui.problem import TYPE, Problem

_REF = "#/components/schemas/{name}"
_REFUSALS = {
    400: "the request is not as described",
    401: "the token is missing or wrong",
    403: "another web page asks",
    404: "there is no such thing",
    405: "this method is not for this path",
    409: "no crawl is running, or the folder lacks what is asked for",
    413: "the request is too long",
    415: "the body is not application/json",
    422: "it is written as described, and cannot be meant",
    503: "it took too long: ask again, or for less",
}
_ALWAYS = (400, 401, 403, 503)


def described(operations: Sequence[Operation], base: str) -> dict[str, Any]:
    """`base`: where the paths of `operations` begin."""
    types = [kind for one in operations for kind in (one.takes, one.gives) if kind is not None]
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=_REF)
    of = dict(zip([*types, Problem], schemas, strict=True))
    paths: dict[str, Any] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, of, components)
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Nephila",
            "version": __version__,
            "summary": "See a crawl, and steer it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base}],
        "security": [{"token": []}],
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _operation(one: Operation, of: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": f"{one.method.lower()}{one.path.title().replace('/', '').replace('.', '')}",
        "summary": one.summary,
        "responses": {"200": {"description": one.summary, "content": {"application/json": {"schema": of[one.gives]}}}},
    }
    of_body = ((413, 415) if one.takes else (413,)) if one.method == "POST" else ()
    refusals = {*_ALWAYS, *one.refuses, *of_body}
    for status in sorted(refusals):
        content = {TYPE: {"schema": of[Problem]}}
        told["responses"][str(status)] = {"description": _REFUSALS[status], "content": content}
    if one.takes and one.method == "GET":
        told["parameters"] = _parameters(components[one.takes.__name__])
    elif one.takes:
        told["requestBody"] = {"required": True, "content": {"application/json": {"schema": of[one.takes]}}}
    return told


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a struct as parameters of a query."""
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": field.get("description", ""),
            "schema": {key: value for key, value in field.items() if key != "description"},
        }
        for name, field in schema["properties"].items()
    ]
