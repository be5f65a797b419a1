"""Connections that are kept for the next request, and what came over them while nobody had asked for anything.

Such bytes are no answer to anything, but would be read as the answer to the next request: libcurl looks for them at most once per
second (and so may take a late second answer for the page that is asked for then). So the sockets of a peer are looked at when a
request to it begins; one that has something to say, or has been closed, is shut, and libcurl makes a new connection when it finds
out. HTTP/2 has frames of its own to send, and numbers its answers: its connections are not noted here.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket

PEERS_MAX = 8192
"""More peers than there are kept connections: then all are forgotten, and noted again when they are used."""

Peer = tuple[str, int]


class Kept:
    """Peer → sockets of its kept connections. libcurl closes them when it likes: an inode tells whether a number is still the
    same socket. Costs some 2 µs per request."""

    def __init__(self) -> None:
        self._sockets: dict[Peer, _Sockets] = {}
        self._busy: dict[Peer, int] = {}

    def begin(self, peer: Peer) -> None:
        """A request to `peer` is about to be sent. While others are under way, which of the sockets are theirs is not known."""
        busy = self._busy[peer] = self._busy.get(peer, 0) + 1
        if busy == 1 and (sockets := self._sockets.get(peer)):
            sockets.look()

    def end(self, peer: Peer) -> None:
        """The request is over, however it went."""
        if self._busy[peer] == 1:
            del self._busy[peer]
        else:
            self._busy[peer] -= 1

    def note(self, peer: Peer, fd: int, fresh: bool) -> None:
        """An answer has come to its end over this socket, and it stays open; `fresh`: the connection was made for it."""
        sockets = self._sockets.get(peer)
        if sockets is None:
            if len(self._sockets) >= PEERS_MAX:
                self._sockets.clear()
            sockets = self._sockets[peer] = _Sockets()
        if fresh or fd not in sockets.inodes:
            sockets.add(fd)


class _Sockets:
    """Those of one peer."""

    __slots__ = ("_poll", "inodes")

    def __init__(self) -> None:
        self._poll = select.poll()
        self.inodes: dict[int, int] = {}

    def add(self, fd: int) -> None:
        with contextlib.suppress(OSError):
            self.inodes[fd] = os.fstat(fd).st_ino
            self._poll.register(fd, select.POLLIN)

    def look(self) -> None:
        """Shut what is not silent."""
        for fd, _ in self._poll.poll(0):
            self._poll.unregister(fd)
            inode = self.inodes.pop(fd)
            with contextlib.suppress(OSError):
                if os.fstat(fd).st_ino == inode:
                    _shut(fd)


def _shut(fd: int) -> None:
    """What libcurl sends over it fails at once, and is sent again over another."""
    connection = socket.socket(fileno=fd)
    try:
        connection.shutdown(socket.SHUT_RDWR)
    finally:
        connection.detach()
