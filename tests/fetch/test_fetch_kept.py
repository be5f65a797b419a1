"""Kept connections that are not silent are shut; nothing else is."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from nephila.fetch.kept import Kept

PEER = ("site.example", 80)
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.settimeout(5)
        yield ours, theirs


def kept(ours: socket.socket) -> Kept:
    """As after one request."""
    found = Kept()
    found.begin(PEER)
    found.note(PEER, ours.fileno(), fresh=True)
    found.end(PEER)
    return found


def is_shut(ours: socket.socket) -> bool:
    try:
        ours.send(b"x")
    except BrokenPipeError:
        return True
    return False


def test_silent_connection_stays(pair: Pair) -> None:
    kept(pair[0]).begin(PEER)
    assert not is_shut(pair[0])


def test_connection_that_speaks_is_shut(pair: Pair) -> None:
    found = kept(pair[0])
    pair[1].send(b"late")
    found.begin(PEER)
    assert is_shut(pair[0])


def test_connection_whose_other_end_is_gone_is_shut(pair: Pair) -> None:
    found = kept(pair[0])
    pair[1].shutdown(socket.SHUT_WR)
    found.begin(PEER)
    assert is_shut(pair[0])


def test_request_to_another_peer_shuts_nothing(pair: Pair) -> None:
    found = kept(pair[0])
    pair[1].send(b"late")
    found.begin(("other.example", 80))
    assert not is_shut(pair[0])


def test_while_another_request_is_under_way_nothing_is_shut(pair: Pair) -> None:
    found = kept(pair[0])
    found.begin(PEER)
    pair[1].send(b"the answer to it")
    found.begin(PEER)
    assert not is_shut(pair[0])


def test_number_that_is_another_socket_by_now_is_left_alone(pair: Pair) -> None:
    ours, theirs = socket.socketpair()
    found, number = kept(ours), ours.fileno()
    os.dup2(pair[0].fileno(), number)  # as when libcurl closes one and opens another
    pair[1].send(b"for its owner")
    found.begin(PEER)
    assert not is_shut(pair[0])
    ours.close()
    theirs.close()


def test_number_that_is_closed_by_now_is_forgotten(pair: Pair) -> None:
    ours, theirs = socket.socketpair()
    found = kept(ours)
    ours.close()
    theirs.close()
    found.begin(PEER)
    found.end(PEER)
    found.begin(PEER)
