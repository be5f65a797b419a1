"""What is a word, for an index and for those who ask it: the same cutting on both sides.

Letters of any script are folded (NFKC, lower case, Latin, Greek and Cyrillic accents off). Scripts that put no blanks between words (Chinese,
Japanese, Thai, …) and Korean, whose words carry their particles with them, are cut into pairs: 北京大学 → 北京, 京大, 大学, and the last character
by itself, so that a single character is found as the beginning of a word. A question for 北京大学 is then a phrase of three words, and a
word of two characters is one. A dictionary would find fewer, better words, and none that it does not know: names above all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

PAIRS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u3130-\u318f\u31a0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Ranges of the scripts that are cut into pairs."""
_RUN = re.compile(f"[{PAIRS}]+|[^\\W_{PAIRS}]+")
_PAIRED = re.compile(f"[{PAIRS}]")
_ACCENTS = re.compile("[\u0300-\u036f]")
WORD_CHARS = 100
"""A longer word is cut here: nobody asks for it, and the index would hold it."""


def fold(text: str) -> str:
    """As it is compared. The same length as `text` for most scripts, but not for all."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def runs(text: str) -> list[str]:
    """The unbroken pieces of a folded text: words, and strings that are cut into pairs."""
    return [run[:WORD_CHARS] if not _PAIRED.match(run) else run for run in _RUN.findall(text)]


def paired(run: str) -> bool:
    return _PAIRED.match(run) is not None


def words(text: str) -> str:
    """The words of a text for the index, a blank between."""
    folded = fold(text)
    if _PAIRED.search(folded):
        return " ".join(_cut(runs(folded)))
    return " ".join([run[:WORD_CHARS] for run in _RUN.findall(folded)])


def asked(text: str) -> tuple[list[str], str]:
    """(words that stand one after another, what the word behind them begins with or "") of a text that is looked for."""
    found = runs(fold(text))
    if not found:
        return [], ""
    *before, last = found
    if not paired(last):
        return [*_cut(before), last], ""
    if len(last) == 1:
        return [*_cut(before)], last
    return [*_cut(before), *(last[i : i + 2] for i in range(len(last) - 1))], ""


def _cut(found: list[str]) -> Iterator[str]:
    for run in found:
        if paired(run):
            for i in range(len(run)):
                yield run[i : i + 2]
        else:
            yield run
