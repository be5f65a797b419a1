"""A prompt in an empty folder, and sites to crawl from it."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands.stranger import Prompt

from nephila.events import EVENTS
from nephila.lock import JobLock
from nephila.testing.certificates import Authority, server_side
from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer, Site, table

Serve = Callable[..., SiteServer]


@pytest.fixture
def prompt(tmp_path: Path) -> Iterator[Prompt]:
    """A prompt; whatever was logged there has to be as documented."""
    folder = tmp_path / "home"
    folder.mkdir()
    yield Prompt(folder)
    for log in filter(Path.is_file, folder.rglob("log*.jsonl")):
        for line in log.read_text("utf-8").splitlines():
            _, event, *fields = [*json.loads(line).items()]
            assert (event[1], tuple(name for name, _ in fields)) == (event[1], EVENTS[event[1]].fields)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in use is given up at once, not after 5 s, by what runs in this process."""
    monkeypatch.setattr(JobLock.__init__, "__defaults__", (0.05,))


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
