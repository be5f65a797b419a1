"""The frontier as a worker sees it: leases come in over the wire, settlements go out.

Outgoing settlements are held back for a moment, because a batch costs the front little more than one: until they are a
share of what is still running here (a site with one connection waits for exactly this answer), for at most `HOLD_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from nephila.errors import NephilaError
from nephila.frontier.frames import (
    Bye,
    Closed,
    Failed,
    FrameError,
    Hello,
    Leases,
    Opened,
    Ready,
    Returned,
    Settled,
    ToWorker,
    Wire,
    to_worker,
)
from nephila.types import Lease, Request, RobotsFile, Settlement

HOLD_S = 0.002
"""Longest wait of a settlement for company."""
SHARE = 4
"""A batch goes when it is a quarter of the leases still out: the front refills us long before we run dry."""
BATCH = 64
"""Settlements in one frame."""
BATCH_LINKS = 10_000
"""New links in one frame: keeps it far below the largest frame (2 KiB a link, one page may add 20,000)."""
STUCK_S = 0.25
"""Leases that wait here go back when none was taken for so long."""
TRACEBACK_CHARS = 16_384
"""The end of a traceback is what names the cause."""
BYE_S = 30.0
"""The front may be busy committing when a worker says goodbye."""


class RemoteFrontier:
    """`ports.Frontier` over the inherited socket. Must be made on the running loop.

    `on_scope` (set by who builds the engine) is called with the decoded scope when a newer epoch arrives, before any
    lease that came with it can be taken; `on_robots` with each robots.txt that came with a lease which goes back unseen, for the
    front takes it to be known here and does not send it again. `vanish` is what an end of file does: by default the process is gone at once.
    """

    def __init__(
        self, sock: socket.socket, *, scope_type: Any = Any, vanish: Callable[[int], object] = os._exit
    ) -> None:
        self.on_scope: Callable[[Any], None] = lambda scope: None
        self.on_robots: Callable[[str, RobotsFile], None] = lambda origin, robots: None
        self._paced: deque[Lease] = deque()
        self._queue: deque[Lease] = deque()
        self._takers: deque[asyncio.Future[None]] = deque()
        self._batch: list[Settlement] = []
        self._batch_links = 0
        self._outstanding = 0
        """Leases held here and not settled."""
        self._timer: asyncio.TimerHandle | None = None
        self._soon = False
        self._stopped = False
        self._taken = 0
        self._looking = False
        """A timer looks whether leases that wait here are being taken."""
        self._vanish = vanish
        self._loop = asyncio.get_running_loop()
        self._hello: asyncio.Future[bytes] = self._loop.create_future()
        self._scope = msgspec.msgpack.Decoder(scope_type)
        self._wire: Wire[ToWorker] = Wire(sock, to_worker(), self._frame, self._end)

    async def hello(self) -> bytes:
        """The front's first word: the packed WorkerSpec."""
        return await self._hello

    def ready(self) -> None:
        """Tell the front that leases may come."""
        self._wire.send(Ready())

    async def take(self) -> Lease | None:
        """The next lease, those of paced hosts first; None once the front said Stop."""
        while not self._stopped:
            if self._paced or self._queue:
                self._taken += 1
                return (self._paced or self._queue).popleft()
            await self._wait()
        return None

    async def settle(self, settlement: Settlement) -> None:
        """Send a settlement on its way; waits while the front does not keep up."""
        self._batch.append(settlement)
        self._outstanding -= 1
        self._batch_links += len(settlement.found.new)
        if len(self._batch) >= BATCH or self._batch_links >= BATCH_LINKS:
            self._send_batch()
        elif len(self._batch) * SHARE >= self._outstanding:
            if not self._soon:
                self._soon = True
                self._loop.call_soon(self._send_batch)
        elif self._timer is None and not self._soon:
            self._timer = self._loop.call_later(HOLD_S, self._send_batch)
        if self._wire.choked:
            await self._wire.drained()

    async def put(self, requests: Iterable[Request]) -> int:
        """Seeds are given to the front, never to a worker: always TypeError."""
        raise TypeError("a worker does not admit requests; links travel in settlements")

    def opened(self, file: str, pid: int) -> None:
        """Tell the front of an archive file, before the first settlement that lies in it."""
        self._send_batch()
        self._wire.send(Opened(file, pid))

    def closed(self, file: str) -> None:
        """Nothing more will be written to `file`: goes after every settlement that lies in it."""
        self._send_batch()
        self._wire.send(Closed(file))

    def bye(self) -> None:
        """Send what is left and the goodbye; returns when the kernel has all of it. Raises OSError without a front."""
        self._send_batch()
        self._wire.finish(Bye(), BYE_S)

    def fail(self, failure: Failed) -> None:
        """End with an error in place of a goodbye. Settlements made before it are good and go first."""
        self._send_batch()
        self._wire.finish(failure, BYE_S)

    async def _wait(self) -> None:
        taker = self._loop.create_future()
        self._takers.append(taker)
        try:
            await taker
        except asyncio.CancelledError:
            if taker.done() and not taker.cancelled():  # woken and cancelled at once: another takes the lease
                self._wake(1)
            raise

    def _wake(self, count: int) -> None:
        while count and self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                count -= 1

    def _send_batch(self) -> None:
        self._soon = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._batch:
            batch, self._batch, self._batch_links = self._batch, [], 0
            self._send(batch)

    def _send(self, batch: list[Settlement]) -> None:
        try:
            self._wire.send(Settled(batch))
        except FrameError:  # what hooks returned may be large: in halves, down to a single one that is a bug
            if len(batch) == 1:
                raise
            half = len(batch) // 2
            self._send(batch[:half])
            self._send(batch[half:])

    def _frame(self, frame: ToWorker) -> None:
        match frame:
            case Leases():
                self._receive(frame)
            case Hello():
                self._hello.set_result(frame.spec)
            case _:
                self._stop()

    def _receive(self, frame: Leases) -> None:
        if frame.scope is not None:
            self.on_scope(self._scope.decode(frame.scope))
        if self._stopped:  # crossed with our own Returned: they go back the same way
            self._give_back(frame.leases)
            return
        self._outstanding += len(frame.leases)
        for lease in frame.leases:
            (self._paced if lease.paced else self._queue).append(lease)
        self._wake(len(frame.leases))
        self._look_later()

    def _look_later(self) -> None:
        if not self._looking and (self._paced or self._queue):
            self._looking = True
            self._loop.call_later(STUCK_S, self._look, self._taken)

    def _look(self, taken: int) -> None:
        """Nothing was taken meanwhile: every connection here waits for a slow host. What stands behind them goes back, and to
        whoever has a connection free, or those hosts would wait as long as the slow ones take."""
        self._looking = False
        if taken == self._taken:
            self._return_waiting()
        self._look_later()

    def _return_waiting(self) -> None:
        waiting = [*self._paced, *self._queue]
        self._outstanding -= len(waiting)
        self._paced.clear()
        self._queue.clear()
        for lease in waiting:
            if lease.robots is not None:
                self.on_robots(lease.origin, lease.robots)
        self._give_back(waiting)

    def _stop(self) -> None:
        self._stopped = True
        self._return_waiting()
        self._wake(len(self._takers))

    def _give_back(self, leases: list[Lease]) -> None:
        if leases:
            self._wire.send(Returned([lease.id for lease in leases]))

    def _end(self, error: BaseException | None) -> None:
        """The front is gone: nothing more is written, because another front may already be cutting our files."""
        if error is None:
            self._vanish(0)
            return
        with contextlib.suppress(OSError):
            self.fail(failed(error))
        self._vanish(1)


def failed(error: BaseException) -> Failed:
    """What the front is told of an error; of a group of errors the first one that was raised on purpose, else the first."""
    leaves = list(_leaves(error))
    cause = next((leaf for leaf in leaves if isinstance(leaf, NephilaError)), leaves[0])
    text = "".join(traceback.format_exception(cause))[-TRACEBACK_CHARS:]
    return Failed(type(cause).__name__, str(cause)[:TRACEBACK_CHARS], text)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
