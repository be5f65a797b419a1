"""The crawl that the window speaks of: its front process, asked and steered through the control socket, and its database, read only.

Each has a thread of its own, so that a slow answer holds up nothing but itself. A question to the database ends after two seconds, and
the connection holds no transaction between two questions (it would hold the crawl's log back).
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from nephila import control, db, stats
from nephila.stats import ASK_S_MAX

T = TypeVar("T")

FRESH_S = 0.9
"""A status is asked for at most so often, however many pages are open."""
TOLD_S_MAX = 10.0
"""For an order: the crawl may be committing."""


class Crawl:
    """A context manager. Raises JobError or Damaged, out of `with`, when the folder holds no crawl that can be read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._orders, self._reads = ThreadPoolExecutor(1, "orders"), ThreadPoolExecutor(1, "reads")
        self._status: dict[str, Any] = {}
        self._asked, self._version = float("-inf"), -1
        self._asking = asyncio.Lock()
        self.over = False
        """The crawl that this window belongs to has ended, and the window ends with it."""

    def __enter__(self) -> Crawl:
        try:
            self._con = self._reads.submit(db.reader, self.folder).result()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._reads.submit(self._con.close).result()
        self._close()

    def _close(self) -> None:
        self._orders.shutdown()
        self._reads.shutdown()

    async def status(self) -> dict[str, Any]:
        """Where it stands: the keys of `nephila status`, and `running`: whether a front process answers."""
        async with self._asking:
            if time.monotonic() - self._asked >= FRESH_S:
                live = await self.tell({"verb": "status"}, ASK_S_MAX)
                if live and "error" not in live:
                    self._status = live | {"running": True, "unknown": []}
                elif not self._status or live is None:
                    self._status = await self.ask(self._stored)
                self._asked = time.monotonic()
            return self._status

    async def tell(self, request: dict[str, Any], timeout_s: float = TOLD_S_MAX) -> dict[str, Any] | None:
        """A request to the front process. None: no crawl runs. A crawl that does not answer in time is an answer with `error`
        and `late`."""
        self._asked = float("-inf") if request["verb"] != "status" else self._asked
        return await asyncio.get_running_loop().run_in_executor(self._orders, _told, self.folder, request, timeout_s)

    async def ask(self, question: Callable[..., T], *words: Any) -> T:
        """`question(connection, *words)`, in the thread that reads. sqlite3.OperationalError when it takes more than two seconds."""
        return await asyncio.get_running_loop().run_in_executor(self._reads, self._timed, question, words)

    def _timed(self, question: Callable[..., T], words: tuple[Any, ...]) -> T:
        end = time.monotonic() + ASK_S_MAX
        self._con.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        try:
            return question(self._con, *words)
        finally:
            self._con.set_progress_handler(None, 0)

    def _stored(self, con: sqlite3.Connection) -> dict[str, Any]:
        """The status from the database; counted anew only when something was committed since."""
        (version,) = con.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return self._status
        found = stats.snapshot(con, folder=self.folder)
        self._version = version
        return found | {"running": False}


def _told(folder: Path, request: dict[str, Any], timeout_s: float) -> dict[str, Any] | None:
    try:
        return control.ask(folder, request, timeout_s)
    except TimeoutError:
        return {"error": f"the crawl does not answer within {timeout_s:g} s", "late": True}
