"""A crawl always ends, soon after the last thing it could do, and its exit code and reasons say why."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import pytest
from crash.compare import left
from crash.run import FINISHED, FULL_SPEED, INTERRUPTED, LIMIT, NO_SEED, ONE_WORKER, finish, run_here, start

from nephila.testing import sites
from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer

END_S = 5.0
"""An empty queue and nothing in flight: over within this."""

SHORT: dict[str, float] = {
    "tries": 2,
    "robots_tries": 2,
    "retry_wait_s": 0.05,
    "retry_wait_max_s": 0.1,
    "header_timeout_s": 0.4,
    "connect_timeout_s": 0.5,
    "host_failures_max": 3,
}


def reasons(folder: Path) -> dict[str, tuple[str, str]]:
    """path → (outcome, reason)."""
    return {url.removeprefix("http://127.0.0.1"): why for url, why in left(folder).outcomes.items()}


def kept(folder: Path) -> int:
    return sum(outcome == "OK" for path, (outcome, _) in reasons(folder).items() if path != "/robots.txt")


def test_drained(tmp_path: Path) -> None:
    with SiteServer("tree", tmp_path / "log") as server:
        finish(start(server.url(), tmp_path / "job", *ONE_WORKER))
        ended, last = time.monotonic(), server.hits()[-1].time
    assert ended - last < END_S
    assert kept(tmp_path / "job") == 9


def test_bytes_are_limited(tmp_path: Path) -> None:
    with SiteServer("synthetic:5000,20,1000", tmp_path / "log", delay_s=0.01) as server:
        run_here(server.url(), tmp_path / "job", *ONE_WORKER, "--max-bytes", "50000", code=LIMIT)
    assert 50 <= kept(tmp_path / "job") < 50 + 2 * 32 + 8


def test_time_is_limited(tmp_path: Path) -> None:
    with SiteServer("synthetic:100000,20,500", tmp_path / "log", delay_s=0.05) as server:
        begun = time.monotonic()
        ended = run_here(server.url(), tmp_path / "job", *ONE_WORKER, "--max-time", "1", code=LIMIT)
        assert time.monotonic() - begun < 1 + END_S
    assert "max_time" in ended.out


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_signal_drains_and_can_be_resumed(number: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with SiteServer("kinds:10", log, delay_s=0.02) as server:
        with start(server.url(), tmp_path / "job", *FULL_SPEED) as crawl:
            assert crawl.wait_for_growth(log, 50)
            crawl.signal(number)
            told = time.monotonic()
            assert crawl.wait(10).code == INTERRUPTED
            assert time.monotonic() - told < END_S
            crawl.wait_alone()
        drained = len(server.hits())
        assert drained < 200
        finish(start(server.url(), tmp_path / "job", *FULL_SPEED))
        paths = [hit.path for hit in server.hits() if hit.status == 200 and not hit.path.endswith("/flaky")]
    assert len(paths) == len(set(paths))  # what ran when the signal came was waited for and kept


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with SiteServer("tree", log, delay_s=0.0) as server:
        slow = SiteServer(lambda host, path, n: Answer(silent=path != "/robots.txt", status=404), tmp_path / "slow")
        with slow, start([server.url(), slow.url()], tmp_path / "job", *FULL_SPEED, config={"drain_s": 60}) as crawl:
            assert crawl.wait_for_growth(tmp_path / "slow", 2)
            crawl.signal(signal.SIGINT)
            with pytest.raises(TimeoutError):
                crawl.wait(1)
            crawl.signal(signal.SIGINT)
            assert crawl.wait(3).code == INTERRUPTED
            crawl.wait_alone()


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    run_here(f"http://127.0.0.1:{port}/", tmp_path / "job", *ONE_WORKER, config=SHORT, code=NO_SEED)
    (why,) = {why for path, why in reasons(tmp_path / "job").items() if path == "/"}
    assert why[0] in ("UNREACHABLE", "DENIED")
    assert why[1] in ("connect.refused", "host_unreachable", "robots_unreachable")


def test_robots_at_503_for_ever(tmp_path: Path) -> None:
    with SiteServer("robots503", tmp_path / "log") as server:
        run_here(server.url(), tmp_path / "job", *ONE_WORKER, config=SHORT, code=NO_SEED)
        assert {hit.path for hit in server.hits()} == {"/robots.txt"}
        assert len(server.hits()) == 2
    assert reasons(tmp_path / "job")["/"] == ("DENIED", "robots_unreachable")


def test_a_server_that_never_answers(tmp_path: Path) -> None:
    with SiteServer("silent", tmp_path / "log") as server:
        run_here(server.url(), tmp_path / "job", *ONE_WORKER, config=SHORT, code=NO_SEED)
    assert reasons(tmp_path / "job")["/"] == ("DENIED", "robots_unreachable")


def test_a_page_that_never_comes(tmp_path: Path) -> None:
    tree = sites.tree()
    with SiteServer(lambda h, p, n: Answer(silent=True) if p == "/E" else tree(h, p, n), tmp_path / "log") as server:
        run_here(server.url(), tmp_path / "job", *ONE_WORKER, config=SHORT)
        assert sum(hit.path == "/E" for hit in server.hits()) == 2
    assert reasons(tmp_path / "job")["/E"] == ("UNREACHABLE", "timeout.headers")
    assert kept(tmp_path / "job") == 6  # H and I hang on E


def test_a_page_that_hangs_its_reader(tmp_path: Path) -> None:
    with SiteServer("slow_to_read", tmp_path / "log") as server:
        finish(start(server.url(), tmp_path / "job", *FULL_SPEED, config={"read_seconds_max": 0.5}), FINISHED, 30)
        asked = [hit.path for hit in server.hits()]
    assert reasons(tmp_path / "job")["/tangle"] == ("UNREADABLE", "read_time")
    assert kept(tmp_path / "job") == 6
    assert asked.count("/tangle") <= 2
