import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import uvloop

HERE = Path(__file__).parent


async def until(condition):
    from crew_fakes import until

    await until(condition)


@pytest.fixture(autouse=True)
def engines_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture(params=["asyncio", "uvloop"])
def either_loop(request):
    return uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop


def crawl(urls, loop=uvloop.new_event_loop, during=None, **options):
    """Run a crew until the scheduler has ended; gives scheduler and notes."""
    from crew_fakes import FakeScheduler, make_crew

    scheduler, notes = FakeScheduler(urls), []

    async def main():
        crew = make_crew(scheduler, notes, **options)
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            working = group.create_task(crew.run())
            if during is not None:
                await during(crew, scheduler)
            await working

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())
    return scheduler, notes


def deaths(notes):
    return [fields for event, fields in notes if event == "worker_died"]


def test_every_lease_comes_back_once_in_batches_from_both_workers(either_loop):
    scheduler, notes = crawl(["ok"] * 20_000, either_loop, count=2)
    assert sorted(lease for (batch,) in scheduler.told("accept") for lease in batch) == list(range(1, 20_001))
    assert len({settlement.title for settlement in scheduler.settled.values()}) == 2
    assert len(scheduler.told("accept")) < 10_000
    assert deaths(notes) == []


def test_death_while_reading_charges_that_page_alone(either_loop):
    scheduler, notes = crawl(["wait", "die_reading"], either_loop, during=drain_when_settled(2))
    assert scheduler.told("blame") == [(2, "read_crash")]
    assert scheduler.told("give_back")[0] == ([1], False)
    assert scheduler.settled[2].title == "unread"
    assert deaths(notes)[0] | {"pid": 0} == {
        "worker": 1,
        "pid": 0,
        "status": -11,
        "lease": 2,
        "reason": "read_crash",
        "leases": 1,
        "said": "",
    }


def drain_when_settled(lease):
    async def wait(crew, scheduler):
        await until(lambda: lease in scheduler.settled)
        scheduler.drain()
        crew.stop(grace_s=0)

    return wait


def test_death_between_pages_charges_nobody_and_all_are_suspect():
    scheduler, _ = crawl(["wait", "wait", "die_idle"], during=end_after_death)
    assert scheduler.told("blame") == []
    assert scheduler.told("give_back")[0] == ([1, 2, 3], True)


def test_a_kill_from_outside_makes_only_the_page_that_was_being_read_suspect():
    scheduler, _ = crawl(["wait", "be_killed_reading"], during=end_after_death)
    assert scheduler.told("blame") == []
    assert scheduler.told("give_back")[:2] == [([2], True), ([1], False)]


def test_a_kill_from_outside_between_pages_makes_nothing_suspect():
    scheduler, _ = crawl(["wait", "wait", "be_killed_idle"], during=end_after_death)
    assert scheduler.told("blame") == []
    assert scheduler.told("give_back")[0] == ([1, 2, 3], False)


async def end_after_death(crew, scheduler):
    await until(lambda: scheduler.told("give_back"))
    crew.kill()


def test_a_hang_that_holds_the_interpreter_lock_ends_in_time_with_a_traceback():
    begun = time.monotonic()
    scheduler, notes = crawl(["hang_with_the_lock_held"], read_seconds_max=0.5)
    assert scheduler.told("blame") == [(1, "read_time")]
    assert scheduler.settled[1].title == "unread"
    assert "hang_with_the_lock_held" in deaths(notes)[0]["said"]
    assert time.monotonic() - begun < 6


def test_a_hang_without_processor_time_is_ended_by_the_front():
    scheduler, notes = crawl(["hang_without_processor_time"], read_seconds_max=0.5)
    assert scheduler.told("blame") == [(1, "read_time")]
    assert "hang_without_processor_time" in deaths(notes)[0]["said"]


def test_a_page_that_makes_its_worker_fat_is_charged():
    scheduler, notes = crawl(["grow_fat_reading"], memory_max=150 << 20)
    assert scheduler.told("blame") == [(1, "read_memory")]
    assert deaths(notes)[0]["status"] == -9


def test_a_page_that_runs_out_of_memory_is_charged():
    scheduler, _ = crawl(["run_out_of_memory_reading"])
    assert scheduler.told("blame") == [(1, "read_memory")]


