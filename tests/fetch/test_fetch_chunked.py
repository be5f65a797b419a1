"""Chunked framing taken off, wherever the pieces are cut; and heads read leniently."""

from __future__ import annotations

import random

import pytest

from nephila.fetch.chunked import LINE_MAX, Dechunker
from nephila.fetch.heads import framing, parse, status_of, without_secrets


def chunked(body: bytes, rng: random.Random) -> bytes:
    out = b""
    while body:
        n = rng.randrange(1, 40)
        out += b"%x%s\r\n%s\r\n" % (len(body[:n]), rng.choice([b"", b";a=b", b' ; q="x"']), body[:n])
        body = body[n:]
    return out + b"0\r\n" + rng.choice([b"", b"X-T: v\r\nY: w\r\n"]) + b"\r\n"


@pytest.mark.parametrize("seed", range(30))
def test_pieces_of_any_size(seed: int) -> None:
    rng = random.Random(seed)
    body = rng.randbytes(rng.randrange(500))
    wire = chunked(body, rng)
    reader, out, at = Dechunker(), b"", 0
    while at < len(wire):
        n = rng.randrange(1, 30)
        out += reader.feed(wire[at : at + n])
        at += n
    assert (out, reader.done, reader.broken) == (body, True, False)
    assert Dechunker().feed(wire) == body


@pytest.mark.parametrize(
    ("wire", "payload", "broken"),
    [
        (b"5\r\nhello\r\n", b"hello", False),
        (b"5\r\nhel", b"hel", False),
        (b"zz\r\n", b"", True),
        (b"\r\n", b"", True),
        (b"-1\r\nx", b"", True),
        (b"2\r\nhiXX", b"hi", True),
        (b"2\r\nhi\r\nff ff\r\n", b"hi", True),
        (b"10000000000000000\r\nx", b"", True),
        (b"5" * (LINE_MAX + 1), b"", True),
        (b"5\nhello\n0\n\n", b"hello", False),
    ],
)
def test_damage(wire: bytes, payload: bytes, broken: bool) -> None:
    reader = Dechunker()
    assert (reader.feed(wire), reader.broken) == (payload, broken)


def test_nothing_after_the_end_is_payload() -> None:
    assert Dechunker().feed(b"1\r\na\r\n0\r\n\r\nb\r\n") == b"a"


def test_head() -> None:
    head = b"HTTP/1.1 200 OK\r\nA:1\r\n b \r\nB : \xff\t\r\nno header\r\n: none\r\nC: x:y\nC:\r\n\r\n"
    assert parse(head.splitlines(True)) == [("a", "1 b"), ("b", "\xff"), ("c", "x:y"), ("c", "")]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"HTTP/1.1 200 OK\r\n", 200),
        (b"HTTP/1.0 404\r\n", 404),
        (b"HTTP/2 204 \r\n", 204),
        (b"HTTP/1.1 299\n", 299),
        (b"HTTP/1.1 2000 OK\r\n", 0),
        (b"HTTP/1.1 099 OK\r\n", 0),
        (b"HTTP/1.1 2x0 OK\r\n", 0),
        (b"HTTP/1.2 200 OK\r\n", 0),
        (b"HTTP/2.0 200 OK\r\n", 0),
        (b"HTTP/1.1\r\n", 0),
    ],
)
def test_status_line(line: bytes, status: int) -> None:
    assert status_of(line) == status


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], (False, False, False)),
        ([("content-length", "5")], (False, True, False)),
        ([("content-length", "5, 5"), ("content-length", "5")], (False, True, False)),
        ([("content-length", "5, 6")], (False, True, True)),
        ([("content-length", "+5")], (False, True, True)),
        ([("content-length", "9" * 19)], (False, True, True)),
        ([("transfer-encoding", "gzip, Chunked"), ("content-length", "x")], (True, True, False)),
    ],
)
def test_framing(headers: list[tuple[str, str]], expected: tuple[bool, bool, bool]) -> None:
    chunk, length, problem = framing(headers)
    assert (chunk, length, bool(problem)) == expected


def test_secret_lines() -> None:
    head = b"GET /cookie HTTP/1.1\r\nHost: a\r\nCOOKIE: a\r\nauthorization : b\r\nX-Csrf-Token: c\r\nX-Api-Key: d\r\nToken-Of: e\r\n\r\n"
    assert without_secrets(head) == b"GET /cookie HTTP/1.1\r\nHost: a\r\nToken-Of: e\r\n\r\n"
