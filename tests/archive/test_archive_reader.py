"""What was written reads back, decoded."""

from __future__ import annotations

import gzip
import os
from typing import Any, NamedTuple

import pytest

from nephila.archive.reader import Place, dechunked, header_pairs, inside, payload, read_group
from nephila.errors import Damaged
from nephila.types import Body

HTML = b"<html>" + b"hello " * 500


class Decoded(NamedTuple):
    content: bytes
    problem: str = ""


def decode(body: Body, encoding: str, limit: int, ratio_max: int) -> Decoded:
    """The little of a content decoder that these tests need."""
    data = b"".join(body.blocks())
    return Decoded(gzip.decompress(data) if encoding == "gzip" else data[:limit])


def chunked(data: bytes, size: int = 700) -> bytes:
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nX-Trailer: 1\r\n\r\n"


def place(shelf: Any, kept: Any) -> Place:
    return Place(inside(shelf.folder, kept.file), kept.offset, kept.length)


def test_a_group_reads_back_as_it_was_written(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    response = make.answer(HTML)
    writer(make.visit(make.answer(b"before")))
    kept = writer(make.visit(response, id=2))
    group = read_group(shelf.folder / kept.file, kept.offset, kept.length)
    assert (group.type, group.response_head, group.request) == ("response", response.head, make.REQUEST)
    assert b"".join(group.body.blocks()) == HTML
    assert group.headers["warc-target-uri"] == make.URL


def test_chunked_and_compressed_content_is_decoded(shelf: Any, make: Any) -> None:
    zipped = gzip.compress(HTML, mtime=0)
    response = make.answer(b"", extra="Content-Encoding: gzip\r\n", body=Body(chunked(zipped)), payload=Body(zipped))
    kept = shelf.writer()(make.visit(response))
    found = payload(place(shelf, kept), decode)
    assert found.content == HTML
    assert ("content-encoding", "gzip") in found.headers


def test_a_revisit_gives_the_first_content_with_its_own_header(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    first = writer(make.visit(make.answer(b"", body=Body(chunked(HTML)), payload=Body(HTML))))
    again = writer(make.visit(make.answer(HTML, extra="X-Second: yes\r\n"), id=2))
    assert again.same_as == 1
    found = payload(place(shelf, again), decode, place(shelf, first))
    assert found.content == HTML
    assert ("x-second", "yes") in found.headers
    with pytest.raises(Damaged, match="repeats"):
        payload(place(shelf, again), decode)


def test_a_large_body_waits_in_a_file(shelf: Any, make: Any) -> None:
    data = os.urandom(1 << 20) + b"tail" * 1000
    kept = shelf.writer()(make.visit(make.answer(data, payload=make.spooled(data))))
    group = read_group(shelf.folder / kept.file, kept.offset, kept.length)
    assert group.body.spooled
    assert b"".join(group.body.blocks()) == data
    group.body.close()
    assert payload(place(shelf, kept), decode, limit=10).content == data[:10]


@pytest.mark.parametrize("file", ["", "..", "../x", "/etc/passwd", "a/b"])
def test_a_name_never_leads_out_of_the_folder(shelf: Any, file: str) -> None:
    with pytest.raises(Damaged, match="not the name"):
        payload(Place(inside(shelf.folder, file), 0, 10), decode)


def test_wrong_places_are_damage(shelf: Any, make: Any) -> None:
    kept = shelf.writer()(make.visit(make.answer(HTML)))
    path = shelf.folder / kept.file
    for offset, length in [(kept.offset + 1, kept.length), (kept.offset, kept.length - 1), (10**9, 5)]:
        with pytest.raises(Damaged):
            read_group(path, offset, length)
    with pytest.raises(Damaged, match="cannot be read"):
        read_group(shelf.folder / "none.warc.gz", 0, 10)
    (shelf.folder / "link.warc.gz").symlink_to(path)
    with pytest.raises(Damaged, match="cannot be read"):
        read_group(shelf.folder / "link.warc.gz", kept.offset, kept.length)


@pytest.mark.parametrize("block", [1, 2, 3, 7, 4096])
def test_dechunking_does_not_depend_on_where_blocks_end(block: int) -> None:
    class Drops(Body):
        def blocks(self, size: int = block) -> Any:
            data = self.head(1 << 20)
            return (data[at : at + block] for at in range(0, len(data), block))

    assert b"".join(dechunked(Drops(chunked(HTML, 100)))) == HTML


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"5\r\nhel", b"hel"),
        (b"5\r\nhello\r\n", b"hello"),
        (b'5;ext="x"\r\nhello\r\nzz\r\n', b"hello"),
        (b"5\nhello\n0\n\n", b"hello"),
        (b"-5\r\nhello", b""),
        (b"", b""),
    ],
)
def test_broken_chunks_give_what_came_before(wire: bytes, expected: bytes) -> None:
    assert b"".join(dechunked(Body(wire))) == expected


def test_header_pairs_fold_and_skip_what_is_no_header() -> None:
    head = b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nno colon\r\nX-Caf\xe9: \xff\r\n\r\n"
    assert header_pairs(head) == [("a", "b c"), ("x-caf\xe9", "\xff")]


@pytest.mark.parametrize("size", [(1 << 20) - 300, 1 << 20, 5 << 20])
def test_a_body_that_compresses_a_thousandfold(shelf: Any, make: Any, size: int) -> None:
    data = bytes(size)
    kept = shelf.writer()(make.visit(make.answer(data, payload=make.spooled(data))))
    assert kept.length < size // 100
    assert payload(place(shelf, kept), decode).content == data
