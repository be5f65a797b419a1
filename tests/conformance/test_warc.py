"""Archive files of other writers: sound ones, damaged ones, and what a crash leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.table import Run

from nephila.archive import foreign, index
from nephila.archive.warc import repair
from nephila.errors import Damaged

OURS = "gzip member per record"
REFUSED = "refused at offset 0"


def test_reading_and_repairing(corpus: Run, tmp_path: Path) -> None:
    with corpus("warc/cases.json") as run:
        for case in run.load("warc/cases.json"):
            copy = tmp_path / Path(case["file"]).name
            copy.write_bytes(run.bytes(f"warc/{case['file']}"))
            rule = "arc" if case["format"] == "ARC/1" else "not_by_member" if case["compression"] != OURS else ""
            run.check(case["file"], *answer(case, copy), **({rule: REFUSED} if rule else {}))


def test_reading_what_others_wrote(corpus: Run, tmp_path: Path) -> None:
    """In any form, and behind a damage."""
    with corpus("warc/cases.json, by --from") as run:
        for number, case in enumerate(run.load("warc/cases.json")):
            told = list[str]()
            places = list(foreign.records(run.folder / "warc" / case["file"], tmp_path / f"{number}.gz", told.append))
            wanted = [kind for kind in case["record_types"] or [] if kind != "arc_header"]
            uri = next((place.entry.uri for place in places if place.entry.type in ("response", "resource")), "")
            run.check(case["file"], ([place.entry.type for place in places], uri), (wanted, _target(case) or uri))
            assert bool(told) >= (
                case["file"].startswith("derived/") and "empty" not in case["file"] and "final-crlf" not in case["file"]
            )


def answer(case: dict[str, Any], path: Path) -> tuple[object, object]:
    """(got, wanted): types and offsets of the records, the first target, and where the file is cut when it is repaired."""
    found, told = [], ""
    try:
        found.extend(index.walk(path))
    except Damaged as damage:
        told = str(damage)
    good, size = sum(entry.length for entry in found), path.stat().st_size
    assert not told or f"offset {good}" in told
    assert repair(path, size, (size // 2, size - size // 2)) <= good
    if "offset 0" in told:
        return REFUSED, case["problem"]
    wanted = list(case["record_types"] or [])
    if "crc" in case["file"]:
        wanted.pop()  # the last record is there, and damaged
    offsets = [entry.offset for entry in found]
    uri = next((entry.uri for entry in found if entry.type in ("response", "resource")), "")
    return ([entry.type for entry in found], offsets, uri, good), (
        wanted,
        case.get("offsets", case.get("good_offsets", offsets)),
        _target(case) or uri,
        case.get("good_bytes", good),
    )


def _target(case: dict[str, Any]) -> str:
    read_as = str(case.get("expect", "")).partition("read as ")[2]
    return case.get("target_uri_of_first_response") or read_as
