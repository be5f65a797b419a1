"""Changing the addresses of stylesheets and srcset attributes in place; all else stays as it was written.

One pass of one pattern whose parts never give back what they took: linear in the length of the text whatever it holds
(https://www.w3.org/TR/css-syntax-3/ section 4.3). Comments, strings and escapes are stepped over.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CANDIDATE = re.compile(r"([\s,]*)([^\s]+)")
_DESCRIPTORS = re.compile(r"(?:[^(),]|\([^)]*(?:\)|$)|\))*+,?")
_CSS_CHARSET = re.compile(r'@charset "[^"]{0,60}";')

_STRING = r""" "(?:[^"\\\n\r\f]|\\(?s:.))*+" | '(?:[^'\\\n\r\f]|\\(?s:.))*+' """
_CSS = re.compile(
    rf"""
      /\*(?s:[^*]|\*(?!/))*+(?:\*/)?
    | (?P<at>@import \s*+ (?:/\*(?s:[^*]|\*(?!/))*+\*/\s*+)*+) (?P<rule>{_STRING})
    | @namespace [^;{{]*+
    | (?<![\w\-]) (?P<open>(?:url|src) \( \s*+)
        (?: (?P<quoted>{_STRING}) | (?P<bare> (?:[^\\\s()'"\x00-\x08\x0b\x0e-\x1f\x7f] | \\[^\n\r\f])++ ) ) (?=\s*+(?:\)|\Z))
    | {_STRING}
    | \\(?s:.)
    """,
    re.I | re.X,
)
_CSS_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|((?s:.)))", re.I)


def srcset(value: str, to: Callable[[str], str]) -> str:
    """The candidates of a srcset attribute; a comma inside an address is escaped where it would end it."""
    parts, at = [], 0
    while found := _CANDIDATE.match(value, at):
        lead, url, at = found[1], found[2], found.end()
        tail = url[len(url.rstrip(",")) :]
        described = None if tail else _DESCRIPTORS.match(value, at)
        parts.append(f"{lead}{_unspaced(to(url.rstrip(',')))}{tail}")
        if described:
            parts.append(described[0])
            at = described.end()
    return "".join(parts) + value[at:]


def _unspaced(url: str) -> str:
    ended = url.rstrip(",")
    return re.sub(r"\s", "%20", ended) + "%2C" * (len(url) - len(ended))


def css(text: str, to: Callable[[str], str]) -> str:
    """A stylesheet or the declarations of a style attribute. Linear in the length of `text`."""
    return _CSS.sub(lambda token: _css_token(token, to), text)


def _css_token(token: re.Match[str], to: Callable[[str], str]) -> str:
    kind = token.lastgroup
    if kind not in {"rule", "quoted", "bare"}:
        return token[0]
    written = token[kind]
    value = written if kind == "bare" else written[1:-1]
    address = _CSS_ESCAPE.sub(_css_unescaped, value) if "\\" in value else value
    new = to(address)
    if new == address:
        return token[0]
    quoted = '"' + re.sub(r"\s", " ", new).replace("\\", "\\\\").replace('"', '\\"') + '"'
    return (token["at"] if kind == "rule" else token["open"]) + quoted


def _css_unescaped(found: re.Match[str]) -> str:
    digits, line_end, char = found.groups()
    if digits:
        code = int(digits, 16)
        return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"
    return "" if line_end else char


def stylesheet(text: str, to: Callable[[str], str]) -> str:
    """A stylesheet as a file of its own, in UTF-8."""
    return css(_CSS_CHARSET.sub('@charset "utf-8";', text, count=1) if text.startswith("@charset") else text, to)
