"""A prompt in an empty folder, and sites to crawl from it."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands.stranger import Prompt

from nephila.testing.certificates import Authority, server_side
from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer, Site, table

Serve = Callable[..., SiteServer]


@pytest.fixture
def prompt(tmp_path: Path) -> Prompt:
    folder = tmp_path / "home"
    folder.mkdir()
    return Prompt(folder)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """serve(site or table of pages, …) → a running `SiteServer`; each has a log of its own."""
    with ExitStack() as stack:
        count = iter(range(100))

        def start(site: Site | str | dict[str, Answer | bytes | list[Answer]], **how: float) -> SiteServer:
            found = table(site) if isinstance(site, dict) else site
            return stack.enter_context(SiteServer(found, tmp_path / f"site-{next(count)}.log", **how))  # type: ignore[arg-type]

        yield start


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody trusts."""
    return server_side(Authority(tmp_path_factory.mktemp("tls")).issue(self_signed=True))
