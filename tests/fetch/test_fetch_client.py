"""The client against real sockets: framing, heads, deadlines, limits, and the reason for each thing that goes wrong."""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from fetch.rawweb import Script, Talk, Web, answer, browsing, client, lease, run

from nephila.errors import ConfigError, DiskFull
from nephila.fetch.client import Client
from nephila.fetch.wanted import types_rule
from nephila.types import Failure, Kind, Outcome, Response

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def one(
    *scripts: Script, last: bool = False, request: dict[str, Any] | None = None, cookie: str = "", **config: Any
) -> Any:
    """(what the client says to the last of as many requests as there are scripts, the server)."""
    async with Web(*scripts) as web:
        fetch = client(web, **config)
        try:
            for _ in scripts:
                got = await fetch(lease(web.url(), last=last, cookie=cookie, **(request or {})))
            return got, web
        finally:
            await fetch.close()


def ending(data: bytes, *, reset: bool = False) -> Callable[[Talk], Any]:
    """Say it, then close or reset the connection."""

    async def script(talk: Talk) -> None:
        await talk.say(data)
        if reset:
            await asyncio.sleep(0.05)  # what was said must arrive before the reset
            talk.reset()
        else:
            talk.hang_up()

    return script


@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run])
def test_answer_is_kept_exactly(runner: Any) -> None:
    data = b"HTTP/1.1 200 Fine\r\nX-Name:  v\xe9 \r\ncontent-length: 5\r\n\r\nhello"
    got, web = runner(one(data))
    assert isinstance(got, Response)
    assert (got.status, got.protocol, got.truncated, got.ip, got.tls) == (200, "http/1.1", "", "127.0.0.1", "")
    assert got.head + got.body.head(9) == data
    assert got.headers == [("x-name", "v\xe9"), ("content-length", "5")]
    assert got.payload is got.body
    assert got.request_head == web.heads[0]
    assert got.started > 1.7e9
    assert 0 < got.timings.connect <= got.timings.sent <= got.timings.first_byte <= got.timings.total < 5


def test_connection_is_used_again() -> None:
    got, web = run(one(answer(), answer(), answer(b"third")))
    assert (web.connections, len(web.heads), got.payload.head(9)) == (1, 3, b"third")
    assert got.timings.connect == 0.0


def test_dead_kept_connection_is_replaced_without_a_failure() -> None:
    async def drop_late(talk: Talk) -> None:
        talk.hang_up()

    async def work() -> None:
        async with Web(answer(b"1"), drop_late, answer(b"2")) as web:
            fetch = client(web)
            first = await fetch(lease(web.url()))
            second = await fetch(lease(web.url()))
            assert first.payload.head(9) + second.payload.head(9) == b"12"
            assert (web.connections, len(web.heads)) == (2, 3)
            await fetch.close()

    run(work())


def test_request_as_sent() -> None:
    got, web = run(
        one(
            answer(),
            cookie="a=b; c=d",
            request={"validators": ('"tag"', "Mon, 01 Jan 2024 00:00:00 GMT")},
            header=["X-Extra: yes", "Accept: text/plain", "X-Api-Key: hidden"],
            seeds=["http://elsewhere.example/"],
            contact="mailto:me@example.com",
        )
    )
    head = web.heads[0].decode()
    lines = head.split("\r\n")
    assert lines[0] == "GET / HTTP/1.1"
    for line in (
        "Cookie: a=b; c=d",
        'If-None-Match: "tag"',
        "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT",
        "X-Extra: yes",
        "Accept: text/plain",
        "Accept-Encoding: gzip, deflate, br, zstd",
    ):
        assert lines.count(line) == 1
    assert "User-Agent: nephila/0" in head
    assert "(+mailto:me@example.com)" in head
    assert "X-Api-Key" not in head
    assert b"Cookie" not in got.request_head
    assert got.request_head == head.replace("Cookie: a=b; c=d\r\n", "").encode()


def test_secret_header_goes_to_the_origin_of_a_seed_and_not_into_the_record() -> None:
    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(web, header=["Authorization: Bearer x"], seeds=[web.url("/start")])
            got = await fetch(lease(web.url()))
            assert b"Authorization: Bearer x\r\n" in web.heads[0]
            assert b"Authorization" not in got.request_head
            await fetch.close()

    run(work())


