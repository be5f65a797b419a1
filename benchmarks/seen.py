"""Every way of remembering URLs side by side: `python -m benchmarks.seen [--save] [--quick] [--ways keytree,kv] [--max N]`.

Each way grows in a process of its own (benchmarks/seen_way.py says how it is measured), one after another: the key tree, the
store on disk and the Bloom filter to 10⁸ URLs, the others as far as is sensible. Prints Markdown tables and whether the key
tree is what it has to be. `--save` puts the tables into docs/seen.md and benchmarks/RESULTS.md and draws docs/plots/seen-*.svg.
The whole run takes some twenty minutes and 3 GB of disk; `--quick` stops at 10⁶.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.seen_way import READS
from benchmarks.sites import RESULTS, save, where

DOCS = RESULTS.parents[1] / "docs"
HALF_DECADES = [100_000, 316_228, 1_000_000, 3_162_278, 10_000_000, 31_622_777, 100_000_000]
TWENTY = [round(10 ** (6 + 2 * step / 19)) for step in range(20)]
"""From 10⁶ to 10⁸ in equal ratios."""


class Plan(NamedTuple):
    """How far a way grows, at which sizes it is looked at, and how many mixed operations it is held against."""

    sizes: list[int]
    operations: int


PLANS = {
    "keytree": Plan(sorted({*HALF_DECADES, *TWENTY}), 10_000_000),
    "hash": Plan(HALF_DECADES[:5], 1_000_000),
    "md5": Plan(HALF_DECADES[:5], 1_000_000),
    "file": Plan(HALF_DECADES[:5:2], 100_000),
    "kv": Plan(HALF_DECADES, 1_000_000),
    "bloom": Plan(HALF_DECADES, 1_000_000),
    "lru": Plan(HALF_DECADES[:5], 1_000_000),
    "keytree-naive": Plan(HALF_DECADES[:3], 100_000),
    "keytree-naive-32": Plan(HALF_DECADES[:3], 100_000),
    READS: Plan(HALF_DECADES, 0),
}
QUICK = 1_000_000

BYTES_MEAN, BYTES_MAX, PEAK_MAX = 8.0, 9.5, 1.5
ADDS_PER_S, SMALL_ADDS_PER_S = 1_000_000, 300_000
SLOPE_MAX, READS_EACH = 1.5, 2
"""A look-up at the largest size may cost so many times that at 10⁵, and what so many random reads, one after the other, cost
more there: the root's entry, and the leaf."""

Row = dict[str, Any]


class Found(NamedTuple):
    """All that was measured: way → rows by size, and way → its mixed operations."""

    rows: dict[str, list[Row]]
    mixed: dict[str, Row]


def main() -> int:
    options = _options()
    found = measure(options.ways, QUICK if options.quick else options.max)
    text = report(found)
    print(text)
    if options.save:
        for path in (DOCS / "seen.md", RESULTS):
            save("seen", text, path)
        draw_all(found, DOCS / "plots")
    held = "keytree" not in found.rows or all(good for _, good in marks(found))
    return 0 if held and not any(row["wrong"] for way, row in found.mixed.items() if way in EXACT) else 1


EXACT = frozenset(PLANS) - {"bloom", "keytree-naive-32"}


def measure(ways: list[str], most: int) -> Found:
    """Every way in a fresh process, one after another. The key tree is measured with what it is compared with."""
    found = Found({}, {})
    for way in dict.fromkeys([*ways, READS] if "keytree" in ways else ways):
        sizes = [size for size in PLANS[way].sizes if size <= most]
        operations = min(PLANS[way].operations, most)
        command = [sys.executable, "-m", "benchmarks.seen_way", way, "--operations", str(operations)]
        command += ["--sizes", ",".join(map(str, sizes))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=RESULTS.parents[1]) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line.rstrip(), file=sys.stderr)
                row = json.loads(line)
                if "wrong" in row:
                    found.mixed[way] = row
                else:
                    found.rows.setdefault(way, []).append(row)
        if process.returncode:
            raise SystemExit(f"{way} ended with {process.returncode}")
    return found


# --- what is said ---------------------------------------------------------------------------------------------------


def report(found: Found) -> str:
    parts = ["### Ways of remembering URLs", where(), _table(found), _wrong(found)]
    if "keytree" in found.rows:
        parts += ["The key tree at every size:", _key_tree(found.rows["keytree"])]
        parts += ["\n".join(f"- {'held' if good else 'MISSED'}: {said}" for said, good in marks(found))]
    return "\n\n".join(parts) + "\n"


def _table(found: Found) -> str:
    """Each way at whole decades."""
    names = [
        "way",
        "URLs",
        "memory B/URL",
        "peak",
        "disk B/URL",
        "insert ns",
        "in 200s ns",
        "replay ns",
        "hit ns",
        "miss ns",
    ]
    lines = [_line(names), _line(["---", *["---:"] * (len(names) - 1)])]
    for way, rows in found.rows.items():
        for row in rows:
            if row["size"] in HALF_DECADES[::2] and way != READS:
                lines.append(_line([f"`{way}`", f"{row['size']:,}", *_figures(row)]))
    reads = [
        f"{row['hit_ns']:.1f} ns ({row['miss_ns']:.0f} ns) at {row['size']:,}"
        for row in found.rows.get(READS, [])
        if row["size"] in HALF_DECADES[::2]
    ]
    return "\n".join(lines) + (
        f"\n\nFor comparison, {READS} of an array of 8 bytes a URL, many at a time (or each when the one before is done, a loop's"
        f" time included): {', '.join(reads)}."
        if reads
        else ""
    )


