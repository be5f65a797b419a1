"""The compiled key tree: maps memory, and has keytree.c work in it.

    root     2^bits entries, by the first bits of a key; doubled (a copy of a few per cent of the whole) when there are more
             than 64 keys to an entry
    nodes    inner nodes of 16 entries, by the next four bits: only where keys lie denser than evenly spread ones do
    arena    slabs of 64 KiB. A slab holds blocks of one size (a multiple of 64 bytes), a block holds one leaf:
             4 bytes of prefix, then up to 128 items, sorted: the rest of the key in whole bytes (7 below 16 bits of depth,
             6 below 24, and so on), then its payload byte

An entry is a word: where the leaf is, how many items it has, how many bits all its keys share. A full leaf splits in two, so the
work of one key is bounded; several entries may lead to one leaf. Blocks of one size lie without a hole: the last one moves
into the hole that another leaves, and slabs that fall free serve any size. So nothing is fragmented, and what is not used was
never touched. Growth is a longer mapping, not a copy.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nephila import native
from nephila.frontier.seen.door import Fingerprints
from nephila.frontier.seen.maps import Bytes, Map

SOURCE = Path(__file__).with_name("keytree.c")
SLAB, CLASSES = 1 << 16, 18
STEPS = 2 * 64
"""Bytes by which one key more lengthens its block, or the two that its block is split into."""
SPARE_NODES = 16 * 16
"""Words that one key may take for inner nodes, and more."""
FIRST_BITS, LAST_BITS, PER_ENTRY = 8, 30, 64


class _State(ctypes.Structure):
    """`struct tree` of keytree.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("arena", "root", "nodes", "below")),
        *(
            (name, ctypes.c_int64)
            for name in ("bits", "count", "payload", "slabs", "free_slab", "nodes_used", "nodes_room")
        ),
        *((name, ctypes.c_int64 * CLASSES) for name in ("top", "used")),
    ]


@cache
def _library() -> ctypes.PyDLL | None:
    """None where it was not built."""
    library = native.library(SOURCE)
    if library is None:
        return None
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.keytree_add.argtypes = [pointer, pointer, number, pointer, number, pointer]
    library.keytree_find.argtypes = [pointer, pointer, number, pointer, number, pointer]
    library.keytree_load.argtypes = [pointer, pointer, number, pointer, number]
    library.keytree_double.argtypes = [pointer, pointer]
    library.keytree_add.restype = library.keytree_load.restype = number
    library.keytree_find.restype = library.keytree_double.restype = None
    return library


def available() -> bool:
    """Whether there is a kernel to use."""
    return _library() is not None


class KernelTree:
    """See `keytree.Tree`."""

    def __init__(self, payload: bool) -> None:
        library = _library()
        if library is None:
            raise RuntimeError("the kernel of the key tree was not compiled when this package was built")
        self._c = library
        self._state = _State(payload=payload)
        self._empty()

    def _empty(self) -> None:
        self._arena, self._root, self._nodes, self._below = (
            Map(1 << 20),
            Map(8 << FIRST_BITS),
            Map(1 << 16),
            Map(1 << 12),
        )
        empty_leaf = FIRST_BITS  # its entry: nothing but its depth
        np.frombuffer(self._root.map, np.uint64)[: 1 << FIRST_BITS] = empty_leaf
        state = self._state
        state.bits, state.count, state.nodes_used = FIRST_BITS, 0, 0
        state.slabs, state.free_slab = 1, -1  # slab 0 is never used: place 0 is that of an empty leaf
        state.top[:], state.used[:] = [-1] * CLASSES, [0] * CLASSES
        self._aside: tuple[Fingerprints, Bytes] = np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        self._tell()

    def __len__(self) -> int:
        return int(self._state.count) + len(self._aside[0])

    def add(self, fps: Fingerprints, depths: Bytes, out: Bytes) -> None:
        self._make_room(len(fps))
        step, done = int(len(depths) > 1), 0
        while True:
            keys, values, answers = fps[done:], depths[done * step :], out[done:]
            done += self._c.keytree_add(self._at, _at(keys), len(keys), _at(values), step, _at(answers))
            if done == len(fps):
                return
            self._more_nodes()

    def find(self, fps: Fingerprints, out: Bytes, depths: Bytes | None) -> None:
        self._find(fps, out, depths, forget=False)

    def discard(self, fps: Fingerprints) -> None:
        self._make_room(len(fps))
        self._find(fps, np.empty(len(fps), np.uint8), None, forget=True)

    def _find(self, fps: Fingerprints, out: Bytes, depths: Bytes | None, *, forget: bool) -> None:
        depths = np.empty(len(fps), np.uint8) if depths is None else depths
        self._c.keytree_find(self._at, _at(fps), len(fps), _at(depths), forget, _at(out))

    def expect(self, total: int) -> None:
        self._make_room(0, total)

    def load(self, fps: Fingerprints, depths: Bytes, last: bool = False) -> None:
        """Keys of a leaf that may go on are kept aside until more come."""
        fps, depths = np.concatenate((self._aside[0], fps)), np.concatenate((self._aside[1], depths))
        self._make_room(len(fps))
        done = 0
        while True:
            keys, values = fps[done:], depths[done:]
            done += self._c.keytree_load(self._at, _at(keys), len(keys), _at(values), last)
            self._aside = fps[done:], depths[done:]
            if self._state.nodes_room - self._state.nodes_used >= SPARE_NODES:
                return
            self._more_nodes()

    def load_end(self) -> None:
        self.load(self._aside[0][:0], self._aside[1][:0], last=True)

    def close(self) -> None:
        self._empty()

    def _make_room(self, n: int, total: int = 0) -> None:
        """For `n` more keys, so that the kernel never has to stop for it; MemoryError before anything has changed."""
        state = self._state
        slabs = state.slabs + n * STEPS // SLAB + 2 * CLASSES  # each class may have one slab that is not full
        if (slabs + 1) * SLAB > self._arena.size or slabs * 4 > self._below.size:
            self._more_slabs(slabs)
        while max(state.count + n, total) > PER_ENTRY << state.bits and state.bits < LAST_BITS:
            twice = Map(16 << state.bits)
            self._c.keytree_double(self._at, twice.address)
            self._root.close()
            self._root = twice

    def _more_slabs(self, slabs: int) -> None:
        try:
            self._arena.grow((slabs + 1) * SLAB)  # the last item is read with some bytes beyond
            self._below.grow(slabs * 4)
        finally:
            self._tell()

    def _more_nodes(self) -> None:
        self._nodes.grow(self._nodes.size + 1)
        self._tell()

    def _tell(self) -> None:
        """Where the memory is."""
        state = self._state
        state.arena, state.root = self._arena.address, self._root.address
        state.nodes, state.below = self._nodes.address, self._below.address
        state.nodes_room = self._nodes.size // 8

    @property
    def _at(self) -> Any:
        return ctypes.byref(self._state)


def _at(array: npt.NDArray[Any]) -> int:
    return array.ctypes.data
