"""The rows of the tables, as files: typed, whole, with nobody's secrets, and fit for what reads them."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from nephila.errors import ConfigError
from nephila.types import Kind, Outcome
from nephila.views import columns, parquet, registry
from nephila.views import rows as rows_module
from nephila.views.rows import Rows
from nephila.views.source import BATCH, Source

H = "http://example.com"
FP = -(1 << 63)


@pytest.fixture
def crawl(job: Any) -> Any:
    """Two rounds of a page with links and items, one refused, one that has the same body, one never asked for."""
    con = job.con
    con.execute("INSERT INTO host (id, origin, pages, robots_state) VALUES (1, ?, 2, 'absent')", (H,))
    con.execute("INSERT INTO rule (id, text, since) VALUES (7, 'scope:host', 0)")
    first = job.page(f"{H}/", "hello", title='say "hi",\r\n=1+1', language="zh", charset="gb18030")
    job.page(f"{H}/b", "hello", parent=first, same_as=first, title="北京", started=0)
    job.page(f"{H}/c", "", outcome=Outcome.REFUSED, status=404, reason="http.404", parent=first)
    job.page(f"{H}/", "again", round=2, title="-2")
    con.execute(
        "INSERT INTO url (id, fp, host, url, kind, depth, parent, state, rule) VALUES (9, 9, 1, ?, 'page', 1, 1, 'refused', 7)",
        (f"{H}/x",),
    )
    targets = b"".join(n.to_bytes(8, "little") for n in (0, 1 << 63, (1 << 64) - 1))
    con.execute("INSERT INTO link VALUES (1, 2, ?)", (targets,))
    con.execute("INSERT INTO item (url, round, n, value) VALUES (1, 1, 0, '\"one\"'), (1, 1, 0, '{\"two\": 2}')")
    return job


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def duck(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        return con.execute(query.replace("$", str(folder))).fetchall()


PAGES = [
    (1, f"{H}/", H, "page", 1, 0, None, "done", "", 2),
    (2, f"{H}/b", H, "page", 1, 0, 1, "done", "", 1),
    (3, f"{H}/c", H, "page", 1, 0, 1, "done", "", 1),
    (9, f"{H}/x", H, "page", 1, 0, 1, "refused", "scope:host", 0),
]
LINKS = [(1, 1, 0, FP, True), (1, 1, 1, 0, True), (1, 1, 2, (1 << 63) - 1, False)]


def test_csv_holds_every_row_as_it_is(crawl: Any, tmp_path: Path) -> None:
    said = registry.export("csv", crawl.folder, str(tmp_path / "t"), crawl.decode)
    assert said == f"4 page, 4 visit, 3 link, 2 item, 1 host rows in {tmp_path / 't'}"
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == sorted(f"{name}.csv" for name in columns.TABLES)
    assert read(tmp_path / "t" / "page.csv")[1:] == [
        ["" if cell is None else str(cell) for cell in row] for row in PAGES
    ]
    head, *visits = read(tmp_path / "t" / "visit.csv")
    assert head == [column.name for column in columns.TABLES["visit"]]
    told = [dict(zip(head, row, strict=True)) for row in visits]
    assert [(row["fp"], row["round"], row["title"], row["same_as"]) for row in told] == [
        ("1", "1", 'say "hi",\r\n=1+1', ""),
        ("2", "1", "北京", "1"),
        ("3", "1", "", ""),
        ("1", "2", "-2", ""),
    ]
    assert [row["started"] for row in told] == ["2023-11-14T22:13:20.500000Z", "", *["2023-11-14T22:13:20.500000Z"] * 2]
    assert [row["links"] for row in told] == ["3", "0", "0", "0"]
    assert read(tmp_path / "t" / "link.csv")[1:] == [[*map(str, row[:4]), str(row[4]).lower()] for row in LINKS]
    assert read(tmp_path / "t" / "item.csv")[1:] == [["1", "1", "0", '"one"'], ["1", "1", "1", '{"two": 2}']]
    raw = (tmp_path / "t" / "host.csv").read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n") == 2


def test_one_table_is_one_file_or_standard_output(
    crawl: Any, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    said = registry.export("csv", crawl.folder, "-", crawl.decode, chosen={"table": "item"})
    assert capfdbinary.readouterr().out.splitlines()[0] == b"fp,round,n,value"
    assert said == "2 item rows in standard output"
    registry.export("csv", crawl.folder, str(tmp_path / "i.csv"), crawl.decode, chosen={"table": "item"})
    assert len(read(tmp_path / "i.csv")) == 3
    registry.export("csv", crawl.folder, "", crawl.decode, chosen={"table": "item"})
    assert len(read(crawl.folder / "views" / "csv" / "item.csv")) == 3


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_a_formula_is_a_text_with_safe_cells(job: Any, tmp_path: Path, begin: str) -> None:
    job.page(f"{H}/", "x", title=f"{begin}cmd|' /C calc'!A0")
    for chosen, mark in (({}, ""), ({"safe_cells": True}, "'")):
        target = tmp_path / f"visit{mark}.csv"
        registry.export("csv", job.folder, str(target), job.decode, chosen={"table": "visit", **chosen})
        head, row = read(target)
        told = dict(zip(head, row, strict=True))
        assert told["title"] == f"{mark}{begin}cmd|' /C calc'!A0"
        assert told["fp"] == "1"


def test_safe_cells_leave_numbers_alone(crawl: Any, tmp_path: Path) -> None:
    chosen = {"table": "link", "safe_cells": True}
    registry.export("csv", crawl.folder, str(tmp_path / "l.csv"), crawl.decode, chosen=chosen)
    assert read(tmp_path / "l.csv")[1][3] == str(FP)


def test_parquet_reads_back_typed(crawl: Any, tmp_path: Path) -> None:
    registry.export("parquet", crawl.folder, str(tmp_path / "p"), crawl.decode)
    assert duck(tmp_path / "p", "SELECT * FROM '$/page/*.parquet' ORDER BY fp") == PAGES
    assert duck(tmp_path / "p", "SELECT fp, round, n, target, flat FROM '$/link/*/*.parquet' ORDER BY n") == LINKS
    query = "SELECT fp, round, title, same_as, epoch_us(started) FROM read_parquet('$/visit/*/*.parquet') ORDER BY round, fp"
    at = 1_700_000_000_500_000
    assert duck(tmp_path / "p", query) == [
        (1, 1, 'say "hi",\r\n=1+1', None, at),
        (2, 1, "北京", 1, None),
        (3, 1, "", None, at),
        (1, 2, "-2", None, at),
    ]
    assert sorted(path.name for path in (tmp_path / "p" / "visit").iterdir()) == ["round=1", "round=2"]
    kinds = dict(duck(tmp_path / "p", "SELECT name, type FROM parquet_schema('$/host/part-00000.parquet')"))
    assert (kinds["pages"], kinds["crawl_delay"], kinds["origin"]) == ("INT64", "DOUBLE", "BYTE_ARRAY")
    (packed,) = duck(tmp_path / "p", "SELECT DISTINCT compression FROM parquet_metadata('$/**/*.parquet')")
    assert packed == ("ZSTD",)


def test_many_rounds_in_little_memory(job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "PART_ROWS", 50)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 8)
    for round in range(1, 8):
        for n in range(30 if round == 1 else 11):
            job.page(f"{H}/{n}", f"{n}", round=round)
    registry.export("parquet", job.folder, str(tmp_path / "p"), job.decode, chosen={"table": "visit"})
    query = "SELECT round, count(*), count(DISTINCT fp) FROM '$/visit/*/*.parquet' GROUP BY 1 ORDER BY 1"
    assert duck(tmp_path / "p", query) == [(1, 30, 30), *((round, 11, 11) for round in range(2, 8))]


def test_a_second_parquet_export_replaces_the_first(crawl: Any, tmp_path: Path) -> None:
    target = tmp_path / "p"
    registry.export("parquet", crawl.folder, str(target), crawl.decode)
    (target / "page" / "part-00001.parquet").write_bytes((target / "page" / "part-00000.parquet").read_bytes())
    dead, alive = tmp_path / ".p.4194305.part", tmp_path / f".p.{os.getppid()}.part"
    dead.mkdir()
    alive.mkdir()
    registry.export("parquet", crawl.folder, str(target), crawl.decode)
    assert len(duck(target, "SELECT * FROM '$/page/*.parquet'")) == 4
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith("part")) == [alive.name]


def test_parquet_stays_away_from_what_is_not_its_own(crawl: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(ConfigError, match=r"thesis\.tex"):
        registry.export("parquet", crawl.folder, str(tmp_path / "mine"), crawl.decode)
    with pytest.raises(ConfigError, match="not a folder of its own"):
        registry.export("parquet", crawl.folder, str(tmp_path / "link"), crawl.decode)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_a_parquet_export_that_fails_leaves_the_old_one(
    crawl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.export("parquet", crawl.folder, str(tmp_path / "p"), crawl.decode)
    monkeypatch.setattr(Rows, "hosts", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        registry.export("parquet", crawl.folder, str(tmp_path / "p"), crawl.decode)
    assert len(duck(tmp_path / "p", "SELECT * FROM '$/host/*.parquet'")) == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_empty_table_is_a_file_with_its_columns(job: Any, tmp_path: Path) -> None:
    registry.export("parquet", job.folder, str(tmp_path / "p"), job.decode)
    assert duck(tmp_path / "p", "SELECT fp, round, value FROM '$/item/*/*.parquet'") == []


def test_members_pages_are_in_no_table(job: Any, tmp_path: Path) -> None:
    """Nor addresses known from them alone; an address that was asked for openly is there, whoever links to it."""
    job.page(f"{H}/", "open")
    inside = job.page(f"{H}/in", "inside", access="basic@example.com", parent=1)
    job.page(f"{H}/seen", "open, too", parent=inside)
    row = "INSERT INTO url (id, fp, host, url, kind, depth, parent, state) VALUES (?, ?, 1, ?, 'page', 2, ?, 'queued')"
    job.con.execute(row, (8, 8, f"{H}/hidden", inside))
    job.con.execute(row, (9, 9, f"{H}/queued", 1))
    job.con.execute("INSERT INTO link VALUES (2, 0, ?)", (bytes(16),))
    job.con.execute("INSERT INTO item (url, round, n, value) VALUES (2, 1, 0, '\"inside\"')")
    said = registry.export("csv", job.folder, str(tmp_path / "t"), job.decode)
    assert said.endswith("1 visits with a credential are left out (--with basic@example.com takes them in)")
    assert [row[1] for row in read(tmp_path / "t" / "page.csv")[1:]] == [f"{H}/", f"{H}/seen", f"{H}/queued"]
    assert [row[2] for row in read(tmp_path / "t" / "visit.csv")[1:]] == [f"{H}/", f"{H}/seen"]
    assert len(read(tmp_path / "t" / "link.csv")) == len(read(tmp_path / "t" / "item.csv")) == 1
    registry.export("csv", job.folder, str(tmp_path / "t"), job.decode, frozenset({"basic@example.com"}))
    lengths = {name: len(read(tmp_path / "t" / f"{name}.csv")) - 1 for name in columns.TABLES}
    assert lengths == {"page": 5, "visit": 3, "link": 2, "item": 1, "host": 0}


def test_nul_and_lone_surrogates_are_replaced_and_counted(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/", "x", title="a\0b")
    job.con.execute("UPDATE visit SET language = CAST(X'61EDA08062' AS TEXT), charset = CAST(X'FF' AS TEXT)")
    value = r'{"k\u0000": ["\ud800", "\\u0000", "\ud83d\ude00"]}'
    job.con.execute("INSERT INTO item (url, round, n, value) VALUES (1, 1, 0, ?)", (value,))
    said = registry.export("csv", job.folder, str(tmp_path / "t"), job.decode, chosen={"table": "visit,item"})
    assert said.endswith("; 5 characters that no table may hold became U+FFFD")
    head, row = read(tmp_path / "t" / "visit.csv")
    told = dict(zip(head, row, strict=True))
    assert (told["title"], told["language"], told["charset"]) == ("a\ufffdb", "a\ufffdb", "\ufffd")
    assert read(tmp_path / "t" / "item.csv")[1][3] == '{"k\ufffd": ["\ufffd", "\\\\u0000", "😀"]}'


def test_more_rows_than_a_batch(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And batches that end early because of their links."""
    monkeypatch.setattr(rows_module, "LINKS_MAX", 40)
    job.page(f"{H}/0", "0")
    fields = {
        table: [row[1] for row in job.con.execute(f"PRAGMA table_info({table})")][1:] for table in ("url", "visit")
    }
    job.con.execute("BEGIN")
    for n in range(1, BATCH + 7):
        for table, names in fields.items():
            told = ", ".join(
                {"fp": f"{n + 1}", "url": f"'{n}'" if table == "url" else f"{n + 1}"}.get(c, c) for c in names
            )
            job.con.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {told} FROM {table} WHERE id = 1")
    links = [(n + 1, bytes(8 * (n % 60))) for n in range(BATCH + 7)]
    job.con.executemany("INSERT INTO link VALUES (?, 0, ?)", links)
    job.con.execute("COMMIT")
    with Source(job.folder, job.decode) as source:
        rows = Rows(source)
        ends = rows.ends()
        assert [row[0] for row in rows.table("page", ends)] == list(range(1, BATCH + 8))
        assert [row[0] for row in rows.table("visit", ends)] == list(range(1, BATCH + 8))
        found = list(rows.table("link", ends))
    assert [row[0] for row in found] == [n + 1 for n in range(BATCH + 7) for _ in range(n % 60)]


def test_a_running_crawl_gives_tables_of_one_moment(job: Any) -> None:
    job.page(f"{H}/a", "a")
    with Source(job.folder, job.decode) as source:
        rows = Rows(source)
        ends = rows.ends()
        job.page(f"{H}/b", "b", kind=Kind.EMBED)
        assert len(list(rows.table("visit", ends))) == len(list(rows.table("page", ends))) == 1
        assert len(list(rows.table("visit", rows.ends()))) == 2


def test_mistakes_are_told(job: Any) -> None:
    with pytest.raises(ConfigError, match="--table pages: there is no such table; there are: page, visit"):
        registry.export("csv", job.folder, "", job.decode, chosen={"table": "visit,pages"})
    with pytest.raises(ConfigError, match="--to - takes one table"):
        registry.export("csv", job.folder, "-", job.decode)


def test_a_database_of_an_earlier_version_is_read(job: Any, tmp_path: Path) -> None:
    job.con.executescript(
        "DROP TRIGGER url_change; DROP TRIGGER visit_change; DROP TRIGGER visit_gone; DROP TABLE change"
    )
    job.page(f"{H}/", "x")
    assert registry.export("csv", job.folder, str(tmp_path / "t"), job.decode).startswith("1 page, 1 visit")
