"""A worker process: `python -m nephila.worker`, started by the crew and never by hand.

It talks to the front over an inherited socket, writes its own archive files and decides nothing: the end of the front is
an end of file, and the worker is gone in that instant. Terminal signals are the front's business.

A page that takes too long to read is ended by the front, which watches the slot: it sends a signal that faulthandler
answers in C, with a traceback, even while a parser holds the interpreter lock. So filling the slot costs no system call.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import inspect
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from nephila.frontier.remote import RemoteFrontier, failed

DEAF = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WATCHDOG = signal.SIGPROF
"""Ends a worker with a traceback: its own timer sends it, or the front."""
PR_SET_PDEATHSIG = 1
DESCRIPTORS = 4096
READ_MEMORY_EXIT = 71
"""Exit status of a worker that ran out of memory by itself while it read a page."""

Slot = Callable[[int], None]
Build = Callable[[bytes, RemoteFrontier, Slot], tuple[Any, int]]
"""(packed spec, frontier, slot) → (engine, connections)."""


def main() -> None:
    arguments = _arguments()
    _settle_in(arguments)
    slot = watched_slot(arguments.slot)
    scope_type, build = _builder(arguments.engine)
    loop = new_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_serve(socket.socket(fileno=arguments.wire), scope_type, build, slot))


async def _serve(sock: socket.socket, scope_type: Any, build: Build, slot: Slot) -> None:
    """One worker's life. Leaves the process in every case."""
    frontier = RemoteFrontier(sock, scope_type=scope_type)
    status = 0
    try:
        engine, connections = build(await frontier.hello(), frontier, slot)
        _calm_collector()
        frontier.ready()
        await engine.run(connections)
        closing = engine.close()
        if inspect.isawaitable(closing):
            await closing
        frontier.bye()
    except BaseException as error:
        # Out of memory between two pages is nobody's fault, and a new worker may have it.
        memory = failed(error).error == "MemoryError"
        status = READ_MEMORY_EXIT if memory else _report(frontier, error)
    os._exit(status)


def _calm_collector() -> None:
    """What is imported stays: no collection needs to look at it. Pages are freed by their reference counts."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def watched_slot(descriptor: int) -> Slot:
    """The blame slot in shared memory, and the function that fills it: `slot(lease id)` right before a page is decoded and
    read, `slot(0)` after. While it is full, the front counts the time.

    A page that needs more memory than there is, is the page's fault and no bug: emptied by a MemoryError on its way up,
    the slot stays full and the worker ends.
    """
    cells = memoryview(mmap.mmap(descriptor, 8)).cast("Q")  # a cast item is stored as one machine word, never torn
    faulthandler.register(WATCHDOG, all_threads=False, chain=True)

    def slot(lease: int) -> None:
        if not lease and isinstance(sys.exc_info()[1], MemoryError):
            os._exit(READ_MEMORY_EXIT)
        cells[0] = lease

    return slot


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m nephila.worker", description="started by nephila crawl")
    parser.add_argument("--wire", type=int, required=True)
    parser.add_argument("--slot", type=int, required=True)
    parser.add_argument("--front", type=int, required=True)
    parser.add_argument("--engine", default="")
    return parser.parse_args()


def _settle_in(arguments: argparse.Namespace) -> None:
    """Of the front, and no descriptor for children of ours."""
    belong_to(arguments.front)
    os.set_inheritable(arguments.wire, False)
    os.set_inheritable(arguments.slot, False)
    _raise_descriptors()


def belong_to(front: int) -> None:
    """Deaf to the terminal, and mortal with the front process, whose pid this is."""
    for number in DEAF:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, DEAF)  # who started us may have blocked them until here
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != front:  # it died before it could be tied to us
        os._exit(0)


def _raise_descriptors() -> None:
    """As many descriptors as kept connections may need; 1,024, the usual start, is little for a wide crawl."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _builder(engine: str) -> tuple[Any, Build]:
    """What builds the engine: the job's own way, or `module:function`, which the crew's caller named."""
    if engine:
        module, _, name = engine.partition(":")
        return Any, getattr(importlib.import_module(module), name)
    from nephila.corridor import build_engine
    from nephila.plan import WorkerSpec
    from nephila.url.scope import ScopeSpec

    def build(packed: bytes, frontier: RemoteFrontier, slot: Slot) -> tuple[Any, int]:
        spec = msgspec.msgpack.decode(packed, type=WorkerSpec)
        engine = build_engine(spec, frontier, slot)
        frontier.on_robots = engine.permission.learn
        return engine, spec.config.connections

    return ScopeSpec, build


def new_loop() -> asyncio.AbstractEventLoop:
    """The event loop of both kinds of process: uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _report(frontier: RemoteFrontier, error: BaseException) -> int:
    with contextlib.suppress(OSError):  # no front to tell
        frontier.fail(failed(error))
    return 1


if __name__ == "__main__":
    main()
