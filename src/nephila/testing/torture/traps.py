"""Section H: sites without end, the same page under many names, and pages that are none. Most are mazes (`nephila.testing.mazes`)."""

from __future__ import annotations

import html as markup
from collections.abc import Callable
from hashlib import md5
from itertools import permutations
from typing import Any

from nephila.testing import mazes
from nephila.testing.mazes import Maze
from nephila.testing.torture.cases import UNASKED, case
from nephila.testing.torture.server import Talk, answer, html

ALL_SAME = b"<p>the same wherever it is asked for</p>" * 20
HTML = "Content-Type: text/html"


def _ended(requests_max: int, *traps: str) -> Callable[[Any], list[str]]:
    """So many requests at most, and each of these traps is a rule that has refused something."""

    def check(seen: Any) -> list[str]:
        asked = len([hit for hit in seen.place.hits if hit.path != "/robots.txt"])
        found = [] if asked <= requests_max else [f"{asked} requests, not {requests_max} at most"]
        refused = {
            text.removeprefix("trap:").partition(" ")[0]
            for (text,) in seen.query(
                "SELECT DISTINCT r.text FROM url u JOIN rule r ON r.id = u.rule JOIN host h ON h.id = u.host"
                " WHERE u.state = 'refused' AND h.origin = ?",
                seen.place.url("").removesuffix("/"),
            )
        }
        return found + [f"nothing was refused as trap:{trap}" for trap in traps if trap not in refused]

    return check


def _maze(row: str, name: str, maze: Maze, *traps: str, **more: Any) -> None:
    """A maze on a host of its own: its good pages are kept, what else is fetched is bounded, and the traps are named."""

    async def route(talk: Talk) -> None:
        it = maze.site(talk.header("host"), talk.path, talk.n)
        await talk.say(answer(it.body, HTML, status=f"{it.status} so"))

    also = {} if "{token}" in name else dict.fromkeys(maze.good, "OK")
    bound = maze.wasted_max + len(maze.good) + 5
    case(row, name, also=also, check=_ended(bound, *traps), **more)(route)


# --- H1: calendars ------------------------------------------------------------------------------------------------------

_maze("H1", "months-and-days", mazes.calendar(40), "calendar")


@case("H1", "in-the-path", check=_ended(160, "calendar"))
@case("H1", "one-parameter", check=_ended(160, "calendar"))
@case("H1", "empty-days-backwards", check=_ended(160, "calendar"))
async def _calendar(talk: Talk) -> None:
    """Each page leads to the next and to the one before, and says no more than which it is."""
    shapes = {"in-the-path": "/events/{y}/{m:02}/", "one-parameter": "/cal?date={y}-{m:02}"}
    shape = shapes.get(talk.place.case.name, "/day?year={y}&month={m}")
    if talk.path != "/" and not talk.path.startswith(shape.partition("{")[0]):  # else it would be a soft 404, too
        await talk.say(answer(status="404 Not Found"))
        return
    digits = [int(part) for part in "".join(c if c.isdigit() else " " for c in talk.path).split()] or [2026, 1]
    y, m = digits[0], digits[1]
    near = [(y, m % 12 + 1) if m < 12 else (y + 1, 1), (y, m - 1) if m > 1 else (y - 1, 12)]
    links = [shape.format(y=a, m=b) for a, b in near]
    it = mazes.page(links, f"{mazes.MONTHS[m - 1]} {y}", "".join(f"<td>{d}</td>" for d in range(1, 31)))
    await talk.say(answer(it.body, HTML))


# --- H2: sessions and parameters ----------------------------------------------------------------------------------------

for _name, _shape in {
    "session-in-the-query": "?sid={token}",
    "session-in-the-path": ";sessionid={token}",
    "session-of-asp-net": "/(S({token})){path}",
}.items():
    _sessions = mazes.sessions(30, _shape)
    _maze("H2", _name, _sessions._replace(good=frozenset()), "session_id")


@case("H2", "tokens-that-are-known-by-name", check=_ended(12))
async def _known_names(talk: Talk) -> None:
    """Every link has a new PHPSESSID: it is no part of the address."""
    token = md5(f"{talk.path} {talk.n}".encode()).hexdigest()
    await talk.say(html(*(f"/{i}?PHPSESSID={token}&amp;utm_source={token[:4]}" for i in range(10))))


@case("H2", "reordered", check=_ended(250, "template"))
async def _reordered(talk: Talk) -> None:
    """720 orders of six parameters, one page."""
    if "?" in talk.path:
        return await talk.say(answer(mazes.leaf("the one page").body, HTML))
    pairs = [f"{name}=1" for name in "abcdef"]
    await talk.say(html(*("/p?" + "&amp;".join(order) for order in permutations(pairs))))


@case("H2", "repeated", check=_ended(8, "growing_query"), quick=True)
@case("H2", "growing-list", check=_ended(40, "growing_query"))
async def _repeated(talk: Talk) -> None:
    more = "x=1" if talk.place.case.name == "repeated" else f"x={len(talk.path)}"
    path = markup.escape(talk.path)
    await talk.say(answer(mazes.leaf(talk.path, [f"{path}{'&' if '?' in path else '?'}{more}"]).body, HTML))


# --- H3, H7: addresses that grow ----------------------------------------------------------------------------------------

