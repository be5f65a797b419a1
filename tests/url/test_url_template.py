from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.url.parse import normalise
from nephila.url.template import coarser, combined, dated, parameters, template

H = "http://h.org"


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("/", "/"),
        ("/?x=1", "/?x"),
        ("/a", "/*"),
        ("/a/", "/*/"),
        ("/docs/sql-create.html", "/docs/*.html"),
        ("/docs/v1.2/", "/docs/*/"),
        ("/blog/2020/01/02/how-to/", "/blog/{n}/{n}/{n}/*/"),
        ("/2020-01-02/x", "/{d}/*"),
        ("/c/0123456789abcdef0/tree/a.c", "/c/{id}/tree/*.c"),
        ("/(S(abc1))/x.aspx", "/{id}/*.aspx"),
        ("/u/john/p/1.html", "/u/john/p/*.html"),
        ("/x.php?y=1&m=2&y=3", "/x.php?m,y"),
        ("/cal?m=2&y=1", "/cal?m,y"),
        ("/red-shoes?size=1", "/*?size"),
        ("/x?12", "/x?{n}"),
        ("/x?" + "&".join(f"{chr(97 + i)}=1" for i in range(20)), "/x?a,b,c,d,e,f,g,h,i,j,k,l,…"),
    ],
)
def test_what_an_address_comes_down_to(url: str, form: str) -> None:
    assert template(H + url) == form


def test_forms_of_forms() -> None:
    assert coarser("/u/john/{n}/*.html") == "/{w}/{w}/{n}/*.html"
    assert coarser("/shop/list.php?a,b") == "/{w}/*.php?a,b"
    assert [combined(form) for form in ("/list?a,b", "/list?a", "/list")] == ["/list?…", "", ""]
    assert [parameters(form) for form in ("/list", "/list?a", "/list?a,b", "/list?…")] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("/cal?y=1&m=2", True),
        ("/events?month=3", True),
        ("/events/2031/4/", True),
        ("/events/2031-04/", True),
        ("/list?view=2031-04-01", True),
        ("/list?page=3", False),
        ("/list?m=3", False),
        ("/item/12/x", False),
    ],
)
def test_places_in_a_calendar(url: str, right: bool) -> None:
    assert dated(template(H + url), H + url) is right


@given(st.text(alphabet="ab1/?&=;.-%{}*…", max_size=60))
def test_every_address_has_a_form_and_a_form_of_itself(text: str) -> None:
    url = normalise(f"{H}/{text}")
    assert url
    form = template(url)
    assert form.startswith("/")
    assert coarser(coarser(form)) == coarser(form)
