"""What every URL of a made-up web answers, and what a crawl of it has to find: computed, never looked up.

`reachable` walks the links, which takes its time on a large web; `everything` lists the same without walking, because the web
is built so that its start pages lead to all of it. That both agree is a test.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

import msgspec
from isal import igzip

from nephila.testing.sites import NOT_FOUND, Answer, redirect
from nephila.testing.web.graph import Graph, Host, Page
from nephila.testing.web.render import (
    Renderer,
    calendar_path,
    dead_path,
    entrance,
    moved_path,
    private_path,
    twin_path,
    variant_query,
)
from nephila.testing.web.spec import Spec

FORBIDDEN = 0
"""In place of a status: robots.txt forbids it, so nobody asks."""
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
STYLE = b"body { font-family: serif; color: #222 }\n.nav { list-style: none }\n" * 20
SCRIPT = b"document.documentElement.dataset.ready = '1';\n" * 20
IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(2000)
NAME_CHARACTERS_MAX = 100


class MadeUpWeb:
    """A site function (`web(host, path, n)`) of many hosts, with `page`, `links` and `reachable` for whole URLs."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.graph = Graph(spec)
        self.render = Renderer(self.graph)
        self._hosts: dict[str, Host] = {}

    @property
    def seeds(self) -> list[str]:
        """The start page of every host. The first one leads to all others."""
        return [f"{self.spec.origin(number)}/" for number in range(self.spec.hosts)]

    # what it answers

    def page(self, url: str) -> Answer:
        """What is answered for an absolute URL; 404 for one that is not of this web."""
        parts = urlsplit(url)
        return self(parts.netloc, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), 1)

    def __call__(self, host: str, path: str, n: int, gzip: bool = False) -> Answer:
        """The answer to one request, however often it was made. `gzip`: the client takes compressed bodies."""
        found = self.host(host)
        if found is None:
            return NOT_FOUND
        answer = self._answer(found, path)
        if gzip and found.gzip and answer.status == 200:
            packed, more = igzip.compress(answer.body, 1, mtime=0), ("Content-Encoding", "gzip")
            answer = msgspec.structs.replace(answer, body=packed, headers=(*answer.headers, more))
        return msgspec.structs.replace(answer, delay_s=found.delay_s) if found.delay_s else answer

    def host(self, name: str) -> Host | None:
        """The host with this name, as in the Host header."""
        found = self._hosts.get(name)
        if found is None and len(name) < NAME_CHARACTERS_MAX:
            number = self.spec.number(name.partition(":")[0])
            if number >= 0:
                found = self._hosts[name] = self.graph.host(number)
        return found

    def _answer(self, host: Host, path: str) -> Answer:
        number = self.graph.at(host, path)
        if number >= 0:
            return self._html(host, self.render.page(host, self.graph.page(host, number), path))
        return self._other(host, path)

    def _other(self, host: Host, path: str) -> Answer:
        """Everything that is no page of the tree."""
        graph, render = self.graph, self.render
        first, _, rest = path[1:].partition("/")
        number = _number(rest, host.pages)
        match first:
            case "robots.txt" if host.robots:
                return Answer(ROBOTS, media_type="text/plain")
            case "style.css":
                return Answer(STYLE, media_type="text/css")
            case "app.js":
                return Answer(SCRIPT, media_type="text/javascript")
            case "img" if rest.removesuffix(".png") in map(str, range(self.spec.images)):
                return Answer(IMAGE, media_type="image/png")
            case "moved" if number >= 0 and graph.moved(host, number):
                return redirect(host.origin + graph.path(host, number), 302 if number % 4 == 0 else 301)
            case "print" if number >= 0 and (page := graph.page(host, number)).twin:
                return self._html(host, render.page(host, page))
            case "private" if number >= 0 and (page := graph.page(host, number)).private:
                return self._html(host, render.variant(host, page))
            case "calendar" if host.trap and (month := _month(path)) >= 0:
                return self._html(host, render.calendar(host, month))
        before, _, query = path.partition("?")
        number = graph.at(host, before) if query else -1
        if number >= 0 and (page := graph.page(host, number)).variant and query == variant_query(host, page):
            return self._html(host, render.variant(host, page))
        return NOT_FOUND

    def _html(self, host: Host, pieces: list[bytes]) -> Answer:
        return Answer(b"".join(pieces), media_type=media_type(host))

    # what a crawl has to find

    def links(self, url: str) -> list[str]:
        """Where a page leads, parts and redirect target included: absolute, in the order of the page, each once.

        Links into the trap are among them, and its pages are followed by `reachable` no more than by anybody wise.
        """
        parts = urlsplit(url)
        host = self.host(parts.netloc)
        if host is None:
            return []
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        answer = self._answer(host, path)
        if answer.status in (301, 302):
            return [dict(answer.headers)["Location"]]
        if answer.status != 200 or not answer.media_type.startswith("text/html") or not answer.body:
            return []
        return list(dict.fromkeys(href if "://" in href else host.origin + href for href in self._hrefs(host, path)))

    def _hrefs(self, host: Host, path: str) -> list[str]:
        """What stands in an HTML page, as it has to be understood."""
        graph = self.graph
        frame = ["/style.css", "/app.js", *graph.paths(host, graph.nav(host))]
        if path.startswith("/calendar/"):
            month = _month(path)
            return [*frame[:2], *map(calendar_path, (month + 1, *([month - 1] if month else []))), *frame[2:]]
        before, query, _ = path.partition("?")
        other = before.startswith(("/print/", "/private/"))
        number = _number(before.rpartition("/")[2], host.pages) if other else graph.at(host, before)
        page = graph.page(host, number)
        own = graph.path(host, number)
        if query or before.startswith("/private/"):
            return [*frame, own]
        above = [graph.path(host, (number - 1) // host.fanout)] if number else []
        images = [f"/img/{k}.png" for k in graph.shown(page)]
        children = [entrance(graph, host, k) for k in graph.children(host, number)]
        near = [path for run in graph.runs(host, page) for path in graph.paths(host, graph.run(host, run))]
        below = [(other, 0) for other in graph.below(host)] if not number else []
        pairs = [pair for ring in graph.rings(page) for pair in graph.ring(ring)] + below
        abroad = [self.spec.origin(other) + graph.path(graph.host(other), at) for other, at in pairs]
        trap = [calendar_path(0)] if host.trap and number == 0 else []
        wrong = [extra for extra, _ in self._extras(host, page, own)]
        return [*frame, *above, *images, *children, *near, *abroad, *wrong, *trap]

    def _extras(self, host: Host, page: Page, path: str) -> Iterator[tuple[str, int]]:
        """(path and query, status) of what a page alone leads to."""
        if page.twin:
            yield twin_path(page.number), 200
        if page.variant:
            yield f"{path}?{variant_query(host, page)}", 200
        if page.dead:
            yield dead_path(page.number), 404
        if page.private:
            yield private_path(page.number), FORBIDDEN

    def reachable(self, seeds: Iterable[str], external: bool = True) -> dict[str, int]:
        """Every URL that links lead to, traps left out → its status; `FORBIDDEN` for those that robots.txt forbids.

        `external=False`: links to hosts without a seed are not followed.
        """
        queue = deque(dict.fromkeys(seeds))
        hosts = {urlsplit(url).netloc for url in queue}
        found: dict[str, int] = {}
        while queue:
            url = queue.popleft()
            parts = urlsplit(url)
            if url in found or parts.path.startswith("/calendar/") or not (external or parts.netloc in hosts):
                continue
            host = self.host(parts.netloc)
            forbidden = host is not None and host.robots and parts.path.startswith("/private/")
            found[url] = FORBIDDEN if forbidden else self.page(url).status
            if found[url] not in (FORBIDDEN, 404):
                queue.extend(self.links(url))
        return found

    def everything(self) -> Iterator[tuple[str, int]]:
        """The same for the seed of the first host, or for all seeds, without walking: some microseconds per page."""
        for number in range(self.spec.hosts):
            host = self.graph.host(number)
            for path, status in self._of_host(host):
                yield host.origin + path, status

    def _of_host(self, host: Host) -> Iterator[tuple[str, int]]:
        graph, images = self.graph, set[int]()
        for number in range(host.pages):
            page, path = graph.page(host, number), graph.path(host, number)
            yield path, 200
            if graph.moved(host, number):
                yield moved_path(number), 302 if number % 4 == 0 else 301
            if not page.null:
                images.update(graph.shown(page))
                yield from self._extras(host, page, path)
        yield from ((f"/img/{k}.png", 200) for k in sorted(images))
        yield from (("/style.css", 200), ("/app.js", 200))

    def counts(self) -> Counter[int]:
        """Status → URLs in `everything`."""
        return Counter(status for _, status in self.everything())


def media_type(host: Host) -> str:
    return "text/html" if host.declared == 1 else f"text/html; charset={host.language.charset}"


def _number(name: str, below: int) -> int:
    """The number in `17.html`, -1 if it is none or too large."""
    text = name.removesuffix(".html")
    return int(text) if text.isdecimal() and len(text) < 12 and int(text) < below else -1


def _month(path: str) -> int:
    """Months since January 1970 of `/calendar/1999/12/`; -1: it is no such path."""
    parts = path.split("/")
    if len(parts) != 5 or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return -1
    month = (int(parts[2]) - 1970) * 12 + int(parts[3]) - 1
    return month if calendar_path(month) == path and month >= 0 else -1
