"""A made-up crawl.db of any size, and how long the window's questions to it take: `python -m benchmarks.lookups [--urls 1000000]`.

The database has the shape of a real one (hosts of unequal size, folders, outcomes, ten links to a page) and no archive.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nephila import db
from nephila.frontier import order, sqlite_known
from nephila.look import known
from nephila.look.address import linkers
from nephila.look.atlas import Draft
from nephila.look.cut import Place, Shape
from nephila.look.growth import growth
from nephila.look.look import Look
from nephila.look.urls import Question, table
from nephila.ui.wheel import wheel

HALF = 1 << 63
ROWS_AT_ONCE = 50_000
OUTCOMES = (
    ("OK", "", 200, "text/html", 80),
    ("OK", "", 200, "image/png", 6),
    ("OK", "", 200, "application/pdf", 2),
    ("MOVED", "", 301, "text/html", 5),
    ("REFUSED", "http.404", 404, "text/html", 5),
    ("UNREACHABLE", "timeout.connect", 0, "", 1),
    ("DENIED", "robots", 0, "", 1),
)
WORDS = ("news", "docs", "blog", "shop", "2024", "2025", "about", "files", "img", "api", "文档", "help")


def make(path: Path, urls: int, *, links: int = 10, hosts: int = 0, seed: int = 1) -> None:
    """A crawl.db with this many URLs, nine tenths of them visited, each page with `links` links on average."""
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    hosts = hosts or max(1, urls // 500)
    fps = rng.integers(-HALF + 1, HALF - 1, urls + 1, np.int64)
    place = np.minimum((rng.pareto(1.1, urls + 1) * hosts / 20).astype(np.int64), hosts - 1)
    outcomes = chance.choices(OUTCOMES, [row[-1] for row in OUTCOMES], k=urls + 1)
    con = sqlite3.connect(path, isolation_level=None)
    con.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = off; " + db.TABLES)
    con.execute(f"CREATE INDEX url_queue ON url (host, {order.COLUMNS['bfs']}) WHERE state = 'queued'")
    meta = {"schema": db.SCHEMA, "state": "finished", "fingerprint_key": 7, "seconds": urls / 1000}
    con.executemany("INSERT INTO meta VALUES (?, ?)", [(key, str(value)) for key, value in meta.items()])
    con.executemany(
        "INSERT INTO host (id, origin) VALUES (?, ?)", [(n + 1, f"https://h{n}.example") for n in range(hosts)]
    )
    con.execute("INSERT INTO rule (id, text, since, count) VALUES (1, 'scope:host', 0, 1)")
    visits = 0
    for begin in range(1, urls + 1, ROWS_AT_ONCE):
        rows, seen, linked = list[tuple[Any, ...]](), list[tuple[Any, ...]](), list[tuple[Any, ...]]()
        for id in range(begin, min(begin + ROWS_AT_ONCE, urls + 1)):
            host = int(place[id])
            path_ = "/".join(chance.choices(WORDS, k=chance.randrange(1, 4)))
            url = f"https://h{host}.example/{path_}/page-{id}.html"
            depth = int(id**0.2)
            state = "done" if id <= urls * 0.9 else "queued" if id % 5 else "refused"
            if state == "done":
                visits += 1
                outcome, reason, status, media_type, _ = outcomes[id]
                seen.append((visits, id, 1, 1_760_000_000 + id / 100, outcome, reason, status, "h2", "192.0.2.1", media_type, "utf-8",
                  chance.randrange(200, 200_000), chance.randrange(5, 900), f"sha1:{id:032x}", "", "", 0, "",
                  f"Page {id} of {path_}", "en", 0, 0, 0, 0))  # fmt: skip
                if media_type == "text/html" and outcome == "OK":
                    near = rng.integers(1, urls + 1, chance.randrange(1, links * 2))
                    linked.append((visits, 0, (fps[near].view(np.uint64) ^ np.uint64(HALF)).tobytes()))
            rows.append((id, int(fps[id]), host + 1, url, "page", depth, 0, id // 11, 0, state, 0, 0, "", int(state == "refused"),
              visits if state == "done" else 0))  # fmt: skip
        con.execute("BEGIN")
        con.executemany(f"INSERT INTO url VALUES ({', '.join('?' * 15)})", rows)
        con.executemany(f"INSERT INTO visit VALUES ({', '.join('?' * 24)})", seen)
        con.executemany("INSERT INTO link VALUES (?, ?, ?)", linked)
        sqlite_known.append(con, rows)
        con.execute("COMMIT")
    con.close()


QUESTIONS = {
    "first page": Question(),
    "newest": Question(falling=True),
    "outcome, frequent": Question(outcome="REFUSED"),
    "outcome, rare, newest": Question(outcome="DENIED", falling=True),
    "status nobody has": Question(status="5xx"),
    "state, frequent": Question(state="queued"),
    "state, set aside": Question(state="refused"),
    "media type": Question(media_type="image/*"),
    "deepest": Question(depth=15),
    "host": Question(host="h3.example"),
    "text, rare": Question(text="page-99999"),
    "expression, frequent": Question(regex="/news/.*7"),
    "expression, nobody": Question(regex="nothing-like-this$"),
    "sorted by size": Question(sort="bytes", falling=True),
    "sorted by address": Question(sort="url"),
}


def main() -> None:
    options = argparse.ArgumentParser(prog="benchmarks.lookups")
    options.add_argument("--urls", type=int, default=1_000_000)
    options.add_argument("--links", type=int, default=10)
    options.add_argument("--hosts", type=int, default=0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="nephila-lookups-") as name:
        make(Path(name) / "crawl.db", given.urls, links=given.links, hosts=given.hosts)
        look = Look(Path(name))
        look.closed()
        print("| question | ms | of the processor | looked at |\n|---|---|---|---|")
        for label, question in QUESTIONS.items():
            _timed(label, lambda question=question: table(look, question), lambda found: f"{found.looked:,}")
        fp = look.one("SELECT fp FROM url WHERE id = 7")
        _timed("who links here", lambda: linkers(look, fp), lambda found: f"{found.looked:,} visits")
        _timed("address as written", lambda: known.find(look, "a.example"), lambda found: "")
        _timed("depths and discovery", lambda: growth(look), lambda found: f"{found.looked:,}")
        atlas = _timed(
            "map: read",
            lambda: Draft(look).step(1e9),
            lambda found: f"{len(found.urls):,}, {len(found.sources):,} links",
        )
        shape = _timed("map: count", lambda: Shape(atlas), lambda found: "")
        _timed("map: one picture", lambda: wheel(shape.cut(Place())), lambda found: f"{len(found.segments)} groups")
        look.close()


def _timed(label: str, ask: Callable[[], Any], said: Callable[[Any], str]) -> Any:
    clock, cpu = time.perf_counter(), time.process_time()
    found = ask()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    print(f"| {label} | {clock * 1000:,.0f} | {cpu * 1000:,.0f} | {said(found)} |", flush=True)
    return found


if __name__ == "__main__":
    main()
