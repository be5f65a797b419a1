import asyncio
import socket
import time
from collections import deque

import msgspec
import pytest
import uvloop

from nephila.frontier import serve
from nephila.frontier.remote import STUCK_S, RemoteFrontier
from nephila.frontier.serve import Desk
from nephila.types import Found, Kind, Lease, Outcome, Request, RobotsFile, Settlement


class Scope(msgspec.Struct, array_like=True):
    epoch: int = 1
    text: str = ""


class FakeScheduler:
    """Gives its leases in order, and says full when told to."""

    def __init__(self, leases=()):
        self.scope, self.on_change, self.ended = Scope(), None, None
        self.waiting, self.settled, self.returned = deque(leases), [], []
        self.due, self.is_full, self.files, self.robots = None, False, [], {}

    def grant(self, room, worker=0):
        if self.due is not None and time.monotonic() < self.due:
            return []
        return [self.waiting.popleft() for _ in range(min(room, len(self.waiting)))]

    def next_due(self):
        return self.due

    def accept(self, settlements, worker=0):
        self.settled += settlements

    def full(self):
        return self.is_full

    def opened(self, file, worker, pid):
        self.files.append(("opened", file, worker, len(self.settled)))

    def closed(self, file):
        self.files.append(("closed", file, len(self.settled)))

    def give_back(self, lease_ids, *, suspect):
        self.returned += lease_ids

    def robots_for(self, origin):

        return self.robots.setdefault(origin, RobotsFile("found", origin.encode()))


class House:
    """A desk and its workers, all on one loop, with real socket pairs between them."""

    def __init__(self, leases=(), connections=4):
        self.scheduler = FakeScheduler(leases)
        self.desk = Desk(self.scheduler, connections)
        self.vanished, self.remotes, self.sockets = [], [], []

    def hire(self):
        ours, theirs = socket.socketpair()
        self.sockets += [ours, theirs]
        self.desk.open(len(self.remotes) + 1, ours, b"spec", lambda error: None)
        remote = RemoteFrontier(theirs, scope_type=Scope, vanish=self.vanished.append)
        remote.ready()
        self.remotes.append(remote)
        return remote

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        self.desk.shut()
        for remote in self.remotes:
            remote._wire.close()
        for sock in self.sockets:
            sock.close()
        if self.desk.fault.done():
            self.desk.fault.result()


def run(test):
    async def limited():
        async with asyncio.timeout(10):
            await test

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(limited())


async def until(condition):
    while not condition():  # noqa: ASYNC110 (what is waited for has no event)
        await asyncio.sleep(0.001)


def lease(number, *, paced=False, origin="http://a", kind=Kind.PAGE):
    return Lease(number, Request("http://a/", kind), number, origin=origin, paced=paced)


def done(number, **fields):
    return Settlement(number, Outcome.OK, **fields)


def test_paced_leases_come_before_the_queue():
    async def main():
        async with House([lease(1), lease(2), lease(3, paced=True)]) as house:
            remote = house.hire()
            await until(lambda: remote._queue)
            assert [(await remote.take()).id for _ in range(3)] == [3, 1, 2]

    run(main())


def test_take_waits_until_work_comes_and_ends_with_stop():
    async def main():
        async with House() as house:
            remote = house.hire()
            taking = [asyncio.ensure_future(remote.take()) for _ in range(2)]
            await asyncio.sleep(0.02)
            assert not any(task.done() for task in taking)
            house.scheduler.waiting.append(lease(7))
            house.scheduler.on_change()
            await until(lambda: any(task.done() for task in taking))
            house.desk.dismiss()
            assert {(await task).id if await task else None for task in taking} == {7, None}

    run(main())


def test_a_cancelled_taker_passes_its_lease_on():
    async def main():
        async with House() as house:
            remote = house.hire()
            first, second = asyncio.ensure_future(remote.take()), asyncio.ensure_future(remote.take())
            await until(lambda: len(remote._takers) == 2)
            remote._queue.append(lease(1))
            remote._wake(1)
            first.cancel()
            assert (await second).id == 1

    run(main())


def test_few_leases_are_spread_evenly():
    async def main():
        async with House([lease(n) for n in range(6)], connections=8) as house:
            for _ in range(3):
                house.hire()
            await until(lambda: not house.scheduler.waiting)
            assert [len(channel.outstanding) for channel in house.desk.channels] == [2, 2, 2]

    run(main())


@pytest.mark.parametrize(("paced", "held"), [(True, 4), (False, 8)])
def test_only_leases_without_a_pause_are_handed_out_ahead(paced, held):
    async def main():
        async with House([lease(n, paced=paced) for n in range(30)]) as house:
            house.hire()
            house.hire()
            await asyncio.sleep(0.02)
            assert [len(channel.outstanding) for channel in house.desk.channels] == [held, held]

    run(main())


