"""A WACZ of ours in ReplayWeb.page, the reader that most people have for such files, in a real browser.

Its package is fetched once, into pytest's cache, with npm.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.servers import Missing, Nginx
from proofs.chromium import Chromium, installed

from nephila import cli
from nephila.testing import sites
from nephila.testing.server import SiteServer

PACKAGE = "replaywebpage@2.4.6"
SHOWN_S_MAX = 60.0
PAGE = '<!doctype html><meta charset="utf-8"><script src="ui.js"></script><replay-web-page source="crawl.wacz" url="%s" replayBase="./replay/"></replay-web-page>'
FRAMES = """
(() => {
  const found = [];
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) look(element.shadowRoot);
      if (element.localName !== "iframe" || !element.contentDocument) continue;
      found.push([element.contentWindow.location.href.split("mp_/").pop(), element.contentDocument.title]);
      look(element.contentDocument);
    }
  };
  look(document);
  return found;
})()
"""
"""Of every frame, in shadows and in frames, too: the address whose capture it shows, its title."""

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def package(pytestconfig: pytest.Config) -> Path:
    """The folder of the unpacked package."""
    folder = pytestconfig.cache.mkdir("replayweb")  # type: ignore[union-attr]
    if not (folder / "package" / "sw.js").exists():
        if not (npm := shutil.which("npm")):
            pytest.skip("system: npm is not installed")
        done = subprocess.run([npm, "pack", "-s", PACKAGE], cwd=folder, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"system: {PACKAGE} cannot be fetched: {done.stderr.strip()[-200:]}")
        with tarfile.open(folder / done.stdout.strip()) as packed:
            packed.extractall(folder, filter="data")
    return folder / "package"


@pytest.fixture
def browser() -> Iterator[Chromium]:
    if not (program := installed()):
        pytest.skip("system: chromium is not installed (Debian package chromium)")
    with Chromium(program) as running:
        yield running


def test_replayweb_page_shows_every_page_of_it(package: Path, browser: Chromium, tmp_path: Path) -> None:
    with SiteServer(sites.kinds(), tmp_path / "log") as site:
        assert cli.main(["crawl", site.url(), "-o", str(tmp_path / "job"), "--quiet", "--workers", "0"]) == 0
    assert cli.main(["export", "jsonl", str(tmp_path / "job")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "job" / "views" / "visits.jsonl").read_text().splitlines()]
    pages = {row["url"]: row["title"] for row in rows if row["outcome"] == "OK" and row["media_type"] == "text/html"}
    shown = tmp_path / "shown"
    (shown / "replay").mkdir(parents=True)
    for name, place in (("ui.js", shown), ("ui.js", shown / "replay"), ("sw.js", shown / "replay")):
        shutil.copy(package / name, place)
    assert cli.main(["export", "wacz", str(tmp_path / "job"), "--to", str(shown / "crawl.wacz")]) == 0
    try:
        server = Nginx({"w": shown}, log=False)
    except Missing as missing:
        pytest.skip(f"system: {missing}")
    with server:
        for n, (url, title) in enumerate(pages.items()):
            (shown / f"{n}.html").write_text(PAGE % url)
            browser.open(f"{server.url}/w/{n}.html")
            end = time.monotonic() + SHOWN_S_MAX
            while [url, title] not in (seen := browser.run(FRAMES)):
                assert time.monotonic() < end, (url, title, seen)
                time.sleep(0.2)
