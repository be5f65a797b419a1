"""Addresses held against an expression together are those that match alone."""

from __future__ import annotations

import pytest
import re2  # type: ignore[import-untyped]

from nephila.look.pattern import Pattern

TEXTS = [
    "https://a.example/",
    "https://a.example/x?y=1",
    "",
    "https://b.example/文档/é",
    "ftp://c.example/a",
    "https://a.example/aa",
    "x",
]
EXPRESSIONS = [
    "a", "a$", "^https", "^$", "x*", "[^a]$", r"\s", r"\W$", ".", "e.*e", "文", "[^x]+/$", "^(https|ftp)://[ab]", r"\bx", "a|^ftp",
    r"\Ahttps", r"a\z", "(?i)A", "(?s).+", r"\Qa.e\E", "$", "", r"[^a]*b", "é$", r"/\n?h",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_together_is_as_alone(text: str) -> None:
    alone = re2.compile(text)
    assert Pattern(text).matching(TEXTS) == [n for n, one in enumerate(TEXTS) if alone.search(one)]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_first_few_are_the_first_few(text: str) -> None:
    assert Pattern(text).matching(TEXTS, 2) == Pattern(text).matching(TEXTS)[:2]


def test_nothing_is_found_in_nothing() -> None:
    assert Pattern("").matching([]) == []
