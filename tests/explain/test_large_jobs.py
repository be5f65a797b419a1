"""A job of a million URLs is answered as quickly as one of ten."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from nephila import db, settings
from nephila.config import Config
from nephila.explain import Refusals, explain, refusals
from nephila.fetch.decode import decode
from nephila.frontier.sqlite_open import connect
from nephila.url.key import Fingerprints
from nephila.views.source import Source

URLS, PAGES, LINKS, AT_ONCE = 1_000_000, 250_000, 40, 1_000
SECONDS_MAX = 3.0
"""Two of questions, and what is reckoned between them, on a machine that does other things, too."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """URL n was found on page n // 4; three quarters of them are refused, queued or too deep."""
    folder = tmp_path_factory.mktemp("large")
    settings.write(Config(seeds=["http://a.test/0"], max_depth=30), folder / "crawl.toml")
    con = connect(folder / "crawl.db", False)
    fingerprint = Fingerprints(1)
    con.execute("BEGIN")
    con.execute("CREATE INDEX url_queue ON url (host, depth, id) WHERE state = 'queued'")
    con.executemany("INSERT INTO meta VALUES (?, ?)", [("fingerprint_key", "1"), ("state", "interrupted")])
    con.execute("INSERT INTO host (id, origin, robots_state) VALUES (1, 'http://a.test', 'absent')")
    con.executemany(
        "INSERT INTO rule (id, text, since, count) VALUES (?, ?, 0, 0)", [(1, "exclude:x"), (2, "max_depth")]
    )
    states = ("queued", "refused", "too_deep")
    fps = np.array([fingerprint(f"http://a.test/{n}") for n in range(URLS)], np.uint64)
    for at in range(0, URLS, AT_ONCE):
        rows = []
        for n in range(at, at + AT_ONCE):
            state = "done" if n < PAGES else states[n % 3]
            rule = {"refused": 1, "too_deep": 2}.get(state, 0)
            rows.append(
                (
                    n + 1,
                    int(fps[n]) - (1 << 63),
                    1,
                    f"http://a.test/{n}",
                    "page",
                    n.bit_length(),
                    n // 4 + 1 if n else 0,
                    state,
                    rule,
                    n + 1 if n < PAGES else 0,
                )
            )
        con.executemany(
            "INSERT INTO url (id, fp, host, url, kind, depth, parent, state, rule, visit) VALUES (?,?,?,?,?,?,?,?,?,?)",
            rows,
        )
        packed = np.array([row[1] for row in rows], "<i8").tobytes()
        con.execute("INSERT INTO known VALUES (?, ?)", (at + 1, packed))
    dice = np.random.default_rng(1)
    blank = (1, 0.0, "OK", "", 200, "http/1.1", "", "text/html", "", 1, 1, "", "", "", 0, "", "", "", 0, 0, 0, 0)
    for at in range(0, PAGES, AT_ONCE):
        con.executemany(
            f"INSERT INTO visit VALUES (?, ?{', ?' * len(blank)})",
            ((n + 1, n + 1, *blank) for n in range(at, at + AT_ONCE)),
        )
        targets = fps[dice.integers(0, URLS, (AT_ONCE, LINKS))]
        con.executemany(
            "INSERT INTO link VALUES (?, 0, ?)", ((at + i + 1, targets[i].tobytes()) for i in range(AT_ONCE))
        )
    con.execute("COMMIT")
    con.close()
    return folder


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 240_000, 999_999, 999_998, 999_997, 5_000_000])
def test_one_address(large: Path, n: int) -> None:
    begun = time.monotonic()
    with Source(large, decode) as source:
        answer = explain(source, f"http://a.test/{n}")
    assert time.monotonic() - begun < SECONDS_MAX
    assert answer.verdict == (
        "unseen" if n >= URLS else "kept" if n < PAGES else {0: "waiting", 1: "refused", 2: "too_deep"}[n % 3]
    )
    if n < URLS:
        (path,) = (step for step in answer.steps if step.name == "path")
        assert (path.facts["shortest"], path.facts["urls"][0]) == (n == 0, "http://a.test/0")


@pytest.mark.long
def test_what_was_refused(large: Path) -> None:
    begun = time.monotonic()
    with Source(large, decode) as source:
        found: Refusals = refusals(source)
    assert time.monotonic() - begun < SECONDS_MAX
    assert {one.rule: one.count for one in found.rules} == {"exclude:x": 250_000, "max_depth": 250_000} or found.unknown


def test_the_schema_is_the_one_of_today() -> None:
    """The job above is made by hand."""
    con = sqlite3.connect(":memory:")
    con.executescript(db.TABLES)
    assert len(con.execute("PRAGMA table_info(visit)").fetchall()) == 24
