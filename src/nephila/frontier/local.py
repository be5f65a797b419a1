"""The frontier of a crawl that runs in one process: the scheduler itself behind the door `Frontier`."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

import msgspec

from nephila.frontier.scheduler import Scheduler
from nephila.types import Kind, Lease, Request, RobotsFile, Settlement
from nephila.url.scope import ScopeSpec

TOLD_MAX = 4096


class LocalFrontier:
    """`take` waits here until something is due; one timer, no polling. `on_scope` is called when the rules have changed, before
    any lease that was given out under them."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.on_scope: Callable[[ScopeSpec], None] = lambda scope: None
        self._epoch = scheduler.scope.epoch
        self._takers: deque[asyncio.Future[Lease | None]] = deque()
        self._settlers: list[asyncio.Future[None]] = []
        self._told: OrderedDict[str, RobotsFile] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._soon = False
        scheduler.on_change = self._pump_soon

    async def put(self, requests: Iterable[Request]) -> int:
        return self._scheduler.put(requests)

    async def take(self) -> Lease | None:
        if not self._takers and (granted := self._scheduler.grant(1)):
            return self._with_robots(granted[0])
        if self._scheduler.ended:
            return None
        taker: asyncio.Future[Lease | None] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        self._set_timer()
        return await taker

    async def settle(self, settlement: Settlement) -> None:
        self._scheduler.accept([settlement])
        self._pump_soon()
        while self._scheduler.full() and not self._scheduler.ended:
            settler: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._settlers.append(settler)
            await settler

    def opened(self, file: str, pid: int) -> None:
        self._scheduler.opened(file, 0, pid)

    def closed(self, file: str) -> None:
        self._scheduler.closed(file)

    def _pump_soon(self) -> None:
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._soon = False
        scheduler = self._scheduler
        while self._takers and (self._takers[0].done() or (granted := scheduler.grant(1))):
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(self._with_robots(granted[0]))
        if scheduler.ended:
            while self._takers:
                if not (taker := self._takers.popleft()).done():
                    taker.set_result(None)
        if scheduler.ended or not scheduler.full():
            for settler in self._settlers:
                if not settler.done():
                    settler.set_result(None)
            self._settlers.clear()
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._scheduler.next_due()
        if due is not None and self._takers:
            self._timer = asyncio.get_running_loop().call_at(due, self._pump)

    def _with_robots(self, lease: Lease) -> Lease:
        """The text of robots.txt travels with the first lease of its origin."""
        if (scope := self._scheduler.scope).epoch != self._epoch:
            self._epoch = scope.epoch
            self.on_scope(scope)
        robots = self._scheduler.robots_for(lease.origin)
        if robots is None or lease.request.kind == Kind.ROBOTS:
            return lease
        if self._told.get(lease.origin) is not robots:
            lease = msgspec.structs.replace(lease, robots=robots)
        self._told[lease.origin] = robots
        self._told.move_to_end(lease.origin)
        if len(self._told) > TOLD_MAX:
            self._told.popitem(last=False)
        return lease
