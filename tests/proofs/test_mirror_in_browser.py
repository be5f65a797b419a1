"""Mirrors opened from disk in a real browser: nothing on them is broken, nobody else is asked, and they look as the site does.

The Python documentation, the Debian handbook in Chinese, a site of every naming trap and sites in old charsets are crawled from
a local server and exported; each mirror is looked at where it was written and from a zip unpacked elsewhere. What counts is what
the browser says: its idea of every address after the page's scripts have run, the width of the images it has drawn, the requests
it has made, and its pictures of the live page and of the mirrored one.
"""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from benchmarks.servers import Missing, Nginx, debian_handbook, mounted, python_docs
from crash.run import finish, start
from proofs.chromium import Chromium, installed
from views.odd_sites import ODD_PATHS, WORDS, charset_site, odd_site

from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer, Site

pytestmark = pytest.mark.long

SEED, PAGES, PICTURES = 20, 100, 20
DIFFERENT_PERCENT_MAX = 1.0
ADDRESSES = """
[...document.querySelectorAll('a[href], area[href], link[rel=stylesheet]')].map(e => e.href)
  .concat([...document.images].map(e => e.src))
"""
BLANK_IMAGES = "[...document.images].filter(e => !(e.complete && e.naturalWidth > 0)).map(e => e.src)"
UNSTYLED = "[...document.querySelectorAll('link[rel=stylesheet]')].filter(e => !e.sheet).map(e => e.href)"
DIFFERENT = """
(async pictures => {
  const [a, b] = await Promise.all(pictures.map(async data => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + data;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    return canvas.getImageData(0, 0, image.width, image.height).data;
  }));
  let different = 0;
  for (let i = 0; i < a.length; i += 4)
    different += Math.max(Math.abs(a[i] - b[i]), Math.abs(a[i + 1] - b[i + 1]), Math.abs(a[i + 2] - b[i + 2])) > 8;
  return a.length === b.length ? 400 * different / a.length : 100;
})(%s)
"""
"""Percent of the pixels that differ by more than rounding."""


class Mirrored(NamedTuple):
    """`site` is the mirror where it was exported, `moved` what came out of a zip of it elsewhere; the server still runs."""

    url: str
    site: Path
    moved: Path

    def index(self) -> dict[str, str]:
        """Path → address of the pages that a browser shows."""
        rows = map(json.loads, (self.site / "index.jsonl").read_text().splitlines())
        return {row["path"]: row["url"] for row in rows if row["media_type"] == "text/html" and row["status"] == 200}


def exported(seed: str, folder: Path, *options: str) -> Mirrored:
    finish(start(seed, folder / "job", "--delay", "0", "--per-host", "16", *options), timeout_s=180)
    export = [sys.executable, "-m", "nephila", "export", "mirror", str(folder / "job"), "--to", str(folder / "site")]
    subprocess.run(export, check=True, capture_output=True, timeout=180)
    moved = folder / "somewhere else 中文 #1" / "site"
    with zipfile.ZipFile(folder / "site.zip", "w") as packed:
        for path in sorted((folder / "site").rglob("*")):
            packed.write(path, path.relative_to(folder / "site"))
    with zipfile.ZipFile(folder / "site.zip") as packed:
        packed.extractall(moved)
    return Mirrored(seed, folder / "site", moved)


