"""Fake time: it jumps, it is exact, and a loop that can never go on says so."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from nephila.testing.clock import START, WALL, Deadlock, FakeClock

DAY_S = 86400


def test_forty_days_take_no_time() -> None:
    clock, real = FakeClock(), time.monotonic()
    clock.run(asyncio.sleep(40 * DAY_S))
    assert clock.monotonic() == pytest.approx(START + 40 * DAY_S, abs=1e-6)
    assert clock.wall() == pytest.approx(WALL + 40 * DAY_S, abs=1e-6)
    assert time.monotonic() - real < 2


def test_timers_fire_in_order_at_their_time() -> None:
    clock, seen = FakeClock(), []

    async def at(delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        seen.append((delay_s, clock.monotonic() - START))

    async def main() -> None:
        await asyncio.gather(at(3), at(1), at(2.5))

    clock.run(main())
    assert [delay_s for delay_s, _ in seen] == [1, 2.5, 3]
    assert [late_s - delay_s for delay_s, late_s in seen] == pytest.approx([0, 0, 0], abs=1e-6)


def test_timeouts_use_the_fake_time() -> None:
    clock = FakeClock()

    async def main() -> None:
        async with asyncio.timeout(3600):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        clock.run(main())
    assert clock.monotonic() == pytest.approx(START + 3600)


def test_a_deadlock_names_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephila.testing.clock.PATIENCE_S", 0.1)  # threads of other tests are no hope

    async def waits_for_nothing() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.create_task(waits_for_nothing(), name="the stuck one")

    with pytest.raises(Deadlock, match=r"(?s)the stuck one: .*waits_for_nothing at .*test_fake_clock\.py:\d+"):
        FakeClock().run(main())


def test_a_jump_is_seen_by_both_clocks_and_by_timers() -> None:
    clock = FakeClock()

    async def main() -> float:
        sleeper = asyncio.create_task(asyncio.sleep(100))
        await asyncio.sleep(0)
        clock.jump(1000)
        await sleeper
        return clock.monotonic() - START

    assert clock.run(main()) == pytest.approx(1000)
    assert clock.wall() == pytest.approx(WALL + 1000)


def test_a_wall_jump_is_not_seen_by_the_monotonic_clock() -> None:
    clock = FakeClock()
    clock.wall_jump(-3600)
    assert clock.monotonic() == START
    assert clock.wall() == pytest.approx(WALL - 3600)


def test_time_stands_still_while_a_thread_works() -> None:
    clock = FakeClock()

    async def main() -> float:
        timer = asyncio.create_task(asyncio.sleep(10))
        await asyncio.to_thread(time.sleep, 0.05)
        now = clock.monotonic()
        await timer
        return now

    assert clock.run(main()) == START


def test_time_stands_still_while_somebody_says_busy() -> None:
    clock, order, go = FakeClock(), [], threading.Event()

    async def main() -> None:
        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def work() -> None:
            go.wait(5)
            time.sleep(0.05)
            order.append("thread")
            loop.call_soon_threadsafe(told.set)
            go.clear()

        thread = threading.Thread(target=work)
        go.set()
        clock.busy = go.is_set
        thread.start()
        loop.call_later(1, order.append, "timer")
        await told.wait()
        await asyncio.sleep(2)
        thread.join()

    clock.run(main())
    assert order == ["thread", "timer"]


def test_real_sockets_still_work() -> None:
    async def main() -> bytes:
        near, far = socket.socketpair()
        near.setblocking(False)
        with near, far:
            threading.Timer(0.05, far.send, [b"hello"]).start()
            return await asyncio.get_running_loop().sock_recv(near, 10)

    assert FakeClock().run(main()) == b"hello"


def test_a_timer_never_fires_early() -> None:
    """Not by a nanosecond: whoever is woken too early and waits again would wait for ever."""
    clock, times = FakeClock(start=9e6 + 0.1), []

    async def main() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        due = clock.monotonic() + 86400.3

        def look() -> None:
            times.append(clock.monotonic())
            done.set() if clock.monotonic() >= due else loop.call_at(due, look)

        loop.call_at(due - 1e-9, look)
        await done.wait()

    clock.run(main())
    assert len(times) == 2


def test_a_clock_goes_on_from_run_to_run() -> None:
    clock = FakeClock()
    clock.run(asyncio.sleep(5))
    clock.run(asyncio.sleep(7))
    assert clock.monotonic() == pytest.approx(START + 12)
