"""Engines for workers under test: what a lease asks for is its URL."""

import asyncio
import os
import re
import signal
import time

from nephila.errors import DiskFull
from nephila.types import Outcome, Record, Settlement


class Engine:
    def __init__(self, frontier, slot, file):
        self.frontier, self.slot, self.file = frontier, slot, file

    async def run(self, connections):
        if self.file:
            self.frontier.opened(self.file, os.getpid())
        async with asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(self.work())

    async def work(self):
        while lease := await self.frontier.take():
            record = Record(self.file, 0, 1) if self.file else None
            title = ACTIONS[lease.request.url](self, lease.id) if not lease.unread else "unread"
            if title == "wait":
                await asyncio.sleep(3600)
            await self.frontier.settle(Settlement(lease.id, Outcome.OK, title=title, record=record))

    def close(self):
        if self.file:
            self.frontier.closed(self.file)


def ok(engine, lease):
    engine.slot(lease)
    engine.slot(0)
    return str(os.getpid())


def wait(engine, lease):
    return "wait"


def hang_with_the_lock_held(engine, lease):
    engine.slot(lease)
    re.match(r"(a+)+b", "a" * 60)


def hang_without_processor_time(engine, lease):
    engine.slot(lease)
    time.sleep(3600)


def die_reading(engine, lease):
    engine.slot(lease)
    os.kill(os.getpid(), signal.SIGSEGV)


def be_killed_reading(engine, lease):
    engine.slot(lease)
    os.kill(os.getpid(), signal.SIGKILL)


def send_and_die_reading(engine, lease):
    engine.frontier.opened("another.warc", os.getpid())
    die_reading(engine, lease)


def die_idle(engine, lease):
    os.kill(os.getpid(), signal.SIGSEGV)


def be_killed_idle(engine, lease):
    os.kill(os.getpid(), signal.SIGKILL)


def grow_fat_reading(engine, lease):
    engine.slot(lease)
    hoard = bytearray(200 << 20)
    while hoard:
        time.sleep(0.01)


def run_out_of_memory_reading(engine, lease):
    engine.slot(lease)
    try:
        raise MemoryError
    finally:
        engine.slot(0)


def fail(engine, lease):
    raise KeyError("a bug of ours")


def fill_the_disk(engine, lease):
    raise DiskFull("no space left")


def be_interrupted(engine, lease):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(os.getpid(), number)
    return "still here"


ACTIONS = {
    action.__name__: action
    for action in (
        ok,
        wait,
        hang_with_the_lock_held,
        hang_without_processor_time,
        die_reading,
        send_and_die_reading,
        die_idle,
        be_killed_reading,
        be_killed_idle,
        grow_fat_reading,
        run_out_of_memory_reading,
        fail,
        fill_the_disk,
        be_interrupted,
    )
}


def plain(spec, frontier, slot):
    return Engine(frontier, slot, ""), 4


def with_archive(spec, frontier, slot):
    return Engine(frontier, slot, f"a-{os.getpid()}.warc"), 4


def quitter(spec, frontier, slot):
    """Dies before it takes a lease."""
    os._exit(3)