def test_settlements_count_before_the_archive_is_cut_and_leases_return_after():
    scheduler, _ = crawl(
        ["ok", "ok", "send_and_die_reading", "wait"], engine="with_archive", during=drain_when_settled(3)
    )
    first, second = (file for file, _, _ in scheduler.told("opened")[:2])
    words = [entry[:2] if entry[0] != "opened" else entry[0] for entry in scheduler.diary]
    assert words[:8] == [
        "opened",
        ("accept", [1, 2]),
        "opened",
        ("flush",),
        ("repair", first),
        ("repair", second),
        ("blame", 3),
        ("give_back", [4]),
    ]


def test_an_archive_ended_well_is_closed_and_not_repaired():
    scheduler, _ = crawl(["ok"] * 5, engine="with_archive")
    assert scheduler.told("closed") == [(scheduler.told("opened")[0][0],)]
    assert scheduler.told("repair") == []


def test_a_worker_is_deaf_to_the_signals_of_a_terminal():
    scheduler, notes = crawl(["be_interrupted"])
    assert scheduler.settled[1].title == "still here"
    assert deaths(notes) == []


def test_stop_returns_what_was_not_started_and_waits_for_the_running():
    scheduler, _ = crawl(["ok"] * 30 + ["wait"] * 4 + ["ok"] * 4, during=stop_at_once)
    assert set(scheduler.settled) | {lease.id for lease in scheduler.waiting} == set(range(1, 39))
    assert not scheduler.suspects
    assert scheduler.told("blame") == []


async def stop_at_once(crew, scheduler):
    await until(lambda: scheduler.settled)
    scheduler.drain()
    crew.stop(grace_s=0.2)


def test_kill_returns_leases_and_blames_nobody():
    async def kill(crew, scheduler):
        await until(lambda: scheduler.out)
        crew.kill()

    scheduler, _ = crawl(["wait"] * 9, during=kill)
    assert scheduler.told("give_back") == [([1, 2, 3, 4, 5, 6, 7, 8], False)]


def test_a_bug_in_a_worker_stops_the_crawl_with_its_traceback():
    with pytest.raises(ExceptionGroup) as caught:
        crawl(["fail"])
    assert caught.group_contains(RuntimeError, match=r"(?s)KeyError: 'a bug of ours'.*in fail")


def test_a_full_disk_in_a_worker_arrives_as_such():
    from nephila.errors import DiskFull

    with pytest.raises(ExceptionGroup) as caught:
        crawl(["fill_the_disk"])
    assert caught.group_contains(DiskFull, match="no space left")


def test_workers_that_die_at_once_for_ever_are_a_bug(monkeypatch):
    monkeypatch.setattr("nephila.crew.DEATHS_MAX", 2)
    with pytest.raises(ExceptionGroup) as caught:
        crawl(["ok"], engine="quitter")
    assert caught.group_contains(RuntimeError, match="3 workers died within 60 s and none settled a page")


def test_a_front_that_cannot_accept_fails_with_its_own_error(monkeypatch):
    from crew_fakes import FakeScheduler

    from nephila.errors import DiskFull

    def full(self, settlements, worker=0):
        raise DiskFull("the front's disk")

    monkeypatch.setattr(FakeScheduler, "accept", full)
    with pytest.raises(ExceptionGroup) as caught:
        crawl(["ok"])
    assert caught.group_contains(DiskFull, match="the front's disk")


def test_waiting_for_a_process_works_without_pidfd(monkeypatch, either_loop):
    from nephila.hand import exit_status

    monkeypatch.delattr(os, "pidfd_open", raising=False)

    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    with asyncio.Runner(loop_factory=either_loop) as runner:
        assert runner.run(exit_status(process)) == 7


def test_resident_memory_is_the_same_from_ps():
    from nephila.hand import resident_by_ps, resident_bytes

    pid = os.getpid()
    here = asyncio.run(resident_bytes([pid]))[pid]
    assert 0.8 < resident_by_ps([pid])[pid] / here < 1.25


def test_workers_launched_early_are_used():
    from nephila.hand import launch

    early = launch(1, engine="crew_engines:plain")
    scheduler, _ = crawl(["ok"], hired=[early])
    assert scheduler.settled[1].title == str(early.process.pid)


def test_workers_are_gone_soon_after_their_front_is_killed():
    path = os.pathsep.join([str(HERE), *sys.path])
    command = [sys.executable, str(HERE / "crew_fakes.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}, text=True) as front:
        assert front.stdout is not None
        pids = [int(word) for word in front.stdout.readline().split()]
        front.kill()
    deadline = time.monotonic() + 1
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(pids) == 2
    assert [pid for pid in pids if alive(pid)] == []


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
