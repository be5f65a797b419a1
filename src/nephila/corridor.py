"""The corridor, put together: who stands behind each door of one worker's engine.

The only place that names concrete classes for the life of a URL. A worker process imports this and little else; with
`workers=0` the front does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from nephila import __version__, credentials
from nephila.archive.warc import Writer
from nephila.config import Config
from nephila.engine import Engine, Hooks
from nephila.errors import ConfigError
from nephila.fetch.client import Client
from nephila.fetch.decode import decode
from nephila.fetch.wanted import types_rule
from nephila.page.login import Logins
from nephila.page.reader import Reader
from nephila.page.sitemap import SITEMAP_BYTES_MAX
from nephila.page.sketch import sketch
from nephila.plan import Step, WorkerSpec
from nephila.ports import Fetch
from nephila.robots.gate import Gate
from nephila.robots.reader import read_robots
from nephila.types import Kind, Lease, Page, Response
from nephila.url.abroad import Abroad
from nephila.url.admission import Admission
from nephila.url.key import Fingerprints
from nephila.url.parse import resolve
from nephila.url.scope import Scope, ScopeSpec

if TYPE_CHECKING:
    from nephila.frontier.local import LocalFrontier
    from nephila.frontier.remote import RemoteFrontier

TOKEN = "nephila"
"""Our name in robots.txt, whatever User-Agent is sent."""


def build_engine(
    spec: WorkerSpec,
    frontier: RemoteFrontier | LocalFrontier,
    slot: Callable[[int], None] = lambda lease: None,
    *,
    step: Step = lambda name: None,
    hooks: Hooks | None = None,
    fetch: Fetch | None = None,
) -> Engine:
    """One worker's corridor. `fetch` replaces the network (tests); the archive is written in any case."""
    c, folder = spec.config, Path(spec.folder)
    fingerprint = Fingerprints(spec.fingerprint_seed)
    admission = Admission(Scope(spec.scope), fingerprint)
    client: Client | None = None
    if fetch is None:
        client = fetch = Client(
            c,
            allowed=frozenset((host, port) for host, port in spec.allowed),
            folder=folder,
            rate_share=1.0 / max(spec.workers, 1),
            wanted=types_rule(c.types) if c.types else None,
        )
    writer = Writer(
        folder / "archive",
        spec.name,
        spec.worker,
        bytes_max=c.archive_bytes_max,
        fsync=c.durability == "power",
        software=f"nephila/{__version__}",
        info={"isPartOf": spec.name, "robots": "ignore" if c.no_robots else "obey"},
        on_open=frontier.opened,
        on_close=lambda file, length: frontier.closed(file),
        serial_min=spec.serial_min,
        step=step,
    )

    async def close() -> None:
        writer.close()
        if client is not None:
            await client.close()

    engine = Engine(
        frontier=frontier,
        permission=Gate(TOKEN, enabled=not c.no_robots),
        fetch=fetch,
        decode=functools.partial(_decoded, page_bytes_max=c.page_bytes_max, ratio_max=c.decode_ratio_max),
        read=reader_of(msgspec.structs.replace(c, sitemaps=spec.scope.sitemaps)),
        read_robots=functools.partial(_robots_page, guess_sitemap=spec.scope.sitemaps),
        admission=admission,
        keep=writer,
        fingerprint=fingerprint,
        redirects_max=c.redirects_max,
        robots_redirects_max=c.robots_redirects_max,
        ignore_nofollow=spec.scope.ignore_nofollow,
        release=client.release if client else lambda response: None,
        slot=slot,
        hooks=hooks or hooks_of(spec.hooks),
        logins=Logins(credentials.logins(c), resolve) if c.login else None,
        abroad=Abroad() if 0 < c.site_pages < c.site_pages_max else None,
        sketch=sketch,
        on_close=close,
    )

    def follow(newer: ScopeSpec) -> None:
        """The rules have changed: what is read from now on is judged by these."""
        admission.reset(Scope(newer))
        engine.ignore_nofollow = newer.ignore_nofollow
        engine.read = reader_of(msgspec.structs.replace(c, sitemaps=newer.sitemaps))
        engine.read_robots = functools.partial(_robots_page, guess_sitemap=newer.sitemaps)

    frontier.on_scope = follow
    return engine


def reader_of(c: Config) -> Reader:
    """How pages are read under these settings."""
    return Reader(
        page_bytes_max=c.page_bytes_max,
        links_max=c.links_max,
        sitemaps=c.sitemaps,
        guess_links=c.guess_links,
        resolve=resolve,
    )


def hooks_of(name: str) -> Hooks | None:
    """The hooks that `module:Class` names; its `hooks()` gives them. Raises ConfigError when it cannot be imported."""
    if not name:
        return None
    import importlib

    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found.hooks()  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"hooks {name} cannot be imported in a worker ({error}): put the class into a module"
        ) from error


def _decoded(response: Response, kind: Kind, *, page_bytes_max: int, ratio_max: int) -> tuple[bytes, str]:
    """One byte more than is read, so that the reader sees what was cut."""
    limit = max(page_bytes_max, SITEMAP_BYTES_MAX) if kind is Kind.SITEMAP else page_bytes_max
    found = decode(response.payload, response.header("content-encoding"), limit + 1, ratio_max)
    return found.content, found.problem


def _robots_page(lease: Lease, response: Response, content: bytes, *, guess_sitemap: bool) -> Page:
    return read_robots(response.url, response.status, content, TOKEN, guess_sitemap=guess_sitemap)