@pytest.fixture(scope="module", params=["python", "handbook", "odd"])
def mirror(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "odd":
        with SiteServer(odd_site(), folder / "log") as site:
            yield exported(site.url(), folder, "--traps", "off")
        return
    try:
        server = Nginx(mounted({"python": python_docs, "handbook": debian_handbook}[request.param](), 1), log=False)
    except Missing as missing:
        pytest.skip(f"system: {missing}")
    with server:
        yield exported(f"{server.url}/m1/index.html", folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    if not (program := installed()):
        pytest.skip("system: chromium is not installed (Debian package chromium)")
    with Chromium(program) as running:
        yield running


@pytest.mark.parametrize("where", ["site", "moved"])
def test_a_hundred_random_pages_are_whole_and_ask_nobody(mirror: Mirrored, browser: Chromium, where: str) -> None:
    root: Path = getattr(mirror, where)
    pages = sorted(mirror.index())
    chosen = random.Random(SEED).sample(pages, min(PAGES, len(pages)))
    links = 0
    complaints: list[str] = []
    for path in chosen:
        failed = browser.open((root / path).as_uri())
        asked = [f"asked for {url}" for url in browser.asked() if not url.startswith(("file:", "data:"))]
        addresses = browser.run(ADDRESSES)
        links += len(addresses)
        complaints += [f"{path}: {line}" for line in (*failed, *asked, *broken(addresses, root), *unseen(browser))]
    print(f"{len(chosen)} of {len(pages)} pages, {links} addresses")
    assert complaints == []
    assert links > 10 * len(chosen)


def test_twenty_pages_look_as_they_do_live(mirror: Mirrored, browser: Chromium) -> None:
    index = mirror.index()
    chosen = random.Random(SEED).sample(sorted(index), min(PICTURES, len(index)))
    found = {}
    for path in chosen:
        pictures = []
        for address in (index[path], (mirror.moved / path).as_uri()):
            browser.open(address)
            pictures.append(base64.b64encode(browser.picture()).decode())
        browser.open("about:blank")
        found[path] = browser.run(DIFFERENT % json.dumps(pictures))
        nothing = base64.b64encode(browser.picture()).decode()
        assert browser.run(DIFFERENT % json.dumps([nothing, pictures[0]])) > DIFFERENT_PERCENT_MAX, "a blank page"
    print(
        f"different: {max(found.values()):.3f} % of the pixels at most, {sum(found.values()) / len(found):.4f} % on average"
    )
    assert {path: percent for path, percent in found.items() if percent > DIFFERENT_PERCENT_MAX} == {}


def test_the_start_page_leads_to_the_seed(mirror: Mirrored, browser: Chromium) -> None:
    assert browser.open((mirror.moved / "index.html").as_uri()) == []
    addresses = browser.run(ADDRESSES)
    assert broken(addresses, mirror.moved) == []
    title = browser.run("document.title")
    assert browser.open(addresses[0]) == []
    assert browser.run("document.title") not in ("", title)


def test_every_link_of_the_odd_site_leads_to_its_page(tmp_path: Path, browser: Chromium) -> None:
    with SiteServer(odd_site(), tmp_path / "log") as server:
        mirror = exported(server.url(), tmp_path, "--traps", "off")
    browser.open((mirror.moved / "index.html").as_uri())
    browser.open(browser.run(ADDRESSES)[0])
    addresses = browser.run("[...document.querySelectorAll('a')].map(e => e.href)")
    for path, address in zip(ODD_PATHS, addresses, strict=True):
        assert browser.open(address) == []
        assert browser.run("document.getElementById('me').textContent") == path
        assert browser.run(BLANK_IMAGES) == []


@pytest.mark.parametrize("charset", WORDS)
def test_a_site_in_an_old_charset_reads_right(charset: str, tmp_path: Path, browser: Chromium) -> None:
    pages = charset_site(charset)

    def site(host: str, path: str, n: int) -> Answer:
        return pages.get(path, Answer(b"no such page", 404))

    served: Site = site
    with SiteServer(served, tmp_path / "log") as server:
        mirror = exported(server.url(), tmp_path)
    browser.open((mirror.moved / "index.html").as_uri())
    assert browser.open(browser.run(ADDRESSES)[0]) == []
    word = WORDS[charset]
    assert browser.run("[document.title, document.getElementById('script').textContent]") == [word, word]
    assert browser.run("getComputedStyle(document.getElementById('css'), '::before').content") == f'"{word}"'
    for address in browser.run("[...document.querySelectorAll('a')].map(e => e.href)"):
        assert browser.open(address) == []
        assert browser.run("document.querySelector('p').textContent") == word


def broken(addresses: list[str], mirror: Path) -> list[str]:
    """Addresses of files that are not there, or that lie outside the mirror."""
    files = {unquote(urlsplit(address).path) for address in addresses if address.startswith("file:")}
    return [
        f"no such file: {name}" for name in sorted(files) if not (Path(name).is_file() and mirror in Path(name).parents)
    ]


def unseen(browser: Chromium) -> list[str]:
    return [f"not drawn: {address}" for address in browser.run(BLANK_IMAGES) + browser.run(UNSTYLED)]
