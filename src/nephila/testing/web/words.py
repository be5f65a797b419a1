"""Text that looks like a language to everything that does not understand it: alphabets, words by Zipf's law, paragraphs in HTML.

A page is mostly text, so its text is cut out of one long string per language, made once: a page then costs a copy.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import random
from typing import NamedTuple

TEXT_CHARACTERS = 400_000
WORDS = 2_000
TITLES = 1_024


class Language(NamedTuple):
    """`charset` as the web names it (Python knows it by the same name); `spaced`: words stand apart."""

    code: str
    charset: str
    syllables: str
    spaced: bool = True


def _two_bytes(charset: str, leads: range, trails: range) -> str:
    """The characters of a block of a two-byte charset, with commas between them."""
    found = (bytes((lead, trail)).decode(charset, "ignore") for lead in leads for trail in trails)
    return ",".join(character for character in found if len(character) == 1)


LATIN = "ba,ce,di,fo,gu,la,me,ni,po,ru,sa,te,vi,lon,mar,den,tis,ver,con,pro,ran,sel,tor,ing,ed,er,al,en,an,est,ar,or"
ACCENTED = "bä,ce,dî,fö,gu,là,mé,ni,pö,rü,sa,té,vi,lon,mär,dén,tis,vèr,con,prô,ran,sel,tor,ung,er,al,én,an,est"
CYRILLIC = "на,ко,про,ста,ве,го,ли,ми,но,по,ра,си,то,ть,ние,ск,ова,ель,ост,ред,ком,тор"
HIRAGANA = "の,に,は,を,た,が,で,て,と,し,れ,さ,あ,る,い,も,な,こ,と,よ,き,く,す,ま,り"
EVERYWHERE = [
    Language("en", "utf-8", LATIN),
    Language("en", "utf-8", LATIN),
    Language("de", "utf-8", ACCENTED),
    Language("zh-CN", "utf-8", _two_bytes("gbk", range(0xB0, 0xC8), range(0xA1, 0xFE)), False),
]
LEGACY = [
    Language("zh-CN", "gbk", _two_bytes("gbk", range(0xB0, 0xC8), range(0xA1, 0xFE)), False),
    Language("ja", "shift_jis", HIRAGANA + "," + _two_bytes("shift_jis", range(0x89, 0x93), range(0x40, 0x7E)), False),
    Language("zh-TW", "big5", _two_bytes("big5", range(0xA4, 0xB0), range(0x40, 0x7E)), False),
    Language("ko", "euc-kr", _two_bytes("euc-kr", range(0xB0, 0xC0), range(0xA1, 0xFE))),
    Language("ru", "windows-1251", CYRILLIC),
    Language("fr", "windows-1252", ACCENTED),
]
SLUGS = sorted({a + b for a, b in itertools.product(LATIN.split(","), repeat=2)})
"""Words for paths."""


class Text:
    """One language's words, and paragraphs of them as bytes in its charset."""

    def __init__(self, language: Language) -> None:
        dice = random.Random(f"text {language.code} {language.charset}")
        syllables = language.syllables.split(",")
        self.words = ["".join(dice.choices(syllables, k=dice.randint(1, 4))) for _ in range(WORDS)]
        space = " " if language.spaced else ""
        self.titles = [space.join(dice.choices(self.words, k=4)) for _ in range(TITLES)]
        paragraphs = [text.encode(language.charset) for text in _paragraphs(dice, self.words, language.spaced)]
        self._bytes = b"".join(paragraphs)
        self._ends = list(itertools.accumulate(map(len, paragraphs), initial=0))

    def cut(self, start: int, size: int) -> bytes:
        """Whole paragraphs of about `size` bytes, at least one; `start` is any number."""
        first = start % (len(self._ends) // 2)
        begin = self._ends[first]
        last = bisect.bisect_left(self._ends, begin + size, first + 1, len(self._ends) - 1)
        return self._bytes[begin : self._ends[last]]


@functools.lru_cache
def text_of(language: Language) -> Text:
    return Text(language)


def _paragraphs(dice: random.Random, words: list[str], spaced: bool) -> list[str]:
    """Paragraphs of 20 to 120 words with some markup, 400,000 characters in all."""
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    space, stop = (" ", ". ") if spaced else ("", "。")
    made: list[str] = []
    length = 0
    while length < TEXT_CHARACTERS:
        chosen = dice.choices(words, cum_weights=weights, k=dice.randint(20, 120))
        for at in range(dice.randint(6, 14), len(chosen), dice.randint(9, 16)):
            chosen[at] += stop.strip()
        if dice.random() < 0.4:
            chosen[dice.randrange(len(chosen))] = f"<em>{dice.choice(words)}</em>"
        head = f"<h2>{space.join(dice.choices(words, k=3))}</h2>\n" if dice.random() < 0.2 else ""
        made.append(f'{head}<p class="text">{space.join(chosen)}{stop.strip()}</p>\n')
        length += len(made[-1])
    return made
