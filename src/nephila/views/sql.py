"""The view `sql`: the tables in a database, kept level with a crawl that runs.

What is loaded and how far that is (table `job`, a row per job) change in one transaction, so an export that is killed carries
on where it was, and one that is made twice changes nothing. Each step locks that row before it reads: two exports of one job
take turns. Ids only grow, so what is new lies behind the marks; addresses that changed otherwise are named by crawl.db, and
all there is of them is loaded anew.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, and_, delete, insert, select, update

from nephila.views import columns, sql_place, sql_tables
from nephila.views.registry import Order
from nephila.views.rows import Marks, Row, Rows, Some, Visits
from nephila.views.source import Source
from nephila.views.sql_place import Place
from nephila.views.sql_tables import JOB, TABLES

FOLLOW_S = 0.5
"""A crawl that is followed is looked at this often: SQLite tells nobody that something was committed."""
BY_VISIT = ("visit", "link", "item")
_MARKS = [JOB.c[f"{name}_id"] for name in Marks._fields]


def export(source: Source, order: Order) -> str:
    """All that is new since the last export into this database; with `follow`, until the crawl ends."""
    place = sql_place.database(order.to, order.path, source.folder)
    rows = Rows(source)
    with sql_place.told(place):
        load = _Load(place, rows, columns.wanted(order.chosen))
        while order.chosen.get("follow") and order.running():
            load.upto(rows.ends())
            time.sleep(FOLLOW_S)
        load.upto(rows.ends())
        load.hosts_anew()
    return rows.told(load.counts, place.said)


class _Load:
    """One job on its way into a database. `counts`: rows written, by table."""

    def __init__(self, place: Place, rows: Rows, wanted: Sequence[str]) -> None:
        self._engine, self._rows = place.engine, rows
        self.counts = Counter(dict.fromkeys(wanted, 0))
        meta = {row["key"]: row["value"] for row in rows.query("SELECT key, value FROM meta")}
        self._job = _job_id(rows, meta.get("fingerprint_key", ""))
        with self._engine.begin() as con:
            sql_tables.create(con)
            if con.execute(select(JOB.c.job).where(JOB.c.job == self._job)).first() is None:
                zero = dict.fromkeys((mark.name for mark in _MARKS), 0)
                con.execute(insert(JOB).values(job=self._job, name=meta.get("name", ""), asked="", **zero))
        self._begin(f"{' '.join(wanted)}; {' '.join(sorted(rows.source.access))}")

    def _begin(self, asked: str) -> None:
        """From the start where nothing was loaded yet, something else was, or more than there is: crawl.db is an older copy."""
        with self._turn() as (con, at):
            before = con.execute(select(JOB.c.asked).where(JOB.c.job == self._job)).scalar_one()
            ends = self._rows.ends()
            if before == asked and all(mark <= end for mark, end in zip(at, ends, strict=True)):
                return
            for table in TABLES.values():
                con.execute(delete(table).where(table.c.job == self._job))
            con.execute(update(JOB).where(JOB.c.job == self._job).values(asked=asked))
            self._mark(con, Marks(change=ends.change))  # what changed until now is read as it is now

    @contextmanager
    def _turn(self) -> Iterator[tuple[Connection, Marks]]:
        """A transaction in which no other export of this job moves the marks."""
        with self._engine.begin() as con:
            marks = con.execute(select(*_MARKS).where(JOB.c.job == self._job).with_for_update()).one()
            yield con, Marks(*marks)

    def _mark(self, con: Connection, marks: Marks) -> None:
        told = dict(zip((mark.name for mark in _MARKS), marks, strict=True))
        con.execute(update(JOB).where(JOB.c.job == self._job).values(**told))

    def upto(self, ends: Marks) -> None:
        """Everything as far as these marks, a few hundred addresses or visits in a transaction."""
        for step in (self._changes, self._visits, self._pages, self._hosts):
            more = True
            while more:
                with self._turn() as (con, at):
                    new = step(con, at, ends)
                    more = new is not None
                    if new is not None:
                        self._mark(con, new)

    def _changes(self, con: Connection, at: Marks, ends: Marks) -> Marks | None:
        url_ids, last = self._rows.changed(at.change, ends.change)
        if not url_ids:
            return None
        pages = self._rows.pages_of(url_ids)
        if pages is not None:
            fps = [row[0] for row in pages.seen] + pages.hidden
            self._delete(con, BY_VISIT, fps)
            for visits in self._rows.visits_of(url_ids):
                self._put_visits(con, visits)
            self._put(con, "page", pages)
        return at._replace(change=last)

    def _visits(self, con: Connection, at: Marks, ends: Marks) -> Marks | None:
        """With the addresses and hosts that are known from before: others come, as they are then, when it is their turn."""
        visits = self._rows.visits(at.visit, ends.visit)
        if visits is None:
            return None
        self._put_visits(con, visits)
        self._put(con, "page", self._rows.pages_of(visits.url_ids, at.url))
        self._put(con, "host", self._rows.hosts_of(visits.url_ids, at.host))
        return at._replace(visit=visits.last)

    def _pages(self, con: Connection, at: Marks, ends: Marks) -> Marks | None:
        pages = self._rows.pages(at.url, ends.url)
        self._put(con, "page", pages)
        return at._replace(url=pages.last) if pages else None

    def _hosts(self, con: Connection, at: Marks, ends: Marks) -> Marks | None:
        hosts = self._rows.hosts(at.host, ends.host)
        self._put(con, "host", hosts)
        return at._replace(host=hosts.last) if hosts else None

    def hosts_anew(self) -> None:
        """All of them: a host changes with things that are no visit."""
        if "host" in self.counts:
            self.counts["host"] = 0
            with self._turn() as (con, at):
                self._load(con, "host", self._rows.table("host", at))

    def _put_visits(self, con: Connection, visits: Visits) -> None:
        for name in BY_VISIT:
            self._load(con, name, visits.of(name))

    def _put(self, con: Connection, name: str, some: Some | None) -> None:
        if some is not None:
            self._load(con, name, some.seen)
            self._delete(con, (name,), some.hidden)

    def _load(self, con: Connection, name: str, rows: Iterable[Row]) -> None:
        if name in self.counts:
            self.counts[name] += sql_tables.load(con, TABLES[name], self._job, rows)

    def _delete(self, con: Connection, names: Sequence[str], fps: Sequence[int]) -> None:
        for name in names if fps else ():
            table = TABLES[name]
            con.execute(delete(table).where(and_(table.c.job == self._job, table.c.fp.in_(fps))))


def _job_id(rows: Rows, key: str) -> str:
    """The same for all copies of a job, another for a job begun anew. Archives of others are what their files are."""
    known = key or "\n".join(row["file"] for row in rows.query("SELECT file FROM archive ORDER BY file"))
    return hashlib.sha256(f"nephila job {known}".encode()).hexdigest()[:32]