def test_the_timer_asks_again_when_a_host_is_due():
    async def main():
        async with House([lease(1, paced=True)]) as house:
            house.scheduler.due = time.monotonic() + 0.1
            remote = house.hire()
            await remote.take()
            assert time.monotonic() >= house.scheduler.due

    run(main())


def test_robots_travel_with_the_first_lease_of_an_origin_to_each_worker():
    async def main():
        leases = [lease(n, origin=origin) for n, origin in enumerate(["http://a", "http://b", "http://a"] * 2)]
        async with House(leases, connections=3) as house:
            one, two = house.hire(), house.hire()
            got = [[await remote.take() for _ in range(3)] for remote in (one, two)]
            for mine in got:
                first = {}
                for taken in mine:
                    first.setdefault(taken.origin, []).append(taken.robots)
                assert all(robots[0].text == origin.encode() for origin, robots in first.items())
                assert all(robots is None for rest in first.values() for robots in rest[1:])

    run(main())


def test_an_origin_pushed_out_of_the_table_gets_its_robots_again(monkeypatch):
    monkeypatch.setattr(serve, "ORIGINS_MAX", 2)

    async def main():
        async with House([lease(n, origin=f"http://{o}") for n, o in enumerate("abacab")], connections=6) as house:
            remote = house.hire()
            got = [await remote.take() for _ in range(6)]
            assert [taken.robots is not None for taken in got] == [True, True, False, True, False, True]

    run(main())


def test_a_robots_lease_carries_no_robots_and_its_answer_is_sent_anew():
    async def main():
        async with House([lease(1), lease(2, kind=Kind.ROBOTS)], connections=2) as house:
            remote = house.hire()
            first, asking = await remote.take(), await remote.take()
            assert asking.robots is None
            house.scheduler.waiting.append(lease(3))
            await remote.settle(done(1))
            assert (first.robots is not None, (await remote.take()).robots) == (True, None)
            house.scheduler.waiting.append(lease(4))
            house.scheduler.robots[asking.origin] = RobotsFile("found", b"new")
            await remote.settle(done(2))
            assert (await remote.take()).robots.text == b"new"

    run(main())


def test_a_newer_scope_arrives_before_the_leases_that_follow_it():
    async def main():
        async with House() as house:
            remote, seen = house.hire(), []
            remote.on_scope = seen.append
            assert await remote.hello() == b"spec"
            house.scheduler.scope = Scope(2, "wider")
            house.scheduler.waiting.append(lease(1))
            house.scheduler.on_change()
            await remote.take()
            assert seen == [Scope(2, "wider")]

    run(main())


def test_a_full_scheduler_reads_nothing_more_until_it_says_so():
    async def main():
        async with House([lease(n) for n in range(8)]) as house:
            remote = house.hire()
            for _ in range(8):
                await remote.take()
            house.scheduler.is_full = True
            await remote.settle(done(0))
            await until(lambda: house.scheduler.settled)
            await remote.settle(done(1))
            await asyncio.sleep(0.02)
            assert [s.lease for s in house.scheduler.settled] == [0]
            house.scheduler.is_full = False
            house.scheduler.on_change()
            await until(lambda: len(house.scheduler.settled) == 2)

    run(main())


def test_settle_waits_while_the_front_reads_nothing():
    async def main():
        async with House() as house:
            remote = house.hire()
            house.desk.channels[0].wire.pause()
            big = done(1, title="x" * (64 << 10))

            async def settle_all():
                for _ in range(66):
                    await remote.settle(big)

            settling = asyncio.ensure_future(settle_all())
            await asyncio.sleep(0.05)
            stuck = not settling.done()
            house.desk.channels[0].wire.resume()
            await settling
            assert stuck

    run(main())


def test_a_batch_too_large_for_a_frame_goes_in_parts(monkeypatch):
    monkeypatch.setattr("nephila.frontier.frames.FRAME_BYTES_MAX", 1000)

    async def main():
        async with House() as house:
            remote = house.hire()
            for number in range(5):
                await remote.settle(done(number, title="x" * 400))
            await until(lambda: len(house.scheduler.settled) == 5)
            assert [s.lease for s in house.scheduler.settled] == [0, 1, 2, 3, 4]

    run(main())


def test_archive_files_are_told_in_order_with_settlements():
    async def main():
        async with House() as house:
            remote = house.hire()
            await remote.settle(done(1))
            remote.opened("w.gz", 5)
            await remote.settle(done(2))
            remote.closed("w.gz")
            await until(lambda: len(house.scheduler.files) == 2)
            assert house.scheduler.files == [("opened", "w.gz", 1, 1), ("closed", "w.gz", 2)]

    run(main())


