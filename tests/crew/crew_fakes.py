"""A scheduler that keeps a diary, and a front process to be killed."""

import asyncio
import sys
from collections import deque
from types import SimpleNamespace

from nephila.crew import Crew
from nephila.types import Lease, Request


class FakeScheduler:
    """Hands out one lease per URL given; ends when all have settled or were blamed twice or drained."""

    def __init__(self, urls):
        self.scope = SimpleNamespace(epoch=1)
        self.on_change = None
        self.waiting = deque(Lease(n, Request(url), n) for n, url in enumerate(urls, 1))
        self.out, self.settled, self.diary = {}, {}, []
        self.suspects, self.draining = deque(), False

    def grant(self, room, worker=0):
        if self.draining:
            return []
        if self.suspects:
            room, source = (1 if not self.out else 0), self.suspects
        else:
            source = self.waiting
        leases = [source.popleft() for _ in range(min(room, len(source)))]
        self.out.update({lease.id: lease for lease in leases})
        return leases

    def next_due(self):
        return None

    def accept(self, settlements, worker=0):
        for settlement in settlements:
            del self.out[settlement.lease]
            self.settled[settlement.lease] = settlement
        self.diary.append(("accept", sorted(s.lease for s in settlements)))

    def full(self):
        return False

    def opened(self, file, worker, pid):
        self.diary.append(("opened", file, worker, pid))

    def closed(self, file):
        self.diary.append(("closed", file))

    def give_back(self, lease_ids, *, suspect):
        self.diary.append(("give_back", lease_ids, suspect))
        (self.suspects if suspect else self.waiting).extend(self.out.pop(lease) for lease in lease_ids)
        self.on_change()

    def blame(self, lease_id, reason):
        self.diary.append(("blame", lease_id, reason))
        lease = self.out.pop(lease_id)
        self.waiting.append(Lease(lease.id, lease.request, lease.fp, unread=reason))
        self.on_change()

    async def flush(self):
        self.diary.append(("flush",))

    def robots_for(self, origin):
        return None

    @property
    def ended(self):
        idle = not self.out and (self.draining or not (self.waiting or self.suspects))
        return "done" if idle else None

    def drain(self):
        self.draining = True
        self.on_change()

    def told(self, word):
        return [entry[1:] for entry in self.diary if entry[0] == word]


def make_crew(scheduler, notes, count=1, engine="plain", repair=None, **options):
    settings = {"connections": 4, "read_seconds_max": 5.0, "memory_max": 0} | options
    return Crew(
        scheduler,
        lambda worker: {"worker": worker},
        count,
        repair=repair or (lambda file: scheduler.diary.append(("repair", file))),
        note=lambda event, **fields: notes.append((event, fields)),
        engine=f"crew_engines:{engine}",
        **settings,
    )


async def until(condition):
    while not condition():  # noqa: ASYNC110 (what is waited for has no event)
        await asyncio.sleep(0.01)


async def doomed_front():
    """Runs two workers that wait for ever, and says who they are."""
    scheduler, notes = FakeScheduler(["wait"] * 8), []
    crew = make_crew(scheduler, notes, count=2)
    working = asyncio.create_task(crew.run())
    await until(lambda: len(scheduler.out) == 8)
    print(*crew.pids().values(), flush=True)
    await working


if __name__ == "__main__":
    asyncio.run(doomed_front())
    sys.exit(0)
