"""The window's words: each in both languages, each used, none missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nephila.ui
from nephila.ui.words import WORDS, speaker

UI = Path(nephila.ui.__file__).parent
TEXTS = [path.read_text() for path in (*UI.glob("*.py"), *UI.glob("templates/*.html")) if path.name != "words.py"]
SAID = re.compile(r"""\bsay\(\s*["']([\w.]+)["'](\s*[~+])?""")
USED = {(key, bool(more)) for text in TEXTS for key, more in SAID.findall(text)}


@pytest.mark.parametrize("key", WORDS)
def test_every_text_is_there_in_both_languages_with_the_same_places(key: str) -> None:
    english, chinese = WORDS[key]
    assert english.count("{") == chinese.count("{")
    assert english.strip() == english != ""
    assert re.search(r"[\u3400-\u9fff]", chinese) or english == chinese or key == "frame.language"


def test_every_key_is_used_and_every_used_key_is_there() -> None:
    whole, starts = {key for key, more in USED if not more}, tuple(key for key, more in USED if more)
    assert whole <= WORDS.keys()
    assert {key for key in WORDS if key not in whole and not key.startswith(starts)} == set()


def test_a_text_is_asked_for_by_its_key() -> None:
    assert speaker("zh")("steer.done", "x") == "已执行：x"