def test_headers_of_one_request_do_not_stay_for_the_next() -> None:
    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(web)
            await fetch(lease(web.url(), cookie="a=b"))
            await fetch(lease(web.url(), method="POST", body=b"x=1", kind=Kind.LOGIN))
            await fetch(lease(web.url()))
            assert [b"Cookie" in head for head in web.heads] == [True, False, False]
            assert [head.split()[0] for head in web.heads] == [b"GET", b"POST", b"GET"]
            assert b"Content-Length: 3\r\n" in web.heads[1]
            await fetch.close()

    run(work())


@pytest.mark.parametrize(
    ("wire", "payload"),
    [
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"2\r\nhe\r\n3;ext=1\r\nllo\r\n0\r\nX-Trailer: 1\r\n\r\n", b"hello"),
        (b"0\r\n\r\n", b""),
    ],
)
def test_chunked(wire: bytes, payload: bytes) -> None:
    got, _ = run(one(CHUNKED + wire, CHUNKED + wire))
    assert (got.body.head(99), got.payload.head(99), got.truncated) == (wire, payload, "")
    assert got.headers == [("transfer-encoding", "chunked")]


@pytest.mark.parametrize(
    ("script", "reason", "payload"),
    [
        (ending(CHUNKED + b"5\r\nhello\r\n"), "short_body", b"hello"),
        (ending(CHUNKED + b"5\r\nhel"), "short_body", b"hel"),
        (ending(CHUNKED + b"5\r\nhello\r\nzz\r\n"), "bad_chunk", b"hello"),
        (ending(CHUNKED + b"5\r\nhelloXX0\r\n\r\n"), "bad_chunk", b"hello"),
        (ending(answer(b"abc", length=100)), "short_body", b"abc"),
        (ending(answer(b"abc", length=100), reset=True), "conn_reset", b"abc"),
    ],
)
def test_cut_body_is_tried_again_and_kept_at_last(script: Script, reason: str, payload: bytes) -> None:
    early, _ = run(one(script))
    assert (type(early), early.outcome, early.reason, early.status) == (Failure, Outcome.UNREACHABLE, reason, 200)
    late, _ = run(one(script, last=True))
    assert (late.status, late.truncated, late.payload.head(99)) == (200, "disconnect", payload)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (ending(b""), "empty_reply"),
        (ending(b"", reset=True), "conn_reset"),
        (ending(OK + b"Content-Len"), "conn_reset"),
        (ending(b"<html>an old server</html>"), "bad_status_line"),
        (ending(b"ICY 200 OK\r\n\r\nnoise"), "bad_status_line"),
        (ending(b"HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\nx"), "bad_status_line"),
        (ending(b"HTTP/1.1 2000 OK\r\nContent-Length: 1\r\n\r\nx"), "bad_status_line"),
        (ending(b"HTTP/1.1 99 Low\r\n\r\nx"), "bad_status_line"),
        (ending(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), "bad_header"),
        (ending(OK + b"Content-Length: 2, 3\r\n\r\nabc"), "bad_header"),
        (ending(OK + b"Content-Length: -2\r\n\r\nabc"), "bad_header"),
        (ending(OK + b"Content-Length: 99999999999999999999\r\n\r\nabc"), "bad_header"),
        (ending(OK + b"X: a\0b\r\nContent-Length: 0\r\n\r\n"), "bad_header"),
        (ending(b"HTTP/1.1 103 Early\r\n\r\n" * 30 + answer()), "bad_header"),
        (ending(OK + b"X: " + b"a" * 300_000 + b"\r\n\r\n"), "header_too_large"),
        (ending(OK + b"X: aaaaaaaaaaaaaaa\r\n" * 4000 + b"\r\n"), "header_too_large"),
        (ending(OK + b"a: b\r\n" * 6000 + b"\r\n"), "header_too_large"),
    ],
)
def test_no_answer(script: Script, reason: str) -> None:
    got, _ = run(one(script, last=True, header_bytes_max=64 << 10))
    assert (type(got), got.outcome, got.reason) == (Failure, Outcome.UNREACHABLE, reason)


def test_interim_answers_are_skipped() -> None:
    got, _ = run(one(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer()))
    assert (got.status, got.head, got.header("link")) == (200, answer()[: -len(b"hello")], "")


def test_folded_header_is_one_value() -> None:
    got, _ = run(one(OK + b"X-A: one\r\n  two\r\nContent-Length: 0\r\n\r\n"))
    assert got.header("x-a") == "one two"


