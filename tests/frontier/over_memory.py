"""The contract over the reference store, for the tests that run it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.config import Config  # noqa: E402
from nephila.frontier.batch import Store  # noqa: E402
from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.testing.frontier_contract import FrontierContract  # noqa: E402


class OverMemory(FrontierContract):
    def make_store(self, config: Config) -> MemoryStore:
        self.last = MemoryStore(config.order, config.max_depth)
        return self.last

    def reopen(self, config: Config) -> MemoryStore:
        return self.last

    def table(self, store: Store, name: str) -> list[dict[str, Any]]:
        assert isinstance(store, MemoryStore)
        return store.table(name)
