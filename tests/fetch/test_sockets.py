"""Sockets behind one descriptor: what is wanted is told, what is not wanted any more is not, whatever a number means by then."""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Iterator

import pytest

from nephila.fetch.sockets import IN, OUT, Sockets, _Selected

KINDS = [Sockets, _Selected] if sys.platform == "linux" else [Sockets]


@pytest.fixture(params=KINDS)
def sockets(request: pytest.FixtureRequest) -> Iterator[Sockets]:
    made = request.param()
    yield made
    made.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


Pair = tuple[socket.socket, socket.socket]


def test_what_is_wanted_is_told(sockets: Sockets, pair: Pair) -> None:
    ours, theirs = pair
    sockets.watch(ours.fileno(), IN)
    assert list(sockets.ready()) == []
    theirs.send(b"x")
    assert list(sockets.ready()) == [(ours.fileno(), IN)]
    sockets.watch(ours.fileno(), OUT)
    assert list(sockets.ready()) == [(ours.fileno(), OUT)]
    sockets.watch(ours.fileno(), IN | OUT)
    assert list(sockets.ready()) == [(ours.fileno(), IN | OUT)]


def test_the_loop_sees_it_at_the_one_descriptor(sockets: Sockets, pair: Pair) -> None:
    ours, theirs = pair
    sockets.watch(ours.fileno(), IN)
    assert select.select([sockets.fileno()], [], [], 0)[0] == []
    theirs.send(b"x")
    assert select.select([sockets.fileno()], [], [], 5)[0] == [sockets.fileno()]


def test_what_is_not_wanted_any_more_is_not_told_and_wakes_nobody_twice(sockets: Sockets, pair: Pair) -> None:
    ours, theirs = pair
    sockets.watch(ours.fileno(), IN)
    sockets.watch(ours.fileno(), 0)
    theirs.send(b"x")
    assert list(sockets.ready()) == []
    assert select.select([sockets.fileno()], [], [], 0)[0] == []
    sockets.watch(ours.fileno(), IN)
    assert list(sockets.ready()) == [(ours.fileno(), IN)]


def test_a_number_that_was_closed_means_the_next_socket(sockets: Sockets) -> None:
    ours, theirs = socket.socketpair()
    first = ours.fileno()
    sockets.watch(first, IN)
    sockets.watch(first, 0)
    ours.close()
    theirs.close()
    other, far = socket.socketpair()  # a new one gets the lowest number that is free
    with other, far:
        assert other.fileno() == first
        sockets.watch(first, IN)
        assert list(sockets.ready()) == []
        far.send(b"x")
        assert list(sockets.ready()) == [(first, IN)]
        sockets.watch(first, 0)


def test_a_broken_socket_is_told_whatever_was_wanted(sockets: Sockets, pair: Pair) -> None:
    ours, theirs = pair
    sockets.watch(ours.fileno(), OUT)
    theirs.close()
    assert [fd for fd, events in sockets.ready() if events & OUT] == [ours.fileno()]
