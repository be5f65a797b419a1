"""libcurl on the running event loop: the multi-socket interface (libcurl-multi(3)), nothing else.

libcurl says which sockets it wants watched and when it wants to be woken; the loop says what happened. A transfer is a
future that resolves to (curl code, message); it never raises.
"""

from __future__ import annotations

import asyncio
import resource
from typing import NamedTuple

import pycurl  # type: ignore[import-untyped]

from nephila.fetch.sockets import Sockets


class Ending(NamedTuple):
    """How a transfer ended. `socket`: over which it came to its end by itself, -1 when that is not known."""

    code: int
    message: str = ""
    socket: int = -1


KEPT_MAX = 1024
"""Most connections that are kept open for the next request, idle ones included: some 40 kB each with TLS."""


class Wire:
    """One CurlMulti. Made inside a running loop and used on that loop only; `connections` requests at the same time."""

    def __init__(self, connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: dict[pycurl.Curl, asyncio.Future[Ending]] = {}
        self._sockets = Sockets()
        self._loop.add_reader(self._sockets.fileno(), self._on_sockets)
        self._timer: asyncio.Handle | None = None
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, _kept(connections))

    def start(self, handle: pycurl.Curl) -> asyncio.Future[Ending]:
        done = self._running[handle] = self._loop.create_future()
        self._multi.add_handle(handle)
        return done

    def stop(self, handle: pycurl.Curl, ending: Ending) -> None:
        """End a transfer now; its connection is closed, since the rest of the answer would still come over it."""
        done = self._running.pop(handle, None)
        if done is not None:
            self._multi.remove_handle(handle)
            if not done.done():
                done.set_result(ending)

    def close(self) -> None:
        """Who still waits is cancelled."""
        for handle, done in list(self._running.items()):
            done.cancel()
            self.stop(handle, Ending(pycurl.E_ABORTED_BY_CALLBACK, "closed"))
        self._multi.close()
        self._on_timer(-1)
        self._loop.remove_reader(self._sockets.fileno())
        self._sockets.close()

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        self._sockets.watch(fd, 0 if what == pycurl.POLL_REMOVE else what)

    def _on_sockets(self) -> None:
        for fd, events in self._sockets.ready():
            self._act(fd, events)

    def _on_timer(self, wait_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wait_ms == 0:
            self._timer = self._loop.call_soon(self._act, pycurl.SOCKET_TIMEOUT, 0)
        elif wait_ms > 0:
            self._timer = self._loop.call_later(wait_ms / 1000, self._act, pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, events: int) -> None:
        self._multi.socket_action(fd, events)
        more = 1
        while more:
            more, whole, broken = self._multi.info_read()
            for handle in whole:
                self._end(handle, Ending(0, "", fd))
            for handle, code, message in broken:
                self._end(handle, Ending(code, message))

    def _end(self, handle: pycurl.Curl, ending: Ending) -> None:
        self._multi.remove_handle(handle)
        done = self._running.pop(handle, None)
        if done is not None and not done.done():
            done.set_result(ending)


def _kept(connections: int) -> int:
    """How many connections stay open. A wide crawl comes back to a host after as many others: with fewer, each request would
    make a new one; at most half of the descriptors that this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = KEPT_MAX * 4 if soft == resource.RLIM_INFINITY else soft // 2
    return min(max(16, 4 * connections, KEPT_MAX), most)
