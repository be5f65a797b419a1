"""Fixtures with real sites behind a real server: `real_site("python")`, `real_site("postgres", mounts=20)`.

The documentation that Debian ships is the site, nginx (see `benchmarks.servers`) the server. Where one of the two is not
installed, the test is skipped with a reason that starts with "system:".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from benchmarks.servers import Missing, Nginx, mounted, postgres_docs, python_docs

SITES: dict[str, Callable[[], Path]] = {"python": python_docs, "postgres": postgres_docs}

ServeSite = Callable[..., Nginx]
"""`(site, mounts=1, extra="") -> Nginx`; pages are at `.url + "/m1/index.html"` and so on, requests in `.log_lines()`."""


@pytest.fixture
def real_site() -> Iterator[ServeSite]:
    """Starts servers over real sites; they end with the test."""
    with ExitStack() as servers:

        def serve(site: str, mounts: int = 1, extra: str = "") -> Nginx:
            return servers.enter_context(_nginx(lambda: mounted(SITES[site](), mounts), extra))

        yield serve


@pytest.fixture
def nginx() -> Iterator[ServeSite]:
    """Starts servers over folders of the test's own: `nginx({"m1": tmp_path})`; they end with the test."""
    with ExitStack() as servers:

        def serve(mounts: dict[str, Path], extra: str = "") -> Nginx:
            return servers.enter_context(_nginx(lambda: mounts, extra))

        yield serve


def _nginx(mounts: Callable[[], dict[str, Path]], extra: str) -> Nginx:
    try:
        return Nginx(mounts(), extra=extra)
    except Missing as missing:
        pytest.skip(f"system: {missing}")
