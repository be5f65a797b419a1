"""The server on real sockets: the same sites, and a log that holds every request before its answer leaves."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from nephila.testing.server import SiteServer, hits
from nephila.testing.sites import Answer


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read()


def connect(server: SiteServer, host: int = 1) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(f"127.0.0.{host}", server.port, timeout=5)


def test_it_answers_and_logs_in_order(tmp_path: Path) -> None:
    with SiteServer("tree", tmp_path / "log") as server:
        one = connect(server)
        assert get(one, "/E") == (200, server.desk.site("", "/E", 1).body)
        assert get(one, "/nothing")[0] == 404
        one.close()
        log = server.hits()
    assert [(hit.path, hit.status, hit.connection, hit.in_flight) for hit in log] == [
        ("/E", 200, 1, 1),
        ("/nothing", 404, 1, 1),
    ]
    assert log[0].host == f"127.0.0.1:{server.port}"
    assert log[0].time <= log[1].time <= time.monotonic()


def test_state_is_kept_per_path(tmp_path: Path) -> None:
    with SiteServer("kinds", tmp_path / "log") as server:
        one = connect(server)
        assert [get(one, "/flaky")[0] for _ in range(3)] == [503, 200, 200]
        one.close()


def test_many_hosts_on_one_port_count_apart(tmp_path: Path) -> None:
    with SiteServer("retry429:5", tmp_path / "log", hosts=3) as server:
        answers = []
        for host in (1, 2, 2, 3):
            one = connect(server, host)
            answers.append(get(one, "/3")[0])
            one.close()
    assert answers == [200, 429, 200, 200]
    assert [hit.host.split(":")[0] for hit in hits(tmp_path / "log")] == [
        "127.0.0.1",
        "127.0.0.2",
        "127.0.0.2",
        "127.0.0.3",
    ]


def test_requests_in_flight_are_counted(tmp_path: Path) -> None:
    with SiteServer("tree", tmp_path / "log", delay_s=0.2) as server:
        crowd = [connect(server) for _ in range(4)]
        threads = [threading.Thread(target=get, args=(one, "/B")) for one in crowd]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        get(crowd[0], "/B")
        for one in crowd:
            one.close()
        log = server.hits()
    assert sorted(hit.in_flight for hit in log[:4]) == [1, 2, 3, 4]
    assert log[4].in_flight == 1
    assert log[0].end - log[0].time == pytest.approx(0.2)


def test_silence_and_a_dropped_connection(tmp_path: Path) -> None:
    def site(host: str, path: str, n: int) -> Answer:
        return Answer(silent=True) if path == "/silent" else Answer(failure="conn_reset")

    with SiteServer(site, tmp_path / "log") as server:
        mute = http.client.HTTPConnection("127.0.0.1", server.port, timeout=0.2)
        with pytest.raises(TimeoutError):
            get(mute, "/silent")
        mute.close()
        rude = connect(server)
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            get(rude, "/drop")
        rude.close()


def test_head_has_no_body_and_the_connection_goes_on(tmp_path: Path) -> None:
    with SiteServer("tree", tmp_path / "log") as server:
        one = connect(server)
        one.request("HEAD", "/")
        response = one.getresponse()
        assert (response.status, response.read()) == (200, b"")
        assert get(one, "/B")[0] == 200
        one.close()


def test_it_runs_as_a_process(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "nephila.testing.server",
        "--site",
        "synthetic:100,5,500",
        "--log",
        str(tmp_path / "log"),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        address = process.stdout.readline().decode().strip()
        with urllib.request.urlopen(address + "7.html", timeout=5) as response:
            assert len(response.read()) == 500
        process.stdin.close()
        assert process.wait(10) == 0
    assert [hit.path for hit in hits(tmp_path / "log")] == ["/7.html"]
