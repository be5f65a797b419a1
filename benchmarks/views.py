"""What every view costs: `python -m benchmarks.views [--pages 50000] [--early 5000] [--save]`.

Two crawls of the documentation of PostgreSQL (pages of 14 KB) and, a tenth, of Python (95 KB), mounted many times by a server that writes
the address into the title and into OpenGraph, so that no page is another's copy; one crawl is ten times the other. They are made once and kept in
`--folder`. Every view of both: seconds, the largest sum of the resident memory of its processes, bytes, and how many of what it
holds, which has to be how many the crawl has. Memory is flat when ten times the pages take about the same.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import tantivy
from fastwarc.warc import ArchiveIterator, WarcRecordType

from benchmarks import measure
from benchmarks.servers import Missing, Nginx, postgres_docs, python_docs
from benchmarks.sites import save, where
from nephila.archive import tianwang
from nephila.archive.stream import Stream

PAGES, EARLY = 50_000, 5_000
FOLDER = Path(tempfile.gettempdir()) / "nephila-benchmark-views"
TIME_S_MAX = 3600
LIMIT = 3
"""How a crawl ends that was asked for so many pages and no more."""
_TITLES = """    sub_filter '</title>' ' $request_uri</title><meta property="og:type" content="article"><meta property="og:title" content="$request_uri">';"""
_ANSWERS = (WarcRecordType.response, WarcRecordType.revisit, WarcRecordType.resource)


class Crawled(NamedTuple):
    """What a crawl has: visits, those with a record, pages that are good, those of them with a text or in HTML, addresses."""

    visits: int
    records: int
    pages: int
    texts: int
    html: int
    addresses: int


class Made(NamedTuple):
    """One export. `held`: how many of `what` the view has."""

    cost: measure.Cost
    bytes: int
    held: int
    wanted: int


VIEWS: dict[str, tuple[list[str], str, Callable[[Path], int]]] = {
    "mirror": ([], "pages", lambda path: lines(path / "index.jsonl")),
    "jsonl": ([], "visits", lambda path: lines(path)),
    "csv": ([], "visits", lambda path: records(path / "visit.csv")),
    "parquet": ([], "visits", lambda path: rows(f"'{path}/visit/*/*.parquet'")),
    "sql": ([], "visits", lambda path: asked(path, "SELECT count(*) FROM visit")),
    "text": ([], "texts", lambda path: lines(path)),
    "markdown": ([], "texts", lambda path: sum(1 for _ in path.rglob("*.md"))),
    "items": ([], "html", lambda path: sum(json.loads((path / "tables.json").read_bytes()).values())),
    "graph": ([], "addresses", lambda path: records(path / "nodes.csv")),
    "graph --scores": (["--scores", "--form", "parquet"], "addresses", lambda path: rows(f"'{path}/nodes/*.parquet'")),
    "report": ([], "html", lambda path: int(json.loads((path / "report.json").read_bytes())["pages"])),
    "search": ([], "pages", lambda path: tantivy.Index.open(str(path / "index")).searcher().num_docs),
    "tianwang": ([], "pages", lambda path: stored(path)),
    "urls": ([], "pages", lambda path: lines(path)),
    "warc": ([], "records", lambda path: answers(path)),
    "cdxj": ([], "records", lambda path: lines(path)),
    "wacz": ([], "records", lambda path: indexed(path)),
}
"""Name → (options, which number of the crawl its count is, how it is counted)."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.views", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--early", type=int, default=EARLY)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where crawls are kept and views are written")
    parser.add_argument("--view", action="append", choices=VIEWS, help="only this one (may be repeated)")
    parser.add_argument("--save", action="store_true", help="write the table into benchmarks/RESULTS.md")
    args = parser.parse_args()
    try:
        early, late = (crawled(args.folder, pages) for pages in (args.early, args.pages))
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    table = [
        f"| view | s, {args.pages:,} pages | MB | MB, {args.early:,} pages | size MB | holds |",
        "| --- |" + " ---: |" * 5,
    ]
    wrong = 0
    for view in args.view or VIEWS:
        small, large = (made(view, job) for job in (early, late))
        wrong += sum(one.held != one.wanted for one in (small, large))
        table.append(_row(view, small, large))
        print(table[-1], flush=True)
    text = "\n".join(["### Views of one archive", "", where(), "", *table, ""])
    print(f"\n{text}")
    if args.save:
        save("views", text)
    return 1 if wrong else 0


