"""The bytes of a page: a few large pieces that many pages share, and a few lines that are its own.

Hosts keep their head, menu and foot ready, runs of links are remembered, and text is cut out of one string: what is left per
page is drawing its digest, some dozens of lines and one join.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote_from_bytes

from nephila.testing.web.graph import Graph, Host, Page
from nephila.testing.web.words import Language, Text, text_of

RUNS_CACHED = 1 << 17
RINGS_CACHED = 1 << 16
FRAMES_CACHED = 1 << 13
TEXT_BYTES_MIN = 300
QUERY_SAFE = "".join(map(chr, range(0x21, 0x7F))).translate(str.maketrans("", "", "\"#<>'%&=+"))
"""What stays as it is in a query (WHATWG URL, special-query percent-encode set), in a word without `%&=+`."""


class Frame(NamedTuple):
    """What all pages of a host share, as bytes."""

    head: bytes
    menu: bytes
    foot: bytes


class Renderer:
    """`page` and its like return pieces; the caller joins them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.frame = functools.lru_cache(FRAMES_CACHED)(self._frame)
        self._run = functools.lru_cache(RUNS_CACHED)(self._run_lines)
        self._ring = functools.lru_cache(RINGS_CACHED)(self._ring_lines)

    def page(self, host: Host, page: Page, path: str = "") -> list[bytes]:
        """A whole page, or nothing for an empty one. `path` is the page's own, for who knows it."""
        if page.null:
            return []
        graph, text, number, own = self.graph, text_of(host.language), page.number, host.language.charset
        frame = self.frame(host.number)
        title = f"{text.titles[page.dice & 1023]} {host.number}/{number}"
        shown = "".join(
            f'<figure><img src="/img/{k}.png" alt="{text.words[k]}" width="320" height="200"></figure>\n'
            for k in graph.shown(page)
        )
        above = graph.path(host, (number - 1) // host.fanout) if number else ""
        trail = f'<p class="trail"><a href="{above}">{text.words[number % 1000]}</a></p>\n' if number else ""
        top = f"<title>{title}</title>\n</head>\n<body>\n".encode(own), frame.menu
        article = f"<article>\n<h1>{title}</h1>\n{trail}{shown}".encode(own)
        links = self._links(host, page, path or graph.path(host, number), text)
        fixed = len(frame.head) + len(frame.menu) + len(frame.foot) + len(article) + sum(map(len, links))
        body = text.cut(page.dice >> 32, max(TEXT_BYTES_MIN, page.size - fixed))
        return [frame.head, *top, article, body, b"</article>\n<aside>\n", *links, b"</aside>\n", frame.foot]

    def variant(self, host: Host, page: Page) -> list[bytes]:
        """The second version of a page: short, with the menu and a link back."""
        text, own, frame = text_of(host.language), host.language.charset, self.frame(host.number)
        title = f"{text.titles[page.dice & 1023]} {host.number}/{page.number}/2"
        back = f'<h1>{title}</h1>\n<p><a href="{self.graph.path(host, page.number)}">{text.words[1]}</a></p>\n'
        top = f"<title>{title}</title>\n</head>\n<body>\n".encode(own)
        return [frame.head, top, frame.menu, back.encode(own), text.cut(page.dice, 1000), frame.foot]

    def calendar(self, host: Host, month: int) -> list[bytes]:
        """A month of the trap: as empty as the next one."""
        frame, near = self.frame(host.number), [month + 1, *([month - 1] if month else [])]
        lines = "".join(f'<li><a href="{calendar_path(m)}">{1970 + m // 12}-{m % 12 + 1:02}</a></li>\n' for m in near)
        top = f"<title>{1970 + month // 12}-{month % 12 + 1:02}</title>\n</head>\n<body>\n<ul>\n{lines}</ul>\n"
        return [frame.head, top.encode(), frame.menu, frame.foot]

    def _links(self, host: Host, page: Page, path: str, text: Text) -> list[bytes]:
        """Everything below the text: children, neighbours, other hosts, and what is wrong here."""
        graph, number = self.graph, page.number
        children = "".join(_line(entrance(graph, host, k), text.words[k % 1000]) for k in graph.children(host, number))
        pieces = [b"<ul>\n", children.encode(host.language.charset)]
        pieces += [self._run(host.number, k) for k in graph.runs(host, page)]
        pieces += [self._ring(k) for k in graph.rings(page)]
        if not number:
            pieces += [self._abroad_line(other, 0) for other in graph.below(host)]
        if extra := extras(host, page, path):
            pieces.append("".join(_line(href, text.words[0]) for href in extra).encode(host.language.charset))
        pieces.append(b"</ul>\n")
        return pieces

    def _run_lines(self, host_number: int, run: int) -> bytes:
        graph, host = self.graph, self.graph.host(host_number)
        text = text_of(host.language)
        lines = (_line(graph.path(host, k), text.words[k % 1000]) for k in graph.run(host, run))
        return "".join(lines).encode(host.language.charset)

    def _ring_lines(self, ring: int) -> bytes:
        return b"".join(self._abroad_line(host, number) for host, number in self.graph.ring(ring))

    def _abroad_line(self, other: int, number: int) -> bytes:
        """A link to another host. Its text is ASCII, so that it can stand on a page of any charset."""
        host = self.graph.host(other)
        return _line(host.origin + self.graph.path(host, number), f"host {other}, page {number}").encode()

    def _frame(self, number: int) -> Frame:
        host = self.graph.host(number)
        text, own = text_of(host.language), host.language.charset
        charset = f'<meta charset="{own}">\n' if host.declared else ""
        head = (
            f'<!DOCTYPE html>\n<html lang="{host.language.code}">\n<head>\n{charset}'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<link rel="stylesheet" href="/style.css">\n<script src="/app.js" defer></script>\n'
            "<style>body { margin: 2rem auto; max-width: 60rem } nav ul { display: flex; gap: 1rem }</style>\n"
        )
        pages = self.graph.paths(host, self.graph.nav(host))
        menu = _nav(zip(pages, text.words, strict=False))
        foot = f"<footer><p>{text.words[7]} {host.number} &copy; 2024</p></footer>\n</body>\n</html>\n"
        return Frame(head.encode(own), menu.encode(own), foot.encode(own))


def entrance(graph: Graph, host: Host, number: int) -> str:
    """How a page's parent links to it."""
    return moved_path(number) if graph.moved(host, number) else graph.path(host, number)


def extras(host: Host, page: Page, path: str) -> list[str]:
    """Links of one page alone, as they stand in it: twin, version, dead, forbidden, trap."""
    found = [twin_path(page.number)] if page.twin else []
    if page.variant:
        found.append(f"{path}?q={word_of(host.language, page)}&amp;page=2")
    if page.dead:
        found.append(dead_path(page.number))
    if page.private:
        found.append(private_path(page.number))
    if host.trap and page.number == 0:
        found.append(calendar_path(0))
    return found


def variant_query(host: Host, page: Page) -> str:
    """The query of a page's second version as it has to be sent: the word in the host's charset, percent-encoded."""
    word = word_of(host.language, page).encode(host.language.charset)
    return f"q={quote_from_bytes(word, QUERY_SAFE)}&page=2"


def word_of(language: Language, page: Page) -> str:
    return text_of(language).words[page.dice % 1000]


def moved_path(number: int) -> str:
    return f"/moved/{number}.html"


def twin_path(number: int) -> str:
    return f"/print/{number}.html"


def dead_path(number: int) -> str:
    return f"/gone/{number}.html"


def private_path(number: int) -> str:
    return f"/private/{number}.html"


def calendar_path(month: int) -> str:
    return f"/calendar/{1970 + month // 12}/{month % 12 + 1}/"


def _line(href: str, text: str) -> str:
    return f'<li><a href="{href}">{text}</a></li>\n'


def _nav(links: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<li class="nav-item"><a class="nav-link" href="{href}">{text}</a></li>\n' for href, text in links)
    return f'<nav aria-label="main">\n<ul class="nav">\n{items}</ul>\n</nav>\n'
