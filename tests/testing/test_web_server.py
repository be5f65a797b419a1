"""The made-up web on sockets: many loopback addresses behind one socket that nobody outside can reach, or names."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephila.testing.groups import Crawl
from nephila.testing.web import MadeUpWeb, Spec, WebServer
from nephila.testing.web.__main__ import DESCRIBED, toml
from nephila.testing.web.server import listen, render

linux = pytest.mark.skipif(sys.platform != "linux", reason="one socket for all loopback addresses needs Linux")
SPEC = Spec(seed=3, hosts=300, pages=4, port=0, slow=0.2, slow_s=0.2, gzip=0.5)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with WebServer(SPEC) as server:
        yield server


def get(server: WebServer, number: int, path: str = "/", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """From the address of a host, on a connection of its own."""
    spec = server.web.spec
    connection = http.client.HTTPConnection(spec.name(number), spec.port, timeout=5)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


@linux
@pytest.mark.parametrize("number", [0, 253, 254, 299])
def test_each_address_is_a_host(server: WebServer, number: int) -> None:
    response, body = get(server, number)
    assert (response.status, body) == (200, server.web.page(server.seeds[number]).body)
    assert response.getheader("Content-Type") == server.web.page(server.seeds[number]).media_type


@linux
def test_an_address_beyond_the_last_host_is_404(server: WebServer) -> None:
    assert get(server, 300)[0].status == 404


@linux
def test_nobody_outside_can_reach_it() -> None:
    with listen(0, everywhere=True) as listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0") == b"lo"


def test_with_names_only_one_address_is_bound() -> None:
    with listen(0, everywhere=False) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


@linux
def test_slow_hosts_are_slow(server: WebServer) -> None:
    hosts = [server.web.graph.host(number) for number in range(300)]
    slow = next(host for host in hosts if 0.1 < host.delay_s < 0.3)
    begun = time.monotonic()
    get(server, slow.number)
    assert time.monotonic() - begun >= slow.delay_s


@linux
def test_compressed_only_when_asked_for(server: WebServer) -> None:
    host = next(host for host in map(server.web.graph.host, range(300)) if host.gzip and not host.delay_s)
    plain = server.web.page(server.seeds[host.number]).body
    response, body = get(server, host.number, **{"Accept-Encoding": "gzip"})
    assert (response.getheader("Content-Encoding"), gzip.decompress(body)) == ("gzip", plain)
    assert get(server, host.number)[1] == plain


@linux
def test_requests_in_a_row_are_answered_in_order(server: WebServer) -> None:
    """In pieces that end anywhere."""
    spec = server.web.spec
    asked = [("GET", "/nothing"), ("HEAD", "/"), ("GET", "/style.css")]
    lines = (f"{method} {path} HTTP/1.1\r\nHost: {spec.name(0)}:{spec.port}\r\n\r\n" for method, path in asked)
    wire = "".join(lines).encode()
    wanted = b"".join(render(server.web.page(spec.origin(0) + path), method == "GET") for method, path in asked)
    with socket.create_connection((spec.name(0), spec.port), timeout=5) as connection:
        for at in range(0, len(wire), 37):
            connection.sendall(wire[at : at + 37])
        came = b""
        while len(came) < len(wanted):
            came += connection.recv(65_536)
    assert came == wanted


def test_a_real_crawl_finds_what_is_there(tmp_path: Path) -> None:
    """Over the wire, by name, from the file that the command line writes."""
    config, names = tmp_path / "web.toml", "h{}.example"
    options = ["--hosts=9", "--pages=8", f"--names={names}", "--legacy=0.5", f"--config={config}"]
    command = [sys.executable, "-m", "nephila.testing.web", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(5)]
        with Crawl(["--config", str(config), "-o", str(tmp_path / "job"), "--workers", "1"]) as crawl:
            assert crawl.wait().code == 0
        answers = json.loads(process.communicate()[0])["answers"]
    port = int(said[0].rstrip("/").rpartition(":")[2])
    wanted = Counter(MadeUpWeb(Spec(hosts=9, pages=8, names=names, legacy=0.5, port=port)).everything())
    con = sqlite3.connect(tmp_path / "job" / "crawl.db")
    found = Counter(con.execute("SELECT u.url, v.status, u.kind FROM visit v JOIN url u ON u.id = v.url").fetchall())
    con.close()
    assert said[3:] == ["… 6 more", f"nephila crawl --config {config} -o out"]
    assert Counter((url, status) for url, status, kind in found if kind != "robots") == wanted
    assert answers == sum(found.values()) - sum(status == 0 for _, status, _ in found)


def test_the_command_line_says_how_to_crawl(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nephila.testing.web", "--hosts=2", "--names=h{}.example", "--processes=2"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    one, two, how, said = ended.stdout.splitlines()
    port = int(one.rstrip("/").rpartition(":")[2])
    assert (one, two) == (f"http://h0.example:{port}/", f"http://h1.example:{port}/")
    resolve = " ".join(f"--resolve h{k}.example:{port}:127.0.0.1" for k in range(2))
    assert how == f"nephila crawl {one} {two} {resolve} --delay 0 -o out"
    assert json.loads(said)["answers"] == 0


def test_every_property_is_an_option() -> None:
    assert set(DESCRIBED) == set(Spec.__struct_fields__)


def test_the_file_of_seeds_reads_back() -> None:
    read = tomllib.loads(toml(["http://a.test:81/"], ["a.test:81:127.0.0.1"]))
    assert read == {
        "seeds": ["http://a.test:81/"],
        "resolve": ["a.test:81:127.0.0.1"],
        "scope": "any",
        "allow_private": True,
        "delay": "0",
    }
