"""A prompt in an empty folder, and sites to crawl from it."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands.stranger import Prompt

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
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-keyout", str(key), "-out", str(cert)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no usable openssl command: {error}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context
