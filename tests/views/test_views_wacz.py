"""The index of an archive and the file that holds everything: what replay tools look up is there, and nothing that is not to be seen."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fastwarc.warc import ArchiveIterator

from nephila.errors import ConfigError
from nephila.fetch.decode import decode
from nephila.types import Outcome
from nephila.views import registry

A = "https://a.example"


def filled(job: Any) -> Any:
    """A site with a moved page, a page seen twice, one of a member's, and one that asks not to be searched."""
    job.page(
        f"{A}/",
        "<title>首页</title><p>你好 world".encode("gbk"),
        charset="gbk",
        title="首页",
        head="Content-Type: text/html; charset=gbk\r\n",
    )
    job.con.execute("UPDATE url SET depth = 0")
    job.moved(f"{A}/old", f"{A}/b")
    job.page(f"{A}/B?z=1&a=2", "<p>first", started=1_600_000_000.0)
    job.page(f"{A}/B?z=1&a=2", "<p>second", round=2, started=1_700_000_000.0)
    job.page(f"{A}/secret", "<p>hidden", access="me")
    job.page(f"{A}/quiet", "<meta name=robots content=noindex><p>whisper")
    job.page(f"{A}/i.png", b"\x89PNG", "image/png")
    return job


def index(lines: bytes) -> list[tuple[str, str, dict[str, str]]]:
    parts = [line.split(b" ", 2) for line in lines.splitlines()]
    return [(key.decode(), at.decode(), json.loads(rest)) for key, at, rest in parts]


