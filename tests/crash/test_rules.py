"""SIGKILL in the middle of a change of the rules: the next start finishes it, by what crawl.toml says."""

from __future__ import annotations

import signal
import sqlite3
import threading
from pathlib import Path

import pytest
from crash.compare import complaints
from crash.run import FULL_SPEED, finish, start

from nephila import control
from nephila.testing import sites
from nephila.testing.faults import VARIABLE
from nephila.testing.groups import Crawl, Growth
from nephila.testing.server import SiteServer, hits

MANY, FEW = 2_500, 300
"""More than are changed in one step (`sqlite_look.CHANGED_MAX`), and some that no rule is about."""
WANTED = {f"/b/{n}" for n in range(FEW)} | {"/"}
IN_DOUBT_MAX = 2 * 8 + 1
"""Requests under way when the rules change: two workers, eight of a host each."""
STEPS = ["toml.before:1", "toml.after:1", "look.before:1", "look.after:2", "look.before:3"]


def site() -> sites.Site:
    many, few = [f"/a/{n}" for n in range(MANY)], sorted(WANTED - {"/"})
    links = [*few, *many]
    return sites.table({"/": sites.page(links, "all")} | {path: sites.page([], path) for path in links})


def crawl(server: SiteServer, folder: Path, plan: str, *options: str) -> Crawl:
    return start(server.url(), folder, *FULL_SPEED, *options, module="nephila.testing.crawl", env={VARIABLE: plan})


def kill_in_a_change(
    server: SiteServer, folder: Path, log: Path, step: str, words: dict[str, str], *options: str
) -> int:
    """Change the rules after some pages; the front dies at this step. Returns how many requests there were until then."""
    with crawl(server, folder, f"at:{step}", *options) as running:
        assert running.wait_for_growth(log, 60)
        asking = threading.Thread(target=_ask, args=(folder, words), daemon=True)
        asking.start()
        assert running.wait(30).code == -signal.SIGKILL
        running.wait_alone()
        asking.join(30)
    return len(hits(log))


def _ask(folder: Path, words: dict[str, str]) -> None:
    try:
        control.ask(folder, {"verb": "set", "values": words}, 30)
    except (OSError, ValueError):
        return  # nobody is there to answer


def states(folder: Path) -> dict[str, str]:
    with sqlite3.connect(folder / "crawl.db") as con:
        rows = con.execute("SELECT url, state FROM url WHERE kind != 'robots'").fetchall()
    return {"/" + url.split("/", 3)[3]: state for url, state in rows}


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
def test_what_is_excluded_is_not_asked_for_after_the_kill(step: str, tmp_path: Path) -> None:
    folder, log = tmp_path / "job", tmp_path / "log"
    with SiteServer(site(), log, delay_s=0.02) as server:
        asked = kill_in_a_change(server, folder, log, step, {"exclude+": "/a/"})
        finish(crawl(server, folder, ""))
    late = [hit.path for hit in hits(log)[asked:]]
    if step.startswith("toml.before"):  # nobody was told of it
        assert set(states(folder).values()) == {"done"}
        assert len(late) > MANY // 2
        return
    assert not [path for path in late if path.startswith("/a/")]
    ended = states(folder)
    assert {path for path, state in ended.items() if state == "done"} >= WANTED
    assert {state for path, state in ended.items() if path.startswith("/a/")} <= {"done", "refused"}
    assert len(ended) == MANY + FEW + 1
    with sqlite3.connect(folder / "crawl.db") as con:
        ((count,),) = con.execute("SELECT count FROM rule WHERE text = 'exclude:/a/'").fetchall()
        assert con.execute("SELECT value FROM meta WHERE key = 'changing'").fetchall() == [("0",)]
    assert count == sum(state == "refused" for state in ended.values())


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS[1:])
def test_what_was_excluded_comes_back_after_the_kill(step: str, tmp_path: Path) -> None:
    folder, log, calm = tmp_path / "job", tmp_path / "log", tmp_path / "calm"
    with SiteServer(site(), tmp_path / "calm.log") as server:
        finish(start(server.url(), calm, *FULL_SPEED))
    with SiteServer(site(), log, delay_s=0.05) as server:
        kill_in_a_change(server, folder, log, step, {"exclude-": "/a/"}, "--exclude", "/a/")
        growth = Growth(log)
        finish(crawl(server, folder, ""))
        assert growth.lines() > MANY
    assert complaints(folder, calm) == []
