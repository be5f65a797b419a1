"""The key tree: an exact set of 64-bit fingerprints in 6 to 8 bytes each, at a cost that does not grow with the set.

A fingerprint's first bits say where in the tree it is kept, so only the bytes that follow are kept there: a leaf is a sorted
run of such rests. There are two of them behind this door, with the same answers: a compiled kernel (`keytree_kernel`), and
plain numpy (`keytree_numpy`) for where no compiler was present when the package was built. The kernel takes more than a million
keys a second in batches; docs/decisions/0021-key-tree.md has the figures of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol, overload

import numpy as np
import numpy.typing as npt

from nephila.frontier.seen import keytree_kernel
from nephila.frontier.seen.door import Fingerprints, Keys, Mask
from nephila.frontier.seen.keytree_numpy import NumpyTree

Depths = npt.NDArray[np.uint8]
Chunk = Fingerprints | tuple[Fingerprints, Depths]

PIECE = 65_536
"""Keys that are handed on at a time; room for so many is made before the first is added."""


class KeyTree:
    """Fingerprints met so far; with `payload` each carries one byte, the smallest depth it was met at. For one thread at a time.

    `kernel=False` asks for the numpy version, `kernel=True` for the compiled one (RuntimeError where there is none). A
    MemoryError leaves a set that is whole; of a call of up to `PIECE` keys nothing was added then.
    """

    of_text: ClassVar[bool] = False
    exact: ClassVar[bool] = True

    def __init__(self, payload: bool = False, *, kernel: bool | None = None) -> None:
        self.payload = payload
        self.kernel = keytree_kernel.available() if kernel is None else kernel
        """Whether the compiled version is in use."""
        self._tree: Tree = keytree_kernel.KernelTree(payload) if self.kernel else NumpyTree(payload)

    def __len__(self) -> int:
        return len(self._tree)

    @overload
    def add_many(self, keys: Keys) -> Mask: ...
    @overload
    def add_many(self, keys: Keys, depth: int | Depths) -> tuple[Mask, Mask]: ...
    def add_many(self, keys: Keys, depth: int | Depths | None = None) -> Mask | tuple[Mask, Mask]:
        """True where the key is met for the first time; a key twice in `keys` is new once, at its first place.

        With payload: (new, shallower), where shallower is true for a key known with a larger depth, which is `depth` from now
        on. `depth` is 0–255, one for all keys or a uint8 array.
        """
        fps = _checked(keys)
        if (depth is None) is self.payload:
            raise TypeError("depth is for a key tree with payload, and such a one needs it")
        depths = _checked_depths(0 if depth is None else depth, len(fps))
        out = np.empty(len(fps), np.uint8)
        for part in _pieces(len(fps)):
            self._tree.add(fps[part], depths if len(depths) == 1 else depths[part], out[part])
        return (out == 1, out == 2) if self.payload else out.view(np.bool_)

    def contains_many(self, keys: Keys) -> Mask:
        """True where the key was met; nothing changes."""
        fps = _checked(keys)
        out = np.empty(len(fps), np.uint8)
        self._tree.find(fps, out, None)
        return out.view(np.bool_)

    def depths_many(self, keys: Keys) -> Depths:
        """The smallest depth of each key; 255 where it is not known."""
        if not self.payload:
            raise TypeError("depths are for a key tree with payload")
        fps = _checked(keys)
        depths = np.full(len(fps), 255, np.uint8)
        self._tree.find(fps, np.empty(len(fps), np.uint8), depths)
        return depths

    def discard_many(self, keys: Keys) -> None:
        """Forget these keys. Unknown ones are ignored."""
        fps = _checked(keys)
        for part in _pieces(len(fps)):
            self._tree.discard(fps[part])

    def load_sorted(self, chunks: Iterable[Chunk], total: int = 0) -> None:
        """Fill an empty tree from ascending keys in chunks of any size; with payload a chunk is (keys, uint8 depths).

        `total` is a hint of how many will come. A key that comes twice counts once. ValueError where the keys do not ascend or the tree is not empty: what came
        before the fault is loaded.
        """
        if len(self):
            raise ValueError("only an empty key tree is loaded from sorted keys")
        self._tree.expect(total)
        last = -1
        for chunk in chunks:
            keys, depths = chunk if isinstance(chunk, tuple) else (chunk, np.zeros(0, np.uint8))
            fps, values = _checked(keys), _checked_depths(depths, len(keys) if self.payload else 0)
            if len(fps) == 0:
                continue
            if int(fps[0]) < last or not np.all(fps[1:] >= fps[:-1]):
                self._tree.load_end()
                raise ValueError("keys to load have to ascend")
            again = np.append(int(fps[0]) == last, fps[1:] == fps[:-1])
            if again.any():
                fps, values = fps[~again], values[~again[: len(values)]]
            last = int(fps[-1]) if len(fps) else last
            for part in _pieces(len(fps)):
                self._tree.load(fps[part], values[part])
        self._tree.load_end()

    def close(self) -> None:
        """Forget all and give the memory back."""
        self._tree.close()


class Tree(Protocol):
    """What the two versions have in common: checked arrays in, at most `PIECE` keys at a time, bytes out."""

    def __len__(self) -> int: ...

    def add(self, fps: Fingerprints, depths: Depths, out: Depths) -> None:
        """out: 0 known, 1 new, 2 known and lowered to its depth. `depths` has one item for all keys, or one for each."""

    def find(self, fps: Fingerprints, out: Depths, depths: Depths | None) -> None:
        """out: 1 known, else 0; `depths` takes the depths of the known."""

    def discard(self, fps: Fingerprints) -> None: ...

    def expect(self, total: int) -> None:
        """About so many keys will be loaded."""

    def load(self, fps: Fingerprints, depths: Depths) -> None:
        """The next keys, all larger than those before. Up to `load_end` some may be kept aside."""

    def load_end(self) -> None: ...

    def close(self) -> None: ...


def _checked(keys: Keys) -> Fingerprints:
    if not isinstance(keys, np.ndarray) or keys.dtype != np.uint64 or keys.ndim != 1:
        raise TypeError("keys have to be a one-dimensional array of uint64")
    return np.ascontiguousarray(keys)


def _checked_depths(depth: int | Depths, n: int) -> Depths:
    """One item for all, or an array of one for each of `n` keys."""
    if not isinstance(depth, np.ndarray):
        if not 0 <= depth <= 255:
            raise ValueError(f"depth {depth} is not within 0 and 255")
        return np.full(1, depth, np.uint8)
    if depth.dtype != np.uint8 or depth.shape != (n,):
        raise TypeError(f"depth has to be a number or {n} of type uint8")
    return np.ascontiguousarray(depth)


def _pieces(n: int) -> Iterator[slice]:
    return (slice(start, start + PIECE) for start in range(0, n, PIECE))
