"""A job module without a crawl behind it: it remembers what it was asked and answers with fixed values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import nephila.job
from nephila import ui
from nephila.errors import JobError
from nephila.forget import Forgotten
from nephila.storing import Sent


def made_up_status(**other: Any) -> dict[str, Any]:
    return {
        "state": "running",
        "found": 12345,
        "queued": 9001,
        "in_flight": 12,
        "outcomes": {"OK": 3210, "MOVED": 12, "REFUSED": 31, "UNREACHABLE": 2},
        "reasons": {"status.404": 25, "status.403": 6, "timeout.connect": 2},
        "bytes": 245_000_000,
        "seconds": 751.0,
        "pages_per_second": 4.27,
        "hosts": [{"origin": "https://slow.example", "queued": 1200, "delay": 5.0, "failures": 1, "ms": 320}],
        "eta_seconds": 6000.0,
        "offline_since": None,
        "proxies": [],
        "workers": 2,
        "folder": "example.com",
        "archive_files": 2,
        "traps": [],
        "changing": None,
        "rereading": None,
        "forecast": None,
        "limited_by": [],
        "warnings": [],
        "parked": [],
    } | other


@dataclass
class Ending:
    code: int
    reason: str
    text: str


@dataclass
class FakeJob:
    """`crawl` shows each of `statuses`, says each of `notes`, then raises `error` or returns `ending`."""

    ending: Ending = field(default_factory=lambda: Ending(0, "finished", "Finished: all that was found was visited."))
    error: BaseException | None = None
    statuses: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    final: dict[str, Any] = field(default_factory=made_up_status)
    asked: list[Any] = field(default_factory=list)
    nobody: bool = False
    remarks: str = ""
    answer: dict[str, Any] = field(default_factory=dict)
    left: int = 0
    text: str = ""
    """Stands wherever something from the web may stand."""

    def crawl(self, folder: Path, config: Any, *, note: Any, observe: Any = None, **rest: Any) -> Ending:
        self.asked.append({"folder": folder, "config": config, "observe": observe} | rest)
        for sentence in self.notes:
            note(sentence)
        for status in self.statuses if observe else []:
            observe(status)
        if self.error:
            raise self.error
        return self.ending

    def dry_run(self, config: Any) -> Iterator[str]:
        self._trouble()
        yield f"scope = {config.scope}"
        yield "title: \x1b[31mred\u202e"

    def _trouble(self) -> None:
        if self.error:
            raise self.error

    def status(self, folder: Path) -> dict[str, Any]:
        if not self.asked:
            self._trouble()
        return self.final

    def state(self, folder: Path) -> str:
        self._trouble()
        return str(self.final["state"])

    def ask(self, folder: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
        self._trouble()
        if self.nobody:
            raise JobError(f"no crawl runs in {folder}")
        if "error" in self.answer:
            raise JobError(self.answer["error"])
        self.asked.append((folder, request))
        return {"ok": f"done{self.text}", "effect": {"back": 3}} | self.answer

    def export(self, view: str, folder: Path, to: Path | None, access: list[str], chosen: dict[str, Any]) -> str:
        self._trouble()
        self.asked.append((view, folder, to, access, chosen))
        return f"wrote {view}{self.text}{self.remarks}"

    def extract(self, folder: Path, rules: Any, access: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
        self._trouble()
        return [{"title": f"a{self.text}"}], [f"b{self.text} matches nothing"]

    def search(self, folder: Path, text: str, **options: Any) -> dict[str, Any]:
        self._trouble()
        hit = dict.fromkeys(("title", "url", "name", "snippet"), f"a{self.text}")
        hits = [hit | {"date": "", "language": "", "size": 1, "marks": [(0, 1)]}]
        return {"hits": hits, "count": 1, "ms": 1.0}

    def explain(self, folder: Path, address: str, given: Any, access: Any, *, refused: bool) -> dict[str, Any]:
        self._trouble()
        facts = dict.fromkeys(("url", "key", "verdict", "rule", "sentence"), f"a{self.text}")
        if refused:
            rule = {"rule": f"a{self.text}", "sentence": "", "count": 2, "stored": 1, "examples": [f"b{self.text}"]}
            return {"rules": [rule], "unknown": [f"c{self.text}"]}
        return facts | {
            "steps": [{"name": "rule", "text": f"b{self.text}"}],
            "would": [{"sentence": f"c{self.text}"}],
            "unknown": [],
        }

    def forget(self, folder: Path, what: str, reason: str, really: Any) -> Forgotten | None:
        self._trouble()
        meant = Forgotten([f"https://a.example/{self.text}"], 3, 4, what.startswith("https:"), [f"mirror{self.text}"])
        return meant if really(meant) else None

    def upload(self, folder: Path, options: dict[str, Any], note: Any) -> Sent:
        self._trouble()
        for n in range(self.left):
            note("store.failed", file=f"a-{n}.warc.gz", reason=f"refused{self.text}", final=True)
        return Sent(5, self.left, "s3://there")

    def source(self, folder: Path, access: list[str]) -> None:
        self._trouble()


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> FakeJob:
    fake = FakeJob()
    for name in (
        *("crawl", "dry_run", "status", "state", "ask", "export"),
        *("extract", "search", "explain", "forget", "upload", "source"),
    ):
        monkeypatch.setattr(nephila.job, name, getattr(fake, name))
    monkeypatch.setattr(
        ui, "run", lambda source, title, port, tell, folder, token: tell("http://127.0.0.1:1/#token=x", "y")
    )
    for name in list(os.environ):
        if name.startswith("NEPHILA_"):
            monkeypatch.delenv(name)
    return fake
