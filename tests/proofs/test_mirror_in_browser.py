"""The mirror of a real site, opened from disk in a real browser: nothing on it is broken, and nobody else is asked.

Fifty random pages of the Python documentation, and the mirror's own start page. What counts is what the browser says: its
idea of every address after the page's scripts have run, the width of the images it has drawn, the requests it has made.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from benchmarks.servers import Missing, Nginx, mounted, python_docs
from crash.run import finish, start
from proofs.chromium import Chromium, installed

pytestmark = pytest.mark.long

SEED, PAGES = 20, 50
ADDRESSES = """
[...document.querySelectorAll('a[href], area[href], link[rel=stylesheet]')].map(e => e.href)
  .concat([...document.images].map(e => e.src))
"""
BLANK_IMAGES = "[...document.images].filter(e => !(e.complete && e.naturalWidth > 0)).map(e => e.src)"
UNSTYLED = "[...document.querySelectorAll('link[rel=stylesheet]')].filter(e => !e.sheet).map(e => e.href)"


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mirror of the whole site; the server is gone when it is looked at."""
    folder = tmp_path_factory.mktemp("mirror")
    try:
        server = Nginx(mounted(python_docs(), 1), log=False)
    except Missing as missing:
        pytest.skip(f"system: {missing}")
    with server:
        finish(start(f"{server.url}/m1/index.html", folder / "job", "--delay", "0", "--per-host", "16"), timeout_s=120)
    export = [sys.executable, "-m", "nephila", "export", "mirror", str(folder / "job"), "--to", str(folder / "site")]
    subprocess.run(export, check=True, capture_output=True, timeout=120)
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    if not (program := installed()):
        pytest.skip("system: chromium is not installed (Debian package chromium)")
    with Chromium(program) as running:
        yield running


def test_fifty_random_pages_are_whole(mirror: Path, browser: Chromium) -> None:
    pages = sorted(path for path in mirror.rglob("*.html") if path.parent != mirror)
    chosen = random.Random(SEED).sample(pages, PAGES)
    links = 0
    complaints: list[str] = []
    for path in chosen:
        failed = browser.open(path.as_uri())
        addresses = browser.run(ADDRESSES)
        links += len(addresses)
        complaints += [f"{path.name}: {line}" for line in (*failed, *broken(addresses, mirror), *unseen(browser))]
    print(f"{len(chosen)} of {len(pages)} pages, {links} addresses")
    assert complaints == []
    assert links > 100 * PAGES


def test_the_start_page_leads_to_the_seed(mirror: Path, browser: Chromium) -> None:
    assert browser.open((mirror / "index.html").as_uri()) == []
    addresses = browser.run(ADDRESSES)
    assert broken(addresses, mirror) == []
    assert browser.open(addresses[0]) == []
    assert "Documentation" in browser.run("document.title")


def broken(addresses: list[str], mirror: Path) -> list[str]:
    """Addresses of files that are not there, or that lie outside the mirror."""
    files = {unquote(urlsplit(address).path) for address in addresses if address.startswith("file:")}
    return [
        f"no such file: {name}" for name in sorted(files) if not (Path(name).is_file() and mirror in Path(name).parents)
    ]


def unseen(browser: Chromium) -> list[str]:
    return [f"not drawn: {address}" for address in browser.run(BLANK_IMAGES) + browser.run(UNSTYLED)]
