"""Made-up jobs: whole crawls of webs in memory that leave a folder as a real one does, but for the archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from nephila import resume, settings
from nephila.changes import are_rules
from nephila.config import Config
from nephila.explain import Explanation, explain
from nephila.fetch.decode import decode
from nephila.frontier.sqlite import SqliteStore
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import SEED, FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.views.source import Source

Web = Callable[[FakeWeb], None]
Until = Callable[[FakeCrawl], bool]


class Made:
    """One job in `folder`, crawled with `config` until `until` (the end)."""

    def __init__(self, folder: Path, web: Web, config: Config, until: Until | None = None) -> None:
        folder.mkdir(parents=True)
        self.folder, self.config, self._fill = folder, config, web
        self.clock = FakeClock()
        self.web = self._run(config, until)

    def _run(self, config: Config, until: Until | None = None, retry: tuple[str, ...] = ()) -> FakeWeb:
        """A run of the crawl, from the start or from where it stands."""
        web = FakeWeb(self.clock, latency_s=0.01)
        self._fill(web)
        store = SqliteStore(self.folder / "crawl.db", order_name=config.order, max_depth=config.max_depth)
        store.set_meta({"fingerprint_key": str(SEED)})
        again = (self.folder / "crawl.toml").exists()
        if again:
            list(resume.apply(store, config, self.config, list(retry)))
        settings.write(config, self.folder / "crawl.toml")
        crawl = FakeCrawl(web, self.clock, config, store, digests=True)
        if again and are_rules(self.config, config):
            crawl.scheduler.change(config, crawl.scheduler.scope, lambda effect: None)
        if crawl.run(until and (lambda scheduler: until(crawl))) is None:
            store.close()  # left as a kill leaves it
        return web

    def carry_on(self, set: dict[str, Any], retry: list[str]) -> FakeWeb:
        """The same command with other settings: what would be asked for now."""
        return self._run(msgspec.structs.replace(self.config, **set), retry=tuple(retry))

    def explain(self, url: str, given: dict[str, Any] | None = None, **how: Any) -> Explanation:
        with Source(self.folder, decode, how.pop("access", frozenset())) as source:
            return explain(source, url, given, now=self.clock.wall(), **how)
