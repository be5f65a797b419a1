"""The report: every planted fault is told, nothing else is, and the page can be shown to anybody."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from both import check_both
from turbohtml import parse
from views.faulty_site import EXPECTED, S, crawl, crawl_of, page

from nephila.errors import ConfigError
from nephila.fetch.decode import decode
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer, redirect
from nephila.views import registry
from nephila.views.report import words
from nephila.views.report.findings import FINDINGS
from nephila.views.report.manners import Manners


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FakeWeb]:
    """A crawl of the faulty site, with its report."""
    folder = tmp_path_factory.mktemp("faulty")
    web = crawl(folder)
    export(folder)
    return folder, web


@pytest.fixture
def job(made: tuple[Path, FakeWeb]) -> Iterator[sqlite3.Connection]:
    """The crawl's database; what a test changes in it is undone."""
    path = made[0] / "crawl.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        before = con.serialize()
        yield con
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for file in path.parent.glob("crawl.db-*"):
        file.unlink()
    path.write_bytes(before)


def export(folder: Path, to: str = "", access: frozenset[str] = frozenset(), **chosen: Any) -> str:
    return registry.export("report", folder, to, decode, access, chosen)


def rows(folder: Path, name: str) -> list[list[str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))[1:]


def told(folder: Path) -> dict[str, set[tuple[str, ...]]]:
    """Finding → its rows, as `EXPECTED` writes them."""
    return {
        finding.name: {tuple(cell.replace(f"{S}/", "/") for cell in row) for row in rows(folder, finding.name)}
        for finding in FINDINGS
    }


@pytest.mark.parametrize("name", [finding.name for finding in FINDINGS])
def test_every_planted_fault_is_told_and_nothing_else(made: tuple[Path, FakeWeb], name: str) -> None:
    folder = made[0] / "views" / "report"
    assert told(folder)[name] == EXPECTED[name]
    assert len(rows(folder, name)) == len(EXPECTED[name])


def test_the_page_and_the_summary_have_the_same_numbers(made: tuple[Path, FakeWeb]) -> None:
    folder = made[0] / "views" / "report"
    summary = json.loads((folder / "report.json").read_text())
    assert {name: found["count"] for name, found in summary["findings"].items()} == {
        name: len(found) for name, found in EXPECTED.items()
    }
    page = parse((folder / "report.html").read_text())
    shown = {
        node.attr("id"): node.select_one("header .soft .en").text.split()[0] for node in page.select("section[id]")
    }
    assert shown == {name: str(len(found)) for name, found in EXPECTED.items()}
    assert summary["pages"] == 54
    assert summary["healthy"] == 54 - len({"/a", "/b", "/partners", "/soft", "/mixed"})


def test_the_proof_of_manners_says_what_the_site_has_seen(made: tuple[Path, FakeWeb]) -> None:
    folder, web = made[0] / "views" / "report", made[1]
    proof = {row[0]: Manners(row[0], *map(float, row[1:])) for row in rows(folder, "manners")}  # type: ignore[arg-type]
    assert set(proof) == {re.match("[a-z]+://[^/]+", url)[0] for url in web.urls()}  # type: ignore[index]
    for host in proof.values():
        name = host.origin.partition("//")[2]
        asked = [access for access in web.log if access.url.startswith(f"{host.origin}/")]
        assert (host.requests, host.at_once_max) == (len(asked), 1), name
        gaps = [after.start - before.end for before, after in pairwise(asked)]
        assert host.pause_min_s == pytest.approx(min(gaps, default=-1.0), abs=0.002), name
        assert (host.disallowed_fetched, host.early, host.robots_requests) == (0, 0, 1), name
    assert proof[S].retries == 1


def test_bad_manners_do_not_go_unnoticed(made: tuple[Path, FakeWeb], job: sqlite3.Connection, tmp_path: Path) -> None:
    """Rows as a crawl would have left them that asked too often, too early and for what was forbidden."""
    (started,) = job.execute(
        "SELECT v.started FROM visit v JOIN url u ON u.id = v.url WHERE u.url = ?", (f"{S}/b",)
    ).fetchone()
    change = "UPDATE visit SET started = ?, ms = 70, status = 200 WHERE url = (SELECT id FROM url WHERE url = ?)"
    job.execute(change, (started + 0.01, f"{S}/a"))
    job.execute(change, (started + 500, f"{S}/private/a"))
    job.execute("UPDATE attempt SET retry_due = retry_due + 1 WHERE status = 429")
    export(made[0], str(tmp_path / "report"))
    (host,) = (row for row in rows(tmp_path / "report", "manners") if row[0] == S)
    found = dict(zip(Manners._fields, host, strict=True))
    names = ("at_once_max", "pause_min_s", "disallowed_fetched", "early")
    assert [found[name] for name in names] == ["2", "0.0", "1", "1"]


