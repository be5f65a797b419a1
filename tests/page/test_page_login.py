"""Login forms: which one it is, and byte for byte what a browser would send for it."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from turbohtml import parse

from nephila.credentials import Login
from nephila.page.login import Logins, filled, find
from nephila.types import Body, Gate, Kind, Lease, LoginForm, Outcome, Request, Response, Timings, Visit
from nephila.url.parse import resolve, same_place

URL = "https://a.example/login"
LOGINS = Logins([Login(URL, "me", "p w&")], resolve)


def sent(page: str, encoding: str = "utf-8") -> list[tuple[str, str]]:
    form = find(parse(page))
    assert form is not None
    return parse_qsl(filled(form, "me", "pw", encoding).decode(), True, True, encoding)


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        ("<form><input name=u><input type=password name=p></form>", "u=me p=pw"),
        ("<form><input type=hidden name=t value=1><input type=email name=mail><input type=password name=p></form>", "t=1 mail=me p=pw"),
        ("<form><input name=q><input name=user_name><input name=code><input type=password name=p></form>", "q= user_name=me code= p=pw"),
        ("<form><input name=a><input name=b><input type=PassWord name=p></form>", "a= b=me p=pw"),
        ("<form><input type=password name=p><input name=u><button name=go value=1>ok</button></form>", "p=pw u=me go=1"),
        ("<form><input name=u><input type=password name=p><input type=submit name=x value=y><input type=submit name=z></form>", "u=me p=pw x=y"),
        ("<form><input name=u><input type=password name=p><input type=checkbox name=c><input type=checkbox name=d checked></form>", "u=me p=pw d=on"),
        ("<form><input name=u><input type=password name=p><select name=s><option>1<option selected value=2>x</select></form>", "u=me p=pw s=2"),
        ("<form><input name=u disabled><input name=v><input type=password name=p></form>", "v=me p=pw"),
        ("<form><input type=password name=p></form>", "p=pw"),
    ],
)  # fmt: skip
def test_what_is_sent(page: str, fields: str) -> None:
    assert sent(page) == [tuple(field.split("=")) for field in fields.split()]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("<form action=/search><input name=q></form><form><input name=u><input type=password name=p></form>", ["u", "p"]),
        ("<form><input type=password name=a><input type=password name=b></form><form><input type=password name=p></form>", ["p"]),
        ("<form action=/x><input type=password name=x></form><form action=/signin><input type=password name=p></form>", ["p"]),
        ("<table><form id=login><tr><td><input name=u><tr><td><input type=password name=p></form></table>", ["u", "p"]),
        ("<form id=f></form><input name=u form=f><input type=password name=p form=f>", ["u", "p"]),
        ("<form><input name=u><input type=password name=p></form><input name=outside>", ["u", "p"]),
    ],
)  # fmt: skip
def test_which_form_it_is(page: str, names: list[str]) -> None:
    assert [name for name, _ in sent(page)] == names


@pytest.mark.parametrize(
    "page", ["", "<input type=password name=p>", "<form><input name=u></form>", "<form></form>" * 3]
)
def test_pages_without_one(page: str) -> None:
    assert find(parse(page)) is None


def test_a_form_is_sent_in_the_charset_of_its_page() -> None:
    page = "<form><input type=hidden name=_charset_><input name=用户><input type=password name=p></form>"
    form = find(parse(page))
    assert form is not None
    assert filled(form, "张\U0001f600", "a b*~", "gbk") == b"_charset_=gbk&%D3%C3%BB%A7=%D5%C5%26%23128512%3B&p=a+b*%7E"
    accepts = find(parse("<form accept-charset='big5, utf-8'><input name=u><input type=password name=p></form>"))
    assert accepts is not None
    assert filled(accepts, "中", "x", "gbk") == b"u=%A4%A4&p=x"


def response(body: str, url: str = URL, status: int = 200) -> Response:
    held, headers = Body(body.encode()), [("content-type", "text/html; charset=utf-8")]
    return Response(url, status, "http/1.1", b"", headers, held, held, b"", 0.0, Timings())


def lease(url: str = URL, kind: Kind = Kind.LOGIN, gate: Gate | None = None) -> Lease:
    return Lease(1, Request(url, kind), 7, origin="https://a.example", gate=gate or Gate(URL, "https://a.example/do"))


INPUTS = "<input name=u><input type=password name=p>"


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (f"<form method=post action=do?a=1>{INPUTS}</form>", LoginForm("https://a.example/do?a=1", b"u=me&p=p+w%26")),
        (f"<form method=POST>{INPUTS}</form>", LoginForm(URL, b"u=me&p=p+w%26")),
        (
            f"<base href=/b/><form method=post action=c>{INPUTS}</form>",
            LoginForm("https://a.example/b/c", b"u=me&p=p+w%26"),
        ),
        (
            f"<form method=post action=x>{INPUTS}<button formaction=/y>",
            LoginForm("https://a.example/y", b"u=me&p=p+w%26"),
        ),
        (f"<form>{INPUTS}</form>", LoginForm(URL, b"", "its form would send the password in an address")),
        (
            f"<form method=post action=http://a.example/do>{INPUTS}</form>",
            LoginForm("http://a.example/do", b"", "its form sends to another origin (http://a.example)"),
        ),
        ("<p>welcome", None),
    ],
)
def test_the_form_of_a_login_page(page: str, found: LoginForm | None) -> None:
    assert LOGINS.form(lease(), response(page), page.encode()) == found


@pytest.mark.parametrize(
    ("page", "asks"),
    [
        (f"<form method=post action=/do?next=1>{INPUTS}</form>", True),
        (f"<form method=post action=/change>{INPUTS}</form>", False),
        ("<p>the type=password attribute", False),
    ],
)
def test_a_page_that_asks_instead(page: str, asks: bool) -> None:
    assert LOGINS.asks(lease("https://a.example/1", Kind.PAGE), response(page), page.encode()) is asks


@pytest.mark.parametrize(
    ("outcome", "status", "target", "away"),
    [
        (Outcome.MOVED, 302, "https://a.example/login?next=%2F1", True),
        (Outcome.MOVED, 302, "https://a.example/2", False),
        (Outcome.MOVED, 302, "http://a.example/login", False),
        (Outcome.REFUSED, 401, "", True),
        (Outcome.REFUSED, 403, "", False),
    ],
)
def test_an_answer_that_wants_a_login(outcome: Outcome, status: int, target: str, away: bool) -> None:
    held = lease("https://a.example/1", Kind.PAGE)
    visit = Visit(held, outcome, response=response("", "https://a.example/1", status), moved_to=target)
    assert LOGINS.turned_away(visit) is away


def test_a_place_is_its_path_and_what_it_needs_of_the_query() -> None:
    place = "https://a.example/member.php?mod=logging&action=login"
    assert same_place("https://a.example/member.php?action=login&mod=logging&referer=x", place)
    assert not same_place("https://a.example/member.php?mod=register", place)
    assert not same_place("https://b.example/member.php?mod=logging&action=login", place)
