"""The same cutting for the index and for those who ask it."""

from __future__ import annotations

import pytest

from nephila.views import words


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("The Crawler's 2nd page", "the crawler s 2nd page"),
        ("北京大学", "北京 京大 大学 学"),
        ("GB18030编码", "gb18030 编码 码"),
        ("検索エンジン", "検索 索エ エン ンジ ジン ン"),
        ("검색 엔진은", "검색 색 엔진 진은 은"),
        ("ＧＢ２３１２　Café ПЙ", "gb2312 cafe пи"),
        ("字", "字"),
        ("𠀋𠀌", "𠀋𠀌 𠀌"),
        ("!?… — ", ""),
    ],
)
def test_words_of_a_text(text: str, cut: str) -> None:
    assert words.words(text) == cut


@pytest.mark.parametrize(
    ("text", "ahead", "last"),
    [
        ("北京大学", ["北京", "京大", "大学"], ""),
        ("京大", ["京大"], ""),
        ("学", [], "学"),
        ("编码 GB18030", ["编码", "码", "gb18030"], ""),
        ("web 页", ["web"], "页"),
        ("…", [], ""),
    ],
)
def test_what_is_asked_is_cut_as_the_text_was(text: str, ahead: list[str], last: str) -> None:
    assert words.asked(text) == (ahead, last)
