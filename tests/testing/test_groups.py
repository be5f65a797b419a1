"""Watching and killing a group of processes, tried on a small family that is not a crawl."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from nephila.testing.groups import Crawl, Growth, processes, until

FAMILY = """
import subprocess, sys, time
if "--child" in sys.argv:
    sys.stdin.read()
    sys.exit()
children = [subprocess.Popen([sys.executable, __file__, "--child"], stdin=subprocess.PIPE) for _ in range(2)]
print("two children", flush=True)
log = open(sys.argv[-1], "a")
if "--hang" in sys.argv:
    time.sleep(60)
for i in range(100):
    log.write("line\\n"); log.flush(); time.sleep(0.002)
for child in children:
    child.communicate()
sys.exit(3)
"""


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `family` that takes the place of `nephila`, and its log."""
    (tmp_path / "family.py").write_text(FAMILY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "log"


def test_the_end_is_reported(family: Path) -> None:
    with Crawl([str(family)], module="family") as crawl:
        ended = crawl.wait(20)
        crawl.wait_alone()
    assert (ended.code, ended.out, ended.err) == (3, "two children\n", "")
    assert not crawl.running


def test_growth_is_seen_while_it_happens(family: Path) -> None:
    family.write_text("old\n" * 50)
    with Crawl([str(family)], module="family") as crawl:
        assert crawl.wait_for_growth(family, 20, 20)
        assert 70 <= len(family.read_text().splitlines()) < 150
        assert not crawl.wait_for_growth(family, 1000, 20)


def test_the_whole_group_dies(family: Path) -> None:
    with Crawl(["--hang", str(family)], module="family") as crawl:
        wait_for_children(crawl)
        crawl.kill()
        assert crawl.wait(5).code == -signal.SIGKILL
        crawl.wait_alone()


def test_one_worker_dies_alone(family: Path) -> None:
    with Crawl(["--hang", str(family)], module="family") as crawl:
        wait_for_children(crawl)
        before = crawl.workers()
        assert crawl.kill_worker(0)
        until_count(crawl, 1)
        assert crawl.workers() == before[1:]
        assert crawl.running


def test_the_front_dies_alone_and_its_children_notice(family: Path) -> None:
    with Crawl(["--hang", str(family)], module="family") as crawl:
        wait_for_children(crawl)
        crawl.kill_front()
        assert crawl.wait(5).code == -signal.SIGKILL
        crawl.wait_alone()


def test_nobody_is_left_when_the_block_ends(family: Path) -> None:
    with Crawl(["--hang", str(family)], module="family") as crawl:
        wait_for_children(crawl)
        with pytest.raises(TimeoutError, match="two children"):
            crawl.wait(0.05)
        with pytest.raises(TimeoutError, match="left behind"):
            crawl.wait_alone(0.05)
    crawl.wait_alone()


def test_this_process_is_found() -> None:
    (me,) = [p for p in processes() if p.pid == os.getpid()]
    assert (me.parent, me.group, me.dead) == (os.getppid(), os.getpgrp(), False)


def test_growth_counts_whole_lines_from_now(tmp_path: Path) -> None:
    log = tmp_path / "log"
    growth = Growth(log)
    assert growth.lines() == 0
    log.write_text("a\nb")
    assert growth.lines() == 1
    with log.open("a") as file:
        file.write("c\n")
    assert growth.lines() == 2


def wait_for_children(crawl: Crawl) -> None:
    until_count(crawl, 2)


def until_count(crawl: Crawl, count: int) -> None:
    until(lambda: len(crawl.workers()) == count, 10, lambda: f"workers: {crawl.workers()}")
