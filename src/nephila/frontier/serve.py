"""The front's side of the wire: one desk that hands leases to many workers and takes their settlements back.

The desk never waits and never polls. It deals leases out when the scheduler says that something changed, when settlements
arrive, and when the next host is due (one timer). Leases go to the emptiest worker first, few at a time while there are
few, so no worker sits idle beside a full one.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from nephila.frontier.frames import (
    Bye,
    Closed,
    Failed,
    Hello,
    Leases,
    Opened,
    Ready,
    Returned,
    Settled,
    Stop,
    ToFront,
    Wire,
    to_front,
)
from nephila.types import Kind, Lease, RobotsFile, Settlement

ORIGINS_MAX = 4_096
"""Origins whose robots a worker is taken to know. Its own table holds 5,120, so that ours is always a part of it."""
ROBOTS_BYTES_MAX = 16 << 20
"""A Leases frame is sent early when the robots texts in it come to this much."""
TICK_S = 0.001
"""Shortest timer: a loop's clock may lag a millisecond behind the scheduler's."""
LAG_MAX_S = 0.02
"""Longest timer for what is due and not granted."""


class Scheduler(Protocol):
    """What the desk and the crew need of the frontier proper; it lives on the same loop and never blocks."""

    on_change: Callable[[], None]

    @property
    def scope(self) -> Any: ...
    @property
    def ended(self) -> Any: ...
    def grant(self, room: int, worker: int = 0) -> list[Lease]: ...
    def next_due(self) -> float | None: ...
    def accept(self, settlements: list[Settlement], worker: int = 0) -> None: ...
    def full(self) -> bool: ...
    def opened(self, file: str, worker: int, pid: int) -> None: ...
    def closed(self, file: str) -> None: ...
    def give_back(self, lease_ids: list[int], *, suspect: bool) -> None: ...
    def blame(self, lease_id: int, reason: str) -> None: ...
    async def flush(self) -> None: ...
    def robots_for(self, origin: str) -> RobotsFile | None: ...


class Desk:
    """Serves every worker's channel. `connections` is how many requests one worker runs at the same time.

    `fault` is done (with the error) when the front itself fails while dealing or accepting; `over` is set when the
    scheduler has ended. Both are for the crew to wait on.
    """

    def __init__(self, scheduler: Scheduler, connections: int) -> None:
        self.scheduler, self.connections = scheduler, connections
        self.channels: list[Channel] = []
        self.over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.fault: asyncio.Future[None] = self._loop.create_future()
        self.accepted = 0
        """Settlements so far, from all workers."""
        self._poked = self._paused = self._ahead = False
        self._lag = TICK_S
        self._timer: asyncio.TimerHandle | None = None
        scheduler.on_change = self.poke

    def open(
        self, worker: int, sock: socket.socket, spec: bytes, on_end: Callable[[BaseException | None], None]
    ) -> Channel:
        """Greet a worker and serve it. `on_end` is called once when its side of the wire ends (None) or talks nonsense."""
        channel = Channel(self, worker, sock, on_end)
        channel.wire.send(Hello(spec))
        self.channels.append(channel)
        if self._paused:
            channel.wire.pause()
        self.poke()
        return channel

    def dismiss(self) -> None:
        """Ask every worker to end well."""
        for channel in self.channels:
            channel.stop()

    def close(self, channel: Channel) -> None:
        """Serve this channel no more (its worker has ended)."""
        channel.wire.close()
        self.channels.remove(channel)

    def shut(self) -> None:
        """Leave the loop and the scheduler alone."""
        self.scheduler.on_change = lambda: None
        self._cancel_timer()
        for channel in self.channels:
            channel.wire.close()

    def poke(self) -> None:
        """Something changed: deal soon, once for all that changes in this iteration of the loop."""
        if not self._poked:
            self._poked = True
            self._loop.call_soon(self._pump)

    def settled(self, channel: Channel, settlements: list[Settlement]) -> None:
        """Accept what a worker did."""
        self.accepted += len(settlements)
        self.scheduler.accept(settlements, channel.worker)
        channel.outstanding.difference_update([settlement.lease for settlement in settlements])
        if self.scheduler.full():
            self._hold(True)
        self.poke()

    def failed(self, error: BaseException) -> None:
        """The front itself is broken; the first error counts."""
        if not self.fault.done():
            self.fault.set_exception(error)

    def _pump(self) -> None:
        self._poked = False
        try:
            if self._paused and not self.scheduler.full():
                self._hold(False)
            self._deal()
            self._arm()
            if self.scheduler.ended is not None:
                self.over.set()
        except Exception as error:
            self.failed(error)

    def _deal(self) -> None:
        """Grant to the emptiest channel until nothing is due or all are filled: up to the level of the next one at once,
        from there on in steps of a quarter, so that few leases are spread and many are dealt in a few calls."""
        waiting = [channel for channel in self.channels if channel.ready and not channel.stopping]
        while waiting:
            waiting.sort(key=_held)
            channel, held = waiting[0], _held(waiting[0])
            room = self._limit(channel) - held
            if room <= 0:
                break
            above = _held(waiting[1]) - held if len(waiting) > 1 else room
            step = min(room, max(1, held // 4, above))
            leases = self.scheduler.grant(step, channel.worker)
            if leases:
                self._lag = TICK_S
                channel.add(leases)
                self._ahead = not any(lease.paced for lease in leases)
            if len(leases) < step:
                del waiting[0]
        for channel in self.channels:
            channel.hand_over()

    def _limit(self, channel: Channel) -> int:
        """Leases a worker may hold. While hosts have pauses none is handed out ahead: its request starts at once; nor to one
        that had to give some back, because all its connections were busy, until it settles something."""
        return self.connections * (2 if self._ahead and not channel.stuck else 1)

    def _arm(self) -> None:
        """Set the timer. A due that is past although nothing was granted waits for something else (a lease that must
        come back first): its event brings us here, and the timer is only a net under it, looser each time."""
        self._cancel_timer()
        if self._paused or all(channel.stopping or _held(channel) >= self._limit(channel) for channel in self.channels):
            return
        due = self.scheduler.next_due()
        if due is not None:
            now = self._loop.time()
            self._lag = min(self._lag * 2, LAG_MAX_S) if due <= now else TICK_S
            self._timer = self._loop.call_at(max(due, now + self._lag), self.poke)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hold(self, hold: bool) -> None:
        self._paused = hold
        for channel in self.channels:
            if hold:
                channel.wire.pause()
            else:
                channel.wire.resume()


def _held(channel: Channel) -> int:
    return len(channel.outstanding)


class Channel:
    """One worker, as the desk sees it: what it holds and what it has been told."""

    def __init__(
        self, desk: Desk, worker: int, sock: socket.socket, on_end: Callable[[BaseException | None], None]
    ) -> None:
        self.worker = worker
        self.outstanding: set[int] = set()
        self.files: dict[str, None] = {}
        """Archive files it has open, in order."""
        self.origins: OrderedDict[str, RobotsFile] = OrderedDict()
        self.ready = self.stopping = self.bye = self.stuck = False
        self.failure: Failed | None = None
        self._epoch = desk.scheduler.scope.epoch
        self._desk, self._scheduler = desk, desk.scheduler
        self._pending: list[Lease] = []
        self._robots_bytes = 0
        self.wire: Wire[ToFront] = Wire(sock, to_front(), self._frame, on_end)

    def add(self, leases: list[Lease]) -> None:
        """Take leases into the next frame."""
        for lease in leases:
            self.outstanding.add(lease.id)
            self._pending.append(self._told(lease))
            if self._robots_bytes >= ROBOTS_BYTES_MAX:
                self.hand_over()

    def hand_over(self) -> None:
        """Send what `add` collected; a newer scope goes with it, or alone."""
        scope = self._scheduler.scope
        if not self._pending and scope.epoch == self._epoch:
            return
        packed = None if scope.epoch == self._epoch else msgspec.msgpack.encode(scope)
        self._epoch = scope.epoch
        leases, self._pending, self._robots_bytes = self._pending, [], 0
        self.wire.send(Leases(self._epoch, packed, leases))

    def stop(self) -> None:
        if not self.stopping:
            self.stopping = True
            self.wire.send(Stop())

    def _told(self, lease: Lease) -> Lease:
        """The lease, with the origin's robots when this worker may not know them (any more, or not these)."""
        if lease.request.kind is Kind.ROBOTS:
            return lease
        robots = self._scheduler.robots_for(lease.origin)
        if robots is None:
            return lease
        known = self.origins.get(lease.origin) is robots
        self.origins[lease.origin] = robots
        self.origins.move_to_end(lease.origin)
        if known:
            return lease
        if len(self.origins) > ORIGINS_MAX:
            self.origins.popitem(last=False)
        self._robots_bytes += len(robots.text)
        return msgspec.structs.replace(lease, robots=robots)

    def _frame(self, frame: ToFront) -> None:
        try:
            self._handle(frame)
        except Exception as error:
            self._desk.failed(error)

    def _handle(self, frame: ToFront) -> None:
        match frame:
            case Settled():
                self.stuck = False
                self._desk.settled(self, frame.settlements)
            case Ready():
                self.ready = True
                self._desk.poke()
            case Opened():
                self.files[frame.file] = None
                self._scheduler.opened(frame.file, self.worker, frame.pid)
            case Closed():
                self.files.pop(frame.file, None)
                self._scheduler.closed(frame.file)
            case Returned():
                self.stuck = True
                self.outstanding.difference_update(frame.leases)
                self._scheduler.give_back(frame.leases, suspect=False)
                self._desk.poke()
            case Failed():
                self.failure = frame
            case Bye():
                self.bye = True
