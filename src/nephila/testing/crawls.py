"""Whole crawls in milliseconds of fake time: the real corridor, scheduler and store over a web in memory."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from nephila.config import Config
from nephila.corridor import build_engine
from nephila.engine import Engine, Hooks
from nephila.events import EVENTS
from nephila.frontier.addresses import Directory
from nephila.frontier.batch import Store
from nephila.frontier.local import LocalFrontier
from nephila.frontier.scheduler import Ended, Scheduler
from nephila.frontier.seen import ways
from nephila.plan import WorkerSpec
from nephila.testing.clock import FakeClock
from nephila.testing.fakeweb import FakeWeb
from nephila.types import Record, Visit
from nephila.url.key import Fingerprints
from nephila.wanted import requests_of, scope_of

SEED = 7


class FakeCrawl:
    """One run of a crawl of `web` under `clock`, over `store`. Nothing is archived, unless the job has a `folder`.

    `digests`: visits tell, as an archive does, which page had the same body before.

    Run several after another over the same store to resume; leave `run` early with `until` to see what a kill leaves:
    nothing of the scheduler is closed or committed then.
    """

    def __init__(
        self,
        web: FakeWeb,
        clock: FakeClock,
        config: Config,
        store: Store,
        *,
        hooks: Hooks | None = None,
        seed: int = 1,
        digests: bool = False,
        directory: Directory | None = None,
        folder: Path | None = None,
    ) -> None:
        self.web, self.clock, self.config, self.store, self._hooks = web, clock, config, store, hooks
        self._folder = folder
        self._bodies: dict[bytes, int] | None = {} if digests else None
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.seeds = requests_of(config)
        self.seen = seen = ways.make(config.seen, payload=config.max_depth >= 0, folder=Path(gettempdir()))
        self.scheduler = Scheduler(
            config,
            store,
            store.load(seen),
            seen=seen,
            scope=scope_of(config, self.seeds),
            fingerprint=Fingerprints(SEED),
            clock=clock,
            rng=random.Random(seed),
            note=self._note,
            directory=directory,
        )

    def run(self, until: Callable[[Scheduler], bool] | None = None) -> Ended | None:
        """Crawl to the end; or until `until` is true after a visit: then everything stops as a kill would stop it."""
        return self.clock.run(self._run(until))

    async def _run(self, until: Callable[[Scheduler], bool] | None) -> Ended | None:
        loop = asyncio.get_running_loop()
        self.scheduler.attach(loop.call_later)
        frontier = _Watched(self.scheduler, until)
        spec = WorkerSpec(
            str(self._folder or "/nonexistent"), "fake", 0, 1, self.config, self.scheduler.scope, SEED, []
        )
        engine = build_engine(spec, frontier, hooks=self._hooks, fetch=self.web)
        if self._folder is None:
            engine.keep = self._keep
        engine.effort.passed_s = engine.effort.worked_s = lambda: 0.0
        self.tell(engine)
        self.scheduler.put(self.seeds)
        work = loop.create_task(engine.run(self.config.connections))
        await asyncio.wait([work, loop.create_task(frontier.killed.wait())], return_when=asyncio.FIRST_COMPLETED)
        if frontier.killed.is_set():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return None
        await work
        await engine.close()
        await self.scheduler.flush()
        self.scheduler.close()
        return self.scheduler.ended

    def _keep(self, visit: Visit) -> Record | None:
        """What an archive would say of a visit: whether the same body came before."""
        if self._bodies is None or visit.response is None or visit.retryable:
            return None
        digest = sha1(visit.response.payload.head(1 << 20)).digest()
        first = self._bodies.setdefault(digest, visit.lease.id)
        return Record("", 0, 0, digest.hex(), first if first != visit.lease.id else 0)

    def _note(self, event: str, **fields: Any) -> None:
        assert EVENTS[event].fields == tuple(fields), f"{event} has other fields than documented: {', '.join(fields)}"
        self.notes.append((event, fields))

    def tell(self, engine: Engine) -> None:
        """The engine is made: a test may replace a part of it."""


class _Watched(LocalFrontier):
    def __init__(self, scheduler: Scheduler, until: Callable[[Scheduler], bool] | None) -> None:
        super().__init__(scheduler)
        self._until, self.killed = until, asyncio.Event()

    async def settle(self, settlement: Any) -> None:
        await super().settle(settlement)
        if self._until is not None and self._until(self._scheduler):
            self.killed.set()
            await asyncio.Event().wait()
