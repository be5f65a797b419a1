"""Which rules are lifted by a change, so that kept pages are read again for what they had refused."""

from __future__ import annotations

import msgspec
import pytest

from nephila.frontier.rereading import lifted
from nephila.url.scope import ScopeSpec

OLD = ScopeSpec("host", ("http://a.test/",), exclude=("/x/",), traps=("calendar",), members=("a.test",))


@pytest.mark.parametrize(
    ("rule", "change", "expected"),
    [
        ("exclude:/x/", {"exclude": ()}, True),
        ("exclude:/x/", {"exclude": ("/x/", "/y/")}, False),
        ("exclude:/x/", {"mode": "any"}, False),
        ("scope.host", {"mode": "site"}, True),
        ("scope.host", {"embeds": True}, True),
        ("scope.host", {"seeds": ("http://a.test/", "http://b.test/")}, True),
        ("scope.host", {"exclude": (), "epoch": 5}, False),
        ("include", {"include": ("/docs/",)}, True),
        ("logout", {"members": ()}, True),
        ("nofollow", {"ignore_nofollow": True}, True),
        ("nofollow", {"mode": "any"}, False),
        ("kind.sitemap", {"sitemaps": True}, True),
        ("kind.sitemap", {"exclude": ()}, False),
        ("trap:calendar", {"traps": ()}, True),
        ("trap:calendar", {"mode": "any"}, False),
        ("kind.form", {"mode": "any", "exclude": ()}, False),
    ],
)
def test_what_is_lifted(rule: str, change: dict[str, object], expected: bool) -> None:
    assert lifted(rule, OLD, msgspec.structs.replace(OLD, **change)) is expected  # type: ignore[arg-type]


def test_when_nobody_knows_the_rules_of_before() -> None:
    """After a kill in the middle of a change, or when a seed's redirect has widened the scope."""
    assert lifted("scope.host", None, OLD)
    assert not lifted("exclude:/x/", None, OLD)
