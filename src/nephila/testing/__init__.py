"""For tests, yours and ours: a web in memory, a clock that jumps, a real server that lies on demand, and ways to kill."""

from nephila.testing.clock import Deadlock, FakeClock
from nephila.testing.fakeweb import Access, FakeWeb
from nephila.testing.sites import Answer, Site

__all__ = ["Access", "Answer", "Deadlock", "FakeClock", "FakeWeb", "Site"]
