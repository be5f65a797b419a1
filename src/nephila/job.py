"""What the command line and the library ask of a job: crawl, status, steering, export; and what its seeds mean.

Everything heavy is imported when it is needed: a command that only asks a question must not pay for a crawl.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nephila.config import Config
from nephila.errors import ConfigError, JobError
from nephila.frontier import patience
from nephila.types import Request
from nephila.url.parse import host_of, origin, seed, without_userinfo
from nephila.url.scope import ScopeSpec

VIEWS = ("mirror", "jsonl", "urls")
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


# --- seeds ----------------------------------------------------------------------------------------------------------


def requests_of(config: Config) -> list[Request]:
    """The seeds as requests. Raises ConfigError for an address that cannot be one."""
    found = []
    for text in config.seeds:
        url, guessed = seed(text)
        found.append(Request(without_userinfo(url), guessed=guessed))  # a password is no part of what a page is called
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
    from nephila.fetch.decode import decode
    from nephila.views import registry

    with trouble.told(folder):
        return registry.export(view, folder, str(to) if to is not None else "", decode)