def crawled(folder: Path, pages: int) -> Path:
    """The job of that many pages, made when it is not there."""
    job = folder / f"job-{pages}"
    if (job / "whole").exists():
        return job
    shutil.rmtree(job, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    docs = {"p": postgres_docs(), "y": python_docs()}
    mounts = {f"{kind}{n}": docs[kind] for n, kind in enumerate("ppppy" * -(-pages // 4_000))}
    with Nginx(mounts, extra=_TITLES, log=False) as server:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{server.url}/{name}/index.html\n" for name in mounts))
        command = [
            "crawl",
            "-i",
            str(seeds),
            "-o",
            str(job),
            "--max-pages",
            str(pages),
            "--delay",
            "0",
            "--per-host",
            "32",
        ]
        done = subprocess.run([sys.executable, "-m", "nephila", *command, "--quiet"], timeout=TIME_S_MAX)
    if done.returncode != LIMIT:
        raise RuntimeError(f"the crawl ended with {done.returncode}")
    (job / "whole").touch()
    return job


def made(view: str, job: Path) -> Made:
    """Export a view, count what it holds, and remove it."""
    options, what, held = VIEWS[view]
    target = job.parent / "view"
    command = ["export", view.partition(" ")[0], str(job), "--to", str(target), *options]
    cost = measure.run([sys.executable, "-m", "nephila", *command], job.parent, TIME_S_MAX)
    if cost.code:
        raise RuntimeError((job.parent / "output.txt").read_text())
    files = [path for path in [target, *target.rglob("*")] if path.is_file()]
    count = held(target)
    found = Made(cost, sum(path.stat().st_size for path in files), count, getattr(crawl(job), what))
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    return found


def crawl(job: Path) -> Crawled:
    """What the database says."""
    good = "v.outcome = 'OK' AND v.length > 0 AND u.kind NOT IN ('robots', 'login')"
    texts = (
        "v.media_type IN ('text/html', 'application/xhtml+xml', 'text/plain', 'text/markdown') AND u.kind != 'embed'"
    )
    last = "FROM url u JOIN visit v ON v.id = u.visit"
    return Crawled(
        asked(job / "crawl.db", "SELECT count(*) FROM visit"),
        asked(job / "crawl.db", "SELECT count(*) FROM visit WHERE length > 0"),
        asked(job / "crawl.db", f"SELECT count(*) {last} WHERE {good}"),
        asked(job / "crawl.db", f"SELECT count(*) {last} WHERE {good} AND {texts}"),
        asked(job / "crawl.db", f"SELECT count(*) {last} WHERE {good} AND v.media_type = 'text/html'"),
        asked(job / "crawl.db", "SELECT count(*) FROM url WHERE kind NOT IN ('robots', 'login')"),
    )


def lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def rows(table: str) -> int:
    return int(duckdb.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def records(path: Path) -> int:
    """Of a CSV file, its line of names left out."""
    with path.open(encoding="utf-8", newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1


def asked(database: Path, query: str) -> int:
    con = sqlite3.connect(database)
    (count,) = con.execute(query).fetchone()
    con.close()
    return int(count)


def answers(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for record in ArchiveIterator(file, parse_http=False) if record.record_type in _ANSWERS)


def stored(path: Path) -> int:
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(1 << 20), b"")
        return sum(1 for _ in tianwang.read(Stream(blocks), lambda at, what: print(f"byte {at}: {what}")))


def indexed(path: Path) -> int:
    with zipfile.ZipFile(path) as packed, packed.open("indexes/index.cdx.gz") as index:
        return sum(1 for _ in gzip.open(index))


def _row(view: str, small: Made, large: Made) -> str:
    what = VIEWS[view][1]
    right = "" if large.held == large.wanted and small.held == small.wanted else f", **not {large.wanted:,}**"
    memory = [f"{one.cost.memory_bytes / 1e6:,.0f}" for one in (large, small)]
    return f"| `{view}` | {large.cost.wall_s:,.0f} | {memory[0]} | {memory[1]} | {large.bytes / 1e6:,.1f} | {large.held:,} {what}{right} |"


if __name__ == "__main__":
    sys.exit(main())
