"""The compiled key tree from inside: each key in its leaf, in order; no block lost, and none led to twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from nephila.frontier.seen import keytree_kernel
from nephila.frontier.seen.keytree import KeyTree
from nephila.frontier.seen.keytree_kernel import CLASSES, SLAB, KernelTree

pytestmark = pytest.mark.skipif(not keytree_kernel.available(), reason="system: the kernel was not compiled")
NODE = 1 << 63


class Leaf(NamedTuple):
    place: int
    count: int
    depth: int
    prefix: int


def walk(inner: KernelTree) -> Iterator[Leaf]:
    """All leaves; that what leads to each is where it has to be is checked on the way."""
    root, nodes = (np.frombuffer(part.map, np.uint64).tolist() for part in (inner._root, inner._nodes))
    rows = [(root, 0, inner._state.bits, 0, 0)]
    while rows:
        row, first, width, base, above = rows.pop()
        at = 0
        while at < 1 << width:
            entry, prefix = row[first + at], above << width | at
            count, depth = entry >> 8 & 255, entry & 255
            if entry & NODE:
                assert depth == base + width
                rows.append((nodes, (entry - NODE) >> 16, count, depth, prefix))
                at += 1
                continue
            shared = base + width - depth
            assert shared >= 0
            assert at % (1 << shared) == 0
            assert set(row[first + at : first + at + (1 << shared)]) == {entry}
            yield Leaf(entry >> 16, count, depth, prefix >> shared)
            at += 1 << shared


def keys_of(arena: bytes, leaf: Leaf, payload: int) -> list[int]:
    rest = max(4, (71 - leaf.depth) >> 3)
    head = int.from_bytes(arena[leaf.place : leaf.place + 4], "little") << 32 >> 8 * rest << 8 * rest
    starts = [leaf.place + 4 + i * (rest + payload) for i in range(leaf.count)]
    return [head | int.from_bytes(arena[at : at + rest], "little") for at in starts]


def check(tree: KeyTree) -> set[int]:
    """All keys in the tree, found by walking it."""
    inner = tree._tree
    assert isinstance(inner, KernelTree)
    state, arena, found, blocks = inner._state, bytes(inner._arena.map), list[int](), dict[int, int]()
    for leaf in walk(inner):
        if not leaf.count:
            continue
        assert leaf.place not in blocks
        blocks[leaf.place] = -(-(4 + leaf.count * (max(4, (71 - leaf.depth) >> 3) + state.payload)) // 64)
        keys = keys_of(arena, leaf, state.payload)
        assert keys == sorted(set(keys))
        assert {key >> (64 - leaf.depth) for key in keys} == {leaf.prefix}
        found += keys
    assert blocks == dict(in_slabs(inner))
    assert len(found) == state.count
    return set(found)


def in_slabs(inner: KernelTree) -> Iterator[tuple[int, int]]:
    """Where blocks are and of which class, by the slabs' own books. Every slab is somewhere."""
    state, below = inner._state, np.frombuffer(inner._below.map, np.int32).tolist()
    slabs = []
    for size in range(CLASSES):
        slab, used = state.top[size], state.used[size]
        while slab >= 0:
            slabs.append(slab)
            yield from ((slab * SLAB + i * size * 64, size) for i in range(used))
            slab, used = below[slab], SLAB // (size * 64)
    free = state.free_slab
    while free >= 0:
        slabs.append(free)
        free = below[free]
    assert sorted(slabs) == list(range(1, state.slabs))


def numbers(shape: str, dice: np.random.Generator, n: int) -> Any:
    drawn = dice.integers(0, 30_000, n, dtype=np.uint64)
    return {"even": drawn * np.uint64(0x9E3779B97F4A7C15), "small": drawn, "high": drawn << np.uint64(47)}[shape]


@pytest.mark.parametrize("payload", [False, True])
@pytest.mark.parametrize("shape", ["even", "small", "high"])
def test_whole_after_every_operation(shape: str, payload: bool) -> None:
    dice, tree, known = np.random.default_rng(2), KeyTree(payload, kernel=True), set[int]()
    for step in range(12):
        some = numbers(shape, dice, 4000)
        if step % 3 == 2:
            tree.discard_many(some)
            known -= set(some.tolist())
        else:
            tree.add_many(some, 7) if payload else tree.add_many(some)
            known |= set(some.tolist())
        assert check(tree) == known
    tree.discard_many(np.array(list(known), np.uint64))
    assert check(tree) == set()


@pytest.mark.parametrize("shape", ["even", "small", "high"])
def test_whole_after_a_load_and_as_the_root_doubles_over_nodes(shape: str) -> None:
    ascending = np.unique(numbers(shape, np.random.default_rng(3), 20_000))
    tree = KeyTree(kernel=True)
    tree.load_sorted([ascending])
    assert check(tree) == set(ascending.tolist())
    inner = tree._tree
    for keys in (1 << 15, 1 << 16, 1 << 17, 1 << 18):
        inner.expect(keys)
        assert check(tree) == set(ascending.tolist())
    tree.discard_many(ascending[::2])
    assert check(tree) == set(ascending[1::2].tolist())
