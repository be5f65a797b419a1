"""Novelty: which pages are stale, how often pages are watched, when a form is dry."""

from __future__ import annotations

from array import array

import pytest

from nephila.frontier.novelty import KNOWN_MAX, RARELY, WINDOW, Novelty

MENU = [2 * i for i in range(1, 21)]


def texts(*more: int) -> bytes:
    return array("I", sorted([*MENU, *more])).tobytes()


def test_nothing_new_is_stale_and_anything_new_is_not() -> None:
    it = Novelty(1)
    assert [it.watch(texts(), False), it.watch(texts(), False), it.watch(texts(100), False)] == [False, True, False]
    assert it.watch(texts(100), False)


def test_few_texts_are_stale_only_as_twins() -> None:
    it = Novelty(1)
    assert [it.watch(array("I", [2, 4]).tobytes(), twin) for twin in (False, False, True)] == [False, False, True]


@pytest.mark.parametrize(
    ("parameters", "new", "judged"),
    [(2, [1000], 1), (1, [1000], 0), (2, [1001], 0), (2, [1000, 1002, 1004], 0)],
    ids=["a heading", "one parameter", "a sentence", "three headings"],
)
def test_a_heading_over_a_selection(parameters: int, new: list[int], judged: int) -> None:
    it = Novelty(parameters)
    for i in range(10):
        it.watch(texts(*(200 + 2 * (3 * i + j) for j in range(3))), False)
    assert it.watch(texts(200, 206, 212, 218, *new), False) is bool(judged)


def test_a_heading_over_nothing_proves_nothing() -> None:
    it = Novelty(parameters=2)
    it.watch(texts(), False)
    it.watch(texts(1000), False)
    assert (it.watched, it.stale()) == (1, 0)


def test_watching_begins_late_and_becomes_rare_while_there_is_news() -> None:
    it, asked = Novelty(1), []
    for i in range(1000):
        if it.wants(free=32):
            asked.append(i)
            it.watch(texts(10_000 + 2 * i), False)
        it.pages += 1
    assert asked[:WINDOW] == list(range(32, 32 + WINDOW))
    assert all(i % RARELY == 0 for i in asked[WINDOW:])
    assert not it.dry()
    assert it.alive()


@pytest.mark.parametrize(("dated", "pages"), [(False, 32 + WINDOW), (True, 32 + WINDOW // 2)])
def test_a_form_without_news_is_dry_after_so_many_pages(dated: bool, pages: int) -> None:
    it = Novelty(1, dated)
    while not it.dry():
        if it.wants(free=32):
            it.watch(texts(), False)
        it.pages += 1
    assert it.pages == pages
    assert not it.alive()


def test_news_wear_off() -> None:
    """A list that shows the same things in other ways says new things for a while."""
    it = Novelty(1)
    while not it.dry():
        if it.wants(free=32):
            it.watch(texts(10_000 + 2 * min(it.watched, 100)), False)
        it.pages += 1
        assert it.pages < 6_000


def test_a_rich_form_is_left_alone() -> None:
    it = Novelty(1)
    it.pages = 100
    for i in range(0, KNOWN_MAX, 400):
        it.watch(array("I", range(2 * i, 2 * i + 1000, 2)).tobytes(), False)
    assert it.rich
    assert not it.known
    assert not it.wants(free=32)


def test_plain_paths_that_repeat_others_are_copies_and_hardly_looked_at() -> None:
    """A site that is mounted twenty times says nothing new from the second time on, and every page of it is wanted."""
    copies, sketch, watched = Novelty(), array("I", range(0, 40, 2)).tobytes(), 0
    for _ in range(2_000):
        if copies.wants(32):
            watched += 1
            copies.watch(sketch, twin=True)
        copies.pages += 1
    assert not copies.dry()
    assert watched <= copies.window + 2_000 // RARELY + 1
