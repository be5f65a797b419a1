"""The sockets that libcurl wants watched, behind one descriptor for the event loop.

libcurl takes its sockets in and out for each request, and a loop that is told of each spends seven system calls on it. Here
it is one: a socket that is not wanted any more stays where it is until it says something (it is closed, mostly) or is wanted
again. A number that was closed has left the kernel's set by itself, and may mean another socket by then; so the kernel is told
of every wish anew.
"""

from __future__ import annotations

import contextlib
import select
import selectors
import sys
from collections.abc import Iterator

IN, OUT = 1, 2
"""Wishes and events, libcurl's numbers: `CURL_POLL_IN` and `_OUT`, `CURL_CSELECT_IN` and `_OUT`."""


class _Epoll:
    """Linux."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._wanted: dict[int, int] = {}
        self.fileno, self.close = self._epoll.fileno, self._epoll.close

    def watch(self, fd: int, want: int) -> None:
        """`want`: a sum of IN and OUT, or 0 for nothing."""
        if not want:
            self._wanted.pop(fd, None)
            return
        self._wanted[fd] = want
        mask = (want & IN and select.EPOLLIN) | (want & OUT and select.EPOLLOUT)
        try:
            self._epoll.modify(fd, mask)
        except FileNotFoundError:
            self._epoll.register(fd, mask)

    def ready(self) -> Iterator[tuple[int, int]]:
        """(fd, events) of those that have what they are watched for, each looked at when its turn comes."""
        for fd, mask in self._epoll.poll(0):
            want = self._wanted.get(fd, 0)
            if not want:
                with contextlib.suppress(OSError):
                    self._epoll.unregister(fd)
            elif mask & ~(select.EPOLLIN | select.EPOLLOUT):  # broken: whatever it waits for, it has
                yield fd, want
            else:
                yield fd, (mask & select.EPOLLIN and IN) | (mask & select.EPOLLOUT and OUT)


class _Selected:
    """The same by what the system has."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wanted: dict[int, int] = {}
        self.close = self._selector.close

    def fileno(self) -> int:
        return self._selector.fileno()

    def watch(self, fd: int, want: int) -> None:
        if self._wanted.pop(fd, 0):
            self._selector.unregister(fd)
        if want:
            self._wanted[fd] = want
            self._selector.register(fd, want)

    def ready(self) -> Iterator[tuple[int, int]]:
        for key, events in self._selector.select(0):
            if wanted := self._wanted.get(key.fd, 0):
                yield key.fd, events & wanted or wanted


assert (IN, OUT) == (selectors.EVENT_READ, selectors.EVENT_WRITE)
Sockets = _Epoll if sys.platform == "linux" else _Selected
