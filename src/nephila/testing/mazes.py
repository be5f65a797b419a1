"""Sites with traps whose good pages are known: what a crawl may waste, and that it loses nothing, can be counted.

A maze is a site in memory with a list of its good pages. Every page has the menu, the footer and the small print of its
site, so that most of a page is what all others say, as on real sites. The text of a good page is its own.
"""

from __future__ import annotations

import functools
import html
import itertools
import random
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import md5
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from nephila.testing import sites
from nephila.testing.sites import Answer, Site

MENU = (
    "<nav>"
    + "".join(
        f"<li>{word}</li>"
        for word in ["home", "about", "news", "team", "shop", "contact", "imprint", "jobs", "help", "legal"]
    )
    + "</nav>"
)
FOOT = (
    "<footer><p>all rights reserved</p><p>opening hours every day but monday</p><p>subscribe to our letter</p></footer>"
)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


class Maze(NamedTuple):
    """A site, the paths of its good pages, and how many others a crawl of it may fetch at most."""

    site: Site
    good: frozenset[str]
    wasted_max: int


@functools.lru_cache(20_000)
def prose(seed: str, words: int = 40) -> str:
    """Sentences that no other seed has."""
    dice = random.Random(seed)
    return " ".join("".join(dice.choices("abcdefghijklmnoprstuvw", k=dice.randint(2, 9))) for _ in range(words))


def leaf(path: str, links: Iterable[str] = (), words: int = 40) -> Answer:
    """A good page: a title and a paragraph of its own."""
    title = prose(path, 4)
    return page(links, title, f"<h1>{title}</h1><p>{prose(path + ' text', words)}</p>")


def page(links: Iterable[str], title: str, body: str = "") -> Answer:
    anchors = "".join(f'<a href="{html.escape(link)}">go</a>' for link in links)
    return Answer(f"<!doctype html><title>{html.escape(title)}</title>{MENU}{body}{anchors}{FOOT}".encode())


def _query(path: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(path).query))


# --- traps ----------------------------------------------------------------------------------------------------------


