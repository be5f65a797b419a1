"""The image candidates of a srcset attribute (https://html.spec.whatwg.org, "parse a srcset attribute").

A comma belongs to the URL unless it ends it, so `a,b.png 1x, c.png 2x` holds two images; a comma in parentheses of a
descriptor separates nothing.
"""

from __future__ import annotations

import re

_URL = re.compile(r"[\s,]*([^\s]+)")
_DESCRIPTORS = re.compile(r"(?:[^(),]|\([^)]*(?:\)|$)|\))*+,?")


def urls(text: str) -> list[str]:
    """The URLs of all candidates, in order. Linear in the length of `text`."""
    found = []
    at = 0
    while match := _URL.match(text, at):
        url, at = match[1], match.end()
        if not url.endswith(","):
            at = _descriptors_end(text, at)
        if url := url.rstrip(","):
            found.append(url)
    return found


def _descriptors_end(text: str, at: int) -> int:
    match = _DESCRIPTORS.match(text, at)
    return match.end() if match else len(text)
