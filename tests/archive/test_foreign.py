"""Archives of other writers, in any packing: every record that can be read is, with its place; damage is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from nephila.archive import foreign, reader, tianwang
from nephila.errors import Damaged

BODY = b"<title>hello</title>" * 20


def theirs(uri: str, block: bytes, version: bytes = b"1.0") -> bytes:
    head = b"WARC/%b\r\nWARC-Type: response\r\nWARC-Target-URI: %b\r\n" % (version, uri.encode())
    head += b"WARC-Date: 2017-03-06T04:02:06Z\r\nContent-Type: application/http; msgtype=response\r\n"
    return head + b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (len(block), block)


def warc(count: int = 3, *, gz: bool = False) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + BODY
    records = [theirs(f"http://a.test/{n}", http) for n in range(count)]
    return b"".join(map(gzip.compress, records) if gz else records)


def read(tmp_path: Path, data: bytes) -> tuple[list[tuple[str, bytes]], list[str]]:
    """(address, body) of each record, read at its place."""
    path, told, found = tmp_path / "theirs", list[str](), list[tuple[str, bytes]]()
    path.write_bytes(data)
    for where, entry in foreign.records(path, tmp_path / "spare.warc.gz", told.append):
        group = reader.read_group(where, entry.offset, entry.length)
        found.append((entry.uri, b"".join(group.body.blocks())))
        assert (where == path) == (data[:2] == b"\x1f\x8b" and not (tmp_path / "spare.warc.gz").exists())
    return found, told


WHOLE = [(f"http://a.test/{n}", BODY) for n in range(3)]


def with_dictionary(data: bytes) -> bytes:
    """As the community's rules for Zstandard say: a skippable frame with the dictionary, then a frame per record."""
    trained = zstandard.ZstdCompressionDict(BODY * 40)
    frames = [zstandard.ZstdCompressor(dict_data=trained).compress(part) for part in (data[:500], data[500:])]
    dictionary = zstandard.compress(trained.as_bytes())
    return b"\x5d\x2a\x4d\x18" + len(dictionary).to_bytes(4, "little") + dictionary + b"".join(frames)


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(lambda: warc(gz=True), id="a member per record"),
        pytest.param(lambda: warc(), id="not compressed"),
        pytest.param(lambda: gzip.compress(warc()), id="one member"),
        pytest.param(lambda: gzip.compress(warc()[:700]) + gzip.compress(warc()[700:]), id="members cut elsewhere"),
        pytest.param(lambda: gzip.compress(warc()) + bytes(512), id="zeros behind one member"),
        pytest.param(lambda: zstandard.compress(warc()[:700]) + zstandard.compress(warc()[700:]), id="zstd"),
        pytest.param(lambda: with_dictionary(warc()), id="zstd with a dictionary"),
        pytest.param(lambda: b"\xef\xbb\xbf" + warc(), id="rubbish in front"),
    ],
)
def test_every_packing_gives_every_record(packed: object, tmp_path: Path) -> None:
    assert read(tmp_path, packed()) == (WHOLE, [])  # type: ignore[operator]


@pytest.mark.parametrize("gz", [False, True])
def test_a_record_of_a_wrong_length_costs_itself(gz: bool, tmp_path: Path) -> None:
    data = warc().replace(b"Content-Length: 4", b"Content-Length: 3", 1)
    found, told = read(tmp_path, gzip.compress(data) if gz else data)
    assert [uri for uri, _ in found] == [uri for uri, _ in WHOLE]
    assert found[1:] == WHOLE[1:]
    assert "wrong at byte 0" in told[0]


def test_a_flipped_byte_costs_one_record(tmp_path: Path) -> None:
    data = bytearray(warc(gz=True))
    data[len(data) // 2] ^= 0xFF
    found, told = read(tmp_path, bytes(data))
    assert found == [WHOLE[0], WHOLE[2]]
    assert "offset" in told[0]


@pytest.mark.parametrize("kind", ["plain", "gzip", "one gzip", "zstd"])
def test_a_cut_file_gives_what_is_whole(kind: str, tmp_path: Path) -> None:
    whole = {
        "plain": warc(),
        "gzip": warc(gz=True),
        "one gzip": gzip.compress(warc()),
        "zstd": zstandard.compress(warc()),
    }
    found, told = read(tmp_path, whole[kind][:-30])
    assert found == WHOLE[: len(found)]
    assert len(found) >= (0 if kind in ("one gzip", "zstd") else 2)
    assert told or kind == "zstd"


def test_arc(tmp_path: Path) -> None:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + BODY
    version = b"1 0 Somebody\nURL IP-address Archive-date Content-type Archive-length\n"
    data = b"filedesc://x.arc 0.0.0.0 20140216050221 text/plain %d\n%b\n" % (len(version), version)
    data += b"http://a.test/0 192.0.2.1 20140216050221 text/html %d\n%b\n" % (len(http), http)
    data += b"http://a.test/a b 192.0.2.1 20140216050221 text/html %d\n%b\n" % (len(http), http)
    data += b"dns:a.test 192.0.2.1 20140216050221 text/dns 3\nabc\n"
    found, told = read(tmp_path, data)
    assert found == [("http://a.test/0", BODY), ("http://a.test/a%20b", BODY), ("dns:a.test", b"abc")]
    assert not told


def test_tianwang(tmp_path: Path) -> None:
    answers = [tianwang.Answer(uri, 1.0, b"HTTP/1.1 200 OK\r\n\r\n" + body, "192.0.2.1") for uri, body in WHOLE]
    assert read(tmp_path, b"".join(map(tianwang.write, answers))) == (WHOLE, [])


@pytest.mark.parametrize(
    "data",
    [b"<html>", b"PK\x03\x04", bytes(1000), gzip.compress(b"hello", mtime=0)],
    ids=["html", "zip", "zeros", "gzip"],
)
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="no WARC, ARC or Tianwang file"):
        read(tmp_path, data)


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, b"") == ([], [])


def test_a_header_of_bare_line_feeds_and_one_without_an_end(tmp_path: Path) -> None:
    found, told = read(
        tmp_path,
        theirs("http://a.test/", b"HTTP/1.0 200 OK\nA: b\n\nbody") + theirs("http://a.test/", b"HTTP/1.0 304 Not\r\n"),
    )
    assert [body for _, body in found] == [b"body", b""]
    assert not told
