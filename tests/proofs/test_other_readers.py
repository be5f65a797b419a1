"""What other people's tools make of our views: py-wacz checks the file, pywb replays it, warcio and FastWARC read every record.

pywb wants `brotlipy`, which puts another module over the `brotli` that Nephila uses, so both tools live in a venv of their own, made
once in pytest's cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from nephila import cli
from nephila.testing import sites
from nephila.testing.server import SiteServer
from nephila.url.surt import surt

PACKAGES = ("pywb==2.9.1", "wacz==0.6.0", "surt==0.3.1", "setuptools<80")
REPLAY = Path(__file__).with_name("replayed_by_pywb.py")

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def readers(pytestconfig: pytest.Config) -> Path:
    """The `bin` folder of their venv."""
    folder = pytestconfig.cache.mkdir("readers") / "venv"  # type: ignore[union-attr]
    if not (folder / "ready").exists():
        venv.create(folder, clear=True, with_pip=True)
        done = subprocess.run([folder / "bin" / "pip", "install", "-q", *PACKAGES], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"pywb and py-wacz cannot be installed: {done.stderr.strip()[-200:]}")
        (folder / "ready").touch()
    return folder / "bin"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A crawl of a site with pages of many kinds: (its first address, the folder)."""
    folder = tmp_path_factory.mktemp("readers")
    with SiteServer(sites.kinds(), folder / "log") as server:
        assert cli.main(["crawl", server.url(), "-o", str(folder / "job"), "--quiet", "--workers", "0"]) == 0
    for view in ("wacz", "cdxj", "warc"):
        assert cli.main(["export", view, str(folder / "job")]) == 0
    return server.url(), folder / "job"


def test_py_wacz_calls_the_file_valid(readers: Path, crawled: tuple[str, Path]) -> None:
    done = _run(readers / "wacz", "validate", "-f", str(crawled[1] / "views" / "crawl.wacz"))
    assert "Validation succeeded" in done


def test_pywb_replays_every_page_of_it(readers: Path, crawled: tuple[str, Path], tmp_path: Path) -> None:
    _, job = crawled
    rows = [json.loads(line) for line in _lines(job, "jsonl")]
    kept = [row for row in rows if row["outcome"] in ("OK", "MOVED")]
    urls = [row["url"] for row in kept]
    asked = [f"/all/id_/{url}" for url in urls]
    said = _run(
        readers / "python", "-W", "ignore", str(REPLAY), str(tmp_path), str(job / "views" / "crawl.wacz"), *asked
    )
    answers = [json.loads(line) for line in said.splitlines()]
    assert len(answers) == len(kept) > 10
    assert [(row["url"], int(answer["status"][:3])) for row, answer in zip(kept, answers, strict=True)] == [
        (row["url"], row["status"]) for row in kept
    ]
    assert all(answer["body"] for row, answer in zip(kept, answers, strict=True) if row["bytes"])


def test_the_index_has_the_lines_that_pywb_makes(readers: Path, crawled: tuple[str, Path], tmp_path: Path) -> None:
    _, job = crawled
    theirs = _run(readers / "cdxj-indexer", "-s", str(job / "archive"))
    ours = (job / "views" / "index.cdxj").read_text()
    assert _places(ours) == _places(theirs)


def test_every_record_of_ours_is_sound(crawled: tuple[str, Path], tmp_path: Path) -> None:
    _, job = crawled
    with zipfile.ZipFile(job / "views" / "crawl.wacz") as file:
        inside = Path(file.extract("archive/data.warc.gz", tmp_path))
    for path in (inside, job / "views" / "all.warc.gz", *(job / "archive").iterdir()):
        with path.open("rb") as file:
            fast = [record.record_id for record in ArchiveIterator(file, verify_digests=True)]
        with path.open("rb") as file:
            assert len(list(WarcioIterator(file, check_digests="raise"))) == len(fast) > 0
        _run(Path(sys.executable).with_name("warcio"), "check", str(path))


def test_keys_are_those_of_the_package_surt(readers: Path) -> None:
    urls = [f"http://h{n}.test/{a}{b}?{c}={n}" for n in range(50) for a, b, c in ODD]
    asks = "import sys, surt\nfor line in sys.stdin: print(surt.surt(line.rstrip('\\n')))"
    theirs = _run(readers / "python", "-W", "ignore", "-c", asks, given="".join(f"{url}\n" for url in urls))
    assert [surt(url) for url in urls] == theirs.splitlines()


ODD = [
    ("", "", "a"),
    ("a//", "b/", "A%2541"),
    ("%41", "./x/", "x&y&x=1&sid"),
    ("..", "/%2F%2f", "="),
    ("é", "%FF", "%26a"),
]


def _places(lines: str) -> set[tuple[str, str, str, str]]:
    found = set[tuple[str, str, str, str]]()
    for line in lines.splitlines():
        key, at, rest = line.split(" ", 2)
        row: dict[str, Any] = json.loads(rest)
        found.add((key, at, row["offset"], row["length"]))
    return found


def _lines(job: Path, view: str) -> list[str]:
    assert cli.main(["export", view, str(job), "--to", str(job / view)]) == 0
    return (job / view).read_text().splitlines()


def _run(*command: str | Path, given: str | None = None) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, input=given, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
