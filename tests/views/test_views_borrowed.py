"""Views of archives that other programs wrote: the same views, whatever the form."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fastwarc.warc import ArchiveIterator

from nephila import cli
from nephila.archive import tianwang
from nephila.archive.stream import Stream
from nephila.errors import ConfigError
from nephila.fetch.decode import decode
from nephila.views import registry
from nephila.views.borrowed import borrowed

A = "http://a.test"


def record(uri: str, block: bytes, kind: str = "response", **more: str) -> bytes:
    http = block.startswith(b"HTTP/")
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Date: 2017-03-06T04:02:06Z\r\n"
    head += f"Content-Type: {'application/http; msgtype=response' if http else more.pop('type', 'text/html')}\r\n"
    head += "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in more.items())
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def page(body: str, charset: str = "utf-8") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset={charset}\r\n\r\n".encode() + body.encode(charset)


RECORDS = [
    record(f"{A}/", page("<title>首页</title><a href=/b>b</a><a href=/gone>gone</a>", "gbk"), WARC_Payload_Digest="sha1:X"),
    record(f"{A}/", b"GET / HTTP/1.1\r\n\r\n", "request"),
    record(f"{A}/old", b"HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n", WARC_IP_Address="192.0.2.7"),
    record(f"{A}/b", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n<b>b\r\n0\r\n\r\n"),
    record(f"{A}/robots.txt", b"HTTP/1.1 404 Not Found\r\n\r\n"),
    record(f"{A}/", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "revisit", WARC_Payload_Digest="sha1:X"),
    record("ftp://a.test/f.txt", b"hello", "resource", type="text/plain"),
    record("dns:a.test", b"1", "resource", type="text/dns"),
]  # fmt: skip


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.warc.gz"
    path.write_bytes(b"".join(map(gzip.compress, RECORDS)))
    return path


def rows(path: Path, tmp_path: Path) -> list[dict[str, Any]]:
    registry.export_from("jsonl", [path], str(tmp_path / "rows"), decode)
    return [msgspec.json.decode(line) for line in (tmp_path / "rows").read_bytes().splitlines()]


def test_each_record_is_a_visit_with_its_outcome(theirs: Path, tmp_path: Path) -> None:
    found = [
        (
            row["url"].removeprefix(A),
            row["round"],
            row["kind"],
            row["status"],
            row["outcome"],
            row["title"],
            row["links"],
        )
        for row in rows(theirs, tmp_path)
    ]
    assert found == [
        ("/", 1, "page", 200, "OK", "首页", 2),
        ("/old", 1, "embed", 301, "MOVED", "", 1),
        ("/b", 1, "page", 200, "OK", "", 0),
        ("/robots.txt", 1, "robots", 404, "REFUSED", "", 0),
        ("/", 2, "page", 200, "OK", "", 0),
        ("ftp://a.test/f.txt", 1, "page", 0, "OK", "", 0),
    ]


def test_contents_are_decoded_and_a_revisit_has_that_of_its_original(theirs: Path) -> None:
    with borrowed([theirs], decode, pytest.fail) as source:
        contents = {kept.url.removeprefix(A): source.content(kept).content for kept in source.pages()}
        assert contents["/"].decode("gbk").startswith("<title>首页</title>")
        assert (contents["/b"], contents["ftp://a.test/f.txt"]) == (b"<b>b", b"hello")
        assert ("http://a.test/gone", "refused", "") in list(source.addresses())
        assert source.seeds() == [f"{A}/", "ftp://a.test/f.txt"]


def test_a_graph_of_it_with_and_without_the_texts_of_links(theirs: Path, tmp_path: Path) -> None:
    for name, chosen in (("plain", {}), ("texts", {"anchors": True})):
        said = registry.export_from("graph", [theirs], str(tmp_path / name), decode, chosen=chosen)
        assert said.startswith("5 nodes, 3 edges")


def test_a_mirror_of_it(theirs: Path, tmp_path: Path) -> None:
    registry.export_from("mirror", [theirs], str(tmp_path / "site"), decode)
    text = (tmp_path / "site" / "a.test" / "index.html").read_text("gbk")
    assert 'href="b.html"' in text
    assert f'href="{A}/gone"' in text


@pytest.mark.parametrize("form", ["plain", "one member", "wacz", "folder"])
def test_other_forms_give_the_same(form: str, theirs: Path, tmp_path: Path) -> None:
    wanted = rows(theirs, tmp_path)
    other = tmp_path / "other"
    if form == "folder":
        (other / "deep").mkdir(parents=True)
        theirs.rename(other / "deep" / "x.warc.gz")
    elif form == "wacz":
        with zipfile.ZipFile(other, "w") as wacz:
            wacz.writestr("datapackage.json", "{}")
            wacz.writestr("archive/../../data.warc.gz", theirs.read_bytes())
    else:
        other.write_bytes(b"".join(RECORDS) if form == "plain" else gzip.compress(b"".join(RECORDS)))
    assert rows(other, tmp_path) == wanted


def test_warc_to_tianwang_and_back(theirs: Path, tmp_path: Path) -> None:
    registry.export_from("tianwang", [theirs], str(tmp_path / "a.tianwang"), decode, {"compressed": True})
    data = (tmp_path / "a.tianwang").read_bytes()
    answers = list(tianwang.read(Stream(iter([data])), lambda at, what: pytest.fail(what)))
    assert [answer.url for answer in answers] == [f"{A}/", f"{A}/b", "ftp://a.test/f.txt"]
    assert answers[0].data.partition(b"\r\n\r\n")[2].decode("gbk").startswith("<title>首页")
    assert answers[1].data == b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<b>b"
    registry.export_from("warc", [tmp_path / "a.tianwang"], str(tmp_path / "b.warc.gz"), decode)
    again = rows(tmp_path / "b.warc.gz", tmp_path)
    assert [(row["url"], row["title"], row["started"]) for row in again] == [
        (f"{A}/", "首页", "2017-03-06T04:02:06.000Z"),
        (f"{A}/b", "", "2017-03-06T04:02:06.000Z"),
        ("ftp://a.test/f.txt", "", "2017-03-06T04:02:06.000Z"),
    ]


def test_a_redirect_is_the_origin_of_a_tianwang_page(job: Any, tmp_path: Path) -> None:
    first = job.page(f"{A}/old", "", outcome=job.Outcome.MOVED, moved_to=f"{A}/new")
    job.page(f"{A}/new", "<p>x", kind=job.Kind.REDIRECT, parent=first)
    registry.export("tianwang", job.folder, str(tmp_path / "t"), job.decode)
    (answer,) = tianwang.read(Stream(iter([(tmp_path / "t").read_bytes()])), lambda at, what: pytest.fail(what))
    assert (answer.url, answer.origin, answer.ip) == (f"{A}/new", f"{A}/old", "192.0.2.1")


def test_a_job_as_one_warc_that_other_readers_read(job: Any, tmp_path: Path) -> None:
    job.page(f"{A}/", "<p>x")
    job.page(f"{A}/secret", "<p>y", access="me")
    said = registry.export("warc", job.folder, str(tmp_path / "one.warc.gz"), job.decode)
    assert said.startswith("1 visits")
    assert "left out" in said
    with (tmp_path / "one.warc.gz").open("rb") as file:
        types = [record.headers["WARC-Type"] for record in ArchiveIterator(file, verify_digests=True)]
    assert types == ["warcinfo", "response", "request", "metadata"]


def test_damage_is_told_and_the_rest_is_read(theirs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(theirs.read_bytes())
    data[40] ^= 0xFF
    theirs.write_bytes(data)
    assert cli.main(["export", "urls", "--from", str(theirs), "--to", "-"]) == 0
    out, err = capsys.readouterr()
    assert f"{A}/b" in out.splitlines()
    assert "theirs.warc.gz" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["urls"], "give the folder of a crawl"),
        (["urls", "job", "--from", "x"], "not both"),
        (["urls", "--from", "x", "--with", "me"], "--with belongs to a crawl"),
        (["urls", "--from", "none.warc"], "there is no such file"),
        (["urls", "--from", "."], "no archive files in this folder"),
        (["urls", "--from", "empty.warc"], "no pages in empty.warc"),
        (["urls", "--from", "zip.zip"], "no WACZ"),
    ],
)
def test_mistakes_are_told(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("zip.zip", "w") as file:
        file.writestr("x", "y")
    if "." not in words:
        Path("empty.warc").write_bytes(b"")
    assert cli.main(["export", *words]) == 2
    assert said in capsys.readouterr().err


def test_an_address_that_leads_out_of_the_folder_stays_inside(tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    path.write_bytes(record(f"{A}/..%2f..%2fevil", page("x")) + record("file:///etc/passwd", page("y")))
    registry.export_from("mirror", [path], str(tmp_path / "out" / "site"), decode)
    inside = {file for file in tmp_path.rglob("*") if file.is_file()} - {path}
    assert all(tmp_path / "out" / "site" in file.parents for file in inside)
    with pytest.raises(ConfigError, match="no pages"), borrowed([_only_file(tmp_path)], decode, pytest.fail):
        pass


def _only_file(tmp_path: Path) -> Path:
    path = tmp_path / "y.warc"
    path.write_bytes(record("file:///etc/passwd", page("y")))
    return path
