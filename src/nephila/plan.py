"""What a job is, as data: how many workers it has and what each has to know, and how it can end."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from nephila.config import Config
from nephila.types import Request
from nephila.url.parse import host_of
from nephila.url.scope import ScopeSpec

CODES = {"finished": 0, "limit": 3, "interrupted": 4, "parked": 4, "offline": 4, "no_seed": 5, "disk": 6}
WORKERS_MAX = 8
OWN_FILES, FILES_PER_CONNECTION = 40, 2
"""Files that a process of ours holds open by itself; and per request, whose large body may wait in a file."""
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


def archive_name(seeds: list[Request]) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", host_of(seeds[0].url))[:60].strip(".-_") or "crawl"


def workers_of(config: Config) -> int:
    """How many worker processes: one per core, at most eight, unless the user said."""
    return min(os.cpu_count() or 1, WORKERS_MAX) if config.workers < 0 else config.workers


def connections_of(config: Config) -> int:
    """Requests at the same time per worker: as configured, or as many as files may be open. Workers raise their own limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = hard if workers_of(config) else soft
    if limit == resource.RLIM_INFINITY:
        return config.connections
    return max(1, min(config.connections, (limit - OWN_FILES) // FILES_PER_CONNECTION))
