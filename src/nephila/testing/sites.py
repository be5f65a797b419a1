"""Sites that are functions: (host, path, how many times asked) → answer. The same site is served in memory and by sockets.

Everything is computed from the path, so that a site of 100,000 pages costs nothing until it is asked, and is the same for
everyone who asks. `named("graph:7,30,3")` finds one by its name.
"""

from __future__ import annotations

import functools
import html
import random
from collections import deque
from collections.abc import Callable, Iterable

import msgspec
import xxhash

HTML = "text/html; charset=utf-8"


class Answer(msgspec.Struct, frozen=True):
    """What a site says to one request. `headers` are sent as given, after Content-Type and Content-Length."""

    body: bytes = b""
    status: int = 200
    media_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()
    delay_s: float = -1.0
    """Seconds until the answer is sent; -1: what the server does by default."""
    failure: str = ""
    """In memory: the reason of the failure. On a socket: the connection is closed without a byte."""
    silent: bool = False
    """The request is taken and never answered."""
    ip: str = ""
    truncated: str = ""


Site = Callable[[str, str, int], Answer]
"""`site(host, path, n)`: `host` as in the Host header, `path` with its query, `n` = 1 for the first time it is asked."""

NOT_FOUND = Answer(b"<title>not here</title>", 404)


def page(links: Iterable[str] = (), title: str = "", more: str = "") -> bytes:
    """An HTML page with these links (`more` is put in as it is)."""
    anchors = "".join(f'<li><a href="{html.escape(link)}">{html.escape(link)}</a>\n' for link in links)
    return f"<!doctype html><title>{html.escape(title)}</title>\n<ul>\n{anchors}</ul>\n{more}".encode()


def redirect(to: str, status: int = 301) -> Answer:
    return Answer(b"", status, headers=(("Location", to),))


def late(answer: Answer, delay_s: float) -> Answer:
    """The same answer after `delay_s` seconds."""
    return msgspec.structs.replace(answer, delay_s=delay_s)


def table(pages: dict[str, Answer | bytes | list[Answer]]) -> Site:
    """A site from a dict path → answer; a list is answered one by one, its last for ever. Unknown paths are 404."""

    def site(host: str, path: str, n: int) -> Answer:
        found = pages.get(path, NOT_FOUND)
        if isinstance(found, list):
            found = found[min(n, len(found)) - 1]
        return Answer(found) if isinstance(found, bytes) else found

    return site


def tree() -> Site:
    """Nine pages: A → B, C, D, E, F; E → H; F → G; H → I. `/` is A."""
    edges = {"/": "BCDEF", "/E": "H", "/F": "G", "/H": "I"}
    return table(
        {
            f: Answer(page([f"/{t}" for t in edges.get(f, "")], f.strip("/") or "A"))
            for f in ["/", *map("/".__add__, "BCDEFGHI")]
        }
    )


KINDS_LARGE = "".join(xxhash.xxh3_128_hexdigest(b"%d" % i) for i in range(2048)).encode()
"""64 KiB that hardly compress: past a small `archive_bytes_max` the archive file rolls over."""


MOUNTS_FLAKY = 3
"""Of many mounts only the first ones have a 503 that passes: each one silences the whole host for a while."""


def kinds(mounts: int = 0) -> Site:
    """Exactly 25 URLs (`KINDS`): every kind of link, a redirect, a 503 that passes, a Disallow, a duplicate, a large body.

    With `mounts` the same site stands that many times below `/0/`, `/1/` …, and `/` links to each of them.
    """
    pages = _kinds()
    plain = table(pages)
    index = Answer(page([f"/{i}/" for i in range(mounts)], "mounts"))

    def mounted(host: str, path: str, n: int) -> Answer:
        number, _, below = path[1:].partition("/")
        if number.isdecimal() and int(number) < mounts:
            return plain(host, f"/{below}", n if int(number) < MOUNTS_FLAKY else n + 1)
        return index if path == "/" else plain(host, path, n) if path == "/robots.txt" else NOT_FOUND

    return mounted if mounts else plain


