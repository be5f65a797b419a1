"""Pages that were fetched with a credential are seen by nobody who does not name it."""

from __future__ import annotations

from typing import Any

import pytest

from nephila.errors import ConfigError
from nephila.types import Outcome
from nephila.views import registry
from nephila.views.source import Source


@pytest.fixture
def members(job: Any) -> Any:
    """A job with an open page, one of a member's, one that needs two credentials, and a redirect that only members see."""
    job.page("https://a.example/", "<title>open</title>")
    job.page("https://a.example/in", "<title>inside</title>", access="basic@a.example")
    job.page("https://a.example/both", "<title>both</title>", access="basic@a.example cookies")
    job.page("https://a.example/go", outcome=Outcome.MOVED, moved_to="https://a.example/hidden", access="cookies")
    return job


@pytest.mark.parametrize(
    ("access", "paths", "moved", "left"),
    [
        ((), ["/"], 0, {"basic@a.example": 1, "basic@a.example cookies": 1, "cookies": 1}),
        (("basic@a.example",), ["/", "/in"], 0, {"basic@a.example cookies": 1, "cookies": 1}),
        (("basic@a.example", "cookies"), ["/", "/in", "/both"], 1, {}),
    ],
)
def test_who_sees_what(
    members: Any, access: tuple[str, ...], paths: list[str], moved: int, left: dict[str, int]
) -> None:
    with Source(members.folder, members.decode, frozenset(access)) as source:
        assert [kept.url.removeprefix("https://a.example") for kept in source.pages()] == paths
        assert len(list(source.visits())) == len(paths) + moved
        assert len(list(source.moved())) == moved
        assert source.left_out() == left


@pytest.mark.parametrize("view", ["urls", "jsonl", "mirror"])
def test_every_view_says_what_it_left_out(members: Any, view: str) -> None:
    said = registry.export(view, members.folder, "", members.decode)
    assert said.endswith(
        "3 visits with a credential are left out (--with basic@a.example --with cookies takes them in)"
    )
    place = members.folder / "views"
    left = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())
    assert b"a.example/" in left
    assert not any(word in left for word in (b"inside", b"both", b"hidden", b"a.example/in\n", b'a.example/in"'))
    said = registry.export(view, members.folder, "", members.decode, frozenset({"basic@a.example", "cookies"}))
    assert "left out" not in said


def test_an_address_is_as_open_as_the_page_where_it_was_found(members: Any) -> None:
    inside = members.page("https://a.example/more", access="cookies")
    members.con.execute(
        "INSERT INTO url (fp, host, url, kind, depth, parent, state) VALUES (77, 1, 'https://a.example/deep', 'page', 2, ?, 'queued')",
        (inside,),
    )
    for access, seen in ((frozenset[str](), False), (frozenset({"cookies"}), True)):
        with Source(members.folder, members.decode, access) as source:
            found = [url for url, _, _ in source.addresses()]
        assert (
            "https://a.example/deep" in found,
            "https://a.example/more" in found,
            "https://a.example/" in found,
        ) == (seen, seen, True)


def test_a_name_that_is_none_is_said(members: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"--with basic: there is no such credential .*; there are: basic@a.example, cookies"
    ):
        registry.export("urls", members.folder, "", members.decode, frozenset({"basic"}))
