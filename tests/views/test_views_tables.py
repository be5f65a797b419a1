"""Tables say what the database says, one line each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from nephila.errors import ConfigError, Damaged, JobError
from nephila.types import Kind, Outcome
from nephila.views import registry, whole
from nephila.views.source import BATCH, Source

H = "http://example.com"


def lines(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_jsonl_holds_one_object_per_visit(job: Any, tmp_path: Path) -> None:
    first = job.page(f"{H}/", "hello", title="a\n\x1b[31m\u2028b", language="en", charset="utf-8")
    second = job.page(f"{H}/x", "", outcome=Outcome.MOVED, moved_to=f"{H}/y", parent=first)
    job.con.execute("INSERT INTO link VALUES (?, 0, ?)", (first, bytes(24)))
    job.con.executemany(
        "INSERT INTO item (url, round, n, value) VALUES (?, 1, ?, ?)", [(first, 1, '"two"'), (first, 0, '{"a":1}')]
    )
    assert registry.export("jsonl", job.folder, str(tmp_path / "t.jsonl"), job.decode).startswith("2 visits")
    one, two = lines(tmp_path / "t.jsonl")
    assert one == {
        "url": f"{H}/",
        "kind": "page",
        "depth": 1,
        "parent": "",
        "round": 1,
        "status": 200,
        "outcome": "OK",
        "reason": "",
        "started": "2023-11-14T22:13:20.500Z",
        "ms": 12,
        "bytes": 5,
        "media_type": "text/html",
        "charset": "utf-8",
        "title": "a\n\x1b[31m\u2028b",
        "language": "en",
        "digest": one["digest"],
        "ip": "192.0.2.1",
        "protocol": "http/1.1",
        "moved_to": "",
        "truncated": "",
        "items": [{"a": 1}, "two"],
        "links": 3,
    }
    assert one["digest"].startswith("sha1:")
    assert (two["parent"], two["moved_to"], two["outcome"], second) == (f"{H}/", f"{H}/y", "MOVED", 2)
    assert b"\x1b" not in (tmp_path / "t.jsonl").read_bytes()


def test_urls_lists_pages_or_everything_with_its_state(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/a", "a")
    job.page(f"{H}/b", "b", outcome=Outcome.REFUSED, status=404)
    job.page(f"{H}/robots.txt", "r", "text/plain", kind=Kind.ROBOTS)
    job.con.execute(
        "INSERT INTO url (id, fp, host, url, kind, depth, parent, state) VALUES (9, 9, 1, ?, 'page', 1, 1, 'queued')",
        (f"{H}/q",),
    )
    assert registry.export("urls", job.folder, str(tmp_path / "u"), job.decode).startswith("1 URLs")
    assert (tmp_path / "u").read_text() == f"{H}/a\n"
    registry.export("urls", job.folder, str(tmp_path / "u"), job.decode, chosen={"every": True})
    assert (tmp_path / "u").read_text().splitlines() == [
        f"{H}/a\tdone\tOK",
        f"{H}/b\tdone\tREFUSED",
        f"{H}/robots.txt\tdone\tOK",
        f"{H}/q\tqueued\t",
    ]


def test_more_visits_than_a_batch(job: Any, tmp_path: Path) -> None:
    for n in range(BATCH + 7):
        job.page(f"{H}/{n}", f"{n}")
    with Source(job.folder, job.decode) as source:
        assert [kept.url for kept in source.visits()] == [f"{H}/{n}" for n in range(BATCH + 7)]
        assert [kept.url for kept in source.pages()] == [f"{H}/{n}" for n in range(BATCH + 7)]


def test_a_running_crawl_can_be_read(job: Any) -> None:
    job.page(f"{H}/a", "a")
    with Source(job.folder, job.decode) as source:
        visits = source.visits()
        first = next(visits)
        job.con.execute("BEGIN IMMEDIATE")  # a writer is not held back by a reader between two rows
        job.page(f"{H}/b", "b")
        job.con.execute("COMMIT")
        assert [first.url, *(kept.url for kept in visits)] == [f"{H}/a", f"{H}/b"]
        assert source.content(first).content == b"a"


def test_credentials_hide_pages_from_every_table(job: Any) -> None:
    job.page(f"{H}/a", "a", access="me")
    with Source(job.folder, job.decode) as source:
        assert list(source.visits()) == list(source.pages()) == []
    with Source(job.folder, job.decode, frozenset({"me"})) as source:
        assert [kept.access for kept in source.visits()] == ["me"]


def test_standard_output(job: Any, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    job.page(f"{H}/a", "a")
    registry.export("urls", job.folder, "-", job.decode)
    assert capfdbinary.readouterr().out == f"{H}/a\n".encode()


def test_the_usual_place_and_no_draft_left(job: Any) -> None:
    job.page(f"{H}/a", "a")
    registry.export("jsonl", job.folder, "", job.decode)
    registry.export("mirror", job.folder, "", job.decode)
    assert sorted(path.name for path in (job.folder / "views").iterdir()) == ["mirror", "visits.jsonl"]


def test_a_table_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "t"
    target.write_text("old")

    def broken() -> Any:
        yield b"new"
        raise Damaged("x")

    with pytest.raises(Damaged):
        whole.write_lines(broken(), target)
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    assert target.read_text() == "old"


def test_mistakes_are_told(job: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mirror, jsonl, "):
        registry.export("pdf", job.folder, "", job.decode)
    with pytest.raises(ConfigError, match="--every is not an option of the view 'mirror'"):
        registry.export("mirror", job.folder, "", job.decode, chosen={"every": True})
    with pytest.raises(ConfigError, match="not -"):
        registry.export("mirror", job.folder, "-", job.decode)
    with pytest.raises(JobError, match="there is no folder"):
        registry.export("jsonl", tmp_path / "none", "", job.decode)
    (tmp_path / "link").symlink_to(tmp_path / "x")
    with pytest.raises(ConfigError, match="symbolic link"):
        registry.export("jsonl", job.folder, str(tmp_path / "link"), job.decode)


def test_content_of_nothing_kept_is_damage(job: Any) -> None:
    job.page(f"{H}/a", "a", file=0, offset=0, length=0)
    with Source(job.folder, job.decode) as source, pytest.raises(Damaged, match="nothing is kept"):
        source.content(next(source.visits()))
