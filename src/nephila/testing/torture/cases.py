"""A case is one fault on one host of its own, with what must come of it; the decorators here fill the table of all cases."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from nephila.testing.torture.rows import ROWS, Row

if TYPE_CHECKING:
    from nephila.testing.proxies import Speaker
    from nephila.testing.torture.observe import Observed
    from nephila.testing.torture.server import Talk

MODULES = (
    "framing",
    "headers",
    "redirects",
    "rate",
    "network",
    "tls",
    "http2",
    "markup",
    "traps",
    "robots",
    "sitemaps",
    "ftp",
    "ways",
)
"""Where the cases are written down, one module per section or two."""

UNASKED = "unasked"
"""For `also`: this URL must never have been requested."""

Route = Callable[["Talk"], Awaitable[None]]
Settings = dict[str, Any]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One fault and what must come of it. What is None is not looked at; what is expected in `outcome` and `reason` always is.

    The server answers robots.txt with 404 by itself unless `robots` (then the route is asked), and counts neither that request nor
    its connection's first use. `raw` routes are called once per connection, before anything is read.
    """

    row: Row
    name: str
    route: Route
    outcome: str
    """Name of the Outcome, or, in lower case, the state of a URL that has none (`queued`: its host is parked)."""
    reason: str = ""
    path: str = "/"
    """What is asked for, and judged."""
    also: dict[str, str] = {}
    """Other URLs (absolute, or paths on the case's host) → `"OUTCOME reason"`, or UNASKED."""
    attempts: int | None = None
    """Tries that were counted, the last one included."""
    requests: int | None = None
    """Requests for `path` that the server saw."""
    connections: int | None = None
    """Connections that the case's hosts took, robots.txt included."""
    truncated: str | None = None
    """None: as the reason says (`truncated.time` → time), else not truncated."""
    links: int | None = None
    """Links that were taken from the page."""
    body: bytes | None = None
    """The payload in the archive, after transfer decoding and before content decoding."""
    visit: dict[str, Any] = {}
    """Columns of table `visit` and their values: `{"charset": "gb18030"}`."""
    joined: bool = False
    """Header lines are folded: libcurl joins them, so the archived head is not spelled as it was sent."""
    gap_s: float | None = None
    """Two requests for `path` lie at least so far apart."""
    check: Callable[[Observed], list[str]] | None = None
    """Anything else: returns complaints."""
    settings: Settings = {}
    """Keys of the configuration that this case needs; cases that need the same share a crawl."""
    hosts: int = 1
    """Addresses that the case has; the first is its own."""
    names: tuple[str, ...] = ()
    """Host names for the addresses, in their order (`--resolve`); the first takes the place of the address in the seed."""
    dns: bool = False
    """The names are not given by `--resolve` but asked of the server's own name server, which answers as they begin
    (`nephila.testing.nameserver`)."""
    proxies: tuple[Callable[[], Speaker], ...] = ()
    """What stands between the crawl and the case (`--proxy SITE=…`), one address each. Then the first address, which URLs name, must
    never be connected; the proxies have the next ones, and the last is where they find the site: `hosts` is two more than they."""
    scheme: str = "http"
    robots: bool = False
    raw: bool = False
    quick: bool = False
    """In the quick tests, too."""
    exits: int = 0
    """Exit code that the crawl may end with because of this case."""

    @property
    def id(self) -> str:
        return f"{self.row.id}.{self.name}"


_cases: dict[str, Case] = {}


def case(row: str, name: str = "", *, outcome: str = "OK", **more: Any) -> Callable[[Route], Route]:
    """The decorated coroutine function answers the requests of a case. Several may stand above one function."""

    def register(route: Route) -> Route:
        found = Case(
            row=ROWS[row],
            name=name or route.__name__.strip("_").replace("_", "-"),
            route=route,
            outcome=outcome,
            **more,
        )
        if found.id in _cases:
            raise ValueError(f"two cases are called {found.id}")
        _cases[found.id] = found
        return route

    return register


def says(row: str, name: str, wire: bytes, *, close: bool = False, outcome: str = "OK", **more: Any) -> None:
    """A case that answers every request with the same bytes, and with `close` then closes the connection."""

    async def route(talk: Talk) -> None:
        await talk.say(wire)
        if close:
            talk.hang_up()

    case(row, name, outcome=outcome, **more)(route)


def cases() -> list[Case]:
    """All cases, in the order of their rows; those that need a package of the extra `test` only where it is."""
    for module in MODULES:
        if find_spec(name := f"nephila.testing.torture.{module}"):
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("nephila"):
                    raise
    order = list(ROWS)
    return sorted(_cases.values(), key=lambda found: order.index(found.row.id))


def chosen_by(text: str, among: list[Case]) -> list[Case]:
    """The cases that a list names: `A` a section, `A4` a row, `A4.mended` a case, and what begins so."""
    wanted = text.split(",")
    rows = {word for word in wanted if "." not in word}
    full = tuple(word for word in wanted if "." in word)
    return [case for case in among if {case.row.id, case.row.section} & rows or (full and case.id.startswith(full))]


def crawls(chosen: list[Case]) -> Iterator[tuple[str, list[Case]]]:
    """The cases that can share a crawl, with a name for it: those of one section that need the same settings."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for found in chosen:
        groups.setdefault((found.row.section, repr(sorted(found.settings.items()))), []).append(found)
    for (section, _), members in groups.items():
        settings = ",".join(f"{key}={value}" for key, value in sorted(members[0].settings.items()))
        yield f"{section} {settings}".strip().replace("'", ""), members
