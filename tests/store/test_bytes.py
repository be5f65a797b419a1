"""What is no text is kept as it was sent; text keeps its bytes and knows its charset: in the archive and in what is made of it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import sqlite3
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pytest
from commands.stranger import FINISHED, Prompt, sites

from nephila.fetch.decode import decode
from nephila.testing.sites import Answer
from nephila.views.source import Source

EVERY = bytes(range(256)) * 300 + b"\r\n\x00\x1a\xff\xfe"
CHINESE = "<title>中文</title><p>蜘蛛不丢任何东西</p>".encode("gb18030")
TYPE, CODED = "Content-Type", "Content-Encoding"


def packed(name: str) -> bytes:
    return gzip.compress(name.encode() + EVERY, mtime=0)


FILES: dict[str, tuple[bytes, tuple[tuple[str, str], ...]]] = {
    "/every.bin": (b"every" + EVERY, ((TYPE, "application/octet-stream"),)),
    "/picture.png": (b"\x89PNG\r\n\x1a\n" + EVERY, ((TYPE, "image/png"),)),
    "/text.bin": (b"text" + EVERY, ((TYPE, "application/octet-stream; charset=utf-8"),)),
    "/unknown.bin": (b"unknown" + EVERY, ((TYPE, "application/x-who-knows"),)),
    "/file.gz": (packed("file"), ((TYPE, "application/gzip"),)),
    "/unlabelled.gz": (packed("unlabelled"), ((TYPE, "application/octet-stream"),)),
    "/coded.bin": (packed("coded"), ((TYPE, "application/octet-stream"), (CODED, "gzip"))),
}
"""Path → what is sent, and its header."""


@pytest.fixture
def job(prompt: Prompt, serve: Any) -> Prompt:
    pages = {path: Answer(body, headers=head) for path, (body, head) in FILES.items()}
    pages["/wrong.html"] = Answer(CHINESE, headers=((TYPE, "text/html; charset=no-such-charset"),))
    pages["/right.html"] = Answer(CHINESE, headers=((TYPE, "text/html; charset=gb2312"),))
    url = serve({"/": sites.page(pages, "start"), **pages}).url()
    assert prompt.crawl_here(url, "-o", "job").code == FINISHED
    return prompt


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def test_the_archive_holds_what_was_sent(job: Prompt) -> None:
    """The bytes on the wire, and what a browser would save of them."""
    with Source(job.cwd / "job", decode) as source:
        kept = {path_of(one.url): one for one in source.pages()}
        for path, (body, head) in FILES.items():
            with source.stored(kept[path]) as stored:
                assert b"".join(stored.blocks()) == body, path
            meant = gzip.decompress(body) if (CODED, "gzip") in head else body
            assert source.content(kept[path]).content == meant, path
            assert kept[path].bytes == len(body)
            assert kept[path].charset in ("", "utf-8") if path == "/text.bin" else not kept[path].charset, path
        for path in ("/wrong.html", "/right.html"):
            assert source.content(kept[path]).content == CHINESE
        assert kept["/right.html"].charset.lower() in ("gbk", "gb18030", "gb2312")
        assert (kept["/right.html"].title, kept["/wrong.html"].title) == ("中文", "中文")


def test_the_mirror_has_the_same_bytes(job: Prompt) -> None:
    assert job.here("export", "mirror", "job", "--to", "site").code == FINISHED
    found = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (job.cwd / "site").rglob("*") if path.is_file()}
    for path, (body, head) in FILES.items():
        meant = gzip.decompress(body) if (CODED, "gzip") in head else body
        assert hashlib.sha256(meant).hexdigest() in found, path


@pytest.mark.parametrize("view", ["warc", "tianwang", "wacz"])
def test_archives_that_are_exported_have_the_same_bytes(job: Prompt, view: str) -> None:
    """Read back as an archive of another crawler's, and mirrored from there."""
    name = {"warc": "all.warc.gz", "tianwang": "pages.tianwang", "wacz": "crawl.wacz"}[view]
    assert job.here("export", view, "job", "--to", name).code == FINISHED
    assert job.here("export", "mirror", "--from", name, "--to", "site").code == FINISHED
    found = {path.read_bytes() for path in (job.cwd / "site").rglob("*") if path.is_file()}
    for path, (body, head) in FILES.items():
        assert (gzip.decompress(body) if (CODED, "gzip") in head else body) in found, path


def test_tables_and_text_know_the_bytes_and_decode_none_of_them(job: Prompt) -> None:
    """Size and digest are those of what was sent; a text is one of a page, in UTF-8."""
    for view in ("parquet", "sql", "text"):
        assert job.here("export", view, "job", "--to", view).code == FINISHED
    asked = "SELECT url, bytes, digest FROM {} WHERE kind != 'robots'"
    parquet = duckdb.sql(asked.format(f"'{job.cwd}/parquet/visit/*/*.parquet'")).fetchall()
    with closing(sqlite3.connect(job.cwd / "sql")) as con:
        assert sorted(con.execute(asked.format("visit")).fetchall()) == sorted(parquet)
    told = {urlsplit(url).path: (bytes, digest) for url, bytes, digest in parquet}
    for path, (body, _) in FILES.items():
        digest = f"sha1:{base64.b32encode(hashlib.sha1(body).digest()).decode()}"
        assert told[path] == (len(body), digest), path
    texts = {urlsplit(row["url"]).path: row for row in map(json.loads, (job.cwd / "text").read_text().splitlines())}
    assert set(texts) == {"/", "/right.html", "/wrong.html"}
    assert (texts["/right.html"]["title"], texts["/right.html"]["text"]) == ("中文", "蜘蛛不丢任何东西")
