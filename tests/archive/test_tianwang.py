"""The Tianwang page store: what is written reads back, and a damaged record costs itself."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.archive import tianwang
from nephila.archive.stream import Stream
from nephila.archive.tianwang import Answer

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=GB2312\r\n\r\n" + "<title>网页</title>".encode("gbk")
FIRST = Answer("http://net.pku.test/~cnds/", 1_063_721_600.0, PAGE, "162.105.0.1", "http://net.pku.test/~cnds")
SECOND = Answer("http://net.pku.test/b", 1_063_721_601.0, b"HTTP/1.0 404 Not Found\r\n\r\n")


def read(data: bytes, block: int = 7) -> tuple[list[Answer], list[tuple[int, str]]]:
    told: list[tuple[int, str]] = []
    blocks = (data[at : at + block] for at in range(0, len(data), block))
    return list(tianwang.read(Stream(blocks), lambda at, what: told.append((at, what)))), told


def test_a_record_as_the_rules_say() -> None:
    assert tianwang.write(FIRST) == (
        b"version: 1.0\nurl: http://net.pku.test/~cnds/\norigin: http://net.pku.test/~cnds\n"
        b"date: Tue, 16 Sep 2003 14:13:20 GMT\nip: 162.105.0.1\nlength: %d\n\n%b\n" % (len(PAGE), PAGE)
    )


def test_a_compressed_record_says_both_lengths() -> None:
    head, _, data = tianwang.write(FIRST, compressed=True).partition(b"\n\n")
    assert b"\nunzip-length: %d\nlength: %d" % (len(PAGE), len(data) - 1) in head
    assert zlib.decompress(data[:-1]) == PAGE


@given(
    st.lists(
        st.builds(
            Answer,
            st.sampled_from(["http://a.test/", "http://a.test/%E7%BD%91?q=1"]),
            st.integers(0, 4_000_000_000).map(float),
            st.binary(max_size=300)
            | st.just(b"HTTP/1.1 200 OK\r\n\r\n\nversion: 1.0\nurl: x\nlength: 3\n\nabc\n")
            | st.just(b""),
            st.sampled_from(["", "192.0.2.1", "2001:db8::1"]),
            st.sampled_from(["", "http://b.test/"]),
        ),
        max_size=5,
    ),
    st.booleans(),
    st.integers(1, 50),
)
def test_what_is_written_reads_back(answers: list[Answer], compressed: bool, block: int) -> None:
    data = b"".join(tianwang.write(answer, compressed=compressed) for answer in answers)
    assert read(data, block) == (answers, [])


@pytest.mark.parametrize("between", [b"", b"\n", b"\r\n", b"\n\n"])
def test_records_may_end_in_other_ways(between: bytes) -> None:
    one, two = tianwang.write(FIRST)[:-1], tianwang.write(SECOND)
    assert read(one + between + two) == ([FIRST, SECOND], [])


def test_heads_with_other_line_ends_and_without_blanks() -> None:
    head = b"version:1.0\r\nurl:http://net.pku.test/b\r\ndate: not one\r\nlength:26\r\n\r\n"
    assert read(head + SECOND.data) == ([SECOND._replace(date=0.0)], [])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data.replace(b"\nlength: ", b"\nlength: 9"), "length is wrong"),
        (lambda data: data.replace(b"\nlength: ", b"\nlength: 99999999999"), "sound length"),
        (lambda data: data.replace(b"\nlength: ", b"\nlength: -"), "sound length"),
        (lambda data: data.replace(b"\nurl: ", b"\nlru: "), "address"),
        (lambda data: b"rubbish" + data[7:], "no record begins"),
        (lambda data: data[:40] + data[60:], ""),
    ],
)
def test_a_damaged_record_costs_itself(damage: object, said: str) -> None:
    broken, sound = damage(tianwang.write(FIRST)), tianwang.write(SECOND)  # type: ignore[operator]
    found, told = read(broken + sound * 30)
    assert found[-1] == SECOND
    assert len(found) >= 30 if said != "length is wrong" else len(found) >= 20
    if said:
        assert said in told[0][1]
        assert told[0][0] == 0


@pytest.mark.parametrize("cut", [1, 5, 20, 60, 120])
def test_a_torn_tail_is_told(cut: int) -> None:
    data = tianwang.write(SECOND) + tianwang.write(FIRST)
    found, told = read(data[:-cut])
    assert found == ([SECOND, FIRST] if cut == 1 else [SECOND])
    assert len(told) == (cut != 1)


def test_data_that_does_not_decompress_is_told() -> None:
    data = bytearray(tianwang.write(FIRST, compressed=True))
    data[-12] ^= 0xFF
    assert "does not decompress" in read(bytes(data))[1][0][1]


def test_an_address_with_a_line_end_is_refused() -> None:
    with pytest.raises(ValueError, match="line end"):
        tianwang.write(FIRST._replace(url="http://a.test/\nlength: 0"))
