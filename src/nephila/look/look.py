"""A way into crawl.db for people who look: read-only, in short questions, without the pages that they may not see."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nephila import db
from nephila.errors import Damaged
from nephila.stats import ASK_S_MAX

LOOK_S = 1.2
"""So long one answer looks through a large table. A page is there within two seconds."""
PART_ROWS, PART_S = 5_000, 0.1
"""A table is read in parts: the first has so many rows, and each is as large as takes this long."""


class Look:
    """One thread's connection to the job in `folder`. `access`: names of the credentials whose pages may be seen (CONTRACT §8)."""

    def __init__(self, folder: Path, access: frozenset[str] = frozenset()) -> None:
        self.folder, self.access = folder, access
        self._con = db.reader(folder)
        self._con.row_factory = sqlite3.Row
        self._checked = 0
        self._met: set[str] = set()

    def close(self) -> None:
        self._con.close()

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """All rows of one short question. Raises TimeoutError after `stats.ASK_S_MAX`, Damaged when it does not read."""
        end = time.monotonic() + ASK_S_MAX
        self._con.set_progress_handler(lambda: time.monotonic() > end, 20_000)
        try:
            return self._con.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            if "interrupt" in str(error):
                raise TimeoutError(f"this took longer than {ASK_S_MAX:g} s") from error
            raise Damaged(f"{db.database(self.folder)} cannot be read ({error})") from error
        except sqlite3.DatabaseError as error:
            raise Damaged(f"{db.database(self.folder)} cannot be read ({error})") from error
        finally:
            self._con.set_progress_handler(None, 0)

    def one(self, sql: str, *values: Any) -> Any:
        """The first cell of the answer; None when there is none."""
        found = self.rows(sql, *values)
        return found[0][0] if found else None

    def may_see(self, access: str) -> bool:
        """Whether what was fetched with these credentials (`visit.access`) may be seen."""
        return not access or self.access.issuperset(access.split())

    def closed(self) -> list[str]:
        """The values of `visit.access` that may not be seen: what a question leaves out by itself, so that its pages are full.
        Who shows rows asks `may_see` of each all the same: a page of a new credential may have come in between."""
        newest = self.one("SELECT max(id) FROM visit") or 0
        for begin, end in parts(self._checked + 1, newest, time.monotonic() + ASK_S_MAX):
            found = self.rows("SELECT DISTINCT access FROM visit WHERE id BETWEEN ? AND ? AND access != ''", begin, end)
            self._met.update(row[0] for row in found)
            self._checked = end
        return sorted(names for names in self._met if not self.may_see(names))


def parts(first: int, last: int, until: float, *, backward: bool = False) -> Iterator[tuple[int, int]]:
    """Ranges of ids (both ends included) that cover `first` to `last`, in order or from the end, until the monotonic time `until`;
    at least one. The consumer's pace says how large they are."""
    size, low, high = PART_ROWS, first, last
    while low <= high:
        begin, end = (max(low, high - size + 1), high) if backward else (low, min(high, low + size - 1))
        started = time.monotonic()
        yield begin, end
        now = time.monotonic()
        if now >= until:
            return
        if now - started < PART_S / 2:
            size *= 2
        elif now - started > PART_S:
            size = max(size // 2, PART_ROWS)
        low, high = (low, begin - 1) if backward else (end + 1, high)