def test_stop_returns_what_was_not_started():
    async def main():
        async with House([lease(n) for n in range(3)]) as house:
            remote = house.hire()
            started = await remote.take()
            house.desk.dismiss()
            await until(lambda: house.scheduler.returned)
            assert sorted([started.id, *house.scheduler.returned]) == [0, 1, 2]
            assert house.desk.channels[0].outstanding == {started.id}
            assert await remote.take() is None

    run(main())


def test_what_waits_behind_slow_hosts_goes_to_a_worker_that_is_free():
    async def main():
        async with House([lease(n) for n in range(8)], connections=4) as house:
            slow = house.hire()
            await until(lambda: len(slow._queue) == 8)
            running = {(await slow.take()).id for _ in range(4)}  # and no connection is left for the others
            await until(lambda: house.scheduler.returned)
            assert sorted([*running, *house.scheduler.returned]) == list(range(8))
            house.scheduler.waiting.extend(map(lease, house.scheduler.returned))
            house.desk.poke()
            await asyncio.sleep(0.02)
            assert house.desk.channels[0].outstanding == running  # nothing is handed to it ahead again
            free = house.hire()
            await until(lambda: len(free._queue) == 4)
            await slow.settle(done(min(running)))
            await until(lambda: not house.desk.channels[0].stuck)

    run(main())


def test_robots_rules_that_came_with_a_lease_are_known_when_it_went_back_unseen():
    """They come once: the next lease of the origin is without them."""

    async def main():
        leases = [lease(n, origin=f"http://{n}") for n in range(4)]
        async with House(leases, connections=2) as house:
            slow = house.hire()
            known = dict[str, RobotsFile]()
            slow.on_robots = known.__setitem__
            await until(lambda: len(slow._queue) == 4)
            for _ in range(2):
                taken = await slow.take()
                known[taken.origin] = taken.robots
            await until(lambda: house.scheduler.returned)
            house.scheduler.waiting.extend(lease(n, origin=f"http://{n}") for n in house.scheduler.returned)
            await slow.settle(done(0))
            await until(lambda: slow._queue)
            again = await slow.take()
            assert (again.id in house.scheduler.returned, again.robots, again.origin in known) == (True, None, True)

    run(main())


def test_leases_that_are_taken_one_by_one_stay():
    async def main():
        async with House([lease(n) for n in range(8)], connections=4) as house:
            remote = house.hire()
            await until(lambda: len(remote._queue) == 8)
            for _ in range(8):
                await remote.take()
                await asyncio.sleep(STUCK_S / 4)
            assert house.scheduler.returned == []

    run(main())


def test_the_end_of_the_front_is_the_end_of_the_worker():
    async def main():
        async with House() as house:
            remote = house.hire()
            await remote.hello()
            await remote.settle(done(1))
            house.desk.close(house.desk.channels[0])
            house.sockets[0].close()
            await until(lambda: house.vanished)
            assert house.vanished == [0]

    run(main())


def test_a_scheduler_that_raises_is_a_fault_of_the_front():
    async def main():
        async with House() as house:
            house.scheduler.accept = lambda settlements, worker: 1 / 0
            remote = house.hire()
            await remote.settle(done(1))
            with pytest.raises(ZeroDivisionError):
                await house.desk.fault
            house.desk.fault = asyncio.get_running_loop().create_future()

    run(main())


def test_a_due_that_is_never_granted_does_not_spin():
    async def main():
        async with House() as house:
            asked = []
            house.scheduler.next_due = lambda: asked.append(1) or time.monotonic() - 1
            house.hire()
            await asyncio.sleep(0.2)
            assert 5 <= len(asked) <= 20

    run(main())


@pytest.mark.long
def test_twenty_thousand_leases_a_second():
    """Both sides on one core, in processor time (the machine may be busy); edges of an ordinary page."""
    count = 30_000
    edges = bytes(8 * 50)

    async def work(remote):
        while (taken := await remote.take()) is not None:
            await remote.settle(done(taken.id, found=Found(edges)))

    async def main():
        async with House([lease(n) for n in range(count)], connections=32) as house:
            remote = house.hire()
            begun = time.process_time()
            workers = [asyncio.ensure_future(work(remote)) for _ in range(32)]
            await until(lambda: len(house.scheduler.settled) == count)
            rate = count / (time.process_time() - begun)
            house.desk.dismiss()
            await asyncio.gather(*workers)
            print(f"{rate:.0f} leases per processor second")
            assert rate > 20_000

    run(main())
