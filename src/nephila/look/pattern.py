"""A regular expression of RE2 held against many addresses at once.

A question to RE2 costs 3 µs from Python, most of it before RE2 begins: three seconds a million addresses. So addresses are joined by line
ends and RE2 looks for the next line that matches; `never_nl` keeps a match within its line. An expression that could tell lines from whole
texts (`\\A`, `\\z`, flags) is asked address by address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nephila.errors import ConfigError

PATTERN_CHARS_MAX = 500
_PROGRAM_BYTES = 1 << 20
_TELLS = ("\\A", "\\z", "\\Q", "\\C", "(?")


class Pattern:
    """`matching(texts)` → places of those in which it is found. Raises ConfigError for what is none."""

    def __init__(self, text: str) -> None:
        import re2  # type: ignore[import-untyped]  # most tables are asked without

        if len(text) > PATTERN_CHARS_MAX:
            raise ConfigError(
                f"the regular expression has {len(text)} characters, at most {PATTERN_CHARS_MAX} are taken"
            )
        options = re2.Options()
        options.log_errors, options.never_capture, options.max_mem = False, True, _PROGRAM_BYTES
        self._singly = any(sign in text for sign in _TELLS)
        options.never_nl = not self._singly
        try:
            self._regex: Any = re2.compile(text if self._singly else f"(?m:{text})", options)
        except (re2.error, UnicodeError) as error:
            said = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error
            raise ConfigError(f"{text!r} is not a regular expression of RE2 ({said})") from error

    def matching(self, texts: Sequence[str], most: int = 1 << 62) -> list[int]:
        """The first `most` places, ascending. No text may hold a line end."""
        if self._singly:
            found = (place for place, text in enumerate(texts) if self._regex.search(text))
            return [place for place, _ in zip(found, range(most), strict=False)]
        joined = "\n".join(texts).encode()
        places, line, at = list[int](), 0, 0
        while len(places) < most and at <= len(joined) and line < len(texts):
            match = self._regex.search(joined, at)
            if match is None:
                break
            line += joined.count(b"\n", at, match.start())
            places.append(line)
            end = joined.find(b"\n", match.end())
            if end < 0:
                break
            line, at = line + 1, end + 1
        return places
