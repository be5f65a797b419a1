"""Taking down: pages that a job is to hold no more, neither as rows nor as records (`nephila forget DIR URL|REGEX`).

What stays of a page is that there was one: its fingerprint (it is not fetched again), the rule `forgotten`, the digest of each visit
and the reason, in the database and in the archive. Archive files with its records are written anew under the worker's next
number; one transaction empties the rows and switches to the new files; then the old ones are overwritten and removed. Killed in
between, the same command does it again, and a start of the crawl removes whichever file the database does not name.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from nephila import db, resume, settings, storing
from nephila.archive import reader
from nephila.archive.reader import Place
from nephila.archive.takedown import Takedown, rewrite
from nephila.errors import ConfigError
from nephila.frontier.sqlite import SqliteStore
from nephila.lock import JobLock
from nephila.url.parse import normalise

RULE = "forgotten"
_BLOCK = 1 << 20


class Forgotten(NamedTuple):
    """What was, or would be, taken down. `urls`: at most the first hundred of `total`; `exact`: an address was named, and no pattern;
    `views`: what was made before and still holds what it held."""

    urls: list[str]
    total: int
    visits: int
    exact: bool
    views: list[str]


class _Visit(NamedTuple):
    id: int
    url: int
    digest: str
    offset: int
    length: int
    file: str


def forget(folder: Path, what: str, reason: str = "", *, really: Callable[[Forgotten], bool]) -> Forgotten | None:
    """Take down the URL `what`, or every URL in which the regular expression `what` is found, if `really` says so when it is told
    what that means; None: it did not. Raises ConfigError when nothing is meant, JobError when a crawl runs in the folder,
    Damaged when an archive file does not read (nothing is changed then)."""
    db.reader(folder).close()
    with JobLock(folder):
        store = SqliteStore(db.database(folder))
        try:
            chosen, exact = _chosen(store, what)
            visits = [_Visit(*row) for id in chosen for row in store.query(_VISITS, (id,))]
            keeping = storing.Keeping(
                folder, settings.load({}, os.environ, None, folder / "crawl.toml"), store, _unheard
            )
            views = folder / "views"
            kept = sorted(path.name for path in views.iterdir()) if views.is_dir() else []
            meant = Forgotten(list(chosen.values())[:100], len(chosen), len(visits), exact, kept)
            if not really(meant):
                return None
            _Work(store, folder, chosen, visits, reason, keeping).run()
            return meant
        finally:
            store.close()


def _unheard(event: str, **fields: Any) -> None:
    """Events of the store: the log is about to be cleaned."""


def _chosen(store: SqliteStore, what: str) -> tuple[dict[int, str], bool]:
    """url.id → address; and whether it was named."""
    if not what:
        raise ConfigError("no address was given: an empty pattern would be found in all of them; '.' says that")
    address = normalise(what)
    rows = store.query("SELECT id, url FROM url WHERE url = ?", (address,)) if address else []
    exact = bool(rows)
    if not exact:
        try:
            pattern = re2.compile(what)
        except re2.error as error:
            raise ConfigError(f"{what} is no address of this job, and no regular expression ({error})") from error
        rows = [(id, url) for id, url in store.query("SELECT id, url FROM url WHERE url != ''") if pattern.search(url)]
    if not rows:
        raise ConfigError(f"{what}: this job has no such address")
    return dict(rows), exact


_VISITS = f"""{db.visits_back("SELECT visit FROM url WHERE id = ?")}
SELECT v.id, v.url, v.digest, v.offset, v.length, coalesce(a.file, '')
FROM back JOIN visit v ON v.id = back.id LEFT JOIN archive a ON a.id = v.file
"""


class _Work:
    """One taking down, with the job's lock held."""

    def __init__(
        self,
        store: SqliteStore,
        folder: Path,
        chosen: dict[int, str],
        visits: list[_Visit],
        reason: str,
        keeping: storing.Keeping,
    ) -> None:
        self._store, self._folder, self._archive = store, folder, folder / "archive"
        self._chosen, self._visits, self._reason, self._when = chosen, visits, reason, time.time()
        self._keeping = keeping

    def run(self) -> None:
        name = dict(self._store.query("SELECT key, value FROM meta"))["name"]
        for _ in resume.repair_archives(self._store, self._archive, name, self._keeping.holds):
            pass  # files that a kill left open are whole first, and strays of an earlier taking down are gone
        removed = [visit for visit in self._visits if visit.length]
        restored = list(self._repeating(removed))
        files = sorted({visit.file for visit in removed} | {visit.file for visit, _ in restored})
        self._keeping.fetch(files)
        moves = [self._rewritten(name, file, removed, restored) for file in files]
        self._switch(moves, [visit.id for visit, _ in restored])
        for file in files:
            _erase(self._archive / file)
        self._clean_log()
        for copy in db.database(self._folder).parent.glob("crawl.db.schema*"):
            _erase(copy)
        self._keeping.bury()
        self._keeping.send_rest()

    def _repeating(self, removed: list[_Visit]) -> Iterator[tuple[_Visit, Place]]:
        """Each visit that stays and repeats one that goes, and where that one lies."""
        places = {
            (visit.url, visit.digest): Place(reader.inside(self._archive, visit.file), visit.offset, visit.length)
            for visit in removed
        }
        query = """SELECT v.same_as, v.id, v.url, v.digest, v.offset, v.length, a.file
          FROM visit v JOIN archive a ON a.id = v.file WHERE v.same_as > 0 AND v.length > 0"""
        for same_as, *row in self._store.query(query):
            visit = _Visit(*row)
            place = places.get((same_as, visit.digest))
            if place is not None and visit.url not in self._chosen:
                yield visit, place

    def _rewritten(
        self, name: str, file: str, removed: list[_Visit], restored: list[tuple[_Visit, Place]]
    ) -> tuple[str, str, list[tuple[int, int, int]]]:
        """The file, the one that takes its place, and (offset, length, visit.id) of the visits in that."""
        worker = int(file.rsplit("-", 2)[1])
        new = f"{name}-{worker}-{resume.next_serial(self._archive, name, worker, self._keeping.files()):05d}.warc.gz"
        spans = self._store.query(_SPANS, (file,))
        takedown = Takedown(
            {visit.offset: visit.digest for visit in removed if visit.file == file},
            {visit.offset: place for visit, place in restored if visit.file == file},
            frozenset(self._chosen.values()),
            {offset: length for _, offset, length in spans},
            self._reason,
            self._when,
        )
        places = rewrite(reader.inside(self._archive, file), self._archive / new, takedown)
        return file, new, [(*places[offset], id) for id, offset, _ in spans]

    def _switch(self, moves: list[tuple[str, str, list[tuple[int, int, int]]]], restored: list[int]) -> None:
        """All or nothing: from here on the new files are the archive."""
        self._store.query("PRAGMA secure_delete = 1")
        urls, visits = [(url,) for url in self._chosen], [(visit.id,) for visit in self._visits]
        with self._store.transaction() as con:
            self._keeping.doom(con, [file for file, *_ in moves])
            for file, new, places in moves:
                con.executemany("UPDATE visit SET offset = ?, length = ? WHERE id = ?", places)
                size = (self._archive / new).stat().st_size
                con.execute(_MOVED, (new, size, file))
            con.executemany("UPDATE visit SET same_as = 0 WHERE id = ?", [(id,) for id in restored])
            con.executemany(_EMPTY_VISIT, [(RULE, id) for (id,) in visits])
            con.executemany("DELETE FROM link WHERE visit = ?", visits)
            con.executemany("DELETE FROM item WHERE url = ?", urls)
            con.executemany("DELETE FROM attempt WHERE url = ?", urls)
            con.execute("INSERT OR IGNORE INTO rule (text, since) VALUES (?, ?)", (RULE, self._when))
            con.execute("UPDATE rule SET count = count + ? WHERE text = ?", (len(urls), RULE))
            con.executemany(_EMPTY_URL, [(RULE, id) for (id,) in urls])

    def _clean_log(self) -> None:
        """Events that name an address keep everything else."""
        addresses = set(self._chosen.values())
        for path in self._folder.glob("log.jsonl*"):
            lines = path.read_text("utf-8").splitlines(keepends=True)
            told = "".join(_without(line, addresses) for line in lines)
            fresh = path.with_name(f".{path.name}.new")
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
                out.write(told)
            os.replace(fresh, path)


