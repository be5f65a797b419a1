"""How fast a full-text index answers: 100,000 made-up pages, Chinese and English, and a listing of as many files.

    python -m benchmarks.searching [--pages N]

Words are drawn as people use them (Zipf and Mandelbrot): the most frequent stands on nine pages of ten, most on few.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from nephila.views import index, query, search
from nephila.views.source import Kept

PAGES = 100_000
WORDS = 150
_VOCABULARY = 30_000
_KEPT = Kept(*(field.type() for field in msgspec.structs.fields(Kept)))


class Timed(NamedTuple):
    what: str
    text: str
    count: int
    ms: float


def vocabulary() -> list[str]:
    """Most frequent first: every second word is two Chinese characters, the others are Latin."""
    random = np.random.default_rng(1)
    pairs = random.integers(0x4E00, 0x4E00 + 3000, (_VOCABULARY, 2))
    return [f"{chr(a)}{chr(b)}" if n % 2 else f" {n:x}ing " for n, (a, b) in enumerate(pairs)]


def build(place: Path, pages: int) -> None:
    """An index of made-up pages, and of as many files, in `place`."""
    random, known = np.random.default_rng(2), vocabulary()
    often = 1 / (np.arange(_VOCABULARY) + 8) ** 1.05
    often /= often.sum()
    (place / "index").mkdir(parents=True)
    writer = index.tantivy().Index(index.schema(), path=str(place / "index")).writer(64 << 20, 1)
    for n in range(pages):
        body = "".join(known[word] for word in random.choice(_VOCABULARY, WORDS, p=often))
        host = f"www{n % 500}.example.com"
        shown = index.Shown(
            f"http://{host}/{n}", body[:16], host, f"20{n % 25:02}-03-04", "zh", f"{n}.html", -1, -1, True
        )
        kept = msgspec.structs.replace(_KEPT, url_id=n + 1)
        writer.add_document(index._document(kept, shown, body[:16], body))
        name = f"{known[n % _VOCABULARY].strip()}-{n % 97}.{n}.tar.{'gz' if n % 3 else 'xz'}"
        file = index.Shown(
            f"ftp://ftp.example.com/pub/{name}", name, "ftp.example.com", "2021-02-03", "", name, n, 0, False
        )
        writer.add_document(index._document(kept, file, name, ""))
    writer.commit()
    writer.wait_merging_threads()


def ask(place: Path, tries: int = 7) -> list[Timed]:
    """Queries of every kind, each with the median time of a few tries, the first (nothing in memory yet) among them."""
    known = [word.strip() for word in vocabulary()]
    a, b, c, rare = known[1], known[3], known[0], known[2001]
    asked = {
        "the most frequent word": a,
        "a rare word": rare,
        "two frequent words": f"{a} {c}",
        "either of two": f"{a} OR {b}",
        "a phrase of four characters": a + b,
        "a frequent phrase": f'"{c} {a}"',
        "one character": a[0],
        "a beginning": f"{c[0]}*",
        "a frequent word of one host": f"{a} host:www7.example.com",
        "a frequent word of one year": f"{a} date:2007",
        "a word in titles": f"title:{a}",
        "without": f"{a} -{b}",
        "files by name": f"name:{known[8]}*.tar.gz",
        "files by the end of their name": "name:*99.tar.xz",
    }
    done = []
    for what, text in asked.items():
        parts = query.parse(text)
        answers = [search._answer(place, text, parts, 10, [("hidden", 1)]) for _ in range(tries)]
        done.append(Timed(what, text, answers[0].count, statistics.median(answer.ms for answer in answers)))
    return done


def main() -> None:
    parser = argparse.ArgumentParser("benchmarks.searching")
    parser.add_argument("--pages", type=int, default=PAGES)
    pages = parser.parse_args().pages
    with tempfile.TemporaryDirectory() as scratch:
        place, started = Path(scratch), time.perf_counter()
        build(place, pages)
        size = sum(path.stat().st_size for path in (place / "index").iterdir())
        print(
            f"{pages:,} pages and {pages:,} files: {size / 1e6:,.0f} MB, built in {time.perf_counter() - started:,.0f} s"
        )
        print("\n| question | documents | ms |\n|---|---:|---:|")
        for timed in ask(place):
            print(f"| {timed.what} | {timed.count:,} | {timed.ms:.1f} |")


if __name__ == "__main__":
    main()
