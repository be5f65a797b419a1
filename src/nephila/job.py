"""The composition root: the only place that names who stands behind each door of the corridor.

`build_engine` puts one worker's corridor together. `front` opens a job folder around it; what the command line and the
library call (`crawl`, `status`, `export` …) stands below and imports it only when needed, because workers start here too.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from nephila import __version__
from nephila.archive.warc import Writer
from nephila.config import Config
from nephila.engine import Engine, Hooks
from nephila.errors import ConfigError, JobError
from nephila.fetch.client import Client
from nephila.fetch.decode import decode
from nephila.fetch.wanted import types_rule
from nephila.frontier import patience
from nephila.page.reader import Reader
from nephila.ports import Fetch
from nephila.robots.gate import Gate
from nephila.robots.reader import read_robots
from nephila.types import Lease, Page, Request, Response
from nephila.url.admission import Admission
from nephila.url.key import Fingerprints
from nephila.url.parse import host_of, origin, resolve, seed, without_userinfo
from nephila.url.scope import Scope, ScopeSpec

if TYPE_CHECKING:
    from nephila.frontier.local import LocalFrontier
    from nephila.frontier.remote import RemoteFrontier

VIEWS = ("mirror", "jsonl", "urls")
TOKEN = "nephila"
"""Our name in robots.txt, whatever User-Agent is sent."""
CODES = {"finished": 0, "limit": 3, "interrupted": 4, "parked": 4, "offline": 4, "no_seed": 5, "disk": 6}
Step = Callable[[str], None]
Note = Callable[[str], None]


@dataclass(frozen=True)
class Ending:
    """How a crawl ended: exit code (0–6), reason, one sentence."""

    code: int
    reason: str
    text: str


class WorkerSpec(msgspec.Struct, frozen=True, array_like=True):
    """All that a worker has to know; crosses the wire as its first message."""

    folder: str
    name: str
    worker: int
    workers: int
    config: Config
    scope: ScopeSpec
    fingerprint_seed: int
    allowed: list[tuple[str, int]]
    serial_min: int = 0
    hooks: str = ""
    """`module:Class` of a program's hooks, made anew in each worker."""


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
    admission = Admission(Scope(spec.scope), fingerprint, sitemaps=c.sitemaps)
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
    if hasattr(frontier, "on_scope"):
        frontier.on_scope = lambda newer: admission.reset(Scope(newer))

    async def close() -> None:
        writer.close()
        if client is not None:
            await client.close()

    return Engine(
        frontier=frontier,
        permission=Gate(TOKEN, enabled=not c.no_robots),
        fetch=fetch,
        decode=functools.partial(_decoded, limit=c.page_bytes_max, ratio_max=c.decode_ratio_max),
        read=Reader(page_bytes_max=c.page_bytes_max, links_max=c.links_max, sitemaps=c.sitemaps, resolve=resolve),
        read_robots=_robots_page,
        admission=admission,
        keep=writer,
        fingerprint=fingerprint,
        redirects_max=c.redirects_max,
        robots_redirects_max=c.robots_redirects_max,
        ignore_nofollow=c.ignore_nofollow,
        release=client.release if client else lambda response: None,
        slot=slot,
        hooks=hooks or hooks_of(spec.hooks),
        on_close=close,
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


def _decoded(response: Response, *, limit: int, ratio_max: int) -> tuple[bytes, str]:
    found = decode(response.payload, response.header("content-encoding"), limit, ratio_max)
    return found.content, found.problem


def _robots_page(lease: Lease, response: Response, content: bytes) -> Page:
    return read_robots(response.url, response.status, content, TOKEN)


# --- seeds ----------------------------------------------------------------------------------------------------------


def requests_of(config: Config) -> list[Request]:
    """The seeds as requests. Raises ConfigError for an address that cannot be one."""
    found = []
    for text in config.seeds:
        url, guessed = seed(text)
        found.append(Request(url, guessed=guessed))
    if not found:
        raise ConfigError("nothing to crawl: give at least one address (nephila crawl https://example.com)")
    return found


def scope_of(config: Config, seeds: Iterable[Request], widened: tuple[str, ...] = ()) -> ScopeSpec:
    urls = tuple(dict.fromkeys(without_userinfo(request.url) for request in seeds))
    if len(urls) > 1000:
        urls = tuple({origin(url): url for url in urls}.values()) if config.scope != "prefix" else urls
    return ScopeSpec(
        config.scope, urls, tuple(config.include), tuple(config.exclude), config.embeds, widened, int(bool(widened))
    )


def allowed_of(seeds: Iterable[Request]) -> list[tuple[str, int]]:
    """host:port of every seed that is private by its own name or address: these, and no other, may be connected."""
    pairs = set()
    for request in seeds:
        host = host_of(request.url)
        if patience.is_private(host):
            pairs |= {(host, port) for port in _ports(request)}
    return sorted(pairs)


def _ports(request: Request) -> list[int]:
    scheme, _, rest = origin(request.url).partition("://")
    given = re.search(r":(\d+)$", rest)
    if given:
        return [int(given[1])]
    return [443, 80] if request.guessed else [443 if scheme == "https" else 80]


def archive_name(seeds: list[Request]) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", host_of(seeds[0].url))[:60].strip(".-_") or "crawl"


# --- what the front desk asks for -----------------------------------------------------------------------------------


def crawl(folder: Path, config: Config, **options: Any) -> Ending:
    """Run the job in `folder` until it ends; see `front.crawl`."""
    from nephila import front

    return front.crawl(folder, config, **options)


def dry_run(config: Config) -> Iterator[str]:
    """What a crawl would begin with, as lines; nothing is stored."""
    from nephila import rehearsal

    return rehearsal.lines(config)


def status(folder: Path) -> dict[str, Any]:
    """Where a job stands: asked of its front process, or read from its database when none runs."""
    from nephila import db, stats, trouble

    live = _asked(folder, {"verb": "status"})
    if live is not None:
        return live
    with trouble.told(folder), contextlib.closing(db.reader(folder)) as con:
        return stats.snapshot(con, folder=folder)


def ask(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """One request to the running crawl in `folder`. Raises JobError when none runs."""
    from nephila import db

    answer = _asked(folder, request)
    if answer is None:
        db.reader(folder).close()
        raise JobError(f"no crawl is running in {folder}")
    if "error" in answer:
        raise JobError(str(answer["error"]))
    return answer


def _asked(folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    from nephila import control

    try:
        return control.ask(folder, request)
    except TimeoutError as error:
        raise JobError(f"the crawl in {folder} does not answer; try again") from error


def export(view: str, folder: Path, to: Path | None, note: Note = lambda sentence: None) -> str:
    """Make a view of the job; see `views.registry.export`. Returns one sentence about what was written."""
    from nephila import trouble
    from nephila.views import registry

    with trouble.told(folder):
        return registry.export(view, folder, str(to) if to is not None else "", decode)
