"""The judge is judged: a folder compares equal to its like, and each flaw is seen."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from crash.compare import complaints, repeats, strangers

from nephila import db
from nephila.archive.warc import Writer
from nephila.testing.server import Hit
from nephila.types import Body, Lease, Outcome, Request, Response, Timings, Visit

HOST = "http://127.0.0.1:8000"
PAGES = {"/": b"one", "/two": b"two", "/twin": b"two"}


def job(folder: Path) -> Path:
    """A finished job of three pages, two of which are alike."""
    (folder / "archive").mkdir(parents=True)
    con = sqlite3.connect(folder / "crawl.db")
    con.executescript(db.TABLES)
    con.execute("INSERT INTO meta VALUES ('schema', '1')")
    con.execute("INSERT INTO archive (id, file, worker, closed) VALUES (1, 'a-0-00000.warc.gz', 0, 1)")
    writer = Writer(
        folder / "archive",
        "a",
        0,
        bytes_max=1 << 30,
        fsync=False,
        software="test",
        info={},
        on_open=lambda file, pid: None,
        on_close=lambda file, length: None,
    )
    end = 0
    for number, (path, text) in enumerate(PAGES.items(), 1):
        record = writer(visit(number, HOST + path, text))
        assert record
        end = record.offset + record.length
        con.execute(
            "INSERT INTO url (id, fp, host, url, kind, depth, parent, state) VALUES (?, ?, 1, ?, 'page', ?, 0, 'done')",
            (number, number - 2**63, HOST + path, number - 1),
        )
        columns = "url, round, outcome, reason, file, offset, length, " + (
            "started, status, protocol, ip, media_type, charset, bytes, ms, digest, truncated, access, same_as, moved_to, title, language"
        )
        con.execute(
            f"INSERT INTO visit ({columns}) VALUES (?, 1, 'OK', '', 1, ?, ?, 0, 200, '', '', '', '', 3, 1, '', '', '', 0, '', '', '')",
            (number, record.offset, record.length),
        )
    con.execute("UPDATE archive SET committed = ?", (end,))
    con.execute("INSERT INTO link VALUES (1, 0, ?)", (np.array([2, 3, 99], dtype=np.uint64).tobytes(),))
    con.commit()
    con.close()
    writer.close()
    return folder


def visit(number: int, url: str, text: bytes) -> Visit:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
    body = Body(text)
    response = Response(url, 200, "http/1.1", head, [], body, body, b"GET / HTTP/1.1\r\n\r\n", 0.0, Timings())
    return Visit(Lease(number, Request(url), number), Outcome.OK, response=response)


@pytest.fixture
def calm(tmp_path: Path) -> Path:
    return job(tmp_path / "calm")


def test_likes_are_alike(calm: Path, tmp_path: Path) -> None:
    assert complaints(job(tmp_path / "job"), calm, depths=True) == []


def sql(statement: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with sqlite3.connect(folder / "crawl.db") as con:
            con.execute(statement)
        con.close()

    return change


def flip_a_byte(folder: Path) -> None:
    """In the middle of the only file."""
    (path,) = (folder / "archive").iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def store_twice(folder: Path) -> None:
    (path,) = (folder / "archive").iterdir()
    shutil.copy(path, path.with_name("b-0-00000.warc.gz"))


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (sql("DELETE FROM visit WHERE url = 2"), "outcome of http://127.0.0.1/two"),
        (sql("DELETE FROM url WHERE id = 3"), "outcome of http://127.0.0.1/twin"),
        (sql("UPDATE visit SET outcome = 'REFUSED' WHERE url = 2"), "REFUSED"),
        (sql("UPDATE visit SET reason = 'because' WHERE url = 2"), "because"),
        (sql("UPDATE url SET depth = 7 WHERE id = 3"), "depth of http://127.0.0.1/twin: 7"),
        (sql("UPDATE link SET targets = substr(targets, 1, 8)"), "links of http://127.0.0.1/"),
        (
            sql("UPDATE visit SET offset = (SELECT offset FROM visit WHERE url = 1) WHERE url = 2"),
            "the group of http://127.0.0.1/two",
        ),
        (store_twice, "archived twice"),
        (store_twice, "length of b-0-00000.warc.gz"),
        (sql("UPDATE archive SET closed = 0"), "not closed"),
        (sql("UPDATE archive SET committed = 1"), "undisturbed: 1"),
        (flip_a_byte, ""),
    ],
)
def test_each_flaw_is_seen(flaw: Callable[[Path], None], said: str, calm: Path, tmp_path: Path) -> None:
    folder = job(tmp_path / "job")
    flaw(folder)
    try:
        found = complaints(folder, calm, depths=True)
    except Exception as error:
        found = [f"unreadable: {error}"]
    assert any(said in line for line in found), found


def hit(path: str) -> Hit:
    return Hit(0.0, "127.0.0.1:1", path, 200, 1, 1, 0.0)


def test_repeats_are_bounded() -> None:
    calm = [hit("/a"), hit("/b"), hit("/b")]
    assert repeats([*calm, hit("/a")], calm, 1, in_doubt_max=5) == []
    assert repeats([*calm, hit("/a")], calm, 0, in_doubt_max=5) != []
    assert repeats([*calm, hit("/a"), hit("/a")], calm, 1, in_doubt_max=5) != []
    assert repeats([*calm, hit("/a"), hit("/b")], calm, 1, in_doubt_max=1) == ["2 requests were repeated for 1 kills"]


def test_strangers_are_named(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "core").touch()
    assert strangers(tmp_path, {"job"}) == ["core"]
