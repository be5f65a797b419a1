"""Archive files in an object store: sent while the crawl runs, checked, never torn, and read as if they were on the disk."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from commands.stranger import FINISHED, INTERRUPTED, USAGE, Prompt, rows, sites, until
from store.conftest import Bucket

from nephila.testing.sites import Answer

SMALL = "archive_bytes_max = 100000"
"""A file of the archive holds some five pages: there are several."""
BIG = 20 << 20
KEY = {"NEPHILA_STORE_KEY": "testing:secret-of-the-store"}


def data(n: int, size: int = 20_000) -> bytes:
    return random.Random(n).randbytes(size)


@pytest.fixture
def url(serve: Any) -> str:
    pages = {f"/{n}.bin": Answer(data(n), headers=(("Content-Type", "application/octet-stream"),)) for n in range(30)}
    return str(serve({"/": sites.page(pages, "start"), **pages}).url())


def archived(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "archive").iterdir()}


def stored(bucket: Bucket, prefix: str = "job") -> dict[str, bytes]:
    """The archive files in the store."""
    found = {key.removeprefix(f"{prefix}/"): value for key, value in bucket.objects().items()}
    return {name: value for name, value in found.items() if name.endswith(".warc.gz")}


def test_every_file_is_in_the_store_as_it_is_on_the_disk(bucket: Bucket, home: Prompt, url: str) -> None:
    assert home.crawl_here(url, "-o", "job", "--store", bucket.address(), config=SMALL).code == FINISHED
    files = archived(home.cwd / "job")
    assert len(files) > 4
    assert stored(bucket) == files
    told = home.rows("job", "SELECT file, sha256, store FROM archive")
    assert told == [(f, hashlib.sha256(files[f]).hexdigest(), bucket.address()) for f, *_ in told]
    assert "secret-of-the-store" not in "".join(
        p.read_text("latin-1") for p in (home.cwd / "job").rglob("*") if p.is_file()
    )


def test_without_local_files_every_view_is_the_same(bucket: Bucket, home: Prompt, url: str) -> None:
    assert home.crawl_here(url, "-o", "here").code == FINISHED
    said = home.crawl_here(url, "-o", "there", "--store", bucket.address(), "--no-keep-local", config=SMALL)
    assert said.code == FINISHED, said.text
    assert archived(home.cwd / "there") == {}
    for job in ("here", "there"):
        assert home.here("export", "mirror", job, "--to", f"{job}.mirror").code == FINISHED
    here, there = (
        {p.relative_to(top): p.read_bytes() for p in top.rglob("*.bin")}
        for top in (home.cwd / "here.mirror", home.cwd / "there.mirror")
    )
    assert here == there
    assert len(here) == 30
    again = home.here("crawl", "-o", "there", "--config", "quick.toml")
    assert (again.code, "finished on" in again.text) == (FINISHED, True), again.text
    assert home.rows("there", "SELECT count(*) FROM visit WHERE outcome = 'OK'") == [(31,)]


def test_a_missing_bucket_is_said_before_anything_is_fetched(bucket: Bucket, home: Prompt, serve: Any) -> None:
    server = serve({"/": sites.page([], "start")})
    said = home.crawl_here(server.url(), "-o", "job", "--store", bucket.address(bucket="nowhere"))
    assert said.code == USAGE
    assert "store: s3://nowhere/job" in said.err
    assert "NoSuchBucket" in said.err
    assert not server.hits()


def test_a_folder_of_another_crawl_is_refused(bucket: Bucket, home: Prompt, url: str) -> None:
    assert home.crawl_here(url, "-o", "one", "--store", bucket.address()).code == FINISHED
    before = bucket.objects()
    said = home.crawl_here(url, "-o", "two", "--store", bucket.address())
    assert said.code == USAGE
    assert "another crawl" in said.err
    assert bucket.objects() == before


def test_answers_of_500_are_tried_again(bucket: Bucket, home: Prompt, url: str) -> None:
    failed = set[str]()

    def once(method: str, path: str) -> str:
        if method != "PUT" or ".warc.gz" not in path or path in failed:
            return ""
        failed.add(path)
        return "500"

    bucket.fault = once
    assert home.crawl_here(url, "-o", "job", "--store", bucket.address(), config=SMALL).code == FINISHED
    assert failed
    assert stored(bucket) == archived(home.cwd / "job")


def test_what_cannot_be_sent_stays_here_and_is_sent_later(bucket: Bucket, home: Prompt, url: str) -> None:
    bucket.fault = lambda method, path: "500" if method == "PUT" and ".warc.gz" in path else ""
    config = f"{SMALL}\nstore_tries = 1"
    said = home.crawl_here(url, "-o", "job", "--store", bucket.address(), "--no-keep-local", config=config)
    assert (said.code, "is not in the store" in said.err) == (FINISHED, True), said.text
    assert stored(bucket) == {}
    files = archived(home.cwd / "job")
    assert home.here("upload", "job").code == INTERRUPTED
    assert archived(home.cwd / "job") == files
    bucket.fault = lambda method, path: ""
    assert home.here("upload", "job").code == FINISHED
    assert (stored(bucket), archived(home.cwd / "job")) == (files, {})


def test_a_local_file_stays_when_the_store_gives_other_bytes_back(bucket: Bucket, home: Prompt, url: str) -> None:
    bucket.fault = lambda method, path: "garbled" if method == "GET" and ".warc.gz" in path else ""
    config = f"{SMALL}\nstore_tries = 1"
    said = home.crawl_here(url, "-o", "job", "--store", bucket.address(), "--no-keep-local", config=config)
    assert (said.code, "does not read back" in said.err) == (FINISHED, True), said.text
    assert stored(bucket) == {}
    assert len(archived(home.cwd / "job")) > 4
    assert home.rows("job", "SELECT DISTINCT store FROM archive") == [("",)]


def test_a_slow_store_slows_no_page(bucket: Bucket, home: Prompt, url: str) -> None:
    """All pages are committed while the first file is still held up."""
    held, go = threading.Event(), threading.Event()

    def hold(method: str, path: str) -> str:
        if method == "PUT" and ".warc.gz" in path:
            held.set()
            go.wait(20)
        return ""

    bucket.fault = hold
    job = home.cwd / "job"
    with home.start_crawl(url, "-o", "job", "--store", bucket.address(), config=SMALL, env=KEY) as running:
        try:
            assert held.wait(20)
            until(lambda: rows(job, "SELECT count(*) FROM visit WHERE outcome = 'OK'") == [(31,)], "all pages")
            assert running.alive
            assert stored(bucket) == {}
        finally:
            go.set()
        assert running.wait().code == FINISHED
    assert stored(bucket) == archived(job)


@pytest.mark.long
@pytest.mark.parametrize("keep", ["--keep-local", "--no-keep-local"])
def test_a_kill_in_the_middle_of_an_upload_loses_nothing(bucket: Bucket, home: Prompt, serve: Any, keep: str) -> None:
    body = data(1, BIG)
    binary = Answer(body, headers=(("Content-Type", "application/octet-stream"),))
    url = serve({"/": sites.page(["/big.bin"], "start"), "/big.bin": binary}).url()
    held, go = threading.Event(), threading.Event()

    def hold(method: str, path: str) -> str:
        if method == "PUT" and "partNumber=2" in path and not go.is_set():
            held.set()
            go.wait(20)
            return "500"
        return ""

    bucket.fault = hold
    with home.start_crawl(url, "-o", "job", "--store", bucket.address(), keep, env=KEY) as running:
        assert held.wait(20)
        running.kill()
    go.set()
    assert (stored(bucket), len(bucket.uploads())) == ({}, 1)
    (file,) = archived(home.cwd / "job").values()
    said = home.here("crawl", "-o", "job", "--config", "quick.toml")
    assert said.code == FINISHED, said.text
    assert (list(stored(bucket).values()), bucket.uploads()) == ([file], [])
    assert len(archived(home.cwd / "job")) == (keep == "--keep-local")
    assert "store.aborted" in (home.cwd / "job" / "log.jsonl").read_text()
    assert home.here("export", "mirror", "job", "--to", "site").code == FINISHED
    assert body in [path.read_bytes() for path in (home.cwd / "site").rglob("*.bin")]


def test_sent_and_killed_before_that_was_written_down(bucket: Bucket, home: Prompt, url: str) -> None:
    """The file is found in the store by its size and digest, and not sent twice."""
    assert home.crawl_here(url, "-o", "job", "--store", bucket.address(), config=SMALL).code == FINISHED
    import sqlite3

    con = sqlite3.connect(home.cwd / "job" / "crawl.db")
    con.execute("UPDATE archive SET store = '', sha256 = ''")
    con.commit()
    con.close()
    bucket.asked.clear()
    assert home.here("upload", "job").code == FINISHED
    assert not [one for one in bucket.asked if one.startswith("PUT") and ".warc.gz" in one]
    assert home.rows("job", "SELECT count(*) FROM archive WHERE store = ''") == [(0,)]


def test_a_file_lost_from_disk_and_store_is_damaged(bucket: Bucket, home: Prompt, url: str) -> None:
    said = home.crawl_here(url, "-o", "job", "--store", bucket.address(), "--no-keep-local", config=SMALL)
    assert said.code == FINISHED
    from nephila.store.objects import Objects

    gone, *kept = sorted(stored(bucket))
    Objects(bucket.address()).delete(gone)
    said = home.here("crawl", "-o", "job", "--config", "quick.toml")
    assert said.code == FINISHED, said.text
    assert f"{gone} does not read back" in said.err
    assert home.rows("job", "SELECT count(*) FROM visit WHERE outcome = 'OK'") == [(31,)]
    assert set(kept) < set(stored(bucket))
    assert gone not in stored(bucket)


def test_a_store_that_cannot_be_asked_is_not_taken_for_empty(bucket: Bucket, home: Prompt, url: str) -> None:
    args = ("-o", "job", "--store", bucket.address(), "--no-keep-local")
    assert home.crawl_here(url, *args, config=SMALL).code == FINISHED
    bucket.fault = lambda method, path: "503" if "list-type" in path else ""
    before = home.rows("job", "SELECT * FROM visit")
    assert home.here("crawl", "-o", "job", "--config", "quick.toml").code == USAGE
    assert home.rows("job", "SELECT * FROM visit") == before


def test_forgotten_pages_leave_the_store(bucket: Bucket, home: Prompt, url: str) -> None:
    args = ("-o", "job", "--store", bucket.address(), "--no-keep-local")
    assert home.crawl_here(url, *args, config=SMALL).code == FINISHED
    before = stored(bucket)
    assert home.here("forget", "job", f"{url}7.bin").code == FINISHED
    after = stored(bucket)
    assert len(after) == len(before)
    assert len(set(before) - set(after)) == 1
    assert not any(data(7)[:5000] in unpacked(value) for value in after.values())
    assert any(data(8)[:5000] in unpacked(value) for value in after.values())
    assert home.here("export", "mirror", "job", "--to", "site").code == FINISHED
    assert len(list((home.cwd / "site").rglob("*.bin"))) == 29


def test_a_forgotten_object_that_cannot_be_removed_is_removed_later(bucket: Bucket, home: Prompt, url: str) -> None:
    assert home.crawl_here(url, "-o", "job", "--store", bucket.address(), config=SMALL).code == FINISHED
    before = stored(bucket)
    bucket.fault = lambda method, path: "500" if method in ("DELETE", "POST") else ""
    said = home.here("forget", "job", f"{url}7.bin")
    assert (said.code, "is to be removed from" in said.err) == (1, True), said.text
    bucket.fault = lambda method, path: ""
    assert home.here("upload", "job").code == FINISHED
    assert stored(bucket) == archived(home.cwd / "job")
    assert set(before) - set(stored(bucket))


def unpacked(value: bytes) -> bytes:
    import gzip

    return gzip.decompress(value)


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("s3://", "s3://BUCKET/PREFIX is expected"),
        ("https://example.com/x", "s3://BUCKET/PREFIX is expected"),
        ("s3://me:secret@bucket/x", "keys do not belong"),
        ("s3://bucket/x?acl=public", "acl=public is not known"),
    ],
)
def test_an_address_that_cannot_be_one(home: Prompt, address: str, hint: str) -> None:
    said = home.crawl_here("http://127.0.0.1:9/", "-o", "job", "--store", address)
    assert (said.code, hint in said.err) == (USAGE, True), said.text


def test_the_marker_names_no_secret(bucket: Bucket, home: Prompt, url: str) -> None:
    assert home.crawl_here(url, "-o", "job", "--store", bucket.address()).code == FINISHED
    marker = json.loads(bucket.objects()["job/nephila-job.json"])
    ((key,),) = home.rows("job", "SELECT value FROM meta WHERE key = 'fingerprint_key'")
    assert list(marker) == ["job"]
    assert key not in marker["job"]
