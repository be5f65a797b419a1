"""The contract on the embedded store: inline, and the parts where time matters with its writer thread."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.config import Config  # noqa: E402
from nephila.errors import DiskFull  # noqa: E402
from nephila.frontier.batch import Batch, Store  # noqa: E402
from nephila.frontier.sqlite import SqliteStore  # noqa: E402
from nephila.testing import contract  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.frontier_contract import FrontierContract  # noqa: E402


class OnFile:
    """Stores in one file below the test's folder."""

    kind: type[SqliteStore] = SqliteStore

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder, self.made = tmp_path, 0

    def make_store(self, config: Config) -> SqliteStore:
        self.made += 1
        return self.reopen(config)

    def reopen(self, config: Config) -> SqliteStore:
        self.last = self.kind(self.path, order_name=config.order, max_depth=config.max_depth)
        return self.last

    @property
    def path(self) -> Path:
        return self.folder / f"{self.made}.db"

    def table(self, store: Store, name: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.path)) as con:
            con.row_factory = sqlite3.Row
            rows = [dict(row) for row in con.execute(f"SELECT * FROM {name}")]
        return [row | {"examples": json.loads(row["examples"])} if "examples" in row else row for row in rows]


class TestSqlite(OnFile, FrontierContract):
    pass


class ThreadedStore(SqliteStore):
    """Its writer thread starts with the first job inside an event loop; `jobs` are not answered yet."""

    jobs = 0

    def _run(self, job: Any, done: Callable[..., None]) -> None:
        if self._call_soon is None:
            try:
                self.start(asyncio.get_running_loop().call_soon_threadsafe)
            except RuntimeError:  # a scheduler that is being made asks before the loop runs
                super()._run(job, done)
                return
        self.jobs += 1

        def answer(result: Any) -> None:
            self.jobs -= 1
            done(result)

        super()._run(job, answer)

    def die(self) -> None:
        """A killed process writes no more; what its thread had in hand is done or not, and here it is done."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()


class Threaded(OnFile):
    kind = ThreadedStore

    def reopen(self, config: Config) -> SqliteStore:
        if isinstance(before := getattr(self, "last", None), ThreadedStore):
            before.die()
        return super().reopen(config)

    def before_run(self, clock: FakeClock, store: Store) -> None:
        assert isinstance(store, ThreadedStore)
        clock.busy = lambda: store.jobs > 0


class TestThreadedOrders(Threaded, contract.Orders):
    pass


class TestThreadedOutcomes(Threaded, contract.Outcomes):
    pass


class TestThreadedDepths(Threaded, contract.Depths):
    pass


class TestThreadedRefusals(Threaded, contract.Refusals):
    pass


class TestThreadedRetries(Threaded, contract.Retries):
    pass


class TestThreadedLimits(Threaded, contract.Limits):
    def fail_commit(self, store: Store, n: int, error: Exception) -> None:
        """On the writer thread, while more batches wait behind it."""
        assert isinstance(store, ThreadedStore)
        commit, calls = store._commit, iter(range(1, 1000))

        def failing(con: Any, batch: Any) -> Any:
            if next(calls) == n:
                raise error
            return commit(con, batch)

        store._commit = failing  # type: ignore[method-assign]


def test_after_a_failed_commit_nothing_more_is_written(tmp_path: Path) -> None:
    """Batches that were handed over before the failure was known depend on the one that failed."""
    store = SqliteStore(tmp_path / "crawl.db")
    answers: list[Any] = []
    good, bad, late = Batch(), Batch(), Batch()
    good.meta["n"], late.meta["n"] = "1", "3"
    bad.links = [(1, 1, 0, object())]  # type: ignore[list-item]
    bad.meta["n"] = "2"
    for batch in (good, bad, late):
        store.commit(batch, answers.append)
    assert not isinstance(answers[0], BaseException)
    assert isinstance(answers[1], sqlite3.Error)
    assert isinstance(answers[2], sqlite3.Error)
    assert store.meta()["n"] == "1"
    store.close()


def test_a_full_disk_is_said_as_such(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "crawl.db")
    store.query("PRAGMA max_page_count = 60")
    batch, answers = Batch(), []
    batch.links = [(i, 0, bytes(4000)) for i in range(1, 200)]
    store.commit(batch, answers.append)
    assert isinstance(answers[0], DiskFull)
    store.close()


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 0)])
def test_power_waits_for_the_disk_and_process_does_not(durable: bool, level: int, tmp_path: Path) -> None:
    """2 is FULL: SQLite waits for the disk at every commit (sqlite.org/pragma.html#pragma_synchronous)."""
    store = SqliteStore(tmp_path / "crawl.db", durable=durable)
    assert store._con.execute("PRAGMA synchronous").fetchone() == (level,)
    assert store._con.execute("PRAGMA fullfsync").fetchone() == (int(durable),)
    store.close()
