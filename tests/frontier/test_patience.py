"""Patience as tables: pauses, Retry-After, backoff, whose host is private, and whether the network is there."""

from __future__ import annotations

import random

import pytest

from nephila.frontier import patience
from nephila.frontier.patience import Network
from nephila.url.guard import is_private

WALL = 1_000_212_366.0  # Tue, 11 Sep 2001 12:46:06 GMT
BOUNDS = {"low": 1.0, "high": 60.0, "crawl_delay_max": 300.0}


@pytest.mark.parametrize(
    ("delay", "crawl_delay", "ttfb", "private", "pause"),
    [
        ("auto", -1, 0.0, False, 1.0),
        ("auto", -1, 0.1, False, 1.0),
        ("auto", -1, 0.5, False, 2.5),
        ("auto", -1, 100.0, False, 60.0),
        ("auto", -1, 0.0, True, 0.0),
        ("auto", -1, 0.01, True, 0.05),
        ("auto", 10, 0.5, False, 10.0),
        ("auto", 10, 0.5, True, 10.0),
        ("auto", 2, 4.0, False, 20.0),
        ("auto", 90, 0.1, False, 90.0),
        ("auto", 1e9, 0.1, False, 300.0),
        ("0", -1, 9.0, False, 0.0),
        ("0", 4, 9.0, False, 4.0),
        ("2.5", -1, 9.0, False, 2.5),
        ("2.5", 1, 0.0, False, 2.5),
        ("400", 1e9, 0.0, False, 400.0),
    ],
)
def test_pause(delay: str, crawl_delay: float, ttfb: float, private: bool, pause: float) -> None:
    assert patience.pause(delay, crawl_delay=crawl_delay, ttfb=ttfb, private=private, **BOUNDS) == pytest.approx(pause)


def test_errors_never_make_a_host_look_faster() -> None:
    assert patience.smoothed(2.0, 0.001, good=False) == 2.0
    assert patience.smoothed(2.0, 0.001, good=True) < 2.0
    assert patience.smoothed(2.0, 12.0, good=False) == pytest.approx(4.0)
    assert patience.smoothed(0.0, 3.0, good=True) == 3.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30.0),
        (" 30 ", 30.0),
        ("1.5", 2.0),
        ("0.01", 1.0),
        ("7200", 7200.0),
        ("999999999999", 999_999_999_999.0),
        ("Tue, 11 Sep 2001 12:47:06 GMT", 60.0),
        ("Tuesday, 11-Sep-01 12:47:06 GMT", 60.0),
        ("Tue, 11 Sep 2001 14:47:06 +0200", 60.0),
        ("Tue, 11 Sep 2001 12:46:06 GMT", None),
        ("Tue, 11 Sep 2001 12:00:00 GMT", None),
        ("0", None),
        ("-5", None),
        ("1e12", None),
        ("1e-9", None),
        ("nan", None),
        ("inf", None),
        ("1_000", None),
        ("٣٠", None),
        ("soon", None),
        ("", None),
        ("Tue, 99 Sep 2001 12:47:06 GMT", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert patience.retry_after(value, WALL) == seconds


def test_backoff_doubles_with_jitter_and_ends() -> None:
    dice = random.Random(3)
    for n, middle in [(1, 5.0), (2, 10.0), (3, 20.0), (5, 80.0)]:
        waits = [patience.backoff(n, 5.0, 300.0, dice) for _ in range(200)]
        assert middle * 0.5 <= min(waits) < middle * 0.6
        assert middle * 1.4 < max(waits) <= middle * 1.5
    assert patience.backoff(5000, 5.0, 300.0, dice) == 300.0


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("10.1.2.3", True),
        ("172.16.0.1", True),
        ("172.32.0.1", False),
        ("192.168.1.1", True),
        ("169.254.169.254", True),
        ("100.64.0.1", True),
        ("[::1]", True),
        ("[fe80::1]", True),
        ("[fd00::1]", True),
        ("[2606:4700::1111]", False),
        ("9.9.9.9", False),
        ("example.com", False),
        ("notlocalhost", False),
        ("", False),
    ],
)
def test_is_private(host: str, private: bool) -> None:
    assert is_private(host) is private


def failing(network: Network, names: str, now: float, hosts: int = 10) -> bool:
    begun = [network.failed(name, f"9.9.9.{ord(name)}", hosts, now) for name in names]
    return True in begun


def test_three_hosts_failing_for_long_mean_offline() -> None:
    network = Network(20.0)
    network.answered(100.0)
    assert not failing(network, "abc", 119.0)
    assert failing(network, "a", 120.0)
    assert network.offline
    assert network.since == 120.0
    assert network.answered(200.0)
    assert not network.offline


def test_two_of_many_prove_nothing() -> None:
    network = Network(20.0)
    network.answered(0.0)
    assert not failing(network, "ab", 1000.0)


def test_three_names_at_one_address_are_one() -> None:
    network = Network(20.0)
    network.answered(0.0)
    for name in "abc":
        assert not network.failed(name, "9.9.9.9", 10, 100.0)


def test_the_only_host_is_enough() -> None:
    network = Network(20.0)
    network.answered(0.0)
    assert failing(network, "a", 20.0, hosts=1)


def test_nobody_ever_answered() -> None:
    assert not failing(Network(20.0), "abcdef", 1000.0)


def test_an_answer_starts_the_count_anew() -> None:
    network = Network(20.0)
    network.answered(0.0)
    failing(network, "ab", 15.0)
    assert not network.answered(16.0)
    assert not failing(network, "c", 36.0)


def test_doubt() -> None:
    """A host that failed twice while nobody answered may not be to blame; when somebody answers between, it is."""
    network = Network(20.0)
    network.answered(0.0)
    failing(network, "a", 1.0)
    assert not network.doubtful("a", 1.0)
    failing(network, "a", 2.0)
    assert network.doubtful("a", 2.0)
    assert not network.doubtful("a", 20.0)
    network.answered(3.0)
    failing(network, "a", 4.0)
    assert not network.doubtful("a", 4.0)
