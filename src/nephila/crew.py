"""The workers as processes: started, watched, buried, replaced. A worker is disposable; what it held is not.

When one has died, everything it sent is accepted first, then its archive files are cut to what is committed, and only then
its leases return: nobody can fetch a page again before its half-written record is gone. Blame
follows the slot in which a worker writes whose page it is reading.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from nephila import errors
from nephila.frontier.frames import Failed, FrameError
from nephila.frontier.serve import Channel, Desk, Scheduler
from nephila.hand import Hand, exit_status, launch, resident_bytes
from nephila.worker import READ_MEMORY_EXIT, WATCHDOG

DEATHS_MAX, DEATHS_WITHIN_S = 20, 60.0
"""More deaths than this in that time without one settlement between them: the fault is ours, not a page's."""
GRACE_S = 5.0
"""A worker asked to end well gets this long, unless the caller says otherwise."""
LINGER_S = 1.0
"""A worker that has closed its wire but does not exit is killed after this."""
TRACE_S = 0.25
"""A hung worker has this long to write its traceback before SIGKILL."""

Note = Callable[..., None]


class WorkerBug(RuntimeError):
    """A worker ended with an error that is not the web's doing, nor the user's, nor the disk's."""


class Crew:
    """Keeps `count` workers at work until the scheduler has ended.

    `make_spec(worker)` gives the WorkerSpec of a worker, anew for each process. `repair(file)` cuts an archive file of a
    dead worker to what is committed and registers it closed. `note(event, **fields)` is told of `worker_started` (worker,
    pid) and `worker_died` (worker, pid, status, lease, reason, leases, said). `hired` are workers launched earlier.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        make_spec: Callable[[int], Any],
        count: int,
        *,
        connections: int,
        read_seconds_max: float,
        memory_max: int,
        repair: Callable[[str], None],
        note: Note,
        engine: str = "",
        hired: Iterable[Hand] = (),
    ) -> None:
        self._scheduler, self._make_spec, self._count = scheduler, make_spec, count
        self._read_s, self._memory_max = read_seconds_max, memory_max
        self._repair, self._note, self._engine = repair, note, engine
        self._connections = connections
        self._hired = {hand.worker: hand for hand in hired}
        self._hands: list[Hand] = []
        self._deaths: deque[float] = deque(maxlen=DEATHS_MAX + 1)
        self._accepted = 0
        self._ending = False
        self._grace_s = GRACE_S
        self._leave = asyncio.Event()

    async def run(self) -> None:
        """Work until there is no more, or `stop`. Every worker is dead and buried when it returns.

        Raises what a worker or the front failed with (DiskFull, WorkerBug …); cancelled or failed, it kills its workers.
        """
        desk = Desk(self._scheduler, self._connections)
        try:
            async with asyncio.TaskGroup() as group:
                keepers = [group.create_task(self._seat(desk, number)) for number in range(1, self._count + 1)]
                others = [group.create_task(self._watch()), group.create_task(self._end(desk))]
                others.append(group.create_task(_raise(desk.fault)))
                await asyncio.wait(keepers)
                if desk.fault.done():
                    desk.fault.result()
                for task in others:
                    task.cancel()
        except BaseExceptionGroup as group_of:
            raise group_of.exceptions[0] from None
        finally:
            desk.shut()
            self._abandon()

    def stop(self, grace_s: float = GRACE_S) -> None:
        """Ask every worker to settle what is running and leave; those that have not after `grace_s` are killed. With
        `scheduler.drain()` before it, nothing new is started meanwhile."""
        self._grace_s = grace_s
        self._leave.set()

    def kill(self) -> None:
        """Stop now. What the workers had settled is kept, what they held returns, nobody is blamed."""
        self._ending = True
        self._leave.set()
        for hand in self._hands:
            hand.dismissed = True
            hand.kill()

    def pids(self) -> dict[int, int]:
        """Worker number → process id, of those alive."""
        return {hand.worker: hand.process.pid for hand in self._hands}

    async def _seat(self, desk: Desk, number: int) -> None:
        """One worker after another, until one ends well or the crew is ending."""
        while not self._ending:
            hand = self._hired.pop(number, None) or launch(number, engine=self._engine)
            self._hands.append(hand)
            channel = self._admit(desk, hand)
            status = await exit_status(hand.process)
            await self._bury(desk, hand, channel, status)
            if channel.bye and channel.stopping:
                return
            if channel.bye:
                raise WorkerBug(f"worker {number} left before it was asked to")
            if not self._ending:
                self._count_death(desk)

    def _admit(self, desk: Desk, hand: Hand) -> Channel:
        loop = asyncio.get_running_loop()

        def on_end(error: BaseException | None) -> None:
            if isinstance(error, FrameError):
                hand.kill()
            elif error is not None:
                desk.failed(error)
            else:
                loop.call_later(LINGER_S, hand.kill)

        hand.begin()
        self._note("worker_started", worker=hand.worker, pid=hand.process.pid)
        spec = msgspec.msgpack.encode(self._make_spec(hand.worker))
        return desk.open(hand.worker, hand.sock, spec, on_end)

    async def _bury(self, desk: Desk, hand: Hand, channel: Channel, status: int) -> None:
        """Everything it sent counts; then its files are cut; then its leases return."""
        self._hands.remove(hand)
        try:
            while channel.wire.read_rest():
                if self._scheduler.full():
                    await self._scheduler.flush()
            hand.listen()
            if not channel.bye or channel.files:
                await self._scheduler.flush()
                for file in channel.files:
                    self._repair(file)
            self._return_leases(hand, channel, status)
        finally:
            desk.close(channel)
            hand.close()
        if channel.failure is not None:
            raise _as_error(hand.worker, channel.failure)
        desk.poke()

    def _return_leases(self, hand: Hand, channel: Channel, status: int) -> None:
        lease = hand.lease if hand.lease in channel.outstanding else 0
        stranger = status == -signal.SIGKILL and not hand.reason
        innocent = bool(lease) or stranger or hand.dismissed or channel.bye or channel.failure is not None
        reason = ""
        if lease and not hand.dismissed and channel.failure is None and stranger:
            # Killed from outside, by a user or by a kernel without memory: once proves nothing about the page it read.
            channel.outstanding.discard(lease)
            self._scheduler.give_back([lease], suspect=True)
        elif lease and not hand.dismissed and channel.failure is None:
            reason = _blame(hand, status)
            channel.outstanding.discard(lease)
            self._scheduler.blame(lease, reason)
        if not channel.bye:
            self._note(
                "worker_died",
                worker=hand.worker,
                pid=hand.process.pid,
                status=status,
                lease=lease,
                reason=reason or hand.reason,
                leases=len(channel.outstanding),
                said=hand.said,
            )
        if channel.outstanding:
            self._scheduler.give_back(sorted(channel.outstanding), suspect=not innocent)

    def _count_death(self, desk: Desk) -> None:
        now = time.monotonic()
        if desk.accepted != self._accepted:
            self._deaths.clear()
        self._accepted = desk.accepted
        self._deaths.append(now)
        if len(self._deaths) > DEATHS_MAX and now - self._deaths[0] < DEATHS_WITHIN_S:
            raise WorkerBug(
                f"{DEATHS_MAX + 1} workers died within {DEATHS_WITHIN_S:.0f} s and none settled a page: this is a bug"
            )

    async def _end(self, desk: Desk) -> None:
        """Wait for the end of the work or for `stop`, then see every worker out."""
        loop = asyncio.get_running_loop()
        over, leave = loop.create_task(desk.over.wait()), loop.create_task(self._leave.wait())
        try:
            await asyncio.wait((over, leave), return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            leave.cancel()
        self._ending = True
        desk.dismiss()
        await asyncio.sleep(self._grace_s)
        self.kill()

    async def _watch(self) -> None:
        """Look at every worker: how long it reads one page, how much memory it has. A second apart, or an eighth of the
        page's time if that is less: with the margin a hung page ends within 1.5 of its time."""
        period = min(1.0, self._read_s / 8)
        last = time.monotonic()
        while True:
            await asyncio.sleep(period)
            now = time.monotonic()
            if now - last > 3 * period + 1:  # we were stopped ourselves, and they with us
                for hand in self._hands:
                    hand.look_anew()
            last = now
            self._end_hung(now)
            if self._memory_max:
                await self._end_fat()

    def _end_hung(self, now: float) -> None:
        for hand in self._hands:
            if hand.reading_s(now) > self._read_s * 1.1 and not hand.reason:
                hand.reason = "read_time"
                hand.process.send_signal(WATCHDOG)
                asyncio.get_running_loop().call_later(TRACE_S, hand.kill)

    async def _end_fat(self) -> None:
        sizes = await resident_bytes([hand.process.pid for hand in self._hands])
        for hand in self._hands:
            if sizes.get(hand.process.pid, 0) > self._memory_max:
                hand.kill("read_memory")

    def _abandon(self) -> None:
        for hand in [*self._hands, *self._hired.values()]:
            hand.kill()
            hand.process.wait()
            hand.close()
        self._hands.clear()
        self._hired.clear()


def _blame(hand: Hand, status: int) -> str:
    """Why the page that was being read ended its worker."""
    if hand.reason:
        return hand.reason
    if status == -WATCHDOG:
        return "read_time"
    return "read_memory" if status == READ_MEMORY_EXIT else "read_crash"


def _as_error(worker: int, failure: Failed) -> Exception:
    kind = getattr(errors, failure.error, None)
    if isinstance(kind, type) and issubclass(kind, errors.NephilaError):
        return kind(failure.message)
    return WorkerBug(f"worker {worker}: {failure.error}: {failure.message}\n{failure.traceback}")


async def _raise(fault: asyncio.Future[None]) -> None:
    await fault
