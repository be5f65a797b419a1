"""The view `report`: what is wrong with a site, for those who own it. A page to show, and a CSV file per finding.

Facts are gathered once (`facts`), every finding is a question to them (`findings`), and rows are written as they come, so that
memory does not grow with the crawl.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from nephila.clock import iso
from nephila.errors import ConfigError
from nephila.types import LANGUAGES
from nephila.url.parse import host_of
from nephila.views import csvfiles
from nephila.views.folder import Folder
from nephila.views.registry import Order
from nephila.views.replaced import replaced
from nephila.views.report import manners
from nephila.views.report.facts import Facts
from nephila.views.report.findings import FINDINGS, UNREACHED, Finding
from nephila.views.report.manners import Manners
from nephila.views.report.page import HOSTS_MAX, Overview, Proof, page
from nephila.views.report.tables import SHOWN_MAX, Shown
from nephila.views.source import Source

_DEPTHS_SHOWN = 9
"""What lies deeper is one column."""
_BOM = b"\xef\xbb\xbf"
"""A spreadsheet reads UTF-8 only behind this mark."""
_FILES = frozenset({"report.html", "report.json", "manners.csv", *(finding.file for finding in FINDINGS)})
_ANSWERS = """SELECT CASE WHEN outcome IN ('OK', 'UNCHANGED') THEN 'ok' WHEN moved THEN 'moved' WHEN broken THEN 'broken'
  WHEN outcome = 'DENIED' THEN 'denied' ELSE 'other' END, count(*) FROM address WHERE outcome != '' AND kind != 'robots' GROUP BY 1"""
_DEPTHS = f"""SELECT CASE WHEN r.depth = {UNREACHED} THEN -1 ELSE min(r.depth, {_DEPTHS_SHOWN}) END, count(*)
  FROM page p JOIN reach r ON r.id = p.id GROUP BY 1"""
_TIMES = """SELECT CASE WHEN ms < 100 THEN 100 WHEN ms < 300 THEN 300 WHEN ms < 1000 THEN 1000 WHEN ms < 2000 THEN 2000
  WHEN ms < 5000 THEN 5000 END, count(*) FROM page p JOIN address a ON a.id = p.id GROUP BY 1"""
_WEIGHTS = """SELECT CASE WHEN media_type LIKE '%html%' THEN 'html' WHEN media_type LIKE 'image/%' THEN 'images'
  WHEN media_type LIKE '%javascript%' THEN 'scripts' WHEN media_type = 'text/css' THEN 'styles' WHEN media_type LIKE '%font%' THEN 'fonts'
  WHEN media_type LIKE 'video/%' OR media_type LIKE 'audio/%' THEN 'media' WHEN media_type LIKE '%pdf' OR media_type LIKE '%document%'
  THEN 'documents' ELSE 'other' END, sum(bytes) FROM address WHERE bytes > 0 GROUP BY 1"""


def export(source: Source, order: Order) -> str:
    """`report.html`, `report.json` and the CSV files, into a folder, in place of those of an earlier report."""
    language = str(order.chosen.get("language") or LANGUAGES[0])
    if language not in LANGUAGES:
        raise ConfigError(f"--language {language}: a report opens in one of: {', '.join(LANGUAGES)}")
    target = replaced(order.path.absolute(), _FILES, "report")
    with Facts(source) as facts, target as draft, Folder(draft) as out:
        facts.gather()
        found = [_write(out, facts.con, finding) for finding in FINDINGS]
        proof = None if source.files else _proof(out, source, facts.con)
        overview = _overview(source, facts)
        out.write("report.json", [msgspec.json.format(msgspec.json.encode(_summary(overview, found, proof))) + b"\n"])
        out.write("report.html", (piece.encode("utf-8", "replace") for piece in page(overview, found, proof, language)))
    counts = [
        (sum(s.number for s in found if s.finding.grade == grade), grade) for grade in ("error", "warning", "notice")
    ]
    said = ", ".join(f"{number:,} {grade}{'' if number == 1 else 's'}" for number, grade in counts)
    lost = f"; {facts.unread:,} pages could not be read back" if facts.unread else ""
    return f"{overview.pages:,} pages, {said} in {order.path / 'report.html'}{lost}"


def _write(out: Folder, con: sqlite3.Connection, finding: Finding) -> Shown:
    """The CSV file of a finding, and its first rows. Pages with errors are written down."""
    numbers = count()

    def rows() -> Iterator[Any]:
        for row in con.execute(finding.query):
            next(numbers)
            if finding.grade == "error":
                con.execute("INSERT OR IGNORE INTO faulty VALUES (?)", row[:1])
            yield row

    _csv(out, finding.file, finding.columns, rows())
    shown = con.execute(f"{finding.shown or finding.query} LIMIT {SHOWN_MAX + 1}").fetchall()
    return Shown(finding, next(numbers), shown[:SHOWN_MAX], len(shown) <= SHOWN_MAX)


def _csv(out: Folder, name: str, columns: tuple[str, ...], rows: Iterator[Any]) -> None:
    """Texts come from the web and a person opens the file: none of them is a formula."""
    lines = csvfiles.records(columns, rows, True)
    out.write(name, (_BOM + line if n == 0 else line for n, line in enumerate(lines)))


def _proof(out: Folder, source: Source, con: sqlite3.Connection) -> Proof:
    con.execute(f"CREATE TABLE manners ({', '.join(Manners._fields)})")
    marks = ", ".join("?" * len(Manners._fields))
    for host in manners.hosts(source, con):
        con.execute(f"INSERT INTO manners VALUES ({marks})", host)
    _csv(out, "manners.csv", Manners._fields, con.execute("SELECT * FROM manners ORDER BY requests DESC, origin"))
    total = con.execute(
        """SELECT '', coalesce(sum(requests), 0), coalesce(max(at_once_max), 0), coalesce(min(nullif(pause_min_s, -1)), -1), max(crawl_delay_s),
          coalesce(max(robots_requests), 0), coalesce(sum(disallowed_fetched), 0), coalesce(sum(retries), 0), coalesce(sum(early), 0) FROM manners"""
    ).fetchone()
    (number,) = con.execute("SELECT count(*) FROM manners").fetchone()
    most = con.execute("SELECT * FROM manners ORDER BY requests DESC, origin LIMIT ?", (HOSTS_MAX,)).fetchall()
    return Proof(Manners(*total), [Manners(*host) for host in most], number, manners.ignores_robots(source))


def _overview(source: Source, facts: Facts) -> Overview:
    con = facts.con
    first, last = source.rows(
        "SELECT coalesce(min(started), 0), coalesce(max(started), 0) FROM visit WHERE started > 0"
    )[0]
    addresses, hosts, size = con.execute(
        "SELECT count(*), count(DISTINCT host), coalesce(sum(bytes), 0) FROM address WHERE outcome != '' AND kind != 'robots'"
    ).fetchone()
    pages, healthy = con.execute(
        """SELECT count(*), coalesce(sum(NOT EXISTS (SELECT 1 FROM faulty f WHERE f.url = a.url)), 0)
          FROM page p JOIN address a ON a.id = p.id"""
    ).fetchone()
    names = list(dict.fromkeys(map(host_of, source.seeds())))
    tables = (dict(con.execute(query).fetchall()) for query in (_ANSWERS, _DEPTHS, _TIMES, _WEIGHTS))
    return Overview(names, first, last, addresses, pages, hosts, size, healthy, facts.unread, *tables)


def _summary(overview: Overview, found: list[Shown], proof: Proof | None) -> dict[str, Any]:
    """`report.json`: the numbers of the page."""
    numbers = overview._asdict() | {"first": iso(overview.first), "last": iso(overview.last)}
    named = {name: {str(key): value for key, value in numbers[name].items()} for name in ("depths", "times")}
    listed = {s.finding.name: {"grade": s.finding.grade, "count": s.number, "file": s.finding.file} for s in found}
    total = None
    if proof:
        total = {
            name: value for name, value in proof.total._asdict().items() if name not in ("origin", "crawl_delay_s")
        }
        total |= {"hosts": proof.number, "no_robots": proof.no_robots}
    return numbers | named | {"findings": listed, "manners": total}
