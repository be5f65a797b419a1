"""The whole contract once more with places for four hosts: whatever a frontier promises, it keeps when hosts sleep.

But for the order among hosts: those that are awake give what they have in memory before those that sleep have their turn.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.config import Config  # noqa: E402
from nephila.frontier.batch import Store  # noqa: E402
from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.crawls import FakeCrawl  # noqa: E402
from nephila.testing.fakeweb import FakeWeb  # noqa: E402
from nephila.testing.frontier_contract import FrontierContract  # noqa: E402


@pytest.mark.long
class TestFourAwake(FrontierContract):
    test_hosts_are_asked_in_the_order_in_which_they_were_met = None
    test_no_host_waits_for_another_to_finish = None
    test_the_second_clock = None
    """Eight requests at once need eight hosts awake."""

    def make_store(self, config: Config) -> MemoryStore:
        self.last = MemoryStore(config.order, config.max_depth)
        return self.last

    def reopen(self, config: Config) -> MemoryStore:
        return self.last

    def table(self, store: Store, name: str) -> list[dict[str, Any]]:
        assert isinstance(store, MemoryStore)
        return store.table(name)

    def start(self, web: FakeWeb, clock: FakeClock, config: Config, store: Store | None = None) -> FakeCrawl:
        return super().start(web, clock, msgspec.structs.replace(config, hosts_max=4), store)
