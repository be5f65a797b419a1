"""One thread that owns the database connection of a job; the server's loop asks it and never waits for a disk itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from typing import Any, TypeVar

from nephila.views.replay import Replay
from nephila.views.source import Source

T = TypeVar("T")


class Library:
    """A context manager. `source` is opened in the thread, and what it raises comes out of `with`."""

    def __init__(self, source: AbstractContextManager[Source]) -> None:
        self._source = source
        self._thread = ThreadPoolExecutor(1, "library")
        self._opened = ExitStack()

    def __enter__(self) -> Library:
        try:
            self._thread.submit(self._open).result()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.submit(self._opened.close).result()
        self._thread.shutdown()

    def _open(self) -> None:
        source = self._opened.enter_context(self._source)
        self._replay = self._opened.enter_context(closing(Replay(source)))

    async def ask(self, question: Callable[..., T], *words: Any) -> T:
        """`question(replay, *words)`, in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: question(self._replay, *words))

    async def blocks(self, blocks: Iterator[bytes]) -> AsyncIterator[bytes]:
        """The blocks of an answer, each taken in the thread."""
        while (block := await self.ask(lambda replay: next(blocks, None))) is not None:
            yield block
