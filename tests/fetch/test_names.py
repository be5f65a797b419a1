"""The memory of names: few look-ups at once, not too many per second, and nobody waits for another's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from nephila.config import Config
from nephila.fetch import names
from nephila.fetch.directory import Directory
from nephila.fetch.names import Names
from nephila.testing.clock import FakeClock
from nephila.testing.names import FakeNames
from nephila.types import Resolution


def known(clock: FakeClock, server: FakeNames, **settings: Any) -> Names:
    return Names(Config(**settings), clock, server)


async def seconds(clock: FakeClock, work: Awaitable[Any]) -> float:
    began = clock.monotonic()
    await work
    return round(clock.monotonic() - began, 6)


def test_one_question_per_name_until_the_answer_is_old() -> None:
    clock, server = FakeClock(), FakeNames(lambda host: "9.9.9.9", lambda host: 0.5)

    async def work() -> None:
        memory = known(clock, server)
        found = await asyncio.gather(*(memory.find("a.test") for _ in range(20)))
        assert set(found) == {Resolution(("9.9.9.9",))}
        assert server.asked == ["a.test"]
        assert memory.known("a.test") == found[0]
        await asyncio.sleep(names.FOUND_S)
        assert memory.known("a.test") is None
        await memory.find("a.test")
        memory.forget("a.test")
        await memory.find("a.test")
        assert server.asked == ["a.test"] * 3
        memory.close()

    clock.run(work())


@pytest.mark.parametrize(
    ("where", "latency_s", "reason", "kept_s"),
    [("", 0.0, "dns.not_found", names.ABSENT_S), ("9.9.9.9", 60.0, "timeout.dns", names.TROUBLE_S)],
)
def test_what_went_wrong_is_remembered_for_less_long(where: str, latency_s: float, reason: str, kept_s: float) -> None:
    clock, server = FakeClock(), FakeNames(lambda host: where, lambda host: latency_s)

    async def work() -> None:
        memory = known(clock, server, dns_timeout_s=3.0)
        assert await seconds(clock, memory.find("a.test")) == min(latency_s, 3.0)
        assert (await memory.find("a.test")).reason == reason
        await asyncio.sleep(kept_s - 0.01)
        assert memory.known("a.test") is not None
        await asyncio.sleep(0.02)
        assert memory.known("a.test") is None
        memory.close()

    clock.run(work())


def test_no_more_run_at_once_than_allowed_and_the_rest_waits_its_turn() -> None:
    clock, server = FakeClock(), FakeNames(latency_s=lambda host: 1.0)

    async def work() -> None:
        memory = known(clock, server, dns_lookups=10, dns_per_second=0)
        took = await seconds(clock, asyncio.gather(*(memory.find(f"n{i}.test") for i in range(95))))
        assert (server.most_at_once, took) == (10, 10.0)
        assert server.asked == [f"n{i}.test" for i in range(95)]
        memory.close()

    clock.run(work())


def test_no_more_begin_per_second_than_allowed() -> None:
    """One second's worth at once, then one after another."""
    clock, server = FakeClock(), FakeNames()

    async def work() -> None:
        memory = known(clock, server, dns_per_second=50)
        assert await seconds(clock, asyncio.gather(*(memory.find(f"n{i}.test") for i in range(150)))) == pytest.approx(
            2
        )
        await asyncio.sleep(10)
        assert await seconds(clock, asyncio.gather(*(memory.find(f"m{i}.test") for i in range(50)))) == 0.0
        memory.close()

    clock.run(work())


def test_a_thousand_slow_names_do_not_slow_one_that_is_known() -> None:
    clock, server = FakeClock(), FakeNames(latency_s=lambda host: 0.0 if host == "known.test" else 1e9)

    async def work() -> None:
        memory = known(clock, server, dns_lookups=64)
        await memory.find("known.test")
        slow = [asyncio.create_task(memory.find(f"slow{i}.test")) for i in range(1000)]
        await asyncio.sleep(1.0)
        assert await seconds(clock, memory.find("known.test")) == 0.0
        assert server.at_once == 64
        assert {answer.reason for answer in await asyncio.gather(*slow)} == {"timeout.dns"}
        memory.close()

    clock.run(work())


def test_who_stops_waiting_stops_nobody_else() -> None:
    clock, server = FakeClock(), FakeNames(latency_s=lambda host: 1.0)

    async def work() -> None:
        memory = known(clock, server)
        first, second = asyncio.create_task(memory.find("a.test")), asyncio.create_task(memory.find("a.test"))
        await asyncio.sleep(0.5)
        first.cancel()
        assert (await second).addresses == ("9.8.7.6",)
        assert server.asked == ["a.test"]
        memory.close()

    clock.run(work())


def test_the_oldest_names_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "NAMES_MAX", 3)
    clock, server = FakeClock(), FakeNames()

    async def work() -> None:
        memory = known(clock, server)
        for i in range(5):
            await memory.find(f"n{i}.test")
        assert [memory.known(f"n{i}.test") is not None for i in range(5)] == [False, False, True, True, True]
        memory.close()

    clock.run(work())


def test_a_bug_in_a_look_up_reaches_who_waits_for_it() -> None:
    async def broken(host: str) -> Resolution:
        raise ZeroDivisionError

    clock = FakeClock()

    async def work() -> None:
        memory = Names(Config(), clock, broken)
        with pytest.raises(ZeroDivisionError):
            await memory.find("a.test")
        memory.close()

    clock.run(work())


@pytest.mark.parametrize(
    ("origin", "settings", "known_as"),
    [
        ("http://9.9.9.9:81", {}, ("9.9.9.9",)),
        ("https://[2001:500:8f::53]", {}, ("2001:500:8f::53",)),
        ("https://pinned.test", {"resolve": ["pinned.test:443:9.1.1.1,9.1.1.2"]}, ("9.1.1.1", "9.1.1.2")),
        ("http://pinned.test", {"resolve": ["pinned.test:443:9.1.1.1"]}, None),
        ("http://a.test", {}, None),
        ("http://a.test", {"proxy": ["http://proxy.test:3128"]}, ()),
        ("http://a.test", {"proxy": ["socks5h://proxy.test"]}, ()),
        ("http://a.test", {"proxy": ["socks5://proxy.test"]}, None),
        ("http://9.9.9.9", {"proxy": ["http://proxy.test:3128"]}, ()),
    ],
)
def test_what_needs_no_look_up(origin: str, settings: dict[str, Any], known_as: tuple[str, ...] | None) -> None:
    """A worker knows that by itself, so a lease does not tell it."""
    clock, server = FakeClock(), FakeNames()

    async def work() -> None:
        directory = Directory(Config(**settings), clock, server)
        found = directory.known(origin)
        assert (found and found.addresses) == known_as
        assert directory.given(origin) is None
        if known_as is None:
            answered = asyncio.Event()
            directory.ask(origin, answered.set)
            await answered.wait()
            assert directory.known(origin) == directory.given(origin) == Resolution(("9.8.7.6",))
            directory.forget(origin)
            assert directory.known(origin) is None
        directory.close()
        assert len(server.asked) == (known_as is None)

    clock.run(work())
