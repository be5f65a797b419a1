import asyncio
import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from nephila.control import LINE_BYTES_MAX, ask, control_socket
from nephila.errors import JobError
from nephila.lock import JobLock, is_worker, lock_archive


class FakeCrawl:
    def __init__(self):
        self.calls = []

    def status(self):
        return {"pages": 3}

    def pause(self):
        self.calls.append("pause")

    def resume(self):
        self.calls.append("resume")

    def stop(self, now):
        self.calls.append(("stop", now))

    def host(self, host, action, value):
        self.calls.append((host, action, value))
        return f"{host}: {action}"

    async def set(self, values):
        raise ValueError(f"{', '.join(values)} cannot be set while the crawl runs")


@asynccontextmanager
async def steered(folder):
    crawl = FakeCrawl()
    with JobLock(folder) as lock:
        async with control_socket(crawl) as path:
            lock.publish(path)
            yield crawl, path


def run(main):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def answers(folder, *requests):
    async def main():
        async with steered(folder) as (crawl, _):
            return [await asyncio.to_thread(ask, folder, request) for request in requests], crawl.calls

    return run(main)


@pytest.mark.parametrize(
    ("request_", "answer", "calls"),
    [
        ({"verb": "status"}, {"pages": 3}, []),
        ({"verb": "pause"}, {"ok": "paused"}, ["pause"]),
        ({"verb": "resume"}, {"ok": "resumed"}, ["resume"]),
        ({"verb": "stop"}, {"ok": "stopping"}, [("stop", False)]),
        ({"verb": "stop", "now": True}, {"ok": "stopping"}, [("stop", True)]),
        ({"verb": "host", "host": "a", "action": "slow", "value": 2}, {"ok": "a: slow"}, [("a", "slow", 2.0)]),
        ({"verb": "host", "host": "a", "action": "drop"}, {"ok": "a: drop"}, [("a", "drop", None)]),
        ({"verb": "set", "values": {"x": "1"}}, {"error": "x cannot be set while the crawl runs"}, []),
        (
            {"verb": "host", "host": "a", "action": "slow", "value": -1},
            {"error": "value is a number of seconds, 0 or more"},
            [],
        ),
    ],
)
def test_each_verb(tmp_path, request_, answer, calls):
    assert answers(tmp_path, request_) == ([answer], calls)


@pytest.mark.parametrize("request_", [{}, {"verb": "fly"}, {"verb": "host", "host": 3, "action": "pause"}])
def test_an_unknown_request_is_told_what_there_is(tmp_path, request_):
    ((answer,), calls) = answers(tmp_path, request_)
    assert answer["error"].startswith("a request has a verb: status, pause")
    assert calls == []


def test_the_socket_is_private_and_gone_afterwards(tmp_path):
    async def main():
        async with steered(tmp_path) as (_, path):
            modes = [stat.S_IMODE(os.stat(name).st_mode) for name in (path, os.path.dirname(path))]
        return path, modes

    path, modes = run(main)
    assert modes == [0o600, 0o700]
    assert not os.path.exists(os.path.dirname(path))


def test_a_long_runtime_folder_is_not_used(tmp_path, monkeypatch):
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert answers(tmp_path, {"verb": "status"})[0] == [{"pages": 3}]


def test_a_runtime_folder_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp")

    async def main():
        async with steered(tmp_path) as (_, path):
            return path

    assert run(main).startswith(os.environ["XDG_RUNTIME_DIR"])


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"no json\n", "a request is one JSON object on one line"),
        (b"[1]\n", "a request is one JSON object on one line"),
        (b"\xff\n", "a request is one JSON object on one line"),
        (b"[" * 50_000 + b"\n", "a request is one JSON object on one line"),
        (b"x" * (LINE_BYTES_MAX + 2) + b"\n", f"a request is at most {LINE_BYTES_MAX} bytes"),
    ],
)
def test_nonsense_is_answered_with_an_error(tmp_path, sent, error):
    def talk(path):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.sendall(sent)
            return json.loads(sock.makefile().readline())

    async def main():
        async with steered(tmp_path) as (_, path):
            return await asyncio.to_thread(talk, path)

    assert run(main) == {"error": error}


def test_many_requests_on_one_connection(tmp_path):
    def talk(path):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.sendall(b'{"verb":"status"}\n' * 3)
            lines = sock.makefile()
            return [json.loads(lines.readline()) for _ in range(3)]

    async def main():
        async with steered(tmp_path) as (_, path):
            return await asyncio.to_thread(talk, path)

    assert run(main) == [{"pages": 3}] * 3