def calendar(articles: int = 150) -> Maze:
    """Months and days for ever in both directions, beside articles that link to them."""
    good = [f"/article/{i}.html" for i in range(articles)]

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/":
            return leaf(path, [*good[:3], "/cal?y=2026&m=1"])
        if path in good:
            i = good.index(path)
            return leaf(path, [*good[i : i + 3], "/cal?y=2026&m=1"])
        if urlsplit(path).path not in ("/cal", "/day"):
            return sites.NOT_FOUND
        when = {name: int(value) for name, value in _query(path).items()}
        y, m = when["y"], when["m"]
        near = [(y + m // 12, m % 12 + 1), (y - (m == 1), (m - 2) % 12 + 1)]
        days = [f"/day?y={y}&m={m}&d={d}" for d in range(1, 29)] if path.startswith("/cal") else []
        cells = "".join(f"<td>{d}</td>" for d in range(1, 32))
        return page(
            [f"/cal?y={a}&m={b}" for a, b in near] + days, f"{MONTHS[m - 1]} {y}", f"<h1>{MONTHS[m - 1]}</h1>{cells}"
        )

    return Maze(site, frozenset(["/", *good]), 300)


def facets(items: int = 120) -> Maze:
    """A shop whose lists can be filtered and sorted in 20,000 ways; every item has a page of its own."""
    values = {
        "colour": ["red", "blue", "green", "black", "white"],
        "size": ["small", "medium", "large", "huge"],
        "brand": ["acme", "globex", "initech", "umbrella", "hooli"],
        "sort": ["price", "name", "date", "rating"],
        "view": ["list", "grid"],
    }

    def traits(i: int) -> dict[str, str]:
        dice = random.Random(i)
        return {name: dice.choice(values[name]) for name in ("colour", "size", "brand")}

    def name(i: int) -> str:
        return prose(f"item {i}", 3)

    def site(host: str, path: str, n: int) -> Answer:
        parts = urlsplit(path)
        if parts.path.startswith("/item/") and parts.path[6:].isdecimal() and int(parts.path[6:]) < items:
            i = int(parts.path[6:])
            return page(["/list"], name(i), f"<h1>{name(i)}</h1><p>{prose(path, 30)}</p>")
        if parts.path not in ("/", "/list"):
            return sites.NOT_FOUND
        chosen = _query(path)
        found = [i for i in range(items) if all(traits(i).get(k, v) == v for k, v in chosen.items())]
        found.sort(key=lambda i: (chosen.get("sort", ""), md5(f"{i} {chosen.get('sort')}".encode()).digest()))
        more = [
            "/list?" + "&".join(f"{k}={v}" for k, v in {**chosen, key: value}.items())
            for key, some in values.items()
            if key not in chosen
            for value in some
        ]
        rows = "".join(f"<tr><td>{name(i)}</td><td>price {i}</td></tr>" for i in found[:20])
        heading = " ".join(chosen.values()) or "everything"
        # the first page of all leads to every item: filters only show them again
        every = range(items) if path == "/" else found[:20]
        return page(
            [f"/item/{i}" for i in every] + (more or ["/list"]), heading, f"<h1>{heading}</h1><table>{rows}</table>"
        )

    return Maze(site, frozenset(["/", *(f"/item/{i}" for i in range(items))]), 1_500)


def sessions(pages: int = 60, shape: str = "?sid={token}") -> Maze:
    """Every link of every page carries a token that is new at each visit."""

    def site(host: str, path: str, n: int) -> Answer:
        bare = path.partition("?")[0].partition(";")[0]
        if bare.startswith("/(S("):
            bare = "/" + bare.split("/", 2)[2]
        i = 0 if bare == "/" else int(bare[1:]) if bare[1:].isdecimal() else pages
        if i >= pages:
            return sites.NOT_FOUND
        token = md5(f"{path} {n}".encode()).hexdigest()
        links = [f"/{j % pages}" for j in (*range(i + 1, i + 8), i * 7, i * 3 + 1)]
        return leaf(
            bare,
            [
                shape.format(token=token, path=link) if "{path}" in shape else link + shape.format(token=token)
                for link in links
            ],
        )

    return Maze(site, frozenset(f"/{i}" for i in range(1, pages)), pages + 40)


def not_found(echo: bool, pages: int = 80) -> Maze:
    """Whatever has no page is answered 200 with a page that says so and links further below; with `echo` it names what was asked
    for. Some links are broken."""
    good = [f"/docs/{prose(f'name {i}', 1)}-{i}.html" for i in range(pages)]

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/robots.txt":
            return sites.NOT_FOUND
        if path == "/":
            return leaf(path, good[:5])
        if path in good:
            i = good.index(path)
            return leaf(path, [*good[i : i + 5], f"/docs/old-{i}.html", f"sub-{i}/"])
        said = f"<p>sorry, {html.escape(path)} is not here</p>" if echo else "<p>sorry, this is not here</p>"
        depth = path.count("/")
        return page(
            ["more/", f"x{depth}/", "y.html", "/"], "not found", said + "<p>try the search</p><p>or write to us</p>"
        )

    return Maze(site, frozenset(["/", *good]), 450)


def growing(more: Callable[[str], str], size: int = 40) -> Maze:
    """Every address is a page with a text of its own, and links to what `more` makes of its address."""

    def site(host: str, path: str, n: int) -> Answer:
        return leaf(path, [more(path)], size) if path != "/robots.txt" else sites.NOT_FOUND

    return Maze(site, frozenset(["/"]), 60)


APPENDED: dict[str, Callable[[str], str]] = {
    "a relative directory": lambda path: "a/",
    "two relative directories": lambda path: "b/c/",
    "its own address": lambda path: f"http:/a.test{path}",
    "an escaped slash": lambda path: f"{path}%2F",
    "a slash": lambda path: f"{path}/",
    "a parameter": lambda path: f"{path}&p=1" if "?" in path else f"{path}?p=1",
    "a parameter, escaped twice": lambda path: f"{path}&amp;p=1" if "?" in path else f"{path}?p=1",
    "itself as a parameter": lambda path: f"{path}?to={path}",
    "itself as an escaped parameter": lambda path: "/go?to=" + quote(path, safe=""),
}
"""What pages that grow append to their address (katana's issue 122, ACHE's 141, Norconex's 28 and 230)."""


# --- no traps -------------------------------------------------------------------------------------------------------


def pagination(pages: int = 500, per_page: int = 3) -> Maze:
    """A list of 500 pages, each with items of its own."""
    lists = ["/list", *(f"/list?page={i}" for i in range(2, pages + 1))]
    items = [f"/item/{i}" for i in range(pages * per_page)]

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/":
            return leaf(path, ["/list"])
        if path in items:
            return leaf(path, ["/list"], 12)
        i = 1 if path == "/list" else int(_query(path).get("page", 0)) if path.startswith("/list?") else 0
        if not 1 <= i <= pages:
            return sites.NOT_FOUND
        mine = items[(i - 1) * per_page : i * per_page]
        rows = "".join(f"<li>{prose(item, 4)}</li>" for item in mine)
        return page([*mine, *lists[i : i + 1]], f"list {i}", f"<ul>{rows}</ul>")

    return Maze(site, frozenset(["/", *lists, *items]), 0)


def archive(years: int = 6) -> Maze:
    """Posts below dates: every year, month and many a day has a page with the titles of its posts."""
    posts = {
        f"/{y}/{m:02}/{d:02}/{prose(f'slug {y} {m} {d}', 2).replace(' ', '-')}/"
        for y, m, d in itertools.product(range(2010, 2010 + years), range(1, 13), (3, 14, 21))
    }
    below: dict[str, set[str]] = {}
    for post in posts:
        parts = post.strip("/").split("/")
        for i in range(1, 4):
            below.setdefault("/" + "/".join(parts[:i]) + "/", set()).add("/" + "/".join(parts[: i + 1]) + "/")
    below["/"] = {f"/{y}/" for y in range(2010, 2010 + years)}

    def site(host: str, path: str, n: int) -> Answer:
        if path in posts:
            return leaf(path, ["/"], 25)
        if path not in below:
            return sites.NOT_FOUND
        titles = "".join(
            f"<li>{prose(post, 4)}</li>" for post in sorted(posts) if post.startswith(path) and path.count("/") > 2
        )
        return page(sorted(below[path]), f"archive {path}", f"<ul>{titles}</ul>")

    return Maze(site, frozenset([*below, *posts]), 0)


def gallery(pages: int = 200, per_page: int = 4) -> Maze:
    """A list of pictures without a word: what its pages say is the same, what they lead to is not."""
    lists = [f"/photos?page={i}" for i in range(1, pages + 1)]
    views = [f"/photo/{i}.html" for i in range(pages * per_page)]

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/":
            return leaf(path, lists[:1])
        if path in views:
            return leaf(path, [], 8)
        if path not in lists:
            return sites.NOT_FOUND
        i = lists.index(path)
        return page([*views[i * per_page : (i + 1) * per_page], *lists[i + 1 : i + 2]], "photos")

    return Maze(site, frozenset(["/", *lists, *views]), 0)


def parameters(pages: int = 300) -> Maze:
    """All pages are one program's, with long queries; each has a short text of its own among much that all have."""
    extra = "&".join(f"option{i}=default" for i in range(12))
    good = [f"/index.php?module=wiki&lang=en&id={i}&{extra}" for i in range(pages)]
    related = "".join(f"<li>{prose(f'related {i}', 3)}</li>" for i in range(40))

    def site(host: str, path: str, n: int) -> Answer:
        if path == "/":
            return leaf(path, good[:2])
        if path not in good:
            return sites.NOT_FOUND
        i = good.index(path)
        return page(
            good[i + 1 : i + 3],
            prose(path, 2),
            f"<ul>{related}</ul><h1>{prose(path, 2)}</h1><p>{prose(path + 'x', 20)}</p>",
        )

    return Maze(site, frozenset(["/", *good]), 0)


def doubled(pages: int = 120) -> Maze:
    """Good paths that nearly repeat: `/a/b/a/`, `/images/images/`, `/2001/01/01/01/`."""
    good = [
        path
        for i in range(pages // 4)
        for path in (
            f"/a{i}/b/a{i}/",
            f"/images/images/{i}.html",
            f"/2001/01/01/01/{i}/",
            f"/v{i % 3}/docs/v{i % 3}/docs/{i}.html",
        )
    ]

    def site(host: str, path: str, n: int) -> Answer:
        return leaf(path, good if path == "/" else ["/"]) if path in ("/", *good) else sites.NOT_FOUND

    return Maze(site, frozenset(["/", *good]), 0)


TRAPS: dict[str, Callable[[], Maze]] = {
    "calendar": calendar,
    "facets": facets,
    "sessions": sessions,
    "sessions_in_path": lambda: sessions(shape="/(S({token})){path}"),
    "not_found": lambda: not_found(echo=False),
    "not_found_echo": lambda: not_found(echo=True),
    **{f"grows by {what}": partial(growing, more) for what, more in APPENDED.items()},
}
GOOD: dict[str, Callable[[], Maze]] = {
    "pagination": pagination,
    "archive": archive,
    "gallery": gallery,
    "parameters": parameters,
    "doubled": doubled,
}
