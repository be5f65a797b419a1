"""What holds for every view there is: members' pages are not in it, and what goes wrong leaves nothing half-written."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from views.conftest import Job

from nephila import cli
from nephila.errors import ConfigError, Damaged
from nephila.url.key import Fingerprints
from nephila.views import registry
from nephila.views.search import search
from nephila.views.source import Source

A = "https://a.example"
WORD = "zanzibar"
PAGE = f"""<title>{WORD}</title><p>All about {WORD}, as far as it is known, and some more words that stand in a sentence.
<script type=application/ld+json>{{"@type": "Thing", "name": "{WORD}"}}</script>"""
EACH = pytest.mark.parametrize("view", list(registry.VIEWS))
GROWS = ("mirror", "search", "sql")
"""Carried on where they were."""


def content(path: Path) -> bytes:
    """Every byte of a view, unpacked, and the names of its files."""
    found = list[bytes]()
    for file in sorted(path.rglob("*") if path.is_dir() else [path]):
        if not file.is_file():
            continue
        found.append(str(file.relative_to(path)).encode())
        data = file.read_bytes()
        if data[:4] == b"PAR1":
            found.append(repr(duckdb.sql(f"SELECT * FROM '{file}'").fetchall()).encode())
        elif data[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(file) as packed:
                inside = [packed.read(name) for name in packed.namelist()]
            found += [gzip.decompress(one) if one[:2] == b"\x1f\x8b" else one for one in inside]
        else:
            found.append(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    return b"\n".join(found)


@EACH
def test_a_members_page_is_in_it_with_its_credential_only(job: Any, view: str, tmp_path: Path) -> None:
    job.con.execute("INSERT INTO meta VALUES ('fingerprint_key', '7')")
    job.page(f"{A}/", PAGE.replace(WORD, "open"))
    job.page(f"{A}/{WORD}", PAGE, access="basic@a.example", title=WORD)
    for access in (frozenset[str](), frozenset({"basic@a.example"})):
        to = tmp_path / f"{view}-{len(access)}"
        said = registry.export(view, job.folder, str(to), job.decode, access)
        assert ("1 visits with a credential are left out" in said) == (not access)
        if view == "search":  # one index for all; who asks is shown what he may see
            there = bool(search(job.folder, WORD, job.decode, access=sorted(access)).count)
        else:
            assert b"a.example" in content(to)
            there = WORD.encode() in content(to)
        assert there == bool(access)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A job of which no view fits into 8 KiB, however it is packed."""
    job, noise = Job(tmp_path_factory.mktemp("large") / "out"), random.Random(5)
    job.con.executescript("PRAGMA synchronous = off; INSERT INTO meta VALUES ('fingerprint_key', '7')")
    for _ in range(200):
        word = f"{noise.getrandbits(400):x}"
        job.page(f"{A}/{word}", PAGE.replace(WORD, word), title=word)
    for id, url in job.con.execute("SELECT id, url FROM url").fetchall():
        job.con.execute("UPDATE url SET fp = ? WHERE id = ?", (Fingerprints(7)(url) - (1 << 63), id))
    yield job
    job.writer.close()
    job.con.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", place]).returncode:
        pytest.skip("system: only root may mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@EACH
def test_a_full_disk_is_said_and_leaves_nothing_half_written(
    large: Any, small: Path, view: str, capsys: pytest.CaptureFixture[str]
) -> None:
    export = ["export", view, str(large.folder), "--to", str(small / "view")]
    assert cli.main(export) == 6
    (said,) = capsys.readouterr().err.splitlines()
    assert str(small) in said
    left = {path: path.read_bytes() for path in small.rglob("*") if path.is_file()}
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    assert cli.main(export) == 0
    assert "200" in capsys.readouterr().out
    if view in ("mirror", "markdown"):  # of many files some were whole
        assert [path for path, data in left.items() if path.name[0] != "." and path.read_bytes() != data] == []
    elif view not in GROWS:
        assert list(left) == []


DATABASES = [f"{kind}://127.0.0.1:1/none" for kind in ("postgresql", "mysql", "mariadb")]


@pytest.mark.parametrize("address", [*DATABASES, "postgresql://nobody.invalid/none"])
def test_a_database_that_nobody_answers_for_is_said(job: Any, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    job.page(f"{A}/", PAGE)
    assert cli.main(["export", "sql", str(job.folder), "--to", address]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert address.partition("/none")[0] in said


@EACH
@pytest.mark.parametrize("wrong", ["a link", "another kind"])
def test_a_target_that_is_something_else_stays_what_it_is(job: Any, view: str, wrong: str, tmp_path: Path) -> None:
    """A link to elsewhere; a file where a folder is to be, and the other way round."""
    job.page(f"{A}/", PAGE)
    to, elsewhere = tmp_path / "view", tmp_path / "elsewhere"
    registry.export(view, job.folder, str(tmp_path / "made"), job.decode)
    folder = (tmp_path / "made").is_dir()
    mine = elsewhere if wrong == "a link" else to
    if folder == (wrong == "a link"):
        mine.mkdir()
    else:
        mine.write_bytes(b"mine")
    if wrong == "a link":
        to.symlink_to(elsewhere)
    with pytest.raises(ConfigError, match=str(to)):
        registry.export(view, job.folder, str(to), job.decode)
    assert (list(mine.iterdir()) if mine.is_dir() else mine.read_bytes()) in ([], b"mine")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@EACH
def test_of_a_broken_warc_the_rest_is_in_it(
    job: Any, view: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job.page(f"{A}/broken", PAGE + "<p>broken")
    job.page(f"{A}/{WORD}", PAGE)
    (file,) = (job.folder / "archive").iterdir()
    theirs, to = tmp_path / "theirs.warc.gz", tmp_path / "view"
    data = bytearray(file.read_bytes())
    (at,) = job.con.execute("SELECT offset + 40 FROM visit WHERE id = 1").fetchone()
    data[at] ^= 0xFF
    theirs.write_bytes(data)
    assert cli.main(["export", view, "--from", str(theirs), "--to", str(to)]) == 0
    assert "theirs.warc.gz" in capsys.readouterr().err
    if view != "search":
        assert WORD.encode() in content(to)
    theirs.write_bytes(b"\x1f\x8bnothing of the kind")
    made = content(to)
    assert cli.main(["export", view, "--from", str(theirs), "--to", str(to)]) in (1, 2)
    assert "theirs.warc.gz" in capsys.readouterr().err
    assert content(to) == made


@pytest.mark.parametrize("view", [view for view in registry.VIEWS if view not in GROWS])
def test_an_export_that_fails_leaves_the_last_one(
    large: Any, job: Any, view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.page(f"{A}/", PAGE)
    to = tmp_path / "view"
    registry.export(view, job.folder, str(to), job.decode)
    before = content(to)
    reads, rows = list[str](), Source.rows

    def failing(source: Any, query: str, *values: Any) -> list[Any]:
        reads.append(query)
        if len(reads) > 3:
            raise Damaged("the database is gone")
        return rows(source, query, *values)

    monkeypatch.setattr(Source, "rows", failing)
    with pytest.raises(Damaged, match="is gone"):
        registry.export(view, large.folder, str(to), job.decode)
    assert content(to) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("charset", "title", "text", "word"),
    [
        ("gb18030", "天网", "北京大学的搜索引擎收集了很多网页。", "搜索引擎"),
        ("big5", "搜尋", "搜尋引擎收集網頁並且建立索引。", "收集網頁"),
        ("shift_jis", "検索", "検索エンジンは索引を作ります。", "検索エンジン"),
    ],
)
def test_a_site_in_an_old_charset_is_right_in_mirror_text_and_search(
    job: Any, tmp_path: Path, charset: str, title: str, text: str, word: str
) -> None:
    html = f'<html><head><meta charset="{charset}"><title>{title}</title></head><body><p>{text}</p></body></html>'
    job.page(f"{A}/{title}", html.encode(charset), charset=charset, title=title)
    for view in ("mirror", "text"):
        registry.export(view, job.folder, str(tmp_path / view), job.decode)
    (page,) = [path for path in (tmp_path / "mirror" / "a.example").rglob("*.html") if title in path.name]
    data = page.read_bytes()
    declared = b"utf-8" if b"utf-8" in data[:300].lower() else charset.encode()
    assert text in data.decode(declared.decode())
    assert declared in data[:300].lower()
    (row,) = map(json.loads, (tmp_path / "text").read_text("utf-8").splitlines())
    assert (row["title"], row["text"]) == (title, text)
    (hit,) = search(job.folder, word, job.decode).hits
    assert (hit.title, word in hit.snippet) == (title, True)
    assert [hit.snippet[start:end] for start, end in hit.marks][:1] == [word]