def test_nobody_answers_where_nobody_listens(tmp_path):
    assert ask(tmp_path, {"verb": "status"}) is None
    (tmp_path / "lock").write_text(json.dumps({"pid": 1, "control": str(tmp_path / "gone")}))
    assert ask(tmp_path, {"verb": "status"}) is None


def test_a_crawl_that_does_not_answer_is_a_timeout(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        (tmp_path / "lock").write_text(json.dumps({"pid": 1, "control": str(tmp_path / "s")}))
        with pytest.raises(TimeoutError):
            ask(tmp_path, {"verb": "status"}, timeout_s=0.05)


def test_a_folder_in_use_is_refused_by_name(tmp_path):
    with JobLock(tmp_path), pytest.raises(JobError, match=rf"is in use by process {os.getpid()}: .*nephila stop"):
        JobLock(tmp_path, wait_s=0.1).acquire()


def test_a_lock_is_waited_for(tmp_path):
    first = JobLock(tmp_path)
    first.acquire()
    timer = threading.Timer(0.15, first.release)
    timer.start()
    with JobLock(tmp_path, wait_s=5):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    timer.join()


def test_a_lock_file_left_by_a_dead_process_is_no_obstacle(tmp_path):
    code = f"from pathlib import Path; from nephila.lock import JobLock; import os; JobLock(Path({str(tmp_path)!r})).acquire(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    left = json.loads((tmp_path / "lock").read_text())["pid"]
    with JobLock(tmp_path, wait_s=0):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid() != left


def test_the_socket_of_a_dead_front_is_removed(tmp_path):
    folder = tmp_path / "nephila-x"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "control"))
    (tmp_path / "lock").write_text(json.dumps({"pid": 1, "control": str(folder / "control")}))
    with JobLock(tmp_path):
        assert not folder.exists()


def test_only_sockets_are_removed(tmp_path):
    folder = tmp_path / "nephila-x"
    folder.mkdir()
    (folder / "control").write_text("precious")
    (tmp_path / "lock").write_text(json.dumps({"pid": 1, "control": str(folder / "control")}))
    with JobLock(tmp_path):
        assert (folder / "control").read_text() == "precious"


def test_a_released_lock_names_nobody_and_stays_as_a_file(tmp_path):
    with JobLock(tmp_path):
        pass
    assert (tmp_path / "lock").read_bytes() == b""


def test_the_lock_is_not_inherited(tmp_path):
    with JobLock(tmp_path):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    # Not at once: the kernel closes descriptors a little after the exec begins.
    with child, JobLock(tmp_path, wait_s=1):
        child.kill()


def test_a_folder_that_is_not_there_is_a_job_error(tmp_path):
    with pytest.raises(JobError, match="cannot be opened"):
        JobLock(tmp_path / "absent").acquire()


HOLDER = """
import fcntl, os, sys, time
file = open(sys.argv[1], "r+b")
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
time.sleep(30)
"""


@pytest.fixture
def holder(tmp_path):
    """Starts a process that holds the lock of a file, under a given module name."""
    started = []

    def start(path, module):
        package = tmp_path / "lib" / module.partition(".")[0]
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / f"{module.partition('.')[2]}.py").write_text(HOLDER)
        command = [sys.executable, "-P", "-m", module, str(path)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(tmp_path / "lib")}
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_worker_that_keeps_an_archive_file_is_killed(tmp_path, holder):
    path = tmp_path / "a.warc.gz"
    path.touch()
    process = holder(path, "nephila.worker")
    assert is_worker(process.pid)
    begun = time.monotonic()
    with lock_archive(path, process.pid, wait_s=0.3) as there:
        assert there
        assert process.wait() == -9
    assert time.monotonic() - begun >= 0.3


def test_another_program_is_never_killed(tmp_path, holder):
    path = tmp_path / "a.warc.gz"
    path.touch()
    process = holder(path, "other.program")
    with (
        pytest.raises(JobError, match="locked by a process that is not a worker"),
        lock_archive(path, process.pid, 0.1),
    ):
        pass
    assert process.poll() is None


def test_a_worker_of_another_file_is_never_killed(tmp_path, holder):
    mine, theirs = tmp_path / "a", tmp_path / "b"
    mine.touch()
    theirs.touch()
    process = holder(theirs, "nephila.worker")
    with open(mine, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(JobError), lock_archive(mine, process.pid, 0.1):
            pass
    assert process.poll() is None


def test_a_free_archive_is_locked_while_the_block_runs(tmp_path):
    path = tmp_path / "a"
    path.touch()
    with lock_archive(path, 0), open(path, "r+b") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_missing_archive_is_said_to_be_missing(tmp_path: Path):
    with lock_archive(tmp_path / "gone", 0) as there:
        assert not there
