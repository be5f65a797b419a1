"""Whom the door believes: every way a handshake can fail has a reason of its own, and doubts are kept as evidence."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from fetch.rawweb import Web, answer, client, lease, run

from nephila.fetch.tls import DOUBT_S
from nephila.testing.certificates import Authority, server_side
from nephila.types import HOST_FAILURES, Failure, Outcome


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that nobody trusts."""
    return Authority(tmp_path_factory.mktemp("stranger"), "Stranger")


def context_of(case: str, authority: Authority, stranger: Authority) -> ssl.SSLContext:
    """The server's side of each case."""
    match case:
        case "expired":
            return server_side(authority.issue(days=(-10, -1)))
        case "not_yet_valid":
            return server_side(authority.issue(days=(1, 10)))
        case "self_signed":
            return server_side(authority.issue(self_signed=True))
        case "wrong_host":
            return server_side(authority.issue(["other.example"]))
        case "unknown_ca":
            return server_side(stranger.issue())
        case "unknown_ca_with_chain":
            return server_side(stranger.issue(with_authority=True))
        case "sha1":
            try:
                return server_side(authority.issue_sha1(), legacy=True)
            except OSError as error:
                pytest.skip(f"no openssl command: {error}")
        case "tls1.0":
            return server_side(authority.issue(), newest=ssl.TLSVersion.TLSv1)
        case "tls1.1":
            return server_side(authority.issue(), newest=ssl.TLSVersion.TLSv1_1)
    return server_side(authority.issue())


@contextmanager
def site(context: ssl.SSLContext) -> Iterator[Any]:
    """Answers every request of one connection after another. In a thread, since asyncio hangs up before its alert is out."""
    server = HTTPServer(("127.0.0.1", 0), _Hello)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.asked = 0  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked += 1  # type: ignore[attr-defined]
        self.wfile.write(answer())

    def log_message(self, *_: object) -> None:
        pass


CASES = {
    "expired": "tls.expired",
    "not_yet_valid": "tls.not_yet_valid",
    "self_signed": "tls.self_signed",
    "wrong_host": "tls.wrong_host",
    "unknown_ca": "tls.unknown_ca",
    "unknown_ca_with_chain": "tls.unknown_ca",
    "sha1": "tls.weak",
    "tls1.0": "tls.protocol",
    "tls1.1": "tls.protocol",
}


@pytest.mark.parametrize(("case", "reason"), CASES.items())
def test_what_is_wrong_is_said_and_nothing_is_sent(
    case: str, reason: str, authority: Authority, stranger: Authority
) -> None:
    async def work(port: int) -> Any:
        fetch = client(allow_private=True, ca=str(authority.file))
        got = await fetch(lease(f"https://127.0.0.1:{port}/"))
        await fetch.close()
        return got

    with site(context_of(case, authority, stranger)) as server:
        got = run(work(server.server_port))
        assert (got.outcome, got.reason, server.asked) == (Outcome.UNREACHABLE, reason, 0)
        assert got.detail
        assert reason in HOST_FAILURES


@pytest.mark.parametrize(("case", "reason"), CASES.items())
def test_an_insecure_host_is_read_and_what_failed_is_kept(
    case: str, reason: str, authority: Authority, stranger: Authority
) -> None:
    async def work(port: int) -> Any:
        fetch = client(allow_private=True, ca=str(authority.file), insecure=["127.0.0.1"])
        both = [await fetch(lease(f"https://127.0.0.1:{port}/")) for _ in range(2)]
        await fetch.close()
        return both

    context = context_of(case, authority, stranger)
    with site(context) as server:
        first, second = run(work(server.server_port))
        assert (first.status, first.doubt.reason, bool(first.doubt.detail)) == (200, reason, True)
        assert second.doubt == first.doubt
        assert first.started <= first.doubt.since < first.started + 5
        assert len(first.doubt.chain) == (2 if case == "unknown_ca_with_chain" else 1)
        assert server.asked == 2


def test_a_host_that_holds_is_not_doubted_though_it_may_be(authority: Authority) -> None:
    async def work() -> None:
        async with Web(answer(), tls=server_side(authority.issue())) as web:
            fetch = client(web, ca=str(authority.file), insecure=["127.0.0.1"])
            got = await fetch(lease(web.url()))
            assert (got.status, got.doubt, web.connections) == (200, None, 1)
            await fetch.close()

    run(work())


