"""What holds of every text that is there in English and Chinese, whoever says it."""

from __future__ import annotations

import re

from nephila.types import Both

CHINESE = re.compile("[\u3400-\u9fff]")


def check_both(text: Both, *, same: bool = False) -> None:
    """Both are there and take the same facts. `same`: a name that both languages share will do."""
    english, chinese = text
    assert english.strip() == english != "", text
    assert _places(english) == _places(chinese), text
    assert CHINESE.search(chinese) or (same and english == chinese), text


def _places(text: str) -> list[str]:
    """`{}` without numbers are as good as numbered ones: a language may take them in another order."""
    found = re.findall(r"\{(\w*)", text)
    return sorted(name or str(n) for n, name in enumerate(found))
