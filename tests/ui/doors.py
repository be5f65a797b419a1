"""Every address that the window answers, taken from the routes themselves: a page that is added is attacked with the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from starlette.routing import BaseRoute, Mount, Route

from nephila.ui import window
from nephila.ui.serve import Server


class Door(NamedTuple):
    method: str
    path: str


def doors(server: Server) -> list[Door]:
    """With an address, a time or a number where a route takes one."""
    return [*_all(window.routes(server.desk)), Door("POST", "/enter")]


def changing(server: Server) -> list[str]:
    """The addresses of all that may change something."""
    return [path for method, path in doors(server) if method == "POST"]


def _all(routes: Iterable[BaseRoute], above: str = "") -> Iterator[Door]:
    for route in routes:
        if isinstance(route, Mount) and route.routes:
            yield from _all(route.routes, above + route.path)
        elif isinstance(route, Mount):
            yield Door("GET", f"{above}{route.path}/window.js")
        elif isinstance(route, Route):
            path = re.sub(r"\{url:path\}", "https://a.example/", route.path)
            path = re.sub(r"\{\w+(:int)?\}", "2020", path)
            yield from (Door(method, above + path) for method in sorted((route.methods or set()) - {"HEAD"}))