_MOVED = "UPDATE archive SET file = ?, committed = ?, closed = 1, sha256 = '', store = '' WHERE file = ?"
_SPANS = """SELECT v.id, v.offset, v.length FROM visit v JOIN archive a ON a.id = v.file WHERE a.file = ? AND v.length > 0
ORDER BY v.offset"""
_EMPTY_VISIT = """UPDATE visit SET outcome = 'SKIPPED', reason = ?, title = '', language = '', moved_to = '', ip = '', media_type = '',
  charset = '', access = '', same_as = 0, file = 0, offset = 0, length = 0 WHERE id = ?"""
_EMPTY_URL = """UPDATE url SET url = '', state = 'dropped', unread = '', rule = (SELECT id FROM rule WHERE text = ?)
WHERE id = ?"""


def _without(line: str, addresses: set[str]) -> str:
    """A line of the log, with `…` for an address that is forgotten."""
    if not any(address in line for address in addresses):
        return line
    try:
        fields = json.loads(line)
    except ValueError:
        return ""
    return json.dumps(_hidden(fields, addresses), ensure_ascii=False, separators=(",", ":")) + "\n"


def _hidden(value: Any, addresses: set[str]) -> Any:
    if isinstance(value, str):
        return "…" if value in addresses else value
    if isinstance(value, list):
        return [_hidden(one, addresses) for one in value]
    return {name: _hidden(one, addresses) for name, one in value.items()} if isinstance(value, dict) else value


def _erase(path: Path) -> None:
    """Overwrite and remove. On file systems that write elsewhere (and on flash) the old blocks may live on."""
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0:
            left -= file.write(bytes(min(left, _BLOCK)))
        file.flush()
        os.fsync(file.fileno())
        path.unlink()
