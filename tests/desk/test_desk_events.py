"""log.jsonl: one line per event whatever is in it, bounded, and never in the crawl's way."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from nephila import events


def test_a_line_per_event(tmp_path: Path) -> None:
    log = events.Log(tmp_path / "log.jsonl", wall=lambda: 1_700_000_000.25)
    log.emit("crawl.start", seeds=["https://例子.中国/"], workers=2)
    log.emit("crawl.end", code=0)
    log.close()
    first, second = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert first == (
        '{"time":"2023-11-14T22:13:20.250Z","event":"crawl.start","seeds":["https://例子.中国/"],"workers":2}'
    )
    assert json.loads(second) == {"time": "2023-11-14T22:13:20.250Z", "event": "crawl.end", "code": 0}
    assert stat.S_IMODE((tmp_path / "log.jsonl").stat().st_mode) == 0o600


def test_an_unknown_event_is_a_bug(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match=r"crawl\.strat"):
        events.Log(tmp_path / "log.jsonl").emit("crawl.strat")
    assert not (tmp_path / "log.jsonl").exists()


def test_nothing_that_a_terminal_obeys_gets_through(tmp_path: Path) -> None:
    hostile = "\x00\x1b[2J\x7f\x9b\r\n\u2028\u2029\u202e\u2066\u200f\ufeff\udcff\U000e0041 中文"
    log = events.Log(tmp_path / "log.jsonl")
    log.emit("handler.error", error=hostile, path=tmp_path)
    log.close()
    text = (tmp_path / "log.jsonl").read_text(encoding="utf-8")
    assert not events.UNSAFE.search(text.removesuffix("\n"))
    assert json.loads(text)["error"] == hostile
    assert "中文" in text


def test_the_log_is_rolled(tmp_path: Path) -> None:
    log = events.Log(tmp_path / "log.jsonl", roll_bytes=400)
    for n in range(20):
        log.emit("paused", n=n)
    log.close()
    assert sorted(os.listdir(tmp_path)) == ["log.1.jsonl", "log.jsonl"]
    both = (tmp_path / "log.1.jsonl").read_text() + (tmp_path / "log.jsonl").read_text()
    kept = [json.loads(line)["n"] for line in both.splitlines()]
    assert kept == list(range(kept[0], 20))
    assert all((tmp_path / name).stat().st_size <= 400 for name in os.listdir(tmp_path))


def test_a_full_disk_is_counted_and_told_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = events.Log(tmp_path / "log.jsonl")
    log.emit("paused")

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        log.emit("resumed")
        log.emit("paused")
    log.emit("resumed")
    log.emit("paused")
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(entry["event"], entry.get("lost")) for entry in lines] == [
        ("paused", None),
        ("resumed", 2),
        ("paused", None),
    ]


def test_half_a_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = events.Log(tmp_path / "log.jsonl")
    log.emit("paused")
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:5]))
        log.emit("resumed")
    log.emit("resumed")
    log.close()
    assert [json.loads(x)["event"] for x in (tmp_path / "log.jsonl").read_text().splitlines()] == ["paused", "resumed"]


def test_a_missing_folder_stops_nothing(tmp_path: Path) -> None:
    log = events.Log(tmp_path / "gone" / "log.jsonl")
    log.emit("paused")
    assert log.lost == 1
