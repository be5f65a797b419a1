"""The key tree, compiled and in numpy: both answer as a dict does, whatever the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nephila.frontier.seen import keytree_kernel
from nephila.frontier.seen.keytree import PIECE, KeyTree

TOP = (1 << 64) - 1
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Odd: times this, small numbers are spread over all 64 bits, and none falls on another."""

Make = Callable[..., KeyTree]


@pytest.fixture(params=[True, False], ids=["kernel", "numpy"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    if request.param and not keytree_kernel.available():
        pytest.skip("system: the kernel was not compiled")
    made: list[KeyTree] = []

    def new(payload: bool = False) -> KeyTree:
        made.append(KeyTree(payload, kernel=request.param))
        return made[-1]

    yield new
    for tree in made:
        tree.close()


def keys(*values: int) -> Any:
    return np.array(values, np.uint64)


def uniform(n: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, TOP, n, dtype=np.uint64, endpoint=True)


def test_new_once(make: Make) -> None:
    tree = make()
    assert tree.add_many(keys(1, 2, 1, 3)).tolist() == [True, True, False, True]
    assert tree.add_many(keys(3, 4)).tolist() == [False, True]
    assert tree.contains_many(keys(1, 4, 5)).tolist() == [True, True, False]
    assert len(tree) == 4


def test_the_whole_range_of_keys(make: Make) -> None:
    tree, edges = make(), keys(0, 1, (1 << 63) - 1, 1 << 63, TOP - 1, TOP)
    assert not tree.contains_many(edges).any()
    assert tree.add_many(edges).all()
    assert not tree.add_many(edges).any()
    assert tree.contains_many(edges).all()
    tree.discard_many(edges)
    assert len(tree) == 0


def test_no_keys_at_all(make: Make) -> None:
    tree = make()
    assert tree.add_many(keys()).tolist() == tree.contains_many(keys()).tolist() == []
    tree.discard_many(keys())
    tree.load_sorted([keys(), keys()])
    assert len(tree) == 0


@pytest.mark.parametrize("wrong", [[1, 2], np.array([1]), np.array([1.0]), np.array([[1]], np.uint64), ["a"]])
def test_keys_of_another_type_are_refused(make: Make, wrong: Any) -> None:
    tree = make()
    for ask in (tree.add_many, tree.contains_many, tree.discard_many, lambda k: tree.load_sorted([k])):
        with pytest.raises(TypeError, match="uint64"):
            ask(wrong)


def test_depth_is_asked_for_with_payload_only(make: Make) -> None:
    with pytest.raises(TypeError, match="payload"):
        make().add_many(keys(1), 3)
    with pytest.raises(TypeError, match="payload"):
        make().depths_many(keys(1))
    with pytest.raises(TypeError, match="payload"):
        make(True).add_many(keys(1))
    with pytest.raises(TypeError, match="depth"):
        make(True).add_many(keys(1, 2), np.zeros(1, np.uint8))
    with pytest.raises(ValueError, match="256"):
        make(True).add_many(keys(1), 256)


def test_keys_that_are_not_contiguous(make: Make) -> None:
    tree, every = make(), np.arange(20, dtype=np.uint64)
    tree.add_many(every[::2])
    assert tree.contains_many(every).tolist() == [True, False] * 10


def test_discarded_is_new_again(make: Make) -> None:
    tree = make()
    tree.add_many(keys(7, 8))
    tree.discard_many(keys(7, 99, 7))
    assert tree.add_many(keys(7, 8)).tolist() == [True, False]


def test_depths_only_fall(make: Make) -> None:
    tree = make(True)

    def add(depth: Any, *values: int) -> list[list[bool]]:
        return [mask.tolist() for mask in tree.add_many(keys(*values), depth)]

    assert add(3, 1, 2) == [[True, True], [False, False]]
    assert add(3, 1, 2) == [[False, False], [False, False]]
    assert add(4, 1, 2) == [[False, False], [False, False]]
    assert add(1, 2, 3) == [[False, True], [True, False]]
    assert add(np.array([2, 0, 9, 5, 9], np.uint8), 1, 1, 5, 5, 5) == [
        [False, False, True, False, False],
        [True, True, False, True, False],
    ]
    assert tree.depths_many(keys(1, 2, 3, 4, 5)).tolist() == [0, 1, 1, 255, 5]


def test_closed_is_empty(make: Make) -> None:
    tree = make()
    tree.add_many(uniform(1000, 1))
    tree.close()
    assert len(tree) == 0
    assert not tree.contains_many(uniform(1000, 1)).any()


SHAPES = {
    "even": lambda numbers: numbers * SPREAD,
    "small": lambda numbers: numbers,
    "one prefix": lambda numbers: numbers | np.uint64(0xABCDEF << 40),
    "low bits equal": lambda numbers: numbers << np.uint64(40),
    "two heaps": lambda numbers: np.where(numbers % 2, numbers, ~numbers),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("payload", [False, True])
def test_mixed_operations_as_a_dict(make: Make, shape: str, payload: bool) -> None:
    mixed(make(payload), SHAPES[shape], rounds=40, batch=1500, numbers=20_000)


@pytest.mark.long
@pytest.mark.parametrize("payload", [False, True])
def test_ten_million_mixed_operations(make: Make, payload: bool) -> None:
    mixed(make(payload), SHAPES["even"], rounds=1000, batch=10_000, numbers=3_000_000)


def mixed(tree: KeyTree, shape: Callable[[Any], Any], rounds: int, batch: int, numbers: int) -> None:
    """Half of all rounds add, a quarter asks, a quarter forgets half as many; every answer is held against a dict."""
    dice, known = np.random.default_rng(rounds), dict[int, int]()
    for _ in range(rounds):
        asked, what = shape(dice.integers(0, numbers, batch, dtype=np.uint64)), dice.integers(4)
        if what < 2:
            depths = dice.integers(0, 256, batch, dtype=np.uint8) if tree.payload else np.zeros(batch, np.uint8)
            expected = [add_to(known, key, depth) for key, depth in zip(asked.tolist(), depths.tolist(), strict=True)]
            new, lower = (
                tree.add_many(asked, depths) if tree.payload else (tree.add_many(asked), np.zeros(batch, np.bool_))
            )
            assert (new + 2 * lower).tolist() == expected
        elif what == 2:
            assert tree.contains_many(asked).tolist() == [key in known for key in asked.tolist()]
        else:
            tree.discard_many(asked[::2])
            for key in asked[::2].tolist():
                known.pop(key, None)
        assert len(tree) == len(known)
    everything = np.array(list(known), np.uint64)
    assert tree.contains_many(everything).all()
    if tree.payload:
        assert tree.depths_many(everything).tolist() == list(known.values())
    tree.discard_many(everything)
    assert len(tree) == 0


def add_to(known: dict[int, int], key: int, depth: int) -> int:
    """0 known, 1 new, 2 known with a larger depth; it stands at `depth` then."""
    before = known.get(key)
    if before is None or before > depth:
        known[key] = depth
        return 1 if before is None else 2
    return 0


some_keys = st.one_of(
    st.integers(0, TOP),
    st.integers(0, 300),
    st.integers(TOP - 300, TOP),
    st.integers(0, 300).map(lambda n: n << 55),
    st.integers(0, 300).map(lambda n: (n << 16) + (1 << 60)),
)
stretches = st.tuples(some_keys, st.integers(1, 400), st.sampled_from([1, 3, 1 << 20, 1 << 55])).map(
    lambda s: [(s[0] + i * s[2]) % (TOP + 1) for i in range(s[1])]
)
operations = st.lists(
    st.tuples(st.sampled_from(["add", "add", "ask", "discard"]), st.one_of(st.lists(some_keys), stretches)), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(todo=operations)
def test_whatever_the_keys_as_a_set(todo: list[tuple[str, list[int]]]) -> None:
    trees = [KeyTree(kernel=kernel) for kernel in {False, keytree_kernel.available()}]
    known: set[int] = set()
    for what, values in todo:
        array = keys(*values)
        for tree in trees:
            if what == "ask":
                assert tree.contains_many(array).tolist() == [key in known for key in values]
            elif what == "discard":
                tree.discard_many(array)
            else:
                assert int(tree.add_many(array).sum()) == len(set(values) - known)
        known = known - set(values) if what == "discard" else known | set(values) if what == "add" else known
        assert {len(tree) for tree in trees} == {len(known)}
    everything = keys(*known)
    assert all(tree.contains_many(everything).all() for tree in trees)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", [0, 40_000])
def test_loaded_is_as_added(make: Make, shape: str, total: int) -> None:
    ascending = np.unique(SHAPES[shape](np.random.default_rng(9).integers(0, 1 << 20, 40_000, dtype=np.uint64)))
    tree = make()
    tree.load_sorted(np.split(ascending, [0, 1, 5, 300, 301, 20_000]), total)
    assert len(tree) == len(ascending)
    assert tree.contains_many(ascending).all()
    others = uniform(40_000, 10)
    assert tree.add_many(np.concatenate((ascending, others))).tolist() == [False] * len(ascending) + [True] * len(
        others
    )
    tree.discard_many(ascending)
    assert len(tree) == len(others)


def test_loaded_with_depths(make: Make) -> None:
    ascending = np.sort(uniform(30_000, 3))
    depths = np.random.default_rng(4).integers(0, 255, 30_000, dtype=np.uint8)
    tree = make(True)
    tree.load_sorted([(ascending[:100], depths[:100]), (ascending[100:], depths[100:])])
    assert (tree.depths_many(ascending) == depths).all()


def test_a_key_that_is_loaded_twice_counts_once(make: Make) -> None:
    tree = make()
    tree.load_sorted([keys(1, 1, 2), keys(2), keys(2, 5)])
    assert len(tree) == 3


def test_what_does_not_ascend_is_refused(make: Make) -> None:
    for chunks in ([keys(1, 3, 2)], [keys(1, 3), keys(2)]):
        with pytest.raises(ValueError, match="ascend"):
            make().load_sorted(chunks)
    tree = make()
    tree.add_many(keys(1))
    with pytest.raises(ValueError, match="empty"):
        tree.load_sorted([keys(2)])


def test_more_keys_in_one_call_than_a_piece(make: Make) -> None:
    tree, many = make(), uniform(3 * PIECE + 5, 6)
    assert tree.add_many(np.concatenate((many, many))).tolist() == [True] * len(many) + [False] * len(many)


def test_ascending_keys_may_be_added_too(make: Make) -> None:
    """As dense as they come, in the part of the tree they come to, until the others have come."""
    tree, ascending = make(), np.sort(uniform(300_000, 8))
    for at in range(0, 300_000, 10_000):
        assert tree.add_many(ascending[at : at + 10_000]).all()
    assert tree.contains_many(ascending).all()
    assert not tree.contains_many(uniform(10_000, 9)).any()
