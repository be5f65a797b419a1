"""`--types`: what is let through by its headers."""

from __future__ import annotations

import pytest
from fetch.rawweb import lease

from nephila.errors import ConfigError
from nephila.fetch.wanted import types_rule
from nephila.types import Kind


@pytest.mark.parametrize(
    ("content_type", "reason"),
    [
        ("application/pdf", ""),
        ("Image/PNG; x=y", ""),
        ("text/html; charset=utf-8", ""),
        ("application/xhtml+xml", ""),
        ("image/svg+xml", ""),
        ("text/css", ""),
        ("", ""),
        ("video/mp4", "type:video/mp4"),
        ("application/pdf2", "type:application/pdf2"),
        ("text/plain", "type:text/plain"),
    ],
)
def test_types(content_type: str, reason: str) -> None:
    rule = types_rule(["application/pdf, image/*"])
    assert rule(lease("http://a/"), [("content-type", content_type)]) == reason


@pytest.mark.parametrize("kind", [Kind.ROBOTS, Kind.SITEMAP, Kind.LOGIN])
def test_kinds_that_are_needed_whatever_their_type(kind: Kind) -> None:
    assert types_rule(["image/*"])(lease("http://a/", kind=kind), [("content-type", "text/plain")]) == ""


def test_wrong_pattern() -> None:
    with pytest.raises(ConfigError, match="pdf"):
        types_rule(["pdf"])
