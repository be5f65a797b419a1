"""The scripts in examples/, run as a reader would run them, say right things of a site that we know."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer, page, table

EXAMPLES = Path(__file__).parents[2] / "examples"
LINES_MAX = 30


@pytest.fixture
def site(tmp_path: Path) -> Iterator[SiteServer]:
    """A start page with a heading, a second page in Chinese, a picture without title, and one dead link on both pages."""
    pages: dict[str, Answer | bytes | list[Answer]] = {
        "/": page(["two", "dead"], "Start", "<h1> First things </h1><img src=dot.png><h2>Second</h2>"),
        "/two": page(["/", "dead"], "第二页", "<h1>标题</h1>"),
        "/dot.png": Answer(b"a dot", media_type="image/png"),
    }
    with SiteServer(table(pages), tmp_path / "site.log") as server:
        yield server


def run(name: str, seed: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), seed]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_titles(site: SiteServer, tmp_path: Path) -> None:
    done = run("titles.py", site.url(), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == sorted(
        [f"200\t{site.url('/')}\tStart", f"200\t{site.url('/two')}\t第二页"]
    )


def test_headings(site: SiteServer, tmp_path: Path) -> None:
    done = run("headings.py", site.url(), tmp_path)
    assert done.returncode == 0
    assert sorted((i["url"], i["heading"]) for i in map(json.loads, done.stdout.splitlines())) == [
        (site.url("/"), "First things"),
        (site.url("/"), "Second"),
        (site.url("/two"), "标题"),
    ]
    assert "every admitted URL has its outcome" in done.stderr


def test_broken_links(site: SiteServer, tmp_path: Path) -> None:
    done = run("broken_links.py", site.url(), tmp_path)
    holders = f"{site.url('/')}, {site.url('/two')}"
    assert done.stdout == f"status.404 {site.url('/dead')} linked from {holders}\n"
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_fits_on_a_screen(script: Path) -> None:
    assert len(script.read_text().splitlines()) < LINES_MAX


def test_every_example_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"titles.py", "headings.py", "broken_links.py"}
