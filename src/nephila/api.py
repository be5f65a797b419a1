"""The library: `async for page in nephila.crawl("https://…")`, and `nephila.Crawler` with hooks named by moment.

By default everything happens in the caller's process and event loop (`workers=0`); no signal handlers are installed, and
several crawlers may run at once. With workers the hooks run in them and must be importable; what they return comes back as
`page.items`, stored with the visit, so that a kill loses none.
"""

from __future__ import annotations

import asyncio
import inspect
import shutil
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from nephila import credentials, settings
from nephila.config import Config
from nephila.engine import Hooks
from nephila.errors import ConfigError
from nephila.fetch.decode import decode
from nephila.front import Front
from nephila.page.reader import Reader
from nephila.plan import Ending
from nephila.types import Body, Kind, Lease, Link, Links, Outcome, Request, Response, Timings, Visit
from nephila.types import Page as ReadPage
from nephila.url.parse import resolve
from nephila.views.source import Kept, Source

AHEAD_MAX = 100
"""Pages that wait for the consumer; when there are more, the crawl waits too."""
CONTENT_MAX = 64 << 20


class Page:
    """A page of the crawl: what was fetched, and what it means, read when somebody looks.

    In `on_page` and right after, everything is in memory; later, `bytes()` reads the archive.
    """

    def __init__(
        self, url: str, status: int, headers: list[tuple[str, str]], load: Callable[[], bytes], kind: str
    ) -> None:
        self.url, self.status, self.kind = url, status, kind
        self.header_list = headers
        self.outcome, self.depth, self.title = "OK", 0, ""
        self.items: list[Any] = []
        self._load = load

    @property
    def headers(self) -> dict[str, str]:
        """Lower-case name → value (the last one, where a name repeats; `header_list` has all)."""
        return dict(self.header_list)

    def bytes(self) -> bytes:
        """The body, content decoding undone, at most 64 MiB."""
        return self._load()

    @cached_property
    def read(self) -> ReadPage:
        """The page as the crawl read it: links, charset, canonical, the parsed tree."""
        reader = Reader(page_bytes_max=CONTENT_MAX, links_max=20_000, sitemaps=False, resolve=resolve)
        response = msgspec.structs.replace(_NOTHING, url=self.url, status=self.status, headers=self.header_list)
        return reader(Lease(0, Request(self.url, Kind.PAGE), 0), response, self.bytes())

    @property
    def links(self) -> Links | tuple[()]:
        """A sequence of `Link`, each made when looked at."""
        return self.read.links or ()

    @property
    def html(self) -> str:
        """The page as text, in its own charset, as parsed and written out again; "" when it is not HTML."""
        return self.read.document().html if self.read.document is not None else ""

    @property
    def text(self) -> str:
        """The words of the page, without markup; for other text types the decoded body."""
        if self.read.document is not None:
            return str(self.read.document().to_text())
        return self.bytes().decode(self.read.charset or "utf-8", "replace")

    def select(self, css: str) -> list[Any]:
        """Elements that match a CSS selector (`element.text`, `element.attrs`), in document order."""
        return list(self.read.document().select(css)) if self.read.document is not None else []

    def follow(self, href: str | Link) -> Request:
        """A request for a link of this page, for `on_page` to return. Raises ValueError for an address that is none."""
        text = href.url if isinstance(href, Link) else href
        url = resolve(self.url, text, self.read.charset or "utf-8")
        if url is None:
            raise ValueError(f"{text!r} is not an address that can be fetched")
        return Request(url)

    def __repr__(self) -> str:
        return f"<Page {self.status} {self.url}>"


class Crawler:
    """One crawl. Override the hooks in a subclass, or pass functions of the same names.

    `folder` keeps the job (and carries on in it); without it a temporary one is used and removed at the end. Settings are
    the keys of crawl.toml. Raises ConfigError for a wrong one.
    """

    def __init__(self, *seeds: str, folder: str | Path | None = None, **given: Any) -> None:
        functions = {name: given.pop(name) for name in list(given) if name.startswith("on_")}
        for name, function in functions.items():
            if not hasattr(Crawler, name):
                raise ConfigError(
                    f"{name} is not a hook: there are on_request, on_response, on_page, on_outcome, on_done"
                )
            setattr(self, name, function)
        given.setdefault("workers", 0)
        self.folder = Path(folder) if folder is not None else None
        job_file = self.folder / "crawl.toml" if self.folder else None
        self.config: Config = settings.load(given | {"seeds": list(seeds)}, {}, None, job_file, require_secrets=True)
        settings.check(self.config)
        self.ending: Ending | None = None
        if self.config.workers != 0 and self._has_hooks():
            self._importable(functions)

    # --- hooks ------------------------------------------------------------------------------------------------------

    def on_request(self, request: Request) -> bool | None:
        """Before a request is sent. Return False to refuse it."""

    def on_response(self, page: Page) -> None:
        """A final answer came."""

    def on_page(self, page: Page) -> Any:
        """A page was read: return or yield items (JSON types) and requests (`page.follow(href)`)."""

    def on_outcome(self, url: str, outcome: str, reason: str) -> None:
        """A visit is final."""

    def on_done(self, ending: Ending) -> None:
        """The crawl has ended and all is committed."""

    # --- running ----------------------------------------------------------------------------------------------------

    async def run(self) -> Ending:
        """Crawl to the end. Raises JobError when the folder cannot be used."""
        async for _ in self._pages(wanted=False):
            pass
        assert self.ending is not None
        return self.ending

    def __aiter__(self) -> AsyncIterator[Page]:
        return self._pages(wanted=True)

    async def _pages(self, *, wanted: bool) -> AsyncIterator[Page]:
        """Pages as they are committed. Leaving early stops the crawl cleanly; it can be carried on."""
        folder = self.folder or Path(tempfile.mkdtemp(prefix="nephila-"))
        stream = _Stream(self, folder, wanted)
        task = asyncio.get_running_loop().create_task(stream.crawl())
        try:
            async for page in stream.pages(task):
                yield page
            self.ending = await task
            self.on_done(self.ending)
        finally:
            await stream.leave(task)
            if self.folder is None:
                shutil.rmtree(folder, ignore_errors=True)

    @classmethod
    def hooks(cls) -> Hooks:
        """The hooks as a worker makes them: the class without what an instance was given."""
        return _Hooks(object.__new__(cls))

    def _has_hooks(self) -> bool:
        return any(getattr(type(self), name) is not getattr(Crawler, name) for name in _HOOKS) or any(
            name in self.__dict__ for name in _HOOKS
        )

    def _importable(self, functions: dict[str, Any]) -> None:
        name = f"{type(self).__module__}:{type(self).__qualname__}"
        if functions or type(self).__module__ == "__main__" or "<locals>" in name:
            raise ConfigError(
                "with workers, hooks must be methods of a Crawler subclass in a module that can be imported"
            )