@pytest.mark.parametrize(
    ("content_range", "truncated"),
    [
        ("bytes 0-4/5", ""),
        ("bytes 0-4/9", "unspecified"),
        ("bytes 1-5/6", "unspecified"),
        ("bytes 0-4/*", "unspecified"),
    ],
)
def test_part_that_nobody_asked_for_is_flagged(content_range: str, truncated: str) -> None:
    got, _ = run(one(answer(b"hello", f"Content-Range: {content_range}", status="206 Partial Content")))
    assert (got.status, got.truncated) == (206, truncated)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_status_without_a_body(status: str) -> None:
    got, _ = run(one(answer(b"", status=status), answer(b"", status=status)))
    assert (got.status, got.body.size) == (int(status[:3]), 0)


def test_more_than_the_length_says_is_not_read_by_the_next() -> None:
    got, web = run(one(answer(b"hello, junk", length=5), answer(b"second")))
    assert (got.payload.head(99), web.connections) == (b"second", 2)


async def speaks_later(talk: Talk) -> None:
    await talk.say(answer(b"first"))
    await asyncio.sleep(0.05)
    await talk.say(answer(b"second answer to the first request"))


def test_what_came_over_an_idle_connection_is_not_the_next_answer() -> None:
    """libcurl by itself would not look within a second."""

    async def work() -> None:
        async with browsing(speaks_later, answer(b"clean")) as (web, fetch):
            await fetch(lease(web.url()))
            await asyncio.sleep(0.15)
            got = await fetch(lease(web.url()))
            assert (got.payload.head(99), web.connections, len(web.heads)) == (b"clean", 2, 2)

    run(work())


def test_idle_connection_of_a_busy_host_is_not_shut_while_others_read_theirs() -> None:
    async def slowly(talk: Talk) -> None:
        await talk.say(OK + b"Content-Length: 4\r\n\r\nab")
        await asyncio.sleep(0.1)
        await talk.say(b"cd")

    async def work() -> None:
        async with browsing(answer(b"1"), slowly, answer(b"2")) as (web, fetch):
            await fetch(lease(web.url()))
            running = asyncio.ensure_future(fetch(lease(web.url())))
            await asyncio.sleep(0.05)
            assert (await fetch(lease(web.url()))).payload.head(9) == b"2"
            assert (await running).payload.head(9) == b"abcd"

    run(work())


def test_junk_before_an_answer_on_a_kept_connection_may_pass() -> None:
    async def work() -> None:
        async with browsing(answer(b"1"), b"junk\r\n" + answer(b"2"), answer(b"3")) as (web, fetch):
            await fetch(lease(web.url()))
            assert (await fetch(lease(web.url()))).reason == "late_answer"
            assert (await fetch(lease(web.url()))).payload.head(9) == b"3"

    run(work())


def test_time_that_we_were_busy_ourselves_is_no_deadline() -> None:
    """Reading a page may take seconds: what the others said meanwhile waits in their sockets."""

    async def after_a_while(talk: Talk) -> None:
        await asyncio.sleep(0.1)
        await talk.say(answer())

    async def work() -> None:
        async with browsing(after_a_while, header_timeout_s=0.4) as (web, fetch):
            running = asyncio.ensure_future(fetch(lease(web.url())))
            await asyncio.sleep(0.05)
            time.sleep(0.8)  # noqa: ASYNC251 - that is the point
            assert (await running).status == 200

    run(work())


def test_chunked_with_a_length_is_read_as_chunked_and_the_connection_closed() -> None:
    both = OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    got, web = run(one(both, both))
    assert (got.payload.head(99), got.truncated, web.connections) == (b"hello", "", 2)


async def silence(talk: Talk) -> None:
    await asyncio.sleep(60)


async def drip_header(talk: Talk) -> None:
    begun = False
    while True:
        await talk.say(b"HTTP/1.1 200 OK\r\n" if not begun else b"X")
        begun = True
        await asyncio.sleep(0.05)


async def drip_body(talk: Talk) -> None:
    await talk.say(OK + b"Content-Length: 100000\r\n\r\n")
    while True:
        await talk.say(b"x")
        await asyncio.sleep(0.02)


async def endless(talk: Talk) -> None:
    await talk.say(OK + b"\r\n")
    while True:
        await talk.say(b"x" * 10_000)


@pytest.mark.parametrize("script", [silence, drip_header])
def test_slow_header(script: Script) -> None:
    got, _ = run(one(script, header_timeout_s=0.2))
    assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "timeout.headers")


def test_body_deadline_keeps_what_came() -> None:
    got, _ = run(one(drip_body, body_timeout_s=0.3))
    assert (got.status, got.truncated) == (200, "time")
    assert 0 < got.body.size < 100