def test_the_page_needs_nothing_and_runs_nothing(made: tuple[Path, FakeWeb]) -> None:
    page = parse((made[0] / "views" / "report" / "report.html").read_text())
    assert (
        page.select("script, link, img, iframe, object, embed, base, form, [src], [onclick], [onload], image, use")
        == []
    )
    policy = page.select_one("meta[http-equiv=Content-Security-Policy]").attr("content")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not re.search(r"url\(|@import", page.select_one("style").text)
    schemes = {node.attr("href").partition(":")[0] for node in page.select("a[href]")}
    files = {f"{finding.name}.csv" for finding in FINDINGS} | {"manners.csv"}
    assert schemes - files - {f"#{finding.name}" for finding in FINDINGS} == {"http", "https"}


def test_what_pages_say_is_no_markup_of_the_report(
    made: tuple[Path, FakeWeb], job: sqlite3.Connection, tmp_path: Path
) -> None:
    evil = "</style><script>alert(1)</script><img src=x onerror=alert(2)>"
    job.execute("UPDATE visit SET reason = ? WHERE outcome = 'REFUSED'", (evil,))
    job.execute("UPDATE url SET url = url || ? WHERE url = ?", (f'?"><script>{evil}', f"{S}/t-missing"))
    export(made[0], str(tmp_path / "report"))
    text = (tmp_path / "report" / "report.html").read_text()
    assert re.findall("<script|<img|</style>", text) == ["</style>"]
    assert "&lt;script&gt;alert(1)" in text


def test_both_languages_stand_in_the_page_and_the_option_says_which_opens(
    made: tuple[Path, FakeWeb], tmp_path: Path
) -> None:
    export(made[0], str(tmp_path / "report"), language="zh")
    page = parse((tmp_path / "report" / "report.html").read_text())
    assert [node.attr("id") for node in page.select("input[checked]")] == ["zh"]
    assert {node.text for node in page.select("h3 > .zh")} >= {said.name[1] for said in words.FINDINGS.values()}
    with pytest.raises(ConfigError, match="--language xx: a report opens in one of: en, zh"):
        export(made[0], str(tmp_path / "other"), language="xx")


def test_every_word_is_there_in_both_languages() -> None:
    assert set(words.FINDINGS) == {finding.name for finding in FINDINGS}
    assert {column for f in FINDINGS for column in (*f.columns, *f.shown_columns)} <= set(words.COLUMNS)
    codes = {(name, code) for name, found in EXPECTED.items() if name in words.PROBLEMS for _, code, *_ in found}
    assert codes | {("redirects", "endless")} == {
        (name, code) for name, found in words.PROBLEMS.items() for code in found
    }
    pairs = [*words.SAID.values(), *words.COLUMNS.values(), *words.GRADES.values()]
    pairs += [pair for found in words.PROBLEMS.values() for pair in found.values()]
    pairs += [pair for said in words.FINDINGS.values() for pair in said]
    for pair in pairs:
        check_both(pair)


def test_made_again_it_is_the_same(made: tuple[Path, FakeWeb]) -> None:
    def written() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (made[0] / "views" / "report").iterdir()}

    before = written()
    assert len(before) == len(FINDINGS) + 3
    export(made[0])
    assert written() == before


def test_members_pages_are_left_out(made: tuple[Path, FakeWeb], job: sqlite3.Connection, tmp_path: Path) -> None:
    job.execute(
        "UPDATE visit SET access = 'basic@shop.test' WHERE url = (SELECT id FROM url WHERE url = ?)", (f"{S}/a",)
    )
    said = export(made[0], str(tmp_path / "open"))
    assert "1 visits with a credential are left out (--with basic@shop.test takes them in)" in said
    assert not [
        path
        for path in (tmp_path / "open").iterdir()
        if f"{S}/a\n" in path.read_text() or f"{S}/a," in path.read_text()
    ]
    export(made[0], str(tmp_path / "all"), frozenset({"basic@shop.test"}))
    assert told(tmp_path / "all") == EXPECTED


def test_archives_of_other_programs_have_a_report_without_manners(made: tuple[Path, FakeWeb], tmp_path: Path) -> None:
    """What an archive does not hold is not reported: who was forbidden, what failed without an answer."""
    registry.export_from("report", [made[0] / "archive"], str(tmp_path / "report"), decode)
    found = told(tmp_path / "report")
    assert not (tmp_path / "report" / "manners.csv").exists()
    same = {"broken_parts", "mixed_content", "duplicates", "near_duplicates", "titles", "descriptions", "headings"}
    assert {name for name in same if found[name] != EXPECTED[name]} == set()
    assert found["broken_links"] == {row for row in EXPECTED["broken_links"] if row[4] == "404"}


