"""Made-up answers and an archive to put them in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from nephila.archive.warc import Writer
from nephila.types import Body, Kind, Lease, Links, Outcome, Page, Request, Response, Timings, Visit

URL = "http://example.com/a/page?x=1"
REQUEST = b"GET /a/page?x=1 HTTP/1.1\r\nHost: example.com\r\nUser-Agent: nephila\r\n\r\n"


_opened: list[IO[bytes]] = []


def spooled(data: bytes) -> Body:
    file = tempfile.TemporaryFile()  # noqa: SIM115
    _opened.append(file)
    file.write(data)
    file.flush()
    return Body(file=file, size=len(data))


def answer(
    data: bytes, *, url: str = URL, status: int = 200, extra: str = "", body: Body | None = None, **more: Any
) -> Response:
    """A response of `data`; `body` is its form on the wire, when that differs."""
    framing = "Transfer-Encoding: chunked" if body is not None else f"Content-Length: {len(data)}"
    protocol = more.pop("protocol", "http/1.1")
    line = {"h2": f"HTTP/2 {status}", "h3": f"HTTP/3 {status}"}.get(protocol, f"HTTP/1.1 {status} OK")
    head = more.pop("head", f"{line}\r\nContent-Type: text/html\r\n{extra}{framing}\r\n\r\n".encode())
    payload = more.pop("payload", None) or Body(data)
    headers = more.pop("headers", [])
    fields = {"started": 1_700_000_000.25, "ip": "192.0.2.7", "timings": Timings(total=0.125)} | more
    return Response(url, status, protocol, head, headers, body or payload, payload, REQUEST, **fields)


def visit(
    response: Response | None,
    *,
    id: int = 1,
    outcome: Outcome = Outcome.OK,
    reason: str = "",
    last: bool = True,
    **more: Any,
) -> Visit:
    lease = Lease(id, Request(response.url if response else URL, Kind.PAGE, depth=2), fp=id, last=last)
    return Visit(lease, outcome, reason, response, **more)


def page(hrefs: list[str], *, base: str = URL, resolve: Any = None, **more: Any) -> Page:
    n = len(hrefs)
    links = Links(base, "utf-8", hrefs, [Kind.PAGE] * n, ["a"] * n, ["href"] * n, resolve=resolve or (lambda *_: None))
    return Page("text/html", "utf-8", links=links, **more)


class Shelf:
    """A folder with a writer, and what the writer told of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.told = folder, list[tuple[str, str, int]]()
        self.steps: list[str] = []

    def writer(self, **changes: Any) -> Writer:
        settings: dict[str, Any] = {
            "bytes_max": 1 << 30,
            "fsync": False,
            "software": "nephila/test",
            "info": {"robots": "obey"},
            "on_open": lambda file, pid: self.told.append(("open", file, pid)),
            "on_close": lambda file, length: self.told.append(("close", file, length)),
            "step": self.steps.append,
        }
        return Writer(self.folder, "job", 3, **(settings | changes))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture
def make() -> Iterator[Any]:
    """The factories above, as one object: test files cannot import each other."""

    class Make:
        URL, REQUEST = URL, REQUEST
        spooled = staticmethod(spooled)
        answer = staticmethod(answer)
        visit = staticmethod(visit)
        page = staticmethod(page)

    yield Make
    while _opened:
        _opened.pop().close()