def test_low_speed_keeps_what_came() -> None:
    got, _ = run(one(drip_body, low_speed_s=0.3, low_speed_bytes=1000))
    assert (got.status, got.truncated) == (200, "time")


def test_body_that_never_starts() -> None:
    async def stall(talk: Talk) -> None:
        await talk.say(OK + b"Content-Length: 5\r\n\r\n")
        await asyncio.sleep(60)

    got, _ = run(one(stall, body_timeout_s=0.2))
    assert (type(got), got.reason) == (Failure, "timeout.body")


def test_silent_connection() -> None:
    """A machine that drops what comes: here, a listener whose queue is full."""

    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.socket() as first:
            first.connect(listener.getsockname())
            fetch = client(allow_private=True, connect_timeout_s=0.2)
            got = await fetch(lease(f"http://127.0.0.1:{listener.getsockname()[1]}/"))
            assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "timeout.connect")
            await fetch.close()

    run(work(), 5)


def test_silent_tls_handshake() -> None:
    async def work() -> None:
        async with Web(silence) as web:
            fetch = client(web, tls_timeout_s=0.2)
            got = await fetch(lease(web.url().replace("http:", "https:")))
            assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "timeout.tls")
            await fetch.close()

    run(work())


def test_endless_body_is_cut_at_the_cap_and_the_connection_closed() -> None:
    async def work() -> None:
        async with Web(endless) as web:
            fetch = client(web, body_bytes_max=123_456)
            got = await fetch(lease(web.url()))
            assert (got.body.size, got.truncated) == (123_456, "length")
            await web.left.wait()
            await fetch.close()

    run(work())


def test_body_of_exactly_the_cap_is_whole() -> None:
    got, _ = run(one(answer(b"12345"), body_bytes_max=5))
    assert (got.body.size, got.truncated) == (5, "")


def test_refused_connection() -> None:
    async def work() -> None:
        async with Web(answer()) as web:
            pass
        fetch = client(web)
        got = await fetch(lease(web.url()))
        assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "connect.refused")
        await fetch.close()

    run(work())


@pytest.mark.parametrize("chunked", [False, True])
def test_large_body_waits_in_a_file_without_a_name(tmp_path: Path, chunked: bool) -> None:
    body = bytes(range(256)) * 4000
    wire = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body

    async def work() -> None:
        async with Web(CHUNKED + wire if chunked else answer(body)) as web:
            fetch = client(web, folder=tmp_path, body_spool_bytes=100_000)
            got = await fetch(lease(web.url()))
            assert got.body.spooled
            assert b"".join(got.body.blocks(70_000)) == wire
            assert b"".join(got.payload.blocks()) == body
            assert list((tmp_path / "tmp").iterdir()) == []
            assert fetch._budget.used == 0
            fetch.release(got)
            await fetch.close()

    run(work())


def test_full_memory_pauses_until_a_body_is_released() -> None:
    async def work() -> None:
        async with Web(answer(b"x" * 60_000)) as web:
            fetch = client(web, body_memory_max=100_000)
            first = await fetch(lease(web.url()))
            second = asyncio.ensure_future(fetch(lease(web.url())))
            await asyncio.sleep(0.2)
            assert not second.done()
            fetch.release(first)
            got = await second
            assert (got.body.head(99_999), got.body.spooled) == (b"x" * 60_000, False)
            fetch.release(got)
            fetch.release(got)
            assert fetch._budget.used == 0
            await fetch.close()

    run(work())


def test_full_memory_with_nobody_to_wait_for_uses_files(tmp_path: Path) -> None:
    got, _ = run(one(answer(b"x" * 60_000), folder=tmp_path, body_memory_max=20_000))
    assert (got.body.size, got.body.spooled) == (60_000, True)
    got.body.close()


def test_full_disk_is_not_the_webs_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", no_room)
    with pytest.raises(DiskFull):
        run(one(answer(b"x" * 60_000), folder=tmp_path, body_spool_bytes=1000))


def test_rate_limit_is_shared_by_all_transfers() -> None:
    async def work() -> float:
        async with Web(answer(b"x" * 50_000)) as web:
            fetch = client(web, limit_rate=200_000)
            loop = asyncio.get_running_loop()
            start = loop.time()
            answers = await asyncio.gather(*(fetch(lease(web.url())) for _ in range(3)))
            assert [got.body.size for got in answers] == [50_000] * 3
            await fetch.close()
            return loop.time() - start

    assert 0.4 < run(work()) < 3


