"""The thread that looks things up in the crawl's database for the pages about addresses, with a connection of its own: what takes a second
there holds up neither the numbers of the first page nor a kept page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from nephila.look.look import Look

if TYPE_CHECKING:
    from nephila.ui.desk import Desk

T = TypeVar("T")


class Looking:
    """`await ask(question, *words)` → `question(look, *words)`, in the thread. The database is opened by the first question."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._thread = ThreadPoolExecutor(1, "looking")
        self._look: Look | None = None

    async def ask(self, question: Callable[..., T], *words: Any) -> T:
        access = await self._desk.library.ask(lambda replay: replay.source.access)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._asked, access, question, words)

    def _asked(self, access: frozenset[str], question: Callable[..., T], words: tuple[Any, ...]) -> T:
        assert self._desk.crawl is not None  # its pages are in the navigation only when there is one
        if self._look is None:
            self._look = Look(self._desk.crawl.folder, access)
        return question(self._look, *words)
