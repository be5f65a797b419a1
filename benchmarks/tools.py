"""The tools that are measured: how each is called, and how many pages it kept.

Every tool gets what its manual offers for speed and no pause between requests. What they do differs, to the peers' advantage:
wget, wget2 and HTTrack write files, only `wget --warc-file` an archive, too; Scrapy and Crawlee store nothing; only Nephila asks
for robots.txt, could be killed at any time, and has an archive, a database and a link graph at the end. The floor is no
spider but what any would cost (see `benchmarks.floor`); it runs among the tools so that noise meets it as it meets them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.servers import Missing, program

PEERS = ["scrapy==2.19.0", "crawlee[parsel]==1.11.0"]
NEPHILA_FLAGS = ["--delay", "0", "--per-host", "64", "--connections", "64", "--quiet"]
NO_PARTS: Mapping[str, float] = MappingProxyType({})


class Work(NamedTuple):
    """What a tool is to do: start at `seeds` and keep `pages`, the URLs of all HTML pages (told to the floor only)."""

    seeds: list[str]
    pages: list[str]


class Kept(NamedTuple):
    """What a run has to show: HTML pages, and the part of the cost that grows with the site (None: all of it).

    `parts`: CPU seconds by part, where the tool tells them; their sum counts instead of the whole process then.
    """

    html: int
    crawl_s: float | None = None
    crawl_cpu_s: float | None = None
    parts: Mapping[str, float] = NO_PARTS


class Tool(NamedTuple):
    """`command(work, folder)` is run in an empty folder and `kept(folder)` read afterwards.

    Wget ends with 8 when any answer was an error page, which a documentation with one dead link brings about.
    A tool with `mounts` gets only so many of the site's mounts, and its figures are scaled to the whole. `title` is its name in tables.
    """

    name: str
    version: Callable[[], str]
    command: Callable[[Work, Path], list[str]]
    kept: Callable[[Path], Kept]
    exits: frozenset[int] = frozenset({0})
    mounts: int = 0
    title: str = ""


def tools() -> dict[str, Tool]:
    """Every tool by name, in the order of the tables."""
    wget_exits = frozenset({0, 8})
    known = [
        Tool("nephila", _nephila_version, _nephila, _in_database),
        Tool("wget2", lambda: _first_line("wget2", "--version"), _wget2, _in_files, wget_exits),
        Tool("wget", lambda: _first_line("wget", "--version"), _wget, _in_files, wget_exits),
        Tool("wget-warc", lambda: _first_line("wget", "--version"), _wget_warc, _in_files, wget_exits),
        Tool("httrack", lambda: _first_line("httrack", "--version"), _httrack, _in_host_folder),
        Tool("scrapy", lambda: PEERS[0], lambda work, folder: _peer("scrapy", work), _in_report, mounts=1),
        Tool("crawlee", lambda: PEERS[1], lambda work, folder: _peer("crawlee", work), _in_report, mounts=1),
        Tool("floor", _floor_version, _floor, _in_floor_report, title="floor (pycurl + parse + append)"),
    ]
    return {tool.name: tool for tool in known}


def nephila() -> str:
    """The command of the environment that runs this. Raises Missing."""
    beside = Path(sys.executable).with_name("nephila")
    return str(beside) if beside.exists() else program("nephila", "none: run make setup")


def _nephila_version() -> str:
    from nephila import __version__

    nephila()
    return f"nephila {__version__}"


def _floor_version() -> str:
    return "floor of " + " + ".join(f"{name} {metadata.version(name)}" for name in ("pycurl", "turbohtml", "isal"))


def _nephila(work: Work, folder: Path) -> list[str]:
    return [nephila(), "crawl", *work.seeds, "-o", str(folder / "out"), *NEPHILA_FLAGS]


def _wget2(work: Work, folder: Path) -> list[str]:
    options = ["--quiet", "--no-robots", "--recursive", "--level=inf", "--max-threads=16", "-P", "files"]
    return [program("wget2", "wget2"), *options, *work.seeds]


def _wget(work: Work, folder: Path) -> list[str]:
    quiet = ["-q", "-e", "robots=off"]
    return [program("wget", "wget"), *quiet, "-r", "-l", "inf", "-P", "files", *work.seeds]


def _wget_warc(work: Work, folder: Path) -> list[str]:
    return [*_wget(work, folder), "--warc-file=archive"]


def _httrack(work: Work, folder: Path) -> list[str]:
    """All limits off; no robots, cache, log, index, pages in place of errors or guessing at scripts; pages as they came.

    Few of its long options take a number, hence the short ones (httrack --help). With 64 connections instead of 16 it is slower.
    By itself it stays on the host of a seed.
    """
    unbound = ["-s0", "--disable-security-limits", "-A0", "-%c0", "-c16"]
    lean = ["-C0", "-Q", "-I0", "-o0", "-j0", "-%P0", "--preserve"]
    return [program("httrack", "httrack"), *work.seeds, "-O", "files", "-q", *unbound, *lean]


def _peer(name: str, work: Work) -> list[str]:
    script = Path(__file__).with_name("peers") / f"{name}_site.py"
    return [str(peers_python()), str(script), "report.json", *work.seeds]


def _floor(work: Work, folder: Path) -> list[str]:
    (folder / "urls.txt").write_text("\n".join(work.pages))
    return [sys.executable, str(Path(__file__).with_name("floor.py")), "urls.txt", "report.json"]


def _in_database(folder: Path) -> Kept:
    query = "SELECT count(*) FROM visit WHERE outcome = 'OK' AND media_type = 'text/html'"
    with sqlite3.connect(f"file:{folder}/out/crawl.db?mode=ro", uri=True) as con:
        return Kept(con.execute(query).fetchone()[0])


def _in_files(folder: Path) -> Kept:
    return Kept(sum(1 for _ in (folder / "files").rglob("*.html")))


def _in_host_folder(folder: Path) -> Kept:
    """HTTrack's own files (index, logs, cache) lie beside the folders of the hosts; it ends in .html whatever is HTML."""
    return Kept(sum(1 for _ in (folder / "files").glob("127.0.0.1*/**/*.html")))


def _in_report(folder: Path) -> Kept:
    report = json.loads((folder / "report.json").read_text())
    return Kept(report["html"], report["crawl_s"], report["crawl_cpu_s"])


def _in_floor_report(folder: Path) -> Kept:
    report = json.loads((folder / "report.json").read_text())
    return Kept(report["html"], parts=report["cpu_s"])


def peers_python() -> Path:
    """Python of the peers' own environment (NEPHILA_BENCH_ENV, else a temporary folder), made when it is not there."""
    default = Path(tempfile.gettempdir()) / f"nephila-bench-env-{os.getuid()}"
    folder = Path(os.environ.get("NEPHILA_BENCH_ENV") or default)
    python, stamp = folder / "bin" / "python", folder / "installed.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != PEERS:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True, stderr=subprocess.DEVNULL)
        stamp.write_text(json.dumps(PEERS))
    return python


def _first_line(name: str, option: str) -> str:
    text = subprocess.run([program(name, name), option], capture_output=True, text=True, check=True).stdout
    return " ".join(text.splitlines()[0].split()[:3])


__all__ = ["PEERS", "Kept", "Missing", "Tool", "Work", "nephila", "peers_python", "tools"]
