"""The tools that are measured: how each is called, and how many pages it kept.

Every tool gets what its manual offers for speed and no pause between requests. What they do differs, to the peers' advantage:
wget2 writes files and no archive; Scrapy and Crawlee store nothing; only Nephila asks for robots.txt, could be killed at
any time, and has an archive, a database and a link graph at the end.
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
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.servers import Missing, program

PEERS = ["scrapy==2.19.0", "crawlee[parsel]==1.11.0"]
NEPHILA_FLAGS = ["--delay", "0", "--per-host", "64", "--connections", "64", "--quiet"]


class Kept(NamedTuple):
    """What a run has to show: HTML pages, and the part of the cost that grows with the site (None: all of it)."""

    html: int
    crawl_s: float | None = None
    crawl_cpu_s: float | None = None


class Tool(NamedTuple):
    """`command(seeds, folder)` is run in an empty folder and `kept(folder)` read afterwards.

    Wget ends with 8 when any answer was an error page, which a documentation with one dead link brings about.
    A tool with `mounts` gets only so many of the site's mounts, and its figures are scaled to the whole.
    """

    name: str
    version: Callable[[], str]
    command: Callable[[list[str], Path], list[str]]
    kept: Callable[[Path], Kept]
    exits: frozenset[int] = frozenset({0})
    mounts: int = 0


def tools() -> dict[str, Tool]:
    """Every tool by name, in the order of the tables."""
    wget_exits = frozenset({0, 8})
    known = [
        Tool("nephila", _nephila_version, _nephila, _in_database),
        Tool("wget2", lambda: _first_line("wget2", "--version"), _wget2, _in_files, wget_exits),
        Tool("wget-warc", lambda: _first_line("wget", "--version"), _wget_warc, _in_files, wget_exits),
        Tool("scrapy", lambda: PEERS[0], lambda seeds, folder: _peer("scrapy", seeds, folder), _in_report, mounts=1),
        Tool("crawlee", lambda: PEERS[1], lambda seeds, folder: _peer("crawlee", seeds, folder), _in_report, mounts=1),
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


def _nephila(seeds: list[str], folder: Path) -> list[str]:
    return [nephila(), "crawl", *seeds, "-o", str(folder / "out"), *NEPHILA_FLAGS]


def _wget2(seeds: list[str], folder: Path) -> list[str]:
    quiet = ["--quiet", "--no-robots"]
    return [program("wget2", "wget2"), *quiet, "--recursive", "--level=inf", "--max-threads=16", "-P", "files", *seeds]


def _wget_warc(seeds: list[str], folder: Path) -> list[str]:
    quiet = ["-q", "-e", "robots=off"]
    return [program("wget", "wget"), *quiet, "-r", "-l", "inf", "-P", "files", "--warc-file=archive", *seeds]


def _peer(name: str, seeds: list[str], folder: Path) -> list[str]:
    script = Path(__file__).with_name("peers") / f"{name}_site.py"
    return [str(peers_python()), str(script), "report.json", *seeds]


def _in_database(folder: Path) -> Kept:
    query = "SELECT count(*) FROM visit WHERE outcome = 'OK' AND media_type = 'text/html'"
    with sqlite3.connect(f"file:{folder}/out/crawl.db?mode=ro", uri=True) as con:
        return Kept(con.execute(query).fetchone()[0])


def _in_files(folder: Path) -> Kept:
    return Kept(sum(1 for _ in (folder / "files").rglob("*.html")))


def _in_report(folder: Path) -> Kept:
    report = json.loads((folder / "report.json").read_text())
    return Kept(report["html"], report["crawl_s"], report["crawl_cpu_s"])


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


__all__ = ["PEERS", "Kept", "Missing", "Tool", "nephila", "peers_python", "tools"]