def test_doubts_of_one_host_are_not_those_of_another(authority: Authority, stranger: Authority) -> None:
    """Nor of another port, nor of the same handle used for the next host."""

    async def work() -> None:
        good, bad = server_side(authority.issue()), server_side(stranger.issue())
        async with Web(answer(), tls=bad) as web, Web(answer(), tls=good) as other:
            fetch = client(allow_private=True, ca=str(authority.file), insecure=["127.0.0.1"])
            assert (await fetch(lease(web.url()))).doubt.reason == "tls.unknown_ca"
            assert (await fetch(lease(other.url()))).doubt is None
            assert (await fetch(lease(web.url(host="localhost")))).reason == "tls.unknown_ca"
            assert (await fetch(lease(web.url()))).doubt.reason == "tls.unknown_ca"
            await fetch.close()

    run(work())


def test_many_at_once_find_out_together(stranger: Authority) -> None:
    async def work() -> None:
        async with Web(answer(), tls=server_side(stranger.issue())) as web:
            fetch = client(web, insecure=["127.0.0.1"])
            many = await asyncio.gather(*(fetch(lease(web.url())) for _ in range(8)))
            assert {one.doubt.reason for one in many} == {"tls.unknown_ca"}
            await fetch.close()

    run(work())


def test_a_host_is_verified_anew_after_an_hour(stranger: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its certificate may have been renewed meanwhile."""

    async def work() -> None:
        async with Web(answer(), tls=server_side(stranger.issue())) as web:
            fetch = client(web, insecure=["127.0.0.1"])
            first = await fetch(lease(web.url()))
            wall = fetch._clock.wall
            monkeypatch.setattr(fetch._clock, "wall", lambda: wall() + DOUBT_S + 1)
            second = await fetch(lease(web.url()))
            assert second.doubt.since > first.doubt.since + DOUBT_S
            await fetch.close()

    run(work())


async def _hello(reader: asyncio.StreamReader) -> None:
    """Wait for a whole ClientHello."""
    kind, _, size = struct.unpack(">BHH", await reader.readexactly(5))
    assert kind == 22
    await reader.readexactly(size)


def alert(number: int) -> bytes:
    """A fatal alert (RFC 8446 section 6)."""
    return bytes([21, 3, 3, 0, 2, 2, number])


@asynccontextmanager
async def talking(then: bytes | None, reset: bool = False) -> AsyncIterator[int]:
    """A server that reads the ClientHello, says `then` and hangs up; with None it waits."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _hello(reader)
        if then is None:
            await reader.read(1)
        else:
            writer.write(then)
        if reset:
            sock: Any = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("then", "reset", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, "tls.plain"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", False, "tls.plain"),
        (b"", False, "tls.closed"),
        (b"", True, "tls.closed"),
        (alert(40), False, "tls.handshake"),
        (alert(70), False, "tls.protocol"),
        (alert(71), False, "tls.weak"),
        (alert(80), False, "tls.handshake"),
        (alert(112), False, "tls.wrong_host"),
        (None, False, "timeout.tls"),
    ],
)
@pytest.mark.parametrize("insecure", [[], ["127.0.0.1"]])
def test_a_handshake_that_does_not_come_to_an_end(
    then: bytes | None, reset: bool, reason: str, insecure: list[str]
) -> None:
    """Going on without verification does not help, and changes no reason."""

    async def work() -> None:
        async with talking(then, reset) as port:
            fetch = client(allow_private=True, tls_timeout_s=0.3, insecure=insecure)
            got = await fetch(lease(f"https://127.0.0.1:{port}/"))
            assert (type(got), got.outcome, got.reason) == (Failure, Outcome.UNREACHABLE, reason)
            await fetch.close()

    run(work())


def test_the_systems_authorities_stay_trusted(
    authority: Authority, stranger: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file of one's own is added, and both are put together in the job's folder."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def work() -> None:
        mine, theirs = server_side(stranger.issue()), server_side(authority.issue())
        async with Web(answer(), tls=mine) as web, Web(answer(), tls=theirs) as other:
            fetch = client(allow_private=True, ca=str(stranger.file), folder=tmp_path)
            again = client(allow_private=True, ca=str(stranger.file), folder=tmp_path)
            for each in (fetch, again):
                assert [(await each(lease(one.url()))).status for one in (web, other)] == [200, 200]
                await each.close()
            (kept,) = (tmp_path / "tmp").iterdir()
            assert kept.read_bytes().count(b"BEGIN CERTIFICATE") == 2

    run(work())
