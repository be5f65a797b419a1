"""The contract on the reference store."""

from __future__ import annotations

from frontier.over_memory import OverMemory


class TestMemory(OverMemory):
    pass
