"""The URLs of a stylesheet: `url(…)` and `@import "…"`, as a browser's tokenizer sees them.

Source: https://www.w3.org/TR/css-syntax-3/ section 4.3. One pass of one pattern whose parts never give back what they
took, so the time is linear in the length of the text whatever it holds; it begins with one set of characters, by which
the regular expression engine skips over everything else. Comments, strings, escapes, `@namespace` and
data: URLs are stepped over; a broken `url(` is dropped as a browser drops it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STRING = r""" "(?:[^"\\\n\r\f]|\\(?s:.))*+"? | '(?:[^'\\\n\r\f]|\\(?s:.))*+'? """
_TOKENS = re.compile(
    rf"""
    [/@uU"'\\] (?:
      (?<=/) \*(?s:[^*]|\*(?!/))*+(?:\*/)?
    | (?<=@) (?i:import) \s*+ (?:/\*(?s:[^*]|\*(?!/))*+\*/\s*+)*+ (?P<rule>{_STRING})
    | (?<=@) (?i:namespace) [^;{{]*+
    | (?<=[uU]) (?<![\w\-].) [rR][lL]\( \s*+
        (?: (?P<quoted>{_STRING})
          | (?P<bare> (?:[^\\\s()'"\x00-\x08\x0b\x0e-\x1f\x7f] | \\[0-9A-Fa-f]{{1,6}}+(?:\r\n|[ \t\n\r\f])?+ | \\[^\n\r\f])*+ ) )
        \s*+ (?: \) | \Z | (?P<broken>[^)\\]*+ (?:\\(?s:.)[^)\\]*+)*+ \)?) )
    | (?<=") (?:[^"\\\n\r\f]|\\(?s:.))*+"?
    | (?<=') (?:[^'\\\n\r\f]|\\(?s:.))*+'?
    | (?<=\\) (?s:.)
    )
    """,
    re.X,
)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|((?s:.)))", re.I)


def urls(text: str) -> Iterator[tuple[str, str]]:
    """(URL as written with escapes undone, `url` or `import`) of everything a stylesheet loads, in order."""
    for token in _TOKENS.finditer(text):
        name = token.lastgroup
        if name == "bare":
            value = token["bare"]
        elif name == "quoted" or name == "rule":
            value = token[name][1:].removesuffix(token[name][0])
        else:
            continue
        if "\\" in value:
            value = _ESCAPE.sub(_unescaped, value)
        if value and value[0] != "#" and value[:5].lower() != "data:":
            yield value, "import" if name == "rule" else "url"


def _unescaped(match: re.Match[str]) -> str:
    digits, line_end, character = match.groups()
    if digits:
        code = int(digits, 16)
        return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"
    return "" if line_end else str(character)
