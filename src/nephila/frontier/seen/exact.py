"""The simple exact seen set: a Python set of fingerprints, or a dict with the smallest depth beside each.

About 80 bytes a URL (130 with depths). Behind the same door as every other way of remembering what was met.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class ExactSeen:
    """Fingerprints met so far. With `depths` each carries the smallest depth it was met at (0–255)."""

    def __init__(self, *, depths: bool = False) -> None:
        self._set: set[int] = set()
        self._depths: dict[int, int] | None = {} if depths else None

    def __len__(self) -> int:
        return len(self._set) if self._depths is None else len(self._depths)

    def load(self, rows: Iterable[tuple[int, int]]) -> None:
        """(fingerprint, depth) of every URL known from before."""
        if self._depths is None:
            self._set.update(fp for fp, _ in rows)
        else:
            self._depths.update(rows)

    def add_many(self, fps: Sequence[int]) -> list[bool]:
        """True where the fingerprint is new; a fingerprint twice in `fps` is new once."""
        seen, add = self._set, self._set.add
        return [not (fp in seen or add(fp)) for fp in fps]

    def first(self, fp: int, depth: int) -> bool:
        """Whether a fingerprint is met for the first time; from now on it is known."""
        return self.add_many([fp])[0] if self._depths is None else bool(self.lower_many([fp], depth)[0])

    def discard(self, fp: int) -> None:
        if self._depths is None:
            self._set.discard(fp)
        else:
            self._depths.pop(fp, None)

    def lower_many(self, fps: Sequence[int], depth: int) -> tuple[list[int], list[int]]:
        """Fingerprints met for the first time, and those met at a smaller depth than before; both now stand at `depth`."""
        depths = self._depths
        assert depths is not None, "a seen set without depths was asked about depth"
        new, shallower = [], []
        for fp in fps:
            known = depths.get(fp)
            if known is None:
                new.append(fp)
            elif known > depth:
                shallower.append(fp)
            else:
                continue
            depths[fp] = depth
        return new, shallower