_HOOKS = ("on_request", "on_response", "on_page", "on_outcome")


def crawl(*seeds: str, folder: str | Path | None = None, **given: Any) -> AsyncIterator[Page]:
    """`async for page in nephila.crawl("https://…", max_pages=100)`: the pages of a crawl as they are kept."""
    return aiter(Crawler(*seeds, folder=folder, **given))


class _Hooks(Hooks):
    """The engine's hooks, in terms of the library's."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def on_request(self, lease: Lease) -> bool | None:
        return self._crawler.on_request(lease.request)

    def on_response(self, lease: Lease, response: Response) -> None:
        if lease.request.kind is not Kind.ROBOTS:
            self._crawler.on_response(_page_of(lease, response, None))

    def on_page(self, lease: Lease, response: Response, page: ReadPage) -> list[Any] | None:
        if lease.request.kind is Kind.ROBOTS:
            return None
        found = self._crawler.on_page(_page_of(lease, response, page))
        if found is None:
            return None
        items = list(found) if inspect.isgenerator(found) or isinstance(found, list | tuple) else [found]
        return [item if isinstance(item, Request) else _as_json(item) for item in items]

    def on_outcome(self, visit: Visit) -> None:
        if visit.lease.request.kind is not Kind.ROBOTS:
            self._crawler.on_outcome(visit.lease.request.url, visit.outcome.value, visit.reason)


def _as_json(item: Any) -> Any:
    """The item as it comes back from the store; one that JSON cannot hold raises here, where it is the hook's error."""
    return msgspec.json.decode(msgspec.json.encode(item))


def _page_of(lease: Lease, response: Response, read: ReadPage | None) -> Page:
    def load() -> bytes:
        found = decode(response.payload, response.header("content-encoding"), CONTENT_MAX, 1000)
        return bytes(found.content)

    page = Page(lease.request.url, response.status, response.headers, load, lease.request.kind.value)
    page.depth = lease.request.depth
    if read is not None:
        page.read, page.title = read, read.title
    return page


class _Stream:
    """From the crawl to the consumer: committed pages, few at a time."""

    def __init__(self, crawler: Crawler, folder: Path, wanted: bool) -> None:
        self._crawler, self._wanted, self._folder = crawler, wanted, folder
        self._front = Front(folder, crawler.config, note=lambda sentence: None, step=lambda name: None)
        self._access = credentials.held(crawler.config)
        """Who gave a credential sees what it leads to."""
        self._ids: deque[int] = deque()
        self._more = asyncio.Event()

    async def crawl(self) -> Ending:
        crawler, front = self._crawler, self._front
        try:
            with front.locked(fresh=False):
                over = front.open([])
                if over is not None:
                    return over
                local = crawler.config.workers == 0
                if self._wanted:
                    front.on_commit(self._committed, lambda: len(self._ids) > AHEAD_MAX)
                hooks = _Hooks(crawler) if local and crawler._has_hooks() else None
                name = (
                    ""
                    if local or not crawler._has_hooks()
                    else f"{type(crawler).__module__}:{type(crawler).__qualname__}"
                )
                front.hooks = name
                return await front.run(front.hire(""), None, 1.0, hooks=hooks, signals=False)
        finally:
            self._more.set()

    async def pages(self, task: asyncio.Task[Ending]) -> AsyncIterator[Page]:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._ids:
                for page in self._read([self._ids.popleft() for _ in range(min(20, len(self._ids)))]):
                    yield page
                self._front.poke()
            if task.done() and not self._ids:
                return

    async def leave(self, task: asyncio.Task[Ending]) -> None:
        if not task.done():
            self._ids.clear()
            self._front.stop(now=False)
            self._front.poke()
            self._crawler.ending = await task

    def _committed(self, ids: Iterable[int]) -> None:
        self._ids.extend(id for id in ids if id)
        self._more.set()

    def _read(self, ids: list[int]) -> Iterable[Page]:
        with Source(self._folder, decode, self._access) as source:
            for kept in source.of(ids):
                if kept.outcome == Outcome.OK and kept.kind != Kind.ROBOTS:
                    yield self._page(source, kept)

    def _page(self, source: Source, kept: Kept) -> Page:
        content = source.content(kept, CONTENT_MAX)
        page = Page(kept.url, kept.status, content.headers, lambda: content.content, kept.kind)
        page.depth, page.title, page.outcome, page.items = kept.depth, kept.title, kept.outcome, source.items(kept)
        return page


_NOTHING = Response("", 200, "", b"", [], Body(), Body(), b"", 0.0, Timings())
