"""FTP through the door, against a real server; what servers do wrong is in the torture cases, section M."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fetch.rawweb import lease, run
from ftpserver import RealFtp

from nephila.config import Config
from nephila.errors import ConfigError
from nephila.fetch.client import Client
from nephila.fetch.ftp import place_of
from nephila.fetch.wanted import types_rule
from nephila.types import Failure, Kind, Outcome, Response

BIG = bytes(range(256)) * 1200


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ftp")
    (folder / "pub" / "deep").mkdir(parents=True)
    (folder / "pub" / "big.tar.gz").write_bytes(BIG)
    (folder / "pub" / "a b?#%é.txt").write_bytes(b"odd name\r\n")
    (folder / "pub" / "self").symlink_to(".")
    return folder


@pytest.fixture
def server(root: Path) -> Iterator[RealFtp]:
    with RealFtp(root) as real:
        yield real


def client(server: RealFtp, *, folder: Path | None = None, wanted: Any = None, **config: Any) -> Client:
    return Client(Config(**config), allowed=frozenset({("127.0.0.1", server.port)}), folder=folder, wanted=wanted)


def ask(server: RealFtp, *paths: str, last: bool = False, **config: Any) -> list[Any]:
    """The answers, one after the other; bodies stay readable."""

    async def work() -> list[Any]:
        fetch = client(server, **config)
        try:
            return [await fetch(lease(server.url(path), last=last)) for path in paths]
        finally:
            await fetch.close()

    return run(work())


def test_a_file_comes_as_it_lies_there(server: RealFtp) -> None:
    (got,) = ask(server, "/pub/big.tar.gz;type=a")
    assert (got.status, got.protocol, got.ip, got.truncated) == (226, "ftp", "127.0.0.1", "")
    assert got.headers == [("content-type", "application/gzip")]
    assert got.payload.head(1 << 20) == BIG
    assert 0 < got.timings.connect <= got.timings.sent <= got.timings.first_byte <= got.timings.total < 5
    assert got.request_head == b""
    assert server.logins == [("anonymous", "nephila@")]


def test_what_was_said_is_kept_without_the_password(server: RealFtp) -> None:
    (got,) = ask(server, "/pub/big.tar.gz", contact="me@example.com")
    assert server.logins == [("anonymous", "me@example.com")]
    assert got.head.startswith(b"220 ")
    assert b"PASS ****\r\n" in got.head
    assert b"me@example.com" not in got.head
    assert got.head.endswith(b"226 Transfer complete.\r\n")


@pytest.mark.parametrize("how", ["auth", "seed"])
def test_a_member_is_known_to_one_server_and_never_named(server: RealFtp, how: str) -> None:
    given = f"ftp://127.0.0.1:{server.port}"
    config = {"auth": [f"{given}=basic:bob:hush"]} if how == "auth" else {"seeds": [given.replace("//", "//bob:hush@")]}
    (got,) = ask(server, "/pub/", **config)
    assert server.logins == [("bob", "hush")]
    assert b"USER ****\r\n" in got.head
    assert not any(secret in got.head.replace(b"331 Username", b"") for secret in (b"hush", b"bob"))
    ask(server, "/pub/", auth=["ftp://127.0.0.1:1=basic:bob:hush"])
    assert server.logins[1:] == [("anonymous", "nephila@")]


def test_a_wrong_password_ends_the_visit(server: RealFtp) -> None:
    (got,) = ask(server, "/pub/", auth=[f"ftp://127.0.0.1:{server.port}=basic:bob:guess"])
    assert (got.outcome, got.reason, got.status) == (Outcome.REFUSED, "ftp_login", 530)


@pytest.mark.parametrize("spec", ["digest:a:b", "bearer:t", "negotiate", "basic:a\nDELE:b"])
def test_credentials_that_ftp_cannot_use_are_refused(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"auth: ftp://h\.org"):
        Client(Config(auth=[f"ftp://h.org={spec}"]))


def test_names_may_hold_anything_but_a_slash(server: RealFtp) -> None:
    assert ask(server, "/pub/a%20b%3F%23%25%C3%A9.txt")[0].payload.head(99) == b"odd name\r\n"


def test_one_session_serves_many_files(server: RealFtp) -> None:
    got = ask(server, "/", "/pub/", "/pub/big.tar.gz", "/pub/deep/", "/pub/big.tar.gz", "/")
    assert [answer.status for answer in got] == [226] * 6
    assert len(server.logins) == 1
    assert b"USER" not in got[-1].head


def test_a_folder_is_listed_and_the_one_above_it_is_known_again(server: RealFtp) -> None:
    pub, again = ask(server, "/pub/", "/pub/self/")
    assert pub.headers == [("content-type", "text/x-ftp-listing")]
    assert b"; big.tar.gz\r\n" in pub.payload.head(1 << 20)
    assert again.headers == [("location", server.url("/pub/"))]
    assert again.payload.size == 0


def test_not_there_and_a_folder_without_its_slash(server: RealFtp) -> None:
    gone, folder, typed = ask(server, "/pub/gone", "/pub", "/pub;type=d")
    assert (gone.status, gone.headers, gone.payload.size) == (550, [], 0)
    assert [answer.headers for answer in (folder, typed)] == [[("location", "/pub/")]] * 2


@pytest.mark.parametrize("path", ["/a%2Fb", "/a%0D%0ADELE%20x", "/a%00b", "/a%0Ab/", "/%7F"])
def test_paths_that_cannot_be_said_are_never_said(server: RealFtp, path: str) -> None:
    (got,) = ask(server, path)
    assert (got.outcome, got.reason) == (Outcome.BLOCKED, "unsafe_request")
    assert server.logins == []


def test_no_private_network_without_leave(server: RealFtp) -> None:
    async def work() -> Any:
        fetch = Client(Config())
        try:
            return await fetch(lease(server.url("/")))
        finally:
            await fetch.close()

    got = run(work())
    assert (got.outcome, got.reason, got.detail) == (
        Outcome.BLOCKED,
        "blocked.private_address",
        "127.0.0.1 is loopback",
    )
    assert server.logins == []


def test_never_around_a_proxy(server: RealFtp) -> None:
    (got,) = ask(server, "/", proxy=["http://127.0.0.1:9"])
    assert (got.outcome, got.reason) == (Outcome.BLOCKED, "ftp_proxy")
    assert server.logins == []


def test_types_are_judged_by_name_before_anything_is_asked(server: RealFtp) -> None:
    async def work() -> Any:
        fetch = client(server, wanted=types_rule(["application/pdf"]))
        try:
            return await fetch(lease(server.url("/pub/big.tar.gz")))
        finally:
            await fetch.close()

    got = run(work())
    assert (got.outcome, got.reason) == (Outcome.SKIPPED, "type:application/gzip")
    assert server.logins == []


def test_a_large_file_waits_on_disk_and_is_cut_at_the_limit(server: RealFtp, tmp_path: Path) -> None:
    async def work() -> None:
        for limit, size, cut in ((1 << 30, len(BIG), ""), (200_000, 200_000, "length")):
            fetch = client(server, folder=tmp_path, body_spool_bytes=10_000, body_bytes_max=limit)
            got = await fetch(lease(server.url("/pub/big.tar.gz")))
            assert isinstance(got, Response)
            assert (got.payload.size, got.truncated, got.payload.spooled) == (size, cut, True)
            assert b"".join(got.payload.blocks()) == BIG[:size]
            fetch.release(got)
            await fetch.close()

    run(work())


def test_memory_that_others_hold_is_waited_for(server: RealFtp) -> None:
    async def work() -> None:
        fetch = client(server, body_memory_max=len(BIG) + 1000)
        first = await fetch(lease(server.url("/pub/big.tar.gz")))
        second = asyncio.create_task(fetch(lease(server.url("/pub/big.tar.gz"))))
        await asyncio.wait({second}, timeout=0.2)
        assert not second.done()
        fetch.release(first)
        got = await second
        assert got.payload.head(1 << 20) == BIG
        await fetch.close()

    run(work())


def test_the_rate_is_kept(server: RealFtp) -> None:
    begun = time.monotonic()
    (got,) = ask(server, "/pub/big.tar.gz", limit_rate=len(BIG) * 2)
    assert got.payload.size == len(BIG)
    assert 0.3 < time.monotonic() - begun < 3


def test_a_cancelled_transfer_leaves_nothing_behind(server: RealFtp) -> None:
    async def work() -> None:
        fetch = client(server, limit_rate=1000)
        task = asyncio.create_task(fetch(lease(server.url("/pub/big.tar.gz"))))
        await asyncio.wait({task}, timeout=0.3)
        assert len(server.logins) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fetch.close()

    run(work())


def test_nobody_listens() -> None:
    async def work() -> Any:
        fetch = Client(Config(allow_private=True))
        try:
            return await fetch(lease("ftp://127.0.0.1:1/"))
        finally:
            await fetch.close()

    got = run(work())
    assert isinstance(got, Failure)
    assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "connect.refused")


def test_a_contact_of_two_lines_is_refused() -> None:
    with pytest.raises(ConfigError, match="contact"):
        Client(Config(contact="a\r\nDELE b", user_agent="x"))


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/", ((), b"", False)),
        ("/a", ((), b"a", False)),
        ("/a/b/", ((b"a", b"b"), b"", False)),
        ("//a///b", ((b"a",), b"b", False)),
        ("/a%3Btype%3Da", ((), b"a;type=a", False)),
        ("/a;type=I", ((), b"a", False)),
        ("/a;type=D", ((), b"a", True)),
        ("/a;type=x", ((), b"a;type=x", False)),
        ("/a?b", ((), b"a?b", False)),
        ("/%E4/%ff", ((b"\xe4",), b"\xff", False)),
    ],
)
def test_places(path: str, place: Any) -> None:
    assert tuple(place_of(f"ftp://h.org{path}")) == place


def test_robots_is_asked_for_with_one_command(server: RealFtp) -> None:
    async def work() -> Any:
        fetch = client(server)
        try:
            return await fetch(lease(server.url("/robots.txt"), kind=Kind.ROBOTS))
        finally:
            await fetch.close()

    got = run(work())
    assert got.status == 550
    assert b"CWD" not in got.head
