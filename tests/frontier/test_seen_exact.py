"""The exact seen set: never a false "already seen", and the smallest depth beside each fingerprint."""

from __future__ import annotations

import random

import pytest

from nephila.frontier.seen.exact import ExactSeen


def test_new_once() -> None:
    seen = ExactSeen()
    assert seen.add_many([1, 2, 1, 3]) == [True, True, False, True]
    assert seen.add_many([3, 4]) == [False, True]
    assert len(seen) == 4


def test_the_whole_range_of_fingerprints() -> None:
    seen = ExactSeen()
    edges = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
    assert seen.add_many(edges) == [True] * 5
    assert seen.add_many(edges) == [False] * 5


def test_against_a_set() -> None:
    dice, seen, met = random.Random(5), ExactSeen(), set()
    for _ in range(50):
        asked = [dice.randrange(400) for _ in range(30)]
        expected = [not (fp in met or met.add(fp)) for fp in asked]
        assert seen.add_many(asked) == expected
    assert len(seen) == len(met)


def test_discarded_is_new_again() -> None:
    seen = ExactSeen()
    seen.add_many([7, 8])
    seen.discard(7)
    seen.discard(99)
    assert seen.add_many([7, 8]) == [True, False]


@pytest.mark.parametrize("depths", [False, True])
def test_loaded_is_known(depths: bool) -> None:
    seen = ExactSeen(depths=depths)
    seen.load([(5, 2), (6, 3)])
    assert len(seen) == 2
    if depths:
        assert seen.lower_many([5, 6, 7], 3) == ([7], [])
    else:
        assert seen.add_many([5, 6, 7]) == [False, False, True]


def test_depths_only_fall() -> None:
    seen = ExactSeen(depths=True)
    assert seen.lower_many([1, 2], 3) == ([1, 2], [])
    assert seen.lower_many([1, 2], 3) == ([], [])
    assert seen.lower_many([1, 2], 4) == ([], [])
    assert seen.lower_many([2, 3], 1) == ([3], [2])
    assert seen.lower_many([1, 2, 3], 2) == ([], [1])


def test_twice_in_one_call_is_new_once() -> None:
    seen = ExactSeen(depths=True)
    assert seen.lower_many([4, 4], 2) == ([4], [])
    assert seen.lower_many([4, 4], 1) == ([], [4])


def test_discarded_depth_is_new_again() -> None:
    seen = ExactSeen(depths=True)
    seen.lower_many([4], 2)
    seen.discard(4)
    assert seen.lower_many([4], 5) == ([4], [])


def test_without_depths_there_is_nothing_to_lower() -> None:
    with pytest.raises(AssertionError, match="without depths"):
        ExactSeen().lower_many([1], 0)
