"""What the writer stores, as other people's readers see it."""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator

from nephila.archive import index, record
from nephila.archive.warc import Writer
from nephila.errors import DiskFull, JobError
from nephila.types import Body, Kind, Links, Outcome

HTML = b"<html><body>" + b"hello world " * 300
CHUNKED = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"


def warcio_records(path: Path) -> list[tuple[str, Any, bytes]]:
    """(type, record headers, block) of each record; fails when a digest does not hold."""
    found = []
    with path.open("rb") as file:
        for item in ArchiveIterator(file, check_digests="raise"):
            found.append((item.rec_type, item.rec_headers, item.raw_stream.read()))
            assert item.digest_checker.passed is not False
    return found


def fastwarc_verifies(path: Path) -> list[bool]:
    verified = []
    with path.open("rb") as file:
        for item in FastIterator(file, parse_http=False):
            block = item.verify_block_digest()
            if item.record_type == WarcRecordType.response:
                item.parse_http()
                block = block and item.verify_payload_digest()
            verified.append(block)
    return verified


def cases(make: Any) -> dict[str, Any]:
    big = os.urandom(1 << 16) * 40
    zipped = gzip.compress(HTML, mtime=0)
    return {
        "plain": make.answer(HTML),
        "empty": make.answer(b""),
        "chunked": make.answer(b"", body=Body(CHUNKED), payload=Body(b"hello world")),
        "gzip": make.answer(zipped, extra="Content-Encoding: gzip\r\n"),
        "spooled": make.answer(big, payload=make.spooled(big)),
        "truncated": make.answer(HTML[:100], truncated="length"),
        "h2": make.answer(HTML, protocol="h2"),
        "h3": make.answer(HTML, protocol="h3"),
        "refused": make.answer(b"no", status=404),
        "latin1 header": make.answer(HTML, extra="X-Odd: \x01caf\xe9\r\n".encode("latin-1").decode("latin-1")),
    }


@pytest.mark.parametrize(
    "name", ["plain", "empty", "chunked", "gzip", "spooled", "truncated", "h2", "h3", "refused", "latin1 header"]
)
def test_every_digest_is_verified_by_warcio_and_fastwarc(shelf: Any, make: Any, name: str) -> None:
    response = cases(make)[name]
    writer = shelf.writer()
    kept = writer(make.visit(response))
    writer.close()
    path = shelf.folder / kept.file
    found = warcio_records(path)
    assert [kind for kind, _, _ in found] == ["warcinfo", "response", "request", "metadata"]
    assert fastwarc_verifies(path) == [True] * 4
    assert found[2][2] == b""  # a request without a body: warcio has read its header