_maze("H3", "relative", mazes.growing(lambda path: "a/"), "repeated_segment", quick=True)
_maze("H3", "relative-by-turns", mazes.growing(lambda path: "b/c/"), "repeated_segment")
_maze("H3", "dot", mazes.growing(lambda path: "./"))
_maze("H3", "dots-inside", mazes.growing(lambda path: "./x/.././a/"), "repeated_segment")
_maze("H3", "escaped-slash", mazes.growing(mazes.APPENDED["an escaped slash"]), "repeated_segment")
_maze("H3", "slashes", mazes.growing(lambda path: f"http:/x{path}/"), "growing_path")
_maze("H3", "escaped-ampersand", mazes.growing(mazes.APPENDED["a parameter, escaped twice"]), "growing_query")
_maze("H3", "ampersand", mazes.growing(mazes.APPENDED["a parameter"]), "growing_query")
_maze("H3", "always-another-name", mazes.growing(lambda path: f"s{len(path)}/"), "growing_path")
_maze("H7", "query", mazes.growing(mazes.APPENDED["itself as a parameter"]), "growing_query", quick=True)
_maze("H7", "escaped-query", mazes.growing(mazes.APPENDED["itself as an escaped parameter"]), "growing_query")
_maze("H7", "path", mazes.growing(mazes.APPENDED["its own address"]), "repeated_segment")


# --- H4: 200 for what is not there --------------------------------------------------------------------------------------


def _told_apart(least: int) -> Callable[[Any], list[str]]:
    def check(seen: Any) -> list[str]:
        (flagged,) = seen.query(
            "SELECT count(*) FROM visit v JOIN url u ON u.id = v.url JOIN host h ON h.id = u.host"
            " WHERE v.reason = 'soft_404' AND h.origin = ?",
            seen.place.url("").removesuffix("/"),
        )[0]
        return [] if flagged >= least else [f"only {flagged} pages are soft_404, not {least}"]

    return check


for _name, _echo in {"the-same-words": False, "naming-what-was-asked": True}.items():
    _soft = mazes.not_found(_echo, 60)

    async def _says_sorry(talk: Talk, maze: Maze = _soft) -> None:
        it = maze.site(talk.header("host"), talk.path, talk.n)
        await talk.say(answer(it.body, HTML, status=f"{it.status} so"))

    case("H4", _name, also=dict.fromkeys(_soft.good, "OK"), check=_told_apart(20))(_says_sorry)


# --- H5: one page, many names -------------------------------------------------------------------------------------------


def _once_stored(seen: Any) -> list[str]:
    (same,) = seen.query(
        "SELECT count(*) FROM visit v JOIN url u ON u.id = v.url JOIN host h ON h.id = u.host"
        " WHERE v.same_as != 0 AND h.origin = ?",
        seen.place.url("").removesuffix("/"),
    )[0]
    return [] if same else ["no visit says that its body came before"]


def _both(*checks: Callable[[Any], list[str]]) -> Callable[[Any], list[str]]:
    return lambda seen: [line for check in checks for line in check(seen)]


@case("H5", "ten-thousand-addresses", check=_both(_once_stored, _ended(250, "template")))
async def _many_names(talk: Talk) -> None:
    if "?" in talk.path:
        return await talk.say(answer(ALL_SAME, HTML))
    await talk.say(html(*(f"/x?i={i}" for i in range(10_000))))


_ALIASES = ("/index.html", "/a", "/a/", "/A", "/a/index.html")


@case("H5", "slash-case-and-index", check=_once_stored, also=dict.fromkeys(_ALIASES, "OK"), quick=True)
async def _aliases(talk: Talk) -> None:
    """Nothing is proven by a few: each name is asked for once, its body stored once."""
    await talk.say(html(*_ALIASES) if talk.path == "/" else answer(ALL_SAME, HTML))


@case(
    "H5",
    "www",
    names=("alias.example", "www.alias.example"),
    hosts=2,
    check=_once_stored,
)
async def _www(talk: Talk) -> None:
    await talk.say(html("/a", talk.url("/a", host=1)) if talk.path == "/" else answer(ALL_SAME, HTML))


# --- H6, H8 -------------------------------------------------------------------------------------------------------------

NAMES = 5_000


def _few_hosts(seen: Any) -> list[str]:
    (asked,) = seen.query(
        "SELECT count(DISTINCT u.host) FROM url u JOIN host h ON h.id = u.host"
        " WHERE h.origin LIKE '%.farm.invalid' AND u.state = 'done' AND u.kind != 'robots'"
    )[0]
    (waiting,) = seen.query(
        "SELECT count(*) FROM url u JOIN host h ON h.id = u.host"
        " WHERE h.origin LIKE '%.farm.invalid' AND u.state = 'queued' AND u.kind != 'robots'"
    )[0]
    return [] if (asked, waiting) == (6, NAMES - 6) else [f"{asked} hosts were asked, {waiting} wait"]


@case("H6", "five-thousand-names", settings={"site_hosts": 6}, exits=3, check=_few_hosts)
async def _farm(talk: Talk) -> None:
    """None of them is there; they cost six questions and not five thousand."""
    await talk.say(html(*(f"http://n{i}.farm.invalid/" for i in range(NAMES))))


@case(
    "H8",
    "forbidden",
    robots=True,
    also={"/good": "OK", "/trap/": "DENIED robots_disallow", "/trap/a/": UNASKED},
    quick=True,
)
async def _forbidden(talk: Talk) -> None:
    if talk.path == "/robots.txt":
        return await talk.say(answer(b"User-agent: *\nDisallow: /trap/\n", "Content-Type: text/plain"))
    await talk.say(html("/trap/", "/good") if talk.path == "/" else html("a/" if "trap" in talk.path else "/"))
