"""The order of URLs inside one host: a sort key, the same in memory and as columns of the queue's index."""

from __future__ import annotations

from collections.abc import Callable

Key = tuple[int, int]


def bfs(depth: int, id: int) -> Key:
    """Shallow first, then in the order of discovery."""
    return (depth, id)


def dfs(depth: int, id: int) -> Key:
    """Newest first. The host heap above keeps this from camping on one host."""
    return (-id, 0)


KEYS: dict[str, Callable[[int, int], Key]] = {"bfs": bfs, "dfs": dfs}
COLUMNS = {"bfs": "depth, id", "dfs": "id DESC"}
