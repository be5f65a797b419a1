"""The benchmark of the ways of remembering: it finds wrong answers, and says which mark was missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import seen, seen_way
from benchmarks.seen import Found, marks, report

from nephila.frontier.seen.door import Keys, Mask
from nephila.frontier.seen.keytree import KeyTree


def row(size: int, **changes: Any) -> dict[str, Any]:
    times = {"insert_ns": 100.0, "small_ns": 200.0, "replay_ns": 90.0, "hit_ns": 40.0, "miss_ns": 50.0}
    return {"way": "keytree", "size": size, "bytes": 7.5, "peak": 1.1, "disk": 0.0, "lost": 0, **times, **changes}


def found(*rows: dict[str, Any], wrong: int = 0) -> Found:
    reads = [{"size": size, "hit_ns": 1.0, "miss_ns": ns} for size, ns in ((100_000, 60.0), (1_000_000, 70.0))]
    return Found({"keytree": list(rows), seen_way.READS: reads}, {"keytree": {"operations": 1_000, "wrong": wrong}})


def missed(measured: Found) -> list[str]:
    return [said for said, good in marks(measured) if not good]


def test_a_good_tree_holds_all_marks() -> None:
    measured = found(row(100_000, bytes=11.0), row(1_000_000))
    assert missed(measured) == []
    assert "| `keytree` | 1,000,000 | 7.50 | 1.10 | – | 100 | 200 | 90 | 40 | 50 |" in report(measured)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bytes": 9.6}, "9.60 bytes a URL at the worst size"),
        ({"peak": 1.6}, "peak while growing 1.60"),
        ({"insert_ns": 1_100.0}, "909,091 adds/s in batches of 10,000"),
        ({"small_ns": 4_000.0}, "250,000 adds/s in batches of 200"),
        ({"hit_ns": 81.0}, "81 ns at 1,000,000 and 40 ns at 100,000 (at most 80"),
    ],
)
def test_a_missed_mark_is_said(changes: dict[str, Any], said: str) -> None:
    assert any(said in line for line in missed(found(row(100_000), row(1_000_000, **changes))))


def test_a_wrong_answer_is_a_missed_mark() -> None:
    assert missed(found(row(100_000), row(1_000_000), wrong=1)) == ["1 wrong answers in 1,000 mixed operations"]


def test_mixed_operations_find_a_set_that_loses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Losing(KeyTree):
        def add_many(self, keys: Keys) -> Mask:  # type: ignore[override]
            new = super().add_many(keys)
            new[np.asarray(keys) % np.uint64(100) == 7] = False
            return new

    monkeypatch.setattr(seen_way, "make", lambda name, **options: Losing())
    assert seen_way.mixed("keytree", 20_000, tmp_path)["wrong"] > 20
    monkeypatch.undo()
    assert seen_way.mixed("keytree", 20_000, tmp_path)["wrong"] == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_way_is_measured_at_each_size(tmp_path: Path) -> None:
    rows = list(seen_way.measure("keytree", [20_000, 40_000], tmp_path))
    assert [row["size"] for row in rows] == [20_000, 40_000]
    assert [row["lost"] for row in rows] == [0, 0]
    assert all(row[key] > 0 for row in rows for key in ("insert_ns", "small_ns", "replay_ns", "hit_ns", "miss_ns"))


def test_every_way_is_in_the_plan_and_in_the_docs() -> None:
    from nephila.frontier.seen.ways import WAYS

    assert set(seen.PLANS) == {*WAYS, seen_way.READS}
    text = (Path(__file__).parents[1] / "docs" / "seen.md").read_text()
    assert [name for name in WAYS if f"| `{name}` |" not in text] == []