def test_warcio_check_passes_on_a_whole_file(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    for number, response in enumerate(cases(make).values(), start=1):
        writer(make.visit(response, id=number))
    writer.close()
    (path,) = shelf.folder.iterdir()
    done = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_stored_body_is_the_one_on_the_wire_and_the_digest_the_one_of_the_payload(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    plain = writer(make.visit(make.answer(b"hello world")))
    framed = writer(make.visit(make.answer(b"", status=404, body=Body(CHUNKED), payload=Body(b"hello world")), id=2))
    assert framed.digest == plain.digest == record.sha1_text(hashlib.sha1(b"hello world").digest())
    found = list(index.walk(shelf.folder / framed.file))
    assert found[4].headers["warc-payload-digest"] == record.sha1_text(hashlib.sha1(CHUNKED).digest())


def test_header_lines_of_a_response(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    writer(make.visit(make.answer(HTML, url="https://me:secret@example.com/x?a=@b", protocol="h2", truncated="time")))
    (path,) = shelf.folder.iterdir()
    _, response, request, metadata = index.walk(path)
    assert response.headers["warc-target-uri"] == "https://example.com/x?a=@b"
    assert response.headers["warc-date"] == "2023-11-14T22:13:20.250000Z"
    assert response.headers["warc-ip-address"] == "192.0.2.7"
    assert response.headers["warc-truncated"] == "time"
    assert response.headers["warc-protocol"] == "h2"
    assert response.headers["content-type"] == "application/http; msgtype=response"
    assert (
        request.headers["warc-concurrent-to"]
        == metadata.headers["warc-concurrent-to"]
        == response.headers["warc-record-id"]
    )
    assert b"secret" not in gzip.decompress(path.read_bytes())


def test_the_record_says_where_the_group_lies_and_warcinfo_precedes_it(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    one, two = writer(make.visit(make.answer(HTML))), writer(make.visit(make.answer(b"other"), id=2))
    info, *found = index.walk(shelf.folder / one.file)
    assert (info.type, info.length) == ("warcinfo", one.offset)
    assert one.offset + one.length == two.offset == found[3].offset
    assert two.offset + two.length == (shelf.folder / one.file).stat().st_size


def test_a_group_is_one_write_and_a_spooled_one_several(shelf: Any, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: sizes.append(len(data)) or write(fd, data))
    writer = shelf.writer()
    first = writer(make.visit(make.answer(HTML)))
    assert sizes == [first.offset + first.length]
    sizes.clear()
    big = os.urandom(1 << 20) * 2
    kept = writer(make.visit(make.answer(big, payload=make.spooled(big)), id=2))
    assert len(sizes) > 1
    assert sum(sizes) == kept.length


def test_short_writes_are_carried_on(shelf: Any, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:100]))
    kept = shelf.writer()(make.visit(make.answer(HTML)))
    assert [found.type for found in index.walk(shelf.folder / kept.file)] == [
        "warcinfo",
        "response",
        "request",
        "metadata",
    ]


@pytest.mark.parametrize(("outcome", "reason", "last"), [(Outcome.UNREACHABLE, "status.503", False)])
def test_what_will_be_tried_again_is_not_kept(shelf: Any, make: Any, outcome: Outcome, reason: str, last: bool) -> None:
    writer = shelf.writer()
    assert writer(make.visit(make.answer(b"", status=503), outcome=outcome, reason=reason, last=last)) is None
    assert writer(make.visit(None)) is None
    assert writer(make.visit(make.answer(b"", status=503), outcome=outcome, reason=reason, last=True)) is not None


def test_the_same_payload_again_becomes_a_revisit(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    first = writer(make.visit(make.answer(HTML), id=7))
    again = writer(make.visit(make.answer(b"", url="http://example.com/b", body=Body(b"x"), payload=Body(HTML)), id=8))
    writer.close()
    assert (first.same_as, again.same_as) == (0, 7)
    assert again.digest == first.digest
    found = warcio_records(shelf.folder / first.file)
    kind, headers, block = found[4]
    original = found[1][1]
    assert (kind, block) == ("revisit", b"")
    assert headers.get_header("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert headers.get_header("WARC-Refers-To") == original.get_header("WARC-Record-ID")
    assert headers.get_header("WARC-Refers-To-Target-URI") == original.get_header("WARC-Target-URI")
    assert headers.get_header("WARC-Refers-To-Date") == original.get_header("WARC-Date")
    assert headers.get_header("WARC-Payload-Digest") == original.get_header("WARC-Payload-Digest")


def test_no_revisit_for_empty_truncated_or_refused_answers_nor_across_files(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    for _ in range(2):
        assert writer(make.visit(make.answer(b""))).same_as == 0
        assert writer(make.visit(make.answer(b"cut", truncated="time"))).same_as == 0
        assert writer(make.visit(make.answer(b"gone", status=404))).same_as == 0
    assert writer(make.visit(make.answer(HTML))).same_as == 0
    writer.close()
    assert writer(make.visit(make.answer(HTML))).same_as == 0


def test_a_file_is_rolled_at_its_limit_and_told_of(shelf: Any, make: Any) -> None:
    writer = shelf.writer(bytes_max=1)
    one, two = writer(make.visit(make.answer(HTML))), writer(make.visit(make.answer(HTML)))
    writer.close()
    assert [one.file, two.file] == ["job-3-00000.warc.gz", "job-3-00001.warc.gz"]
    length = (shelf.folder / one.file).stat().st_size
    assert shelf.told[:3] == [
        ("open", one.file, os.getpid()),
        ("close", one.file, length),
        ("open", two.file, os.getpid()),
    ]
    assert len(shelf.told) == 4
    assert next(iter(index.walk(shelf.folder / two.file))).type == "warcinfo"


def test_a_name_is_registered_before_its_file_exists_and_the_file_is_locked(shelf: Any, make: Any) -> None:
    there: list[bool] = []
    writer = shelf.writer(on_open=lambda file, pid: there.append((shelf.folder / file).exists()))
    kept = writer(make.visit(make.answer(HTML)))
    assert there == [False]
    with (shelf.folder / kept.file).open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    writer.close()
    with (shelf.folder / kept.file).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_no_existing_name_is_ever_opened(shelf: Any, make: Any) -> None:
    (shelf.folder / "job-3-00000.warc.gz").write_bytes(b"other")
    (shelf.folder / "job-3-00001.warc.gz").symlink_to("nowhere")
    kept = shelf.writer()(make.visit(make.answer(HTML)))
    assert kept.file == "job-3-00002.warc.gz"
    assert shelf.writer(serial_min=9)(make.visit(make.answer(HTML))).file == "job-3-00009.warc.gz"
    assert (shelf.folder / "job-3-00000.warc.gz").read_bytes() == b"other"


def test_a_file_that_appears_under_our_registered_name_is_an_error(shelf: Any, make: Any) -> None:
    writer = shelf.writer(on_open=lambda file, pid: (shelf.folder / file).write_bytes(b"thief"))
    with pytest.raises(JobError, match="another process"):
        writer(make.visit(make.answer(HTML)))
    assert (shelf.folder / "job-3-00000.warc.gz").read_bytes() == b"thief"


def test_steps_are_announced_in_order(shelf: Any, make: Any) -> None:
    writer = shelf.writer(fsync=True, bytes_max=1)
    writer(make.visit(make.answer(HTML)))
    settled = len(shelf.steps)
    writer(make.visit(make.answer(HTML)))
    assert shelf.steps[settled - 1] == "archive.synced"  # a file is closed when the visit that filled it has left
    assert shelf.steps[:9] == [
        "archive.open",
        "archive.opened",
        "archive.write",
        "archive.written",
        "archive.sync",
        "archive.synced",
        "archive.roll",
        "archive.close",
        "archive.closed",
    ]


@pytest.mark.parametrize("failing", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("big", [False, True])
def test_a_failed_write_leaves_the_file_as_it_was(
    shelf: Any, make: Any, monkeypatch: pytest.MonkeyPatch, failing: int, big: bool
) -> None:
    writer = shelf.writer()
    first = writer(make.visit(make.answer(HTML)))
    write = os.write

    def half(fd: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(failing, os.strerror(failing))
        return write(fd, bytes(data)[: len(data) // 2])

    data = os.urandom(1 << 16) * 20
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(DiskFull, match=first.file):
            writer(make.visit(make.answer(data, payload=make.spooled(data) if big else Body(data)), id=2))
    assert (shelf.folder / first.file).stat().st_size == first.offset + first.length
    after = writer(make.visit(make.answer(b"room again"), id=3))
    assert after.offset == first.offset + first.length
    assert len(warcio_records(shelf.folder / first.file)) == 7


def test_a_first_group_that_failed_is_written_with_its_warcinfo_later(
    shelf: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = shelf.writer()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(DiskFull):
            writer(make.visit(make.answer(HTML)))
    kept = writer(make.visit(make.answer(HTML)))
    assert next(iter(index.walk(shelf.folder / kept.file))).type == "warcinfo"
    assert kept.same_as == 0


def test_a_file_size_limit_of_the_system_ends_in_disk_full(tmp_path: Path) -> None:
    """RLIMIT_FSIZE with SIGXFSZ ignored: write(2) is cut short at the limit, then fails with EFBIG."""
    code = """
        import os, resource, signal, sys
        from pathlib import Path
        from nephila.archive import index
        from nephila.archive.warc import Writer
        from nephila.errors import DiskFull
        from nephila.types import Body, Lease, Outcome, Request, Response, Timings, Visit
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        writer = Writer(Path(sys.argv[1]), "job", 1, bytes_max=10**9, fsync=False, software="x", info={},
                        on_open=lambda *a: None, on_close=lambda *a: None)
        end = 0
        for number in range(100):
            body = Body(os.urandom(3000))
            response = Response("http://h/", 200, "http/1.1", b"HTTP/1.1 200 OK\\r\\n\\r\\n", [], body, body, b"", 1.0, Timings())
            try:
                kept = writer(Visit(Lease(number, Request("http://h/"), 1), Outcome.OK, response=response))
            except DiskFull:
                break
            end = kept.offset + kept.length
        path = Path(sys.argv[1]) / kept.file
        print(number, path.stat().st_size == end, sum(1 for _ in index.walk(path)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], capture_output=True, text=True, check=True
    )
    groups, sound, records = done.stdout.split()
    assert (sound, int(records)) == ("True", 1 + 2 * int(groups))
    assert 3 <= int(groups) <= 6


def test_metadata_holds_what_the_bytes_do_not_say(shelf: Any, make: Any) -> None:
    from nephila.archive.reader import read_group

    hrefs = ["/b", "c?d=e", "../up", "?q", "#frag", "//other.example/x", "https://x.example/", "a b", "mailto:a@b.c"]
    asked: list[str] = []

    def resolve(base: str, href: str, charset: str) -> str | None:
        asked.append(href)
        return {"a b": "http://example.com/a/a%20b"}.get(href)

    read = make.page(hrefs, resolve=resolve, title="two\r\nlines: x", language="de")
    kept = shelf.writer()(make.visit(make.answer(HTML, tls="TLSv1.3"), page=read))
    fields = read_group(shelf.folder / kept.file, kept.offset, kept.length).metadata
    assert dict(fields[:9]) == {
        "kind": "page",
        "depth": "2",
        "hops": "0",
        "outcome": "OK",
        "fetchTimeMs": "125",
        "tls": "TLSv1.3",
        "charset": "utf-8",
        "language": "de",
        "title": "two lines: x",
    }
    assert [value for name, value in fields if name == "outlink"] == [
        "http://example.com/b page",
        "http://example.com/a/c?d=e page",
        "http://example.com/a/../up page",
        "http://example.com/a/page?q page",
        "http://example.com/a/page?x=1#frag page",
        "http://other.example/x page",
        "https://x.example/ page",
        "http://example.com/a/a%20b page",
    ]
    assert asked == ["a b", "mailto:a@b.c"]


def test_identifiers_are_random_uuids() -> None:
    import uuid

    found = [uuid.UUID(record.new_id()[1:-1]) for _ in range(300)]
    assert len(set(found)) == 300
    assert {one.version for one in found} == {4}
    assert {one.variant for one in found} == {uuid.RFC_4122}


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1e9 + 0.5, "2001-09-09T01:46:40.500000Z"),
        (1.9999999, "1970-01-01T00:00:01.999999Z"),
    ],
)
def test_dates(moment: float, text: str) -> None:
    assert record.date(moment) == text


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/", "http://h/"),
        ("http://u:p@h:81/a@b", "http://h:81/a@b"),
        ("http://u@x@h?q=@", "http://h?q=@"),
        ("http://h/a\r\nX: y", "http://h/a%20%20X:%20y"),
    ],
)
def test_targets(url: str, expected: str) -> None:
    assert record.target(url) == expected


def test_an_answer_without_http_header_is_a_resource(shelf: Any, make: Any) -> None:
    writer: Writer = shelf.writer()
    kept = writer(make.visit(make.answer(b"a file", url="ftp://example.com/f", head=b"", protocol="ftp")))
    assert kept is not None
    found = warcio_records(shelf.folder / kept.file)
    assert (found[1][0], found[1][2]) == ("resource", b"a file")


def test_not_modified_is_a_revisit_of_its_own_address(shelf: Any, make: Any) -> None:
    writer = shelf.writer()
    kept = writer(make.visit(make.answer(b"", status=304), outcome=Outcome.UNCHANGED))
    writer.close()
    kind, headers, _ = warcio_records(shelf.folder / kept.file)[1]
    assert kind == "revisit"
    assert headers.get_header("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert headers.get_header("WARC-Refers-To-Target-URI") == make.URL
    assert (headers.get_header("WARC-Payload-Digest"), kept.same_as) == (None, 0)


def test_a_file_whose_first_group_failed_is_removed_on_close(
    shelf: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = shelf.writer()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(DiskFull):
            writer(make.visit(make.answer(HTML)))
    writer.close()
    assert list(shelf.folder.iterdir()) == []
    assert shelf.told[-1] == ("close", "job-3-00000.warc.gz", 0)


def test_when_even_the_way_back_fails_another_file_is_begun(
    shelf: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = shelf.writer()
    first = writer(make.visit(make.answer(HTML)))
    with monkeypatch.context() as patch:
        for name in ("write", "ftruncate"):
            patch.setattr(os, name, lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        with pytest.raises(DiskFull):
            writer(make.visit(make.answer(b"x"), id=2))
    assert writer(make.visit(make.answer(HTML), id=3)).file != first.file


@pytest.mark.parametrize("folders", [1, 50])
def test_remembered_outlinks_are_bounded_however_links_are_spread(folders: int) -> None:
    from nephila.archive.metadata import Outlinks

    outlinks = Outlinks(half=100)
    for n in range(500):
        base = f"http://a.test/{n % folders}/page"
        links = Links(base, "utf-8", [f"x{n}"], [Kind.PAGE], ["a"], ["href"], resolve=lambda *_: None)
        assert outlinks(links) == f"outlink: http://a.test/{n % folders}/x{n} page\r\n"
    held = sum(1 + len(lines) for memo in (outlinks._young, outlinks._old) for lines in memo.values())
    assert 100 <= held <= 202


def test_an_ftp_visit_keeps_what_was_said(shelf: Any, make: Any) -> None:
    """A file is a resource with the conversation beside it; where nothing came, the conversation is all."""
    writer: Writer = shelf.writer()
    said = b"220 hello\r\nRETR f\r\n226 done\r\n"
    headers = [("content-type", "application/gzip")]
    file = make.answer(b"a file", url="ftp://example.com/f", head=said, protocol="ftp", status=226, headers=headers)
    gone = make.answer(b"", url="ftp://example.com/g", head=said, protocol="ftp", status=550)
    kept = writer(make.visit(msgspec.structs.replace(file, request_head=b"")))
    assert kept is not None
    assert writer(make.visit(msgspec.structs.replace(gone, request_head=b""), outcome=Outcome.REFUSED)) is not None
    kinds = [(type, headers["content-type"]) for type, headers, _ in warcio_records(shelf.folder / kept.file)[1:]]
    assert kinds == [
        ("resource", "application/gzip"),
        ("metadata", "text/x-ftp-control-conversation"),
        ("metadata", "application/warc-fields"),
        ("metadata", "text/x-ftp-control-conversation"),
        ("metadata", "application/warc-fields"),
    ]
