"""Session ids: each page is fetched once, whatever the token; a token that chooses the page is none."""

from __future__ import annotations

import hashlib

import pytest

from nephila.url.sessions import PLACES_MAX, RULE, TOKENS_MAX, Sessions

H = "http://h.org"


def token(n: int) -> str:
    return hashlib.md5(b"%d" % n).hexdigest()


SHAPES = [
    "/{page}?sid={token}",
    "/{page}?a=1&PHPSESSIONID={token}&b=2",
    "/(S({token}))/{page}",
    "/{page};session={token}",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_site_with_a_token_in_every_link(shape: str) -> None:
    """Every visit brings links to the same 30 pages with a new token: after two pages nothing but new pages is wanted."""
    sessions = Sessions()
    wanted: list[str] = []
    for visit in range(40):
        links = [H + shape.format(page=f"p{i}", token=token(visit)) for i in range(30 if visit < 20 else 31)]
        wanted += [link for link in links if not sessions.refusal(link)]
    assert len(wanted) <= 31 + 5
    assert {url.partition("p3")[2][:1] for url in wanted if "p30" in url} == {"0"}


@pytest.mark.parametrize(
    "shape", ["/song?sid={token}", "/song?s={token}", "/item?id={token}", "/blob/{token}/file", "/x?session={number}"]
)
def test_a_token_that_chooses_the_page_is_no_session(shape: str) -> None:
    sessions = Sessions()
    views = ["", "/lyrics", "/album"]
    urls = [f"{H}{view}{shape.format(token=token(n), number=n)}" for n in range(100) for view in views]
    assert [url for url in urls if sessions.refusal(url)] == []


def test_a_page_of_its_own_is_wanted_under_any_token() -> None:
    sessions = Sessions()
    for visit in range(3):
        for page in range(10):
            sessions.refusal(f"{H}/{page}?sid={token(visit)}")
    assert sessions.refusal(f"{H}/1?sid={token(9)}") == RULE
    assert sessions.refusal(f"{H}/new?sid={token(9)}") == ""
    assert sessions.refusal(f"http://other.org/1?sid={token(9)}") == ""


def test_memory_is_bounded() -> None:
    sessions = Sessions()
    for n in range(PLACES_MAX * 2):
        sessions.refusal(f"http://h{n}.org/?sid={token(n)}")
    for n in range(TOKENS_MAX * 2):
        sessions.refusal(f"{H}/{n}?sid={token(n)}")
    places = sessions._places
    assert len(places) == PLACES_MAX
    assert max(len(place._tokens) for place in places.values()) == TOKENS_MAX
