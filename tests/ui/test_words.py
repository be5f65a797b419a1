"""The window's words: each in both languages, each used, none missing."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from both import check_both

import nephila.ui
from nephila.gauges import TOLD
from nephila.ui.words import WARNINGS, WORDS, speaker, warned

UI = Path(nephila.ui.__file__).parent
TEXTS = [path.read_text() for path in (*UI.glob("*.py"), *UI.glob("templates/*.html")) if path.name != "words.py"]
SAID = re.compile(r"""\bsay\(\s*["']([\w.]+)["'](\s*[~+])?""")
USED = {(key, bool(more)) for text in TEXTS for key, more in SAID.findall(text)}


@pytest.mark.parametrize("key", WORDS)
def test_every_text_is_there_in_both_languages_with_the_same_places(key: str) -> None:
    english, chinese = WORDS[key]
    check_both((chinese, english) if key == "frame.language" else (english, chinese), same=True)


def test_every_key_is_used_and_every_used_key_is_there() -> None:
    whole, starts = {key for key, more in USED if not more}, tuple(key for key, more in USED if more)
    assert whole <= WORDS.keys()
    assert {key for key in WORDS if key not in whole and not key.startswith(starts)} == set()


def test_a_text_is_asked_for_by_its_key() -> None:
    assert speaker("zh")("steer.done", "x") == "已执行：x"


def places(text: str) -> set[tuple[str, str]]:
    return {(name, spec or "") for _, name, spec, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("name", TOLD)
def test_every_warning_is_said_in_chinese_with_the_same_facts(name: str) -> None:
    assert places(WARNINGS[name]) == places(TOLD[name][1])
    assert TOLD.keys() == WARNINGS.keys()


def test_a_warning_is_said_in_the_language_of_who_reads() -> None:
    warning = {"text": "a is lost", "name": "host.unreachable", "facts": {"origin": "http://a.test", "reason": "dns"}}
    assert warned("zh", warning) == "http://a.test 不再回应（dns）"
    assert warned("en", warning) == warned("zh", warning | {"name": "new"}) == "a is lost"
