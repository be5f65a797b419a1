"""The window of `crawl --ui`: there as long as the crawl, and missed by nobody when it dies."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nephila.testing import sites
from nephila.testing.server import SiteServer
from nephila.ui.facts import Status

WAIT_S_MAX = 30.0


@contextmanager
def crawling(site: SiteServer, folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A crawl with its window, and the printed address."""
    command = [
        sys.executable,
        "-m",
        "nephila",
        "crawl",
        site.url(),
        "-o",
        str(folder),
        "--ui",
        "--quiet",
        "--workers",
        "0",
    ]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as crawl:
        assert crawl.stderr is not None
        try:
            found = re.search(r"http://127\.0\.0\.1:\d+/#token=\S+", crawl.stderr.readline())
            assert found
            yield crawl, found[0]
        finally:
            crawl.kill()


def entered(address: str) -> tuple[str, str]:
    """(where the window is, the cookie that opens it)"""
    base, _, token = address.partition("/#token=")
    request = urllib.request.Request(f"{base}/enter", token.encode(), {"Origin": base, "Sec-Fetch-Site": "same-origin"})
    with urllib.request.urlopen(request, timeout=WAIT_S_MAX) as answer:
        return base, answer.headers["Set-Cookie"].partition(";")[0]


def shown(base: str, cookie: str) -> str:
    with urllib.request.urlopen(
        urllib.request.Request(f"{base}/", headers={"Cookie": cookie}), timeout=WAIT_S_MAX
    ) as answer:
        return str(answer.read().decode())


def told(base: str, token: str) -> dict[str, object]:
    """What a program is told of the crawl."""
    request = urllib.request.Request(f"{base}/api/v1/status", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=WAIT_S_MAX) as answer:
        return dict(json.loads(answer.read()))


def test_the_window_is_there_while_the_crawl_runs_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For people, and for programs that have the token of the environment; what a running crawl says is all described."""
    monkeypatch.setenv("NEPHILA_TOKEN", token := "0123456789abcdef")
    with (
        SiteServer(sites.synthetic(30, 5, 500, 0.05), tmp_path / "log") as site,
        crawling(site, tmp_path / "job") as (crawl, address),
    ):
        base, cookie = entered(address)
        assert '<span class="chip running">' in shown(base, cookie)
        assert set(told(base, token)) == set(Status.__struct_fields__)
        crawl.send_signal(signal.SIGTERM)
        assert crawl.wait(WAIT_S_MAX) == 4
        with pytest.raises(urllib.error.URLError):
            shown(base, cookie)


@pytest.mark.long
def test_a_window_that_is_killed_costs_the_crawl_nothing(tmp_path: Path) -> None:
    with (
        SiteServer(sites.synthetic(30, 5, 500), tmp_path / "log", delay_s=0.02) as site,
        crawling(site, tmp_path / "job") as (crawl, _),
    ):
        children = Path(f"/proc/{crawl.pid}/task/{crawl.pid}/children")
        end = time.monotonic() + WAIT_S_MAX
        while not (window := children.read_text().split()) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(int(window[0]), signal.SIGKILL)
        assert crawl.wait(WAIT_S_MAX) == 0


def test_a_port_that_is_taken_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "nephila", "crawl", "http://127.0.0.1:9/", "-o", str(tmp_path / "job")]
        done = subprocess.run([*command, "--ui", "--ui-port", port], capture_output=True, text=True)
    assert (done.returncode, f"--ui-port {port}" in done.stderr) == (2, True)
    assert not (tmp_path / "job").exists()
