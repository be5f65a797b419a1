"""A mirror that is made again: it changes what changed, removes what is gone, goes on after a kill, and touches nothing else."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nephila.errors import ConfigError
from nephila.types import Outcome
from nephila.views import ledger
from nephila.views.copyist import SHARE

H = "http://example.com"


def state(target: Path) -> dict[str, tuple[int, int, bytes]]:
    """Path → (inode, time of its last change, content) of every file but the ledger."""
    return {
        str(path.relative_to(target)): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(target.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def contents(target: Path) -> dict[str, bytes]:
    return {path: content for path, (_, _, content) in state(target).items()}


def test_nothing_changes_when_nothing_changed(job: Any) -> None:
    for name in ("", "a", "b"):
        job.page(f"{H}/{name}", '<a href="/a">a</a><img src="/i.png">')
    job.page(f"{H}/i.png", b"png", "image/png")
    first = job.mirror()
    before = state(first.target)
    again = job.mirror()
    assert state(again.target) == before
    assert (first.report.changed, again.report.changed, again.report.removed) == (4, 0, 0)
    assert (again.report.files, again.report.bytes) == (first.report.files, first.report.bytes)


def test_only_what_changed_is_touched(job: Any) -> None:
    for name in ("a", "b", "c"):
        job.page(f"{H}/{name}", f'{name}<a href="/new">new</a>' if name == "a" else name)
    before = state(job.mirror().target)
    job.page(f"{H}/b", "second", round=2)
    job.page(f"{H}/c", "c", round=2)  # fetched once more, and the same
    job.page(f"{H}/new", "new")
    mirror = job.mirror()
    after = state(mirror.target)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {f"example.com/{name}.html" for name in ("a", "b", "new")} | {"index.jsonl", "index.html"}
    assert mirror.report.changed == 3
    assert 'href="new.html"' in mirror.text(f"{H}/a")


def test_what_is_gone_is_removed_and_its_empty_folders_with_it(job: Any) -> None:
    job.page(f"{H}/x/y/gone", "gone")
    job.page(f"{H}/stays", '<a href="/x/y/gone">x</a>')
    target = job.mirror().target
    (target / "example.com" / "mine.txt").write_text("mine")
    job.con.execute("UPDATE url SET url = '', visit = 0 WHERE url = ?", (f"{H}/x/y/gone",))
    mirror = job.mirror()
    assert set(contents(target)) == {"example.com/stays.html", "example.com/mine.txt", "index.html", "index.jsonl"}
    assert not (target / "example.com" / "x").exists()
    assert mirror.report.removed == 1
    assert f'href="{H}/x/y/gone"' in mirror.text(f"{H}/stays")


def test_a_file_that_was_changed_by_hand_is_not_removed_but_is_made_again(job: Any) -> None:
    job.page(f"{H}/gone", "gone")
    job.page(f"{H}/stays", "stays")
    target = job.mirror().target
    for name in ("gone", "stays"):
        (target / "example.com" / f"{name}.html").write_text("by hand")
    job.con.execute("UPDATE url SET url = '', visit = 0 WHERE url = ?", (f"{H}/gone",))
    job.mirror()
    assert (target / "example.com/gone.html").read_text() == "by hand"
    assert (target / "example.com/stays.html").read_text().endswith("stays")


def test_a_file_takes_the_place_of_a_folder_that_is_gone_and_the_other_way_round(job: Any) -> None:
    job.page(f"{H}/a", b"a", "application/octet-stream")
    job.page(f"{H}/b/c", b"c", "application/octet-stream")
    target = job.mirror().target
    job.con.execute("UPDATE url SET url = '', visit = 0")
    job.page(f"{H}/a/d", b"d", "application/octet-stream")
    job.page(f"{H}/b", b"b", "application/octet-stream")
    job.mirror()
    assert {path for path in contents(target) if "/" in path} == {"example.com/a/d", "example.com/b"}


def test_a_file_of_somebody_else_is_never_overwritten(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/a", "a")
    target = tmp_path / "site"
    (target / "example.com").mkdir(parents=True)
    (target / "example.com" / "a.html").write_text("mine")
    with pytest.raises(ConfigError, match=r"a\.html is there and not of this mirror"):
        job.mirror(target=target)
    assert contents(target) == {"example.com/a.html": b"mine"}
    (target / "example.com" / "a.html").rename(target / "index.html")
    with pytest.raises(ConfigError, match=r"index\.html"):
        job.mirror(target=target)
    assert contents(target) == {"index.html": b"mine"}


def test_a_failed_refetch_keeps_the_file_as_it_is(job: Any) -> None:
    job.page(f"{H}/a", "first")
    before = state(job.mirror().target)
    job.page(f"{H}/a", "", outcome=Outcome.REFUSED, status=404, round=2)
    assert state(job.mirror().target) == before


def test_an_unreadable_page_keeps_its_old_file_and_is_tried_again(job: Any) -> None:
    job.page(f"{H}/a", "first")
    job.mirror()
    job.page(f"{H}/a", "second", round=2, length=10)
    mirror = job.mirror()
    assert mirror.text(f"{H}/a").endswith("first")
    assert len(mirror.report.unreadable) == len(job.mirror().report.unreadable) == 1


def test_two_exports_into_one_folder(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/a", "a")
    target = job.mirror().target
    other = sqlite3.connect(target / ledger.NAME, isolation_level=None)
    other.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE")
    try:
        with pytest.raises(ConfigError, match="another export"):
            job.mirror()
    finally:
        other.close()
    job.mirror()


def test_a_ledger_that_is_none_or_leads_elsewhere(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/a", "a")
    outside = tmp_path / "outside.db"
    for name in (ledger.NAME, f"{ledger.NAME}-wal"):
        target = tmp_path / name
        target.mkdir()
        (target / name).symlink_to(outside)
        with pytest.raises(ConfigError, match="not an ordinary file"):
            job.mirror(target=target)
    assert not outside.exists()
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / ledger.NAME).write_text("no database " * 100)
    with pytest.raises(ConfigError, match="cannot be used"):
        job.mirror(target=bad)


def test_drafts_of_a_kill_are_swept_and_nothing_else(job: Any) -> None:
    job.page(f"{H}/a", "a")
    target = job.mirror().target
    for name in (".123.part", ".mine.part", "x.part"):
        (target / name).write_text("x")
    job.mirror()
    assert {path.name for path in target.iterdir() if path.suffix == ".part"} == {".mine.part", "x.part"}


def test_several_processes_write_what_one_does(job: Any, tmp_path: Path) -> None:
    many(job, 450)
    job.page(f"{H}/bad", "bad", length=10)
    one = job.mirror(target=tmp_path / "one", workers=0)
    two = job.mirror(target=tmp_path / "two", workers=2)
    assert contents(one.target) == contents(two.target)
    assert one.report == two.report
    assert len(two.report.unreadable) == 1


def test_trouble_in_another_process_is_told_here(job: Any, tmp_path: Path) -> None:
    many(job, 300)
    target = tmp_path / "site"
    outside = tmp_path / "outside"
    outside.mkdir()
    job.mirror(target=target, workers=0)
    for path in sorted(target.rglob("*"), reverse=True):
        if path.parent.name == "example.com":
            path.unlink()
    (target / "example.com").rmdir()
    (target / "example.com").symlink_to(outside)
    with pytest.raises(ConfigError, match=r"example\.com"):
        job.mirror(target=target, workers=2)
    assert list(outside.iterdir()) == []


KILLED = """
import os, signal, sys
from nephila.cli import main
from nephila.views.ledger import Ledger
record, shares = Ledger.record, []
def recorded(self, files):
    record(self, files)
    shares.append(files)
    if len(shares) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
