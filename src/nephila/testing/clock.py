"""A clock of its own, and an event loop that lives by it: a crawl of forty days takes seconds, and takes them alike each time.

The loop never waits. When nothing is ready, time jumps to the next timer; when there is no timer either, nothing can ever
happen again, and that is said at once (`Deadlock`) in place of hanging. Real file descriptors and threads still work: the
former are polled, and for the latter time stands still as long as a thread that was handed work has not come back.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

START = 731_942.25
"""First monotonic reading: far from zero and from any real clock, so that asking the wrong clock shows at once."""

WALL = 1_000_212_366.0
"""First wall reading (September 2001)."""

PATIENCE_S = 10.0
"""Real seconds that a thread or a real socket may stay silent before the loop is called dead."""

BREATH_S = 0.0005
"""Real seconds given to threads that nobody counts, before each jump."""


class Deadlock(RuntimeError):
    """Nothing is ready, no timer is set, nobody can wake the loop. The message names the tasks that wait."""


class FakeClock:
    """A `Clock` whose time moves only when nothing else can. `run` is its `asyncio.run`.

    `busy` may be set to a function that says whether a thread still works on something; while it does, time stands still.
    """

    def __init__(self, start: float = START, wall: float = WALL) -> None:
        self._now = start
        self._wall_offset = wall - start
        self.busy: Callable[[], bool] | None = None

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end in fake time. Raises Deadlock when it can never end."""
        with asyncio.Runner(loop_factory=self.loop) as runner:
            return runner.run(main)

    def loop(self) -> asyncio.AbstractEventLoop:
        """A new event loop that lives by this clock."""
        return _Loop(self)

    def monotonic(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now + self._wall_offset

    def jump(self, seconds: float) -> None:
        """The machine was suspended: both clocks are found `seconds` later at once."""
        self._now += seconds

    def wall_jump(self, seconds: float) -> None:
        """Somebody set the wall clock; the monotonic one knows nothing of it."""
        self._wall_offset += seconds


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: FakeClock) -> None:
        self._fake = clock
        self.handed_out = 0
        super().__init__(_Selector(clock, self))

    def time(self) -> float:
        return self._fake.monotonic()

    @property
    def _clock_resolution(self) -> float:
        """asyncio fires a timer this much too early. Here that must be less than any two times can differ: who is woken
        early sets the timer again, and time would never get there."""
        return math.ulp(self.time())

    @_clock_resolution.setter
    def _clock_resolution(self, _: float) -> None:
        """What asyncio believes of the machine's clock does not matter."""

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """As in every loop; until it is done, time stands still."""
        future = super().run_in_executor(executor, func, *args)
        self.handed_out += 1
        future.add_done_callback(self._handed_back)
        return future

    def _handed_back(self, _: asyncio.Future[Any]) -> None:
        self.handed_out -= 1

    def threads_at_work(self) -> bool:
        return self.handed_out > 0 or bool(self._fake.busy and self._fake.busy())


class _Selector(selectors.DefaultSelector):
    """Polls, and lets the clock jump where another selector would wait."""

    def __init__(self, clock: FakeClock, loop: _Loop) -> None:
        super().__init__()
        self._clock, self._loop = clock, loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if ready := super().select(0):
            return ready
        if timeout is not None and timeout <= 0:
            return []
        if self._loop.threads_at_work():
            return self._wait(self._loop.threads_at_work)
        if timeout is None:
            return self._wait(self._others)
        if threading.active_count() > 1 and (ready := super().select(BREATH_S)):
            return ready
        self._clock.jump(timeout)
        return []

    def _wait(self, hope: Callable[[], bool]) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait in real time as long as somebody outside the loop may still wake it. Returns [] when hope has ended."""
        patience_ends = time.monotonic() + PATIENCE_S
        while hope() and time.monotonic() < patience_ends:
            if ready := super().select(0.01):
                return ready
        if hope == self._others or time.monotonic() >= patience_ends:
            raise Deadlock(_waiting(self._loop))
        return []

    def _others(self) -> bool:
        """Real sockets beside the loop's own wake-up pipe, or threads."""
        return len(self.get_map()) > 1 or threading.active_count() > 1


def _waiting(loop: asyncio.AbstractEventLoop) -> str:
    """The pending tasks and the line at which each one waits."""
    lines = [_where(task) for task in asyncio.all_tasks(loop)]
    return "nothing can happen any more; still waiting:\n" + "\n".join(sorted(lines) or ["  (no task)"])


def _where(task: asyncio.Task[Any]) -> str:
    code = getattr(task.get_coro(), "__qualname__", repr(task.get_coro()))
    stack = task.get_stack(limit=1)
    place = f"{stack[-1].f_code.co_filename}:{stack[-1].f_lineno}" if stack else "not started"
    return f"  {task.get_name()}: {code} at {place}"
