"""The ways of remembering URLs by their names (`--seen NAME`); only the chosen one is imported. docs/seen.md compares them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nephila.errors import ConfigError
from nephila.frontier.seen.door import Seen

DEFAULT = "keytree"

Say = Callable[[str], object]


def make(name: str, *, payload: bool, folder: Path, expected: int = 0, say: Say = lambda sentence: None) -> Seen:
    """The empty set of a way.

    `payload`: depths are kept beside the fingerprints. `folder`: where files without a name are made. `expected`: URLs known
    from before, for which room is made at once. `say` hears what the user has to know: that pages are lost, that digests
    collided. Raises ConfigError when there is no such way, when it cannot keep depths, or when its package is missing.
    """
    if name not in WAYS:
        raise ConfigError(f"seen = {name!r}: one of {', '.join(WAYS)} is expected")
    if payload and name != DEFAULT:
        raise ConfigError(f"seen = {name} cannot keep depths, as max_depth needs: use --seen {DEFAULT}")
    if loss := LOSSES.get(name):
        say(loss)
    return WAYS[name](payload, folder, expected, say)


def _keytree(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.keytree import KeyTree

    return KeyTree(payload=payload)


def _hash(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.hash import HashSeen

    return HashSeen()


def _md5(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.md5 import Md5Seen

    return Md5Seen(say)


def _file(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.file import FileSeen

    return FileSeen(folder)


def _kv(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.kv import KvSeen

    return KvSeen(folder, expected)


def _bloom(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.bloom import FIRST, BloomSeen

    return BloomSeen(room=max(FIRST, expected))


def _lru(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.lru import LruSeen

    return LruSeen(folder, expected)


def _naive(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.naive import NaiveSeen

    return NaiveSeen()


def _naive_32(payload: bool, folder: Path, expected: int, say: Say) -> Seen:
    from nephila.frontier.seen.naive import NaiveSeen32

    return NaiveSeen32()


WAYS: dict[str, Callable[[bool, Path, int, Say], Seen]] = {
    "keytree": _keytree,
    "hash": _hash,
    "md5": _md5,
    "file": _file,
    "kv": _kv,
    "bloom": _bloom,
    "lru": _lru,
    "keytree-naive": _naive,
    "keytree-naive-32": _naive_32,
}
LOSSES = {
    "bloom": "PAGES WILL BE LOST: --seen bloom takes about 1 new page in 10,000 for one that it has met, and never fetches it",
    "keytree-naive-32": "PAGES WILL BE LOST: --seen keytree-naive-32 keeps 32 bits of each address; when it knows a million, it"
    " takes 1 new page in 4,300 for one that it has met, at a hundred million 1 in 43",
}
"""What is said at the start of a crawl whose way is not exact."""
