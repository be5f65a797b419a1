"""`nephila` alone: what makes sense here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from nephila import cli
from nephila.errors import Damaged


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def crawl_in(folder: str, when: int = 0) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "crawl.toml").write_text("seeds = []\n")
    os.utime(Path(folder) / "crawl.toml", (when, when))


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.main([]) == 0
    return capsys.readouterr().out.splitlines()


def test_nothing_here(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other").mkdir()
    assert "  nephila crawl https://example.com/ --max-pages 100" in said(capsys)


@pytest.mark.parametrize(
    ("state", "commands"),
    [
        ("running", ["status news", "pause news", "stop news", "serve news"]),
        ("paused", ["resume news", "status news", "serve news"]),
        ("finished", ["export mirror news", "export jsonl news", "status news", "serve news"]),
        ("limit", ["crawl -o news --max-pages N", "export jsonl news", "status news", "serve news"]),
        ("interrupted", ["crawl -o news", "status news", "export jsonl news", "serve news"]),
    ],
)
def test_a_crawl_here(state: str, commands: list[str], job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    crawl_in("news")
    job.final["state"] = state
    lines = said(capsys)
    assert lines[0] == f"news  {state}"
    assert [re.split(" {2,}", line)[1] for line in lines[1:-2]] == [f"nephila {command}" for command in commands]
    assert lines[-1] == "nephila --help shows all commands."


def test_inside_the_folder(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    crawl_in(".")
    assert said(capsys)[0] == ".  running"


def test_of_many_crawls_the_last(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for n in range(5):
        crawl_in(f"c{n}", when=1000 + n)
    lines = said(capsys)
    assert [line for line in lines if line.endswith("  running")] == ["c4  running", "c3  running", "c2  running"]
    assert "2 more crawls lie here." in lines


def test_one_that_does_not_read_is_said(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    crawl_in("news")
    job.error = Damaged("news/crawl.db does not read\x1b")
    assert said(capsys)[0] == "news  news/crawl.db does not read\\x1b"
