"""One contract for all ways of remembering URLs, held against a Python set; and what is each way's own."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nephila.checks import SEEN
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.frontier.seen.bloom import BloomSeen, expected_rate, load
from nephila.frontier.seen.door import Keys, Seen
from nephila.frontier.seen.lru import LruSeen
from nephila.frontier.seen.md5 import Md5Seen
from nephila.frontier.seen.naive import NaiveSeen, NaiveSeen32
from nephila.frontier.seen.ways import LOSSES, WAYS, make
from nephila.settings import check

EDGES = [1, 2, 10, 11, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


@pytest.fixture(params=WAYS)
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seen]:
    way = make(request.param, payload=False, folder=tmp_path)
    yield way
    way.close()


def keys(seen: Seen, numbers: list[int]) -> Keys:
    """Numbers as the way wants them. Multiplied by an odd number, so that the upper half differs, too."""
    spread = [number * 0x9E3779B97F4A7C15 % (1 << 64) for number in numbers]
    return [f"http://{n}.example/" for n in spread] if seen.of_text else np.array(spread, np.uint64)


def add(seen: Seen, *numbers: int) -> list[bool]:
    return seen.add_many(keys(seen, list(numbers))).tolist()


def knows(seen: Seen, *numbers: int) -> list[bool]:
    return seen.contains_many(keys(seen, list(numbers))).tolist()


def test_new_once(seen: Seen) -> None:
    assert add(seen, 3, 1, 3, 2) == [True, True, False, True]
    assert add(seen, 4, 3, 4) == [True, False, False]
    assert len(seen) == 4


def test_nothing_asked(seen: Seen) -> None:
    assert add(seen) == []
    assert knows(seen) == []
    seen.discard_many(keys(seen, []))
    assert len(seen) == 0


def test_asking_changes_nothing(seen: Seen) -> None:
    add(seen, 5)
    assert knows(seen, 6, 5, 6, 5) == [False, True, False, True]
    assert add(seen, 6) == [True]
    assert len(seen) == 2


def test_the_whole_range(tmp_path: Path) -> None:
    for name in WAYS:
        way = make(name, payload=False, folder=tmp_path)
        if way.exact and not way.of_text:
            fps = np.array(EDGES, np.uint64)
            assert way.add_many(fps).all(), name
            assert not way.add_many(fps[::-1]).any(), name
            assert way.contains_many(fps).all(), name
        way.close()


def test_against_a_set(seen: Seen) -> None:
    """Batches of all sizes that hold doubles, numbers met before, and new ones; a few are forgotten now and then."""
    dice, met = random.Random(5), set[int]()
    for turn in range(80):
        asked = [dice.randrange(1_500) for _ in range(dice.choice((1, 2, 30, 200)))]
        if turn % 7 == 6 and seen.exact:
            seen.discard_many(keys(seen, asked))
            met -= set(asked)
        assert knows(seen, *asked) == [n in met for n in asked]
        assert add(seen, *asked) == [not (n in met or met.add(n)) for n in asked]  # type: ignore[func-returns-value]
        assert len(seen) == len(met)


def test_growth(seen: Seen) -> None:
    """Ten batches of four hundred: all are new once and known ever after."""
    for at in range(0, 4_000, 400):
        assert all(add(seen, *range(at, at + 400)))
    assert all(knows(seen, *range(4_000)))
    assert not any(knows(seen, *range(4_000, 5_000)))
    assert len(seen) == 4_000


def test_discarded_is_new_again(seen: Seen) -> None:
    """But not with a Bloom filter, which cannot forget."""
    forgets = not isinstance(seen, BloomSeen)
    add(seen, 7, 8)
    seen.discard_many(keys(seen, [99, 7, 7]))
    assert len(seen) == 2 - forgets
    assert knows(seen, 7, 8) == [not forgets, True]
    assert add(seen, 7, 8) == [forgets, False]


def test_no_file_outlives_the_way(seen: Seen, tmp_path: Path) -> None:
    """Nor does one have a name while it is used: a kill leaves nothing that could be mistaken for a set."""
    add(seen, 1, 2, 3)
    assert list(tmp_path.rglob("*")) == []


# --- md5 ------------------------------------------------------------------------------------------------------------


def test_md5_collision_is_said_and_loses_nothing() -> None:
    """A digest of one byte: the host's first letter."""
    said: list[str] = []
    seen = Md5Seen(said.append, digest=lambda text: text[7:8])
    assert seen.add_many(["http://a/1", "http://a/2", "http://b/", "http://a/2", "http://a/3"]).tolist() == [
        True,
        True,
        True,
        False,
        True,
    ]
    assert seen.collisions == 2
    assert [sentence.split()[2] for sentence in said] == ["http://a/2", "http://a/3"]
    assert seen.contains_many(["http://a/1", "http://a/3", "http://a/4"]).tolist() == [True, True, False]
    assert len(seen) == 4


def test_md5_collided_can_be_forgotten() -> None:
    seen = Md5Seen(digest=lambda text: b"")
    seen.add_many(["http://a/", "http://b/", "http://c/"])
    seen.discard_many(["http://a/", "http://b/"])
    assert seen.contains_many(["http://a/", "http://b/", "http://c/"]).tolist() == [False, False, True]