def _key_tree(rows: list[Row]) -> str:
    names = ["URLs", "memory B/URL", "peak", "insert ns", "in 200s ns", "replay ns", "hit ns", "miss ns"]
    lines = [_line(names), _line(["---:"] * len(names))]
    for row in rows:
        memory, peak, _, *times = _figures(row)
        lines.append(_line([f"{row['size']:,}", memory, peak, *times]))
    return "\n".join(lines)


def _figures(row: Row) -> list[str]:
    return [
        f"{row['bytes']:,.2f}",
        _or_dash(row["peak"], ".2f"),
        f"{row['disk']:,.1f}" if row["disk"] else "–",
        *(_or_dash(row[key], ",.0f") for key in ("insert_ns", "small_ns", "replay_ns", "hit_ns", "miss_ns")),
    ]


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _wrong(found: Found) -> str:
    said = [
        f"`{way}` {row['wrong']:,} of {row['operations']:,}" for way, row in found.mixed.items() if row["operations"]
    ]
    last = {way: rows[-1] for way, rows in found.rows.items() if rows[-1].get("lost")}
    lost = [f" `{way}` lost {row['lost']:,} of its {row['size']:,} URLs while it grew." for way, row in last.items()]
    operations = "Wrong answers in mixed operations (adding, asking, forgetting in batches of 1 to 10,000)"
    return f"{operations}: {', '.join(said)}.{''.join(lost)}"


def marks(found: Found) -> list[tuple[str, bool]]:
    """What the key tree has to be, and whether it is. Memory and peak count from 10⁶ on."""
    rows = found.rows["keytree"]
    large = [row for row in rows if row["size"] in TWENTY] or rows
    sizes = [row["bytes"] for row in large]
    mean, most, peak = statistics.mean(sizes), max(sizes), max(row["peak"] for row in large)
    adds, small = (1e9 / max(row[key] for row in large) for key in ("insert_ns", "small_ns"))
    mixed = found.mixed["keytree"]
    first, last = rows[0], rows[-1]
    allowed = SLOPE_MAX * first["hit_ns"] + READS_EACH * _read_more(found, last["size"])
    return [
        (f"{mean:.2f} bytes a URL on average (at most {BYTES_MEAN})", mean <= BYTES_MEAN),
        (f"{most:.2f} bytes a URL at the worst size (at most {BYTES_MAX})", most <= BYTES_MAX),
        (f"peak while growing {peak:.2f} times what stays (at most {PEAK_MAX})", peak <= PEAK_MAX),
        (f"{adds:,.0f} adds/s in batches of 10,000 at the slowest size (at least {ADDS_PER_S:,})", adds >= ADDS_PER_S),
        (f"{small:,.0f} adds/s in batches of 200 (at least {SMALL_ADDS_PER_S:,})", small >= SMALL_ADDS_PER_S),
        (
            f"a look-up that hits takes {last['hit_ns']:.0f} ns at {last['size']:,} and {first['hit_ns']:.0f} ns at"
            f" {first['size']:,} (at most {allowed:.0f}: {SLOPE_MAX} times that, and what {READS_EACH} random reads cost more there)",
            last["hit_ns"] <= allowed,
        ),
        (f"{mixed['wrong']} wrong answers in {mixed['operations']:,} mixed operations", mixed["wrong"] == 0),
    ]


def _read_more(found: Found, size: int) -> float:
    """What a random read that is waited for costs more in an array for about `size` URLs than in one for 10⁵."""
    times = [row["miss_ns"] for row in found.rows[READS] if row["size"] <= size]
    return max(float(times[-1] - times[0]), 0.0)


# --- what is drawn --------------------------------------------------------------------------------------------------


def draw_all(found: Found, folder: Path) -> None:
    """Bytes, look-up and insert against the number of URLs."""
    from benchmarks.plots import draw

    space = {}
    for way, rows in found.rows.items():
        if way == READS:
            continue
        on_disk = bool(rows[0]["disk"])
        space[f"{way} (disk)" if on_disk else way] = [(row["size"], row["disk"] or row["bytes"]) for row in rows]
    draw(folder / "seen-bytes.svg", space, title="Bytes per URL", x="URLs known", y="bytes")
    for key, title, name in [("hit_ns", "Look-up of a known URL", "lookup"), ("insert_ns", "Insert", "insert")]:
        lines = {
            way: [(row["size"], row[key]) for row in rows if row.get(key) is not None]
            for way, rows in found.rows.items()
        }
        lines = {way: points for way, points in lines.items() if points}
        draw(folder / f"seen-{name}.svg", lines, title=title, x="URLs known", y="ns per URL", faint=[READS])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.seen", description="Ways of remembering URLs, side by side."
    )
    parser.add_argument("--ways", type=_ways, default=list(PLANS), help="names, separated by commas (default: all)")
    parser.add_argument("--max", type=int, default=100_000_000, help="no way grows beyond this many URLs")
    parser.add_argument("--quick", action="store_true", help=f"the same as --max {QUICK}")
    parser.add_argument(
        "--save", action="store_true", help="tables into docs/seen.md and RESULTS.md, plots into docs/plots"
    )
    return parser.parse_args()


def _ways(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in PLANS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is not one of {', '.join(PLANS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
