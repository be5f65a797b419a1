"""Where a request goes: host and port of an origin."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from nephila.url.guard import is_literal
from nephila.url.parse import PORTS

UNSAFE = re.compile(r"[\r\n\0]")


class Target(NamedTuple):
    """Where a URL's request goes. `host` without brackets, lower case."""

    origin: str
    scheme: str
    host: str
    port: int
    literal: bool


@lru_cache(4096)
def target_of(origin: str) -> Target:
    """Read `scheme://authority`. Raises ValueError when it is not one that can be fetched."""
    parts = urlsplit(origin)
    host, port = (parts.hostname or "").lower(), parts.port or PORTS.get(parts.scheme, 0)
    if not host or parts.scheme not in PORTS or parts.port == 0:
        raise ValueError(f"no address that can be fetched: {origin[:200]}")
    return Target(f"{parts.scheme}://{host}:{port}", parts.scheme, host, port, is_literal(host))


def split(url: str) -> Target:
    """The target of an absolute URL. Raises ValueError."""
    if UNSAFE.search(url):
        raise ValueError("a line end in a URL")
    end = url.find("/", len("https://"))
    return target_of(url if end < 0 else url[:end])
