"""What is needed of files in a store lies on the disk for a while, and takes no more of it than it may."""

from __future__ import annotations

from pathlib import Path

import pytest

from nephila.store import cache
from nephila.store.cache import BLOCK, Cache

SIZE = 40 * BLOCK
ASKED: list[tuple[str, int, int]] = []


class Store:
    """Each block of a file is its number, over and over."""

    def __init__(self, address: str, key: str) -> None: ...

    def range(self, file: str, start: int, end: int) -> bytes:
        ASKED.append((file, start // BLOCK, -(-end // BLOCK)))
        return b"".join(bytes([n]) * BLOCK for n in range(start // BLOCK, end // BLOCK))


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "Objects", Store)
    ASKED.clear()


def test_no_more_lies_on_the_disk_than_allowed() -> None:
    held = Cache(bytes_max=4 * BLOCK)
    paths = [held.path("s3://b", f"{n}.warc.gz", SIZE, 0, 2 * BLOCK) for n in range(5)]
    assert [path.exists() for path in paths] == [False, False, False, True, True]
    held.path("s3://b", "4.warc.gz", SIZE, 0, 2 * BLOCK)
    assert len(ASKED) == 5, "what lies there is not asked for again"
    held.close()


def test_a_request_takes_no_more_than_eight_blocks() -> None:
    held = Cache()
    path = held.path("s3://b", "a.warc.gz", SIZE, 3, 19 * BLOCK)
    assert ASKED == [("a.warc.gz", 0, 8), ("a.warc.gz", 8, 16), ("a.warc.gz", 16, 20)]
    assert path.read_bytes()[19 * BLOCK] == 19
    held.close()


def test_it_is_gone_when_it_is_closed() -> None:
    held = Cache()
    path: Path = held.path("s3://b", "a.warc.gz", SIZE, 0, 1)
    held.close()
    assert not path.exists()