def opened(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


def test_every_line_leads_to_its_record_and_lines_are_sorted(job: Any, tmp_path: Path) -> None:
    said = registry.export("cdxj", filled(job).folder, str(tmp_path / "i.cdxj"), job.decode)
    assert said.startswith("6 captures")
    data = (tmp_path / "i.cdxj").read_bytes()
    assert sorted(data.splitlines()) == data.splitlines()
    found = index(data)
    assert [(key, at) for key, at, _ in found][:3] == [
        ("example,a)/", "20231114221320"),
        ("example,a)/b?a=2&z=1", "20200913122640"),
        ("example,a)/b?a=2&z=1", "20231114221320"),
    ]
    for _, _, capture in found:
        offset, length = int(capture["offset"]), int(capture["length"])
        piece = (job.folder / "archive" / capture["filename"]).read_bytes()[offset : offset + length]
        (record,) = ArchiveIterator(io.BytesIO(piece), verify_digests=True)
        assert record.headers["WARC-Target-URI"] == capture["url"]
        assert record.headers["WARC-Payload-Digest"] == capture["digest"]
    assert {capture["url"]: capture["status"] for _, _, capture in found}[f"{A}/old"] == "301"


def test_a_page_of_a_member_needs_its_name(job: Any, tmp_path: Path) -> None:
    filled(job)
    for view in ("cdxj", "wacz"):
        registry.export(view, job.folder, str(tmp_path / view), job.decode)
        registry.export(view, job.folder, str(tmp_path / f"{view}-me"), job.decode, frozenset({"me"}))
    assert b"/secret" not in (tmp_path / "cdxj").read_bytes()
    assert b"/secret" in (tmp_path / "cdxj-me").read_bytes()
    without, within = opened(tmp_path / "wacz"), opened(tmp_path / "wacz-me")
    bare, full = (gzip.decompress(files["archive/data.warc.gz"]) for files in (without, within))
    assert (b"hidden" in bare, b"hidden" in full) == (False, True)
    assert not any(b"secret" in data for name, data in without.items() if not name.endswith("gz"))


def test_a_wacz_holds_records_index_and_pages_with_their_text(job: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    assert registry.export("wacz", filled(job).folder, str(path), job.decode).startswith("6 visits, 3 pages")
    files = opened(path)
    package = json.loads(files["datapackage.json"])
    assert package["wacz_version"] == "1.1.1"
    assert package["mainPageUrl"] == f"{A}/"
    for resource in package["resources"]:
        data = files[resource["path"]]
        assert (resource["bytes"], resource["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
    listed = {resource["path"] for resource in package["resources"]}
    assert listed == set(files) - {"datapackage.json", "datapackage-digest.json"}
    digest = json.loads(files["datapackage-digest.json"])["hash"]
    assert digest == f"sha256:{hashlib.sha256(files['datapackage.json']).hexdigest()}"
    head, seed = map(msgspec.json.decode, files["pages/pages.jsonl"].splitlines())
    assert (head["format"], head["hasText"]) == ("json-pages-1.0", True)
    assert (seed["url"], seed["ts"], seed["title"]) == (f"{A}/", "2023-11-14T22:13:20Z", "首页")
    assert "你好 world" in seed["text"]
    others = [msgspec.json.decode(line) for line in files["pages/extraPages.jsonl"].splitlines()[1:]]
    assert [(page["url"], page.get("text", "").strip()) for page in others] == [
        (f"{A}/B?z=1&a=2", "second"),
        (f"{A}/quiet", ""),
    ]


def test_records_are_stored_and_found_by_the_index(job: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    registry.export("wacz", filled(job).folder, str(path), job.decode)
    with zipfile.ZipFile(path) as file:
        for name in ("archive/data.warc.gz", "indexes/index.cdx.gz"):
            assert file.getinfo(name).compress_type == zipfile.ZIP_STORED
        assert all(info.extra for info in file.infolist()), "or ReplayWeb.page looks for the data in a wrong place"
    files = opened(path)
    meta, *blocks = files["indexes/index.idx"].splitlines()
    assert meta == b'!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}'
    ((key, _, block),) = index(b"\n".join(blocks))
    lines = gzip.decompress(files["indexes/index.cdx.gz"][block["offset"] :][: block["length"]])  # type: ignore[misc]
    assert key == index(lines)[0][0]
    for _, _, capture in index(lines):
        piece = files["archive/data.warc.gz"][int(capture["offset"]) :][: int(capture["length"])]
        (record,) = ArchiveIterator(io.BytesIO(piece), verify_digests=True)
        assert record.headers["WARC-Target-URI"] == capture["url"]


def test_a_long_index_is_cut_into_blocks(job: Any, tmp_path: Path) -> None:
    for n in range(301):
        job.page(f"{A}/{n:03}", "x", "text/plain")
    registry.export("wacz", job.folder, str(tmp_path / "x.wacz"), job.decode)
    files = opened(tmp_path / "x.wacz")
    blocks = index(files["indexes/index.idx"])[1:]
    assert [key for key, _, _ in blocks] == ["example,a)/000", "example,a)/300"]
    assert len(gzip.decompress(files["indexes/index.cdx.gz"]).splitlines()) == 301


def test_a_revisit_is_a_line_of_its_own(tmp_path: Path) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x"
    kinds = {"response": page, "revisit": page.partition(b"<p>")[0]}
    records = [
        b"WARC/1.1\r\nWARC-Type: %s\r\nWARC-Target-URI: %s/\r\nWARC-Date: 2017-03-06T04:02:06Z\r\n"
        b"WARC-Payload-Digest: sha1:X\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n"
        % (kind.encode(), A.encode(), len(block), block)
        for kind, block in kinds.items()
    ]
    theirs = tmp_path / "theirs.warc.gz"
    theirs.write_bytes(b"".join(map(gzip.compress, records)))
    registry.export_from("cdxj", [theirs], str(tmp_path / "i"), decode)
    found = index((tmp_path / "i").read_bytes())
    assert [(at, capture["mime"], capture["digest"]) for _, at, capture in found] == [
        ("20170306040206", "text/html", "sha1:X"),
        ("20170306040206", "warc/revisit", "sha1:X"),
    ]
    registry.export_from("wacz", [theirs], str(tmp_path / "w.wacz"), decode)
    assert len(gzip.decompress(opened(tmp_path / "w.wacz")["indexes/index.cdx.gz"]).splitlines()) == 2
    plain = tmp_path / "plain.warc"
    plain.write_bytes(b"".join(records))
    registry.export_from("wacz", [plain], str(tmp_path / "p.wacz"), decode)
    with pytest.raises(ConfigError, match="nephila export warc"):
        registry.export_from("cdxj", [plain], str(tmp_path / "j"), decode)


def test_what_is_no_answer_has_no_line(job: Any, tmp_path: Path) -> None:
    job.page(f"{A}/x", "", outcome=Outcome.UNREACHABLE, length=0)
    assert registry.export("cdxj", job.folder, str(tmp_path / "i"), job.decode).startswith("0 captures")


def test_a_file_that_is_only_in_the_store_keeps_its_name(
    job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.page(f"{A}/x", "x")
    (file,) = job.files
    away = (job.folder / "archive" / file).rename(tmp_path / "slice")
    monkeypatch.setattr("nephila.views.source.Cache.path", lambda *of: away)
    job.con.execute("UPDATE archive SET store = 's3://bucket/job'")
    registry.export("cdxj", job.folder, str(tmp_path / "i"), job.decode)
    assert [capture["filename"] for _, _, capture in index((tmp_path / "i").read_bytes())] == [file]
