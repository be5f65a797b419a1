"""`--types`: which bodies are wanted, decided when the headers are there and before the body is."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from nephila.errors import ConfigError
from nephila.types import Kind, Lease

Wanted = Callable[[Lease, list[tuple[str, str]]], str]
"""(lease, headers) → "" when the body is wanted, else the reason why the transfer is given up."""

READ_FOR_LINKS = frozenset({"", "text/html", "application/xhtml+xml", "text/css", "text/xml", "application/xml"})
"""Always let through: without these the wanted ones are never found. "" is a body whose type is not said."""

ALWAYS = frozenset({Kind.ROBOTS, Kind.SITEMAP, Kind.FEED, Kind.LOGIN})


def types_rule(patterns: list[str]) -> Wanted:
    """A rule that wants only the media types of `patterns` (`application/pdf`, `image/*`), and pages for their links.

    Raises ConfigError for a pattern that is not TYPE/SUBTYPE.
    """
    wanted = [part.strip().lower() for pattern in patterns for part in pattern.split(",") if part.strip()]
    for pattern in wanted:
        if pattern.count("/") != 1:
            raise ConfigError(f"types: {pattern!r} is no media type: write application/pdf or image/*")

    def rule(lease: Lease, headers: list[tuple[str, str]]) -> str:
        media_type = (
            next((value for name, value in headers if name == "content-type"), "").partition(";")[0].strip().lower()
        )
        if lease.request.kind in ALWAYS or media_type in READ_FOR_LINKS or media_type.endswith("+xml"):
            return ""
        return "" if any(fnmatchcase(media_type, pattern) for pattern in wanted) else f"type:{media_type[:100]}"

    return rule
