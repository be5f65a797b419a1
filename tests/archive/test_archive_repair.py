"""What is left of an archive file after a kill, a power cut or a clumsy hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from nephila.archive import index
from nephila.archive.warc import repair
from nephila.errors import Damaged
from nephila.types import Record


@pytest.fixture
def written(shelf: Any, make: Any) -> tuple[Path, list[Record]]:
    writer = shelf.writer()
    groups = [writer(make.visit(make.answer(b"page %d" % n * 20), id=n)) for n in range(1, 4)]
    writer.close()
    return shelf.folder / groups[0].file, groups


def place(record: Record) -> tuple[int, int]:
    return record.offset, record.length


def end(record: Record) -> int:
    return record.offset + record.length


def test_what_was_not_committed_is_cut(written: Any) -> None:
    path, (_, two, _) = written
    assert repair(path, end(two), place(two)) == end(two) == path.stat().st_size
    assert [found.type for found in index.walk(path)] == ["warcinfo"] + ["response", "request", "metadata"] * 2


def test_a_file_cut_at_every_byte_of_its_last_group(written: Any) -> None:
    path, (_, two, three) = written
    whole = path.read_bytes()
    for size in range(end(two), end(three)):
        path.write_bytes(whole[:size])
        assert repair(path, end(three), place(three)) == end(two), size
        assert path.stat().st_size == end(two)
    path.write_bytes(whole)
    assert repair(path, end(three), place(three)) == end(three)


def test_a_torn_group_after_the_committed_end_at_every_byte(written: Any) -> None:
    path, (_, two, three) = written
    whole = path.read_bytes()
    for size in range(end(two), end(three) + 1, 7):
        path.write_bytes(whole[:size])
        assert repair(path, end(two), place(two)) == end(two) == path.stat().st_size


def test_any_flipped_byte_of_the_last_group_is_found(written: Any) -> None:
    path, (_, two, three) = written
    whole = bytearray(path.read_bytes())
    # A gzip header's time, flags for the compressor's level and system may hold anything: no data hangs on them.
    idle = {found.offset + n for found in index.walk(path) for n in range(4, 10)}
    chooser = random.Random(7)
    for at in chooser.sample(sorted({*range(end(two), end(three))} - idle), 60):
        whole[at] ^= 0xFF
        path.write_bytes(whole)
        assert repair(path, end(three), place(three)) == end(two), at
        whole[at] ^= 0xFF


def test_zeros_in_place_of_the_last_group(written: Any) -> None:
    path, (_, two, three) = written
    path.write_bytes(path.read_bytes()[: end(two)] + bytes(three.length))
    assert repair(path, end(three), place(three)) == end(two)


def test_nothing_committed_means_no_file(written: Any) -> None:
    path, _ = written
    assert repair(path, 0, None) == 0
    assert not path.exists()
    assert repair(path, 0, None) == repair(path, 500, (100, 400)) == 0


def test_a_file_without_one_sound_group_is_deleted(written: Any) -> None:
    path, (one, _, _) = written
    path.write_bytes(path.read_bytes()[: end(one) - 1])
    assert repair(path, end(one), place(one)) == 0
    assert not path.exists()


def test_a_last_group_that_is_not_known_is_trusted(written: Any) -> None:
    path, (_, two, _) = written
    assert repair(path, end(two), None) == end(two)


def test_symbolic_links_and_odd_files_are_refused(written: Any, tmp_path: Path) -> None:
    path, (_, two, three) = written
    link = tmp_path / "link.warc.gz"
    link.symlink_to(path)
    with pytest.raises(Damaged, match=r"link\.warc\.gz"):
        repair(link, end(two), place(two))
    with pytest.raises(Damaged):
        repair(tmp_path, end(two), place(two))
    assert path.stat().st_size == end(three)
