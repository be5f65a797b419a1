"""What the tests of reading share: a reader with a plain resolver, and a way to show it a body."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urldefrag, urljoin

import pytest

from nephila.page.reader import Reader
from nephila.types import Body, Kind, Lease, Page, Request, Response, Timings

Look = Callable[..., Page]


def resolve(base: str, href: str, charset: str) -> str | None:
    """A stand-in for the room of URLs; no test here asks how a URL is spelled."""
    try:
        url = urldefrag(urljoin(base, href.strip())).url
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) and "//[" not in url else None


def answer(url: str, headers: list[tuple[str, str]], status: int = 200) -> Response:
    return Response(url, status, "http/1.1", b"", headers, Body(), Body(), b"", 0.0, Timings())


@pytest.fixture
def look() -> Look:
    """look(body, content_type="text/html", url=…, headers=[…], kind=…, status=…, links_max=…, bytes_max=…) → Page."""

    def look(
        body: bytes | str,
        content_type: str | None = "text/html",
        *,
        url: str = "http://site.test/dir/page.html",
        headers: list[tuple[str, str]] | None = None,
        kind: Kind = Kind.PAGE,
        status: int = 200,
        links_max: int = 20_000,
        bytes_max: int = 16 << 20,
        sitemaps: bool = True,
    ) -> Page:
        content = body.encode() if isinstance(body, str) else body
        lines = [*([("content-type", content_type)] if content_type is not None else []), *(headers or [])]
        reader = Reader(page_bytes_max=bytes_max, links_max=links_max, sitemaps=sitemaps, resolve=resolve)
        return reader(Lease(1, Request(url, kind), 1), answer(url, lines, status), content)

    return look
