"""The whole contract once more with places for four hosts: whatever a frontier promises, it keeps when hosts sleep.

But for the order among hosts: those that are awake give what they have in memory before those that sleep have their turn.
"""

from __future__ import annotations

import msgspec
import pytest
from frontier.over_memory import OverMemory

from nephila.config import Config
from nephila.frontier.batch import Store
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb


@pytest.mark.long
class TestFourAwake(OverMemory):
    test_hosts_are_asked_in_the_order_in_which_they_were_met = None
    test_no_host_waits_for_another_to_finish = None
    test_the_second_clock = None
    """Eight requests at once need eight hosts awake."""

    def start(self, web: FakeWeb, clock: FakeClock, config: Config, store: Store | None = None) -> FakeCrawl:
        return super().start(web, clock, msgspec.structs.replace(config, hosts_max=4), store)
