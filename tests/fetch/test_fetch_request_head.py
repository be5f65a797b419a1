"""What the archive says was sent is what was sent, whether libcurl told it or it was known from the request before."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pycurl
import pytest
from fetch.rawweb import Talk, answer, browsing, lease, run

from nephila.fetch import transfer
from nephila.fetch.heads import Sent

PATHS = [
    "/",
    "/a",
    "/a?b=c&d=%20",
    "/%E4%B8%AD?q=1;2",
    "//x//",
    "/a/../b",
    "/~u/(x),'y'!*",
    "/?",
    "/a#f",
    "/" + "x" * 3000,
]


def test_every_request_is_told_as_it_was_sent() -> None:
    async def work() -> None:
        async with browsing(answer()) as (web, fetch):
            told = []
            for path in PATHS + PATHS:
                told.append((await fetch(lease(web.url(path)))).request_head)
            assert told == web.heads

    run(work())


def test_at_the_same_time_too() -> None:
    async def work() -> None:
        async def echo(talk: Talk) -> None:
            await asyncio.sleep(random.Random(len(talk.web.heads)).random() / 50)
            await talk.say(answer(talk.head))

        async with browsing(echo) as (web, fetch):
            got = await asyncio.gather(*(fetch(lease(web.url(f"/{n}"))) for n in range(60)))
            assert [response.request_head for response in got] == [response.payload.head(9999) for response in got]

    run(work())


def test_other_lines_are_told_anew() -> None:
    async def work() -> None:
        async with browsing(answer()) as (web, fetch):
            validated = lease(web.url("/v"), validators=('"tag"', ""))
            for asked in (lease(web.url("/1")), validated, lease(web.url("/2")), validated, lease(web.url("/3"))):
                assert (await fetch(asked)).request_head == web.heads[-1]

    run(work())


def test_a_secret_line_is_left_out_of_what_is_known() -> None:
    async def work() -> None:
        async with browsing(answer()) as (web, fetch):
            for n in range(3):
                got = await fetch(lease(web.url(f"/{n}"), cookie="a=b"))
                assert got.request_head == web.heads[-1].replace(b"Cookie: a=b\r\n", b"")

    run(work())


def test_libcurl_tells_it_once_per_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bytes] = []
    listen = transfer.Transfer._on_debug

    def heard(self: Any, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            told.append(data)
        listen(self, kind, data)

    monkeypatch.setattr(transfer.Transfer, "_on_debug", heard)

    async def work() -> None:
        async with browsing(answer()) as (web, fetch):
            for n in range(5):
                await fetch(lease(web.url(f"/{n}")))

    run(work())
    assert len(told) == 1


def test_what_was_not_sent_as_written_is_not_learned() -> None:
    sent = Sent()
    sent.learn("http://a.test:80", ["X: 1"], "http://a.test/a b", b"GET /a%20b HTTP/1.1\r\nHost: a.test\r\n\r\n")
    sent.learn("http://a.test:80", ["X: 1"], "http://a.test/a", b"GET /b HTTP/1.1\r\nHost: a.test\r\n\r\n")
    assert sent.predict("http://a.test:80", ["X: 1"], "http://a.test/a") == b""


def test_what_is_known_of_origins_is_bounded() -> None:
    sent = Sent()
    for n in range(3000):
        sent.learn(f"http://{n}.test:80", [], f"http://{n}.test/", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert sent.predict("http://2999.test:80", [], "http://2999.test/p") == b"GET /p HTTP/1.1\r\nHost: x\r\n\r\n"
    assert len(sent._rest) <= 1024