Ledger.record = recorded
main(sys.argv[1:])
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_killed_in_the_middle_it_goes_on(job: Any, tmp_path: Path, workers: str) -> None:
    many(job, 450)
    target = tmp_path / "site"
    export = ["export", "mirror", str(job.folder), "--to", str(target), "--workers", workers]
    killed = subprocess.run([sys.executable, "-c", KILLED, *export], capture_output=True, timeout=120)
    assert (killed.returncode, killed.stderr) == (-signal.SIGKILL, b"")  # all have ended that could write to it
    before = state(target)
    assert len(before) >= 2 * SHARE
    mirror = job.mirror(target=target, workers=0)
    assert (mirror.report.files, mirror.report.changed) == (450, 450 - len(before))
    after = state(target)
    assert all(after[path] == was for path, was in before.items())
    assert contents(job.mirror(target=tmp_path / "whole", workers=0).target) == contents(target)


def test_what_a_killed_export_has_written_is_not_read_again(job: Any, tmp_path: Path) -> None:
    many(job, 250)
    target = tmp_path / "site"
    export = ["export", "mirror", str(job.folder), "--to", str(target), "--workers", "0"]
    subprocess.run([sys.executable, "-c", KILLED, *export], capture_output=True, timeout=120)
    for path in (job.folder / "archive").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    report = job.mirror(target=target, workers=0).report
    assert (report.files, len(report.unreadable)) == (2 * SHARE, 50)


def many(job: Any, pages: int) -> None:
    job.con.execute("BEGIN")
    for n in range(pages):
        job.page(f"{H}/{n}", f'{n} <a href="/{(n + 1) % pages}">next</a> <a href="{n * 7 % pages}">other</a>')
    job.con.execute("COMMIT")