# --- hash and md5: a URL's key, as fingerprints have it ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["hash", "md5"])
def test_texts_are_folded_like_fingerprints(name: str, tmp_path: Path) -> None:
    seen = make(name, payload=False, folder=tmp_path)
    urls = ["http://a/?x=1", "http://a/?x=1&utm_source=b", "http://a/%7e", "http://a/%7E"]
    assert seen.add_many(urls).tolist() == [True, False, True, False]


# --- bloom ----------------------------------------------------------------------------------------------------------


def test_bloom_keeps_its_rate_while_it_grows() -> None:
    """Four filters, nearly full: of 400,000 strangers at most one in 1,000 may be taken for known (and some are)."""
    dice = np.random.default_rng(8)
    seen = BloomSeen(rate=1e-3, room=10_000)
    added = sum(int(seen.add_many(dice.integers(0, 1 << 64, 2_000, np.uint64)).sum()) for _ in range(74))
    taken = int(seen.contains_many(dice.integers(0, 1 << 64, 400_000, np.uint64)).sum())
    assert len(seen._filters) == 4
    assert len(seen) == added
    assert 0 < 74 * 2_000 - added < 148
    assert 200 < taken < 400


def test_bloom_knows_all_that_it_was_told() -> None:
    dice = np.random.default_rng(9)
    seen = BloomSeen()
    fps = dice.integers(0, 1 << 64, 100_000, np.uint64)
    seen.add_many(fps)
    assert seen.contains_many(fps).all()


@pytest.mark.parametrize("rate", [1e-2, 1e-4, 1e-6])
def test_bloom_load_meets_the_rate(rate: float) -> None:
    assert 0.98 * rate < expected_rate(load(rate)) <= rate


# --- lru ------------------------------------------------------------------------------------------------------------


def test_lru_is_exact_with_a_tiny_cache(tmp_path: Path) -> None:
    """Ten entries and a thousand numbers: nearly every one comes from the disk."""
    dice, met = random.Random(6), set[int]()
    seen = LruSeen(tmp_path, entries=10)
    for turn in range(200):
        asked = [dice.randrange(1_000) for _ in range(dice.choice((1, 5, 40)))]
        if turn % 9 == 8:
            seen.discard_many(keys(seen, asked))
            met -= set(asked)
        assert add(seen, *asked) == [not (n in met or met.add(n)) for n in asked]  # type: ignore[func-returns-value]
    assert len(seen) == len(met)
    seen.close()


def test_lru_asks_the_disk_for_strangers_only(tmp_path: Path) -> None:
    seen = LruSeen(tmp_path, entries=64)
    add(seen, *range(16))
    asked: list[int] = []
    ask = seen._store.has
    seen._store.has = lambda fps: asked.append(len(fps)) or ask(fps)  # type: ignore[method-assign, func-returns-value]
    assert knows(seen, 3, 5, 99) == [True, True, False]
    assert asked == [1]
    seen.close()


# --- naive ----------------------------------------------------------------------------------------------------------


def test_naive_tells_a_number_from_its_beginning() -> None:
    seen = NaiveSeen()
    assert seen.add_many(np.array([123, 12, 1234], np.uint64)).tolist() == [True, True, True]
    assert seen.contains_many(np.array([1, 12, 123, 12345], np.uint64)).tolist() == [False, True, True, False]


def test_naive_32_loses_a_page_that_shares_the_upper_half() -> None:
    one, other = (7 << 32) + 1, (7 << 32) + 2
    assert NaiveSeen().add_many(np.array([one, other], np.uint64)).tolist() == [True, True]
    assert NaiveSeen32().add_many(np.array([one, other], np.uint64)).tolist() == [True, False]


# --- choosing -------------------------------------------------------------------------------------------------------


def test_the_names_are_those_that_a_configuration_may_hold() -> None:
    assert tuple(WAYS) == SEEN


def test_only_the_inexact_ones_say_that_they_lose(tmp_path: Path) -> None:
    for name in WAYS:
        said: list[str] = []
        way = make(name, payload=False, folder=tmp_path, say=said.append)
        assert said == ([] if way.exact else [LOSSES[name]])
        way.close()


def test_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"seen = 'trie': one of keytree, hash, .* is expected"):
        make("trie", payload=False, folder=tmp_path)


@pytest.mark.parametrize("name", [name for name in WAYS if name != "keytree"])
def test_depths_need_the_key_tree(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"seen = {name} cannot keep depths.*--seen keytree"):
        make(name, payload=True, folder=tmp_path)
    with pytest.raises(ConfigError, match=f"seen = {name}.*max_depth.*--seen keytree"):
        check(Config(seeds=["http://a.example/"], seen=name, max_depth=0))


@pytest.mark.parametrize("name", ["kv", "lru"])
def test_a_missing_package_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lmdb", None)
    for module in ("kv", "lru"):
        monkeypatch.delitem(sys.modules, f"nephila.frontier.seen.{module}")
    with pytest.raises(ConfigError, match=r"lmdb: pip install 'nephila\[seen\]'"):
        make(name, payload=False, folder=tmp_path)
    with pytest.raises(ConfigError, match=r"lmdb: pip install 'nephila\[seen\]'"):
        check(Config(seeds=["http://a.example/"], seen=name))