def test_unwanted_type_is_given_up_before_its_body() -> None:
    async def video(talk: Talk) -> None:
        await talk.say(OK + b"Content-Type: video/mp4\r\nContent-Length: 100000000\r\n\r\n")
        await asyncio.sleep(60)

    got, _ = run(one(video, wanted=types_rule(["image/*"])))
    assert (got.outcome, got.reason, got.status) == (Outcome.SKIPPED, "type:video/mp4", 200)


def test_a_bug_in_the_rule_comes_out() -> None:
    def wrong(*_: Any) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(one(answer(), wanted=wrong))


def test_cancelled_task_closes_its_connection_and_the_next_request_is_well() -> None:
    async def work() -> None:
        async with Web(silence, answer(b"next")) as web:
            fetch = client(web)
            task = asyncio.ensure_future(fetch(lease(web.url())))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            got = await fetch(lease(web.url()))
            assert (got.payload.head(9), web.connections) == (b"next", 2)
            await fetch.close()

    run(work())


def test_closing_cancels_who_waits() -> None:
    async def work() -> None:
        async with Web(silence) as web:
            fetch = client(web)
            task = asyncio.ensure_future(fetch(lease(web.url())))
            await asyncio.sleep(0.1)
            await fetch.close()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(work())


@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run])
def test_nothing_is_left_behind_by_a_rough_web(runner: Any) -> None:
    rng = random.Random(11)
    body = b"z" * 30_000
    wild: list[Script] = [
        answer(body),
        CHUNKED + b"7530\r\n" + body + b"\r\n0\r\n\r\n",
        ending(answer(body, length=99_999)),
        ending(answer(body, length=99_999), reset=True),
        ending(CHUNKED + b"5\r\nhelloXX"),
        ending(b""),
        silence,
        endless,
    ]

    async def work() -> None:
        async with Web(*(rng.choice(wild) for _ in range(300))) as web:
            fetch = client(web, header_timeout_s=0.3, body_bytes_max=200_000, body_memory_max=500_000)

            async def user(seed: int) -> None:
                own = random.Random(seed)
                for _ in range(15):
                    task = asyncio.ensure_future(fetch(lease(web.url(), last=own.random() < 0.5)))
                    done, _ = await asyncio.wait([task], timeout=0.005 if own.random() < 0.3 else None)
                    if not done:
                        task.cancel()
                        await asyncio.wait([task])
                    elif isinstance(got := task.result(), Response):
                        fetch.release(got)

            await asyncio.gather(*map(user, range(16)))
            assert (fetch._budget.used, fetch._active, fetch._wire._running) == (0, set(), {})
            assert len(fetch._idle) <= 16
            await fetch.close()

    runner(asyncio.wait_for(work(), 20))


def test_many_at_once_over_kept_connections() -> None:
    async def work() -> None:
        async with Web(answer(b"y" * 20_000)) as web:
            fetch = client(web)
            for _ in range(5):
                answers = await asyncio.gather(*(fetch(lease(web.url(f"/{i}"))) for i in range(20)))
                assert {(got.status, got.payload.size) for got in answers} == {(200, 20_000)}
                for got in answers:
                    fetch.release(got)
            assert (web.connections, fetch._budget.used) == (20, 0)
            await fetch.close()

    run(work())


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/a\r\nX: y", "ftps://127.0.0.1/", "http:///x", "http://127.0.0.1:99999/"]
)
def test_address_that_cannot_be_requested(url: str) -> None:
    async def work() -> Any:
        fetch = client()
        try:
            return await fetch(lease(url))
        finally:
            await fetch.close()

    got = run(work())
    assert (got.outcome, got.reason) == (Outcome.BLOCKED, "unsafe_request")


def test_line_end_in_a_cookie_is_never_sent() -> None:
    got, web = run(one(answer(), cookie="a=b\r\nX-Injected: 1"))
    assert (got.outcome, got.reason, web.connections) == (Outcome.BLOCKED, "unsafe_request", 0)


@pytest.mark.parametrize(
    "config",
    [
        {"header": ["no colon"]},
        {"header": ["X: a\r\nY: b"]},
        {"header": ["X:"]},
        {"user_agent": "a\nb"},
        {"proxy": ["gopher://x:1"]},
        {"proxy": ["nonsense"]},
        {"resolve": ["example.com"]},
        {"resolve": ["example.com:443:nowhere"]},
    ],
)
def test_wrong_settings(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        client(**config)


def test_user_agent() -> None:
    assert client(user_agent="Me/1").user_agent == "Me/1"
    assert isinstance(client(), Client)
    assert client().user_agent.startswith("nephila/")