def test_a_site_without_faults_has_none(tmp_path: Path) -> None:
    crawl_of(tmp_path, {f"{S}/": page("start", "/one"), f"{S}/one": page("one", "/")})
    assert export(tmp_path).startswith("2 pages, 0 errors, 0 warnings, 0 notices in ")
    text = (tmp_path / "views" / "report" / "report.html").read_text()
    assert "Nothing was found that needs mending." in text
    assert 'aria-label="100 %"' in text


def test_pages_of_old_charsets_are_read_right(tmp_path: Path) -> None:
    chinese = page("一", ("/gone", "旧链接"), title="标题标题", heading="<h1>甲</h1><h1>乙</h1>").replace(
        b"<meta charset=utf-8>", b""
    )
    coded = Answer(chinese.decode().encode("gb18030"), media_type="text/html; charset=gb18030")
    crawl_of(tmp_path, {f"{S}/": page("start", "/1", "/2"), f"{S}/1": coded, f"{S}/2": page("2", title="标题标题")})
    export(tmp_path)
    found = told(tmp_path / "views" / "report")
    assert found["broken_links"] == {("/1", "/gone", "旧链接", "a", "404", "status.404")}
    assert found["titles"] == {(path, "duplicate", "标题标题", "8", "2") for path in ("/1", "/2")}
    assert found["headings"] == {("/1", "several", "甲", "2")}


def test_a_large_finding_is_cut_on_the_page_and_whole_in_its_file(tmp_path: Path) -> None:
    crawl_of(tmp_path, {f"{S}/": page("start", *(f"/gone-{n}" for n in range(30)))})
    export(tmp_path)
    folder = tmp_path / "views" / "report"
    assert len(rows(folder, "broken_links")) == 30
    section = parse((folder / "report.html").read_text()).select_one("#broken_links")
    assert len(section.select("tbody tr")) == 20
    assert section.select_one(".more a").attr("href") == "broken_links.csv"


def test_a_chain_of_many_rounds_ends(tmp_path: Path) -> None:
    moves = {f"{S}/r{n}": redirect(f"/r{n + 1}") for n in range(25)}
    crawl_of(tmp_path, {f"{S}/": page("start", "/r0", "/r20"), **moves, f"{S}/r25": page("end")}, redirects_max=30)
    export(tmp_path)
    found = {row[0]: row[1:4] for row in rows(tmp_path / "views" / "report", "redirects")}
    assert found == {f"{S}/r0": ["endless", "21", f"{S}/r21"], f"{S}/r20": ["chain", "5", f"{S}/r25"]}


def test_depth_is_that_of_the_shortest_way(tmp_path: Path) -> None:
    """Two long ways and two short ones to the same pages: whichever a depth-first crawl takes first, one is the wrong one."""
    long = {
        f"{S}/{way}{n}": page(f"{way}{n}", f"/{way}{n + 1}" if n < 5 else f"/end-{way}")
        for way in "ab"
        for n in range(1, 6)
    }
    ends = {f"{S}/end-{way}": page(f"end-{way}") for way in "ab"}
    start = page("start", "/a1", "/c", "/b1")
    crawl_of(tmp_path, {f"{S}/": start, f"{S}/c": page("c", "/end-a", "/end-b"), **long, **ends}, order="dfs")
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as con:
        assert con.execute("SELECT max(depth) FROM url WHERE url LIKE '%/end-%'").fetchone() == (6,)
    export(tmp_path)
    summary = json.loads((tmp_path / "views" / "report" / "report.json").read_text())
    assert summary["depths"] == {"0": 1, "1": 3, "2": 4, "3": 2, "4": 2, "5": 2}


def test_near_duplicates_are_found_among_many_alike(tmp_path: Path) -> None:
    """Menus of the host do not make pages alike; sentences do, however many pages have them."""
    menu = "".join(
        f"<a href='/'>{word}</a>" for word in ("Products", "Company", "Contact", "Prices", "Careers", "Press")
    )
    alike = {f"{S}/alike-{n}": page(f"alike-{n}", like="same", body=menu) for n in range(70)}
    other = {f"{S}/other-{n}": page(f"other-{n}", body=menu) for n in range(8)}
    start = page("start", *(url.removeprefix(S) for url in (*alike, *other)))
    crawl_of(tmp_path, {f"{S}/": start, **alike, **other})
    export(tmp_path)
    found = {(row[0], row[1]) for row in rows(tmp_path / "views" / "report", "near_duplicates")}
    assert found == {(url, f"{S}/alike-0") for url in alike if not url.endswith("alike-0")}