def _kinds() -> dict[str, Answer | bytes | list[Answer]]:
    head = (
        '<link rel="stylesheet" href="style.css"><link rel="canonical" href="canonical">'
        '<script src="app.js"></script><style>body { background: url(back.png) }</style>'
    )
    body = (
        '<map><area href="area"></map><img src="a.png" srcset="a-2x.png 2x, a-3x.png 3x"><img data-src="lazy.png">'
        '<iframe src="frame"></iframe><form action="form"><input name="q"></form>'
    )
    plain = {
        f"/{name}": page(["./"], name) for name in ("area", "frame", "form", "canonical", "refreshed", "target", "leaf")
    }
    images = {
        f"/{name}.png": Answer(f"image {name}".encode(), media_type="image/png")
        for name in ("a", "a-2x", "a-3x", "lazy", "back", "css")
    }
    return {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\nDisallow: /*/private\n", media_type="text/plain"),
        "/": page(["links", "moved", "flaky", "private", "twin-1", "twin-2", "large"], "kinds", head + body),
        "/links": page(["leaf", "gone"], "links", '<meta http-equiv="refresh" content="1; url=refreshed">'),
        "/style.css": Answer(b"p { background: url('css.png') }", media_type="text/css"),
        "/app.js": Answer(b"fetch('leaf')", media_type="text/javascript"),
        "/moved": redirect("target"),
        "/flaky": [Answer(b"later", 503, "text/plain"), Answer(page(["leaf"], "flaky"))],
        "/private": page([], "nobody may see this"),
        "/twin-1": page(["leaf"], "twin"),
        "/twin-2": page(["leaf"], "twin"),
        "/large": Answer(KINDS_LARGE, media_type="text/plain"),
        "/gone": Answer(page([], "gone"), 410),
        **plain,
        **images,
    }


KINDS = sorted(_kinds())
"""The 25 paths of `kinds`."""


@functools.lru_cache(16)
def edges(seed: int, n: int, degree: int) -> list[list[int]]:
    """A random directed graph: for each of `n` nodes up to 2 × `degree` targets, mostly near, so that paths are long."""
    dice = random.Random(f"graph {seed}")

    def target(i: int) -> int:
        near = min(n - 1, max(0, i + dice.randint(-3, 4)))
        return near if dice.random() < 0.85 else dice.randrange(n)

    return [[target(i) for _ in range(dice.randint(0, 2 * degree))] for i in range(n)]


def graph(seed: int, n: int, degree: int) -> Site:
    """A random graph of `n` pages `/0` (also `/`) … `/n-1`, see `edges`."""
    targets = edges(seed, n, degree)

    def site(host: str, path: str, asked: int) -> Answer:
        name = path[1:] or "0"
        if not name.isdecimal() or int(name) >= n:
            return NOT_FOUND
        return Answer(page([f"/{t}" for t in targets[int(name)]], name))

    return site


def within(seed: int, n: int, degree: int, depth_max: int) -> dict[str, int]:
    """What a crawl of `graph` from `/0` has to keep: path → depth, by breadth-first search."""
    targets, depth, queue = edges(seed, n, degree), {0: 0}, deque([0])
    while queue:
        i = queue.popleft()
        for t in targets[i] if depth[i] < depth_max else ():
            if t not in depth:
                depth[t] = depth[i] + 1
                queue.append(t)
    return {f"/{i}": d for i, d in depth.items()}


def synthetic(n: int, fanout: int = 20, size: int = 4000, delay_s: float = -1.0) -> Site:
    """`n` pages of about `size` bytes; page i links to its children i·fanout+1 … and to some pages all over the site."""
    filler = " ".join(xxhash.xxh3_64_hexdigest(b"%d" % i) for i in range(size // 17 + 1))

    def site(host: str, path: str, asked: int) -> Answer:
        name = path[1:].removesuffix(".html") or "0"
        if not name.isdecimal() or int(name) >= n:
            return NOT_FOUND
        i = int(name)
        children = range(i * fanout + 1, min(n, (i + 1) * fanout + 1))
        across = [xxhash.xxh3_64_intdigest(b"%d %d" % (i, j)) % n for j in range(fanout // 4)]
        links = [f"/{t}.html" for t in (*children, *across)]
        text = page(links, f"page {i}")
        return Answer(text + f"<p>{i} {filler}"[: max(0, size - len(text))].encode(), delay_s=delay_s)

    return site


def retry429(n: int = 20, slow_host: str = "127.0.0.2", after_s: int = 5) -> Site:
    """`n` pages per host; on `slow_host` page `/3` is 429 with Retry-After once. Page 0 links to the rest."""

    def site(host: str, path: str, asked: int) -> Answer:
        if path == "/3" and asked == 1 and host.partition(":")[0] == slow_host:
            return Answer(b"slower, please", 429, "text/plain", (("Retry-After", str(after_s)),))
        if path != "/" and not (path[1:].isdecimal() and int(path[1:]) < n):
            return NOT_FOUND
        return Answer(page([f"/{i}" for i in range(1, n)], path))

    return site


def silent() -> Site:
    """Takes every request and never answers."""
    return lambda host, path, n: Answer(silent=True)


def robots503() -> Site:
    """robots.txt is 503 for ever; there would be pages."""
    return lambda host, path, n: Answer(b"", 503) if path == "/robots.txt" else Answer(page(["/1"], "page"))


def slow_to_read(n: int = 20_000) -> Site:
    """`/` links to a page that takes seconds to parse (`n` × `<p><font color=N>`, and a template, so that it must be parsed) and
    to five bystanders."""
    tangle = ("<template></template>" + "".join(f"<p><font color={i}>" for i in range(n))).encode()
    bystanders = [f"/{i}" for i in range(1, 6)]
    pages: dict[str, Answer | bytes | list[Answer]] = {path: page(["/"], path) for path in bystanders}
    return table({"/": page(["/tangle", *bystanders], "start"), "/tangle": tangle, **pages})


NAMES: dict[str, Callable[..., Site]] = {
    f.__name__: f for f in (tree, kinds, graph, synthetic, retry429, silent, robots503, slow_to_read)
}


def named(text: str) -> Site:
    """`name` or `name:1,2,3` → the site. Raises KeyError for an unknown name."""
    name, _, numbers = text.partition(":")
    return NAMES[name](*(int(number) for number in numbers.split(",") if number))
