"""Rules that take rows out of pages."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from turbohtml import parse

from nephila.errors import ConfigError
from nephila.page import extract

RULE = r"""
[[extract]]
name = "flat"
url = '/list'
rows = "li.flat"
[extract.fields]
title = "h2"
link = { select = "a", attribute = "href" }
id = { attribute = "data-id" }
rent = { select = ".rent", as = "number" }
rooms = { select = ".info", after = "Zimmer:", before = "|", as = "number" }
size = { select = ".info", find = '(\d+) m²', as = "number" }
free = { select = ".info", after = "frei ab", as = "date" }
tags = { select = ".tag", all = true }
"""
PAGE = """<ul><li class=flat data-id=7><h2> Zwei<br>Zimmer </h2><a href="/f/7?q=ü">x</a><p class=rent>1.234,56 €</p>
<p class=info>Zimmer: 2,5 | 60 m² | frei ab 1. März 2025</p><i class=tag>a</i><i class=tag>b</i></li><li class=flat></li></ul>"""


def made(text: str) -> list[extract.Rule]:
    return extract.rules(tomllib.loads(text)["extract"])


def test_fields_of_every_kind() -> None:
    (rule,) = made(RULE)
    full, empty = extract.apply(rule, parse(PAGE), "http://a.example/list", "gb18030")
    assert full == {
        "title": "Zwei Zimmer",
        "link": "http://a.example/f/7?q=%A8%B9",
        "id": "7",
        "rent": 1234.56,
        "rooms": 2.5,
        "size": 60,
        "free": "2025-03-01",
        "tags": ["a", "b"],
    }
    assert set(empty.values()) == {None}


def test_a_rule_without_rows_takes_the_page_as_one() -> None:
    (rule,) = made("[[extract]]\nname = 'a'\nurl = '.'\nfields = {t = 'h1'}")
    assert extract.apply(rule, parse("<h1>x</h1><h1>y</h1>"), "http://a/", "utf-8") == [{"t": "x"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("url = 'x'\nfields = {a = 'b'}", "rule 1: Object missing required field `name`"),
        ("name = 'n'\nurl = 'x'", "rule 'n': Object missing required field `fields`"),
        ("name = 'n'\nurl = 'x'\nfields = {}", "rule 'n': fields: Expected `object` of length >= 1"),
        ("name = '../n'\nurl = 'x'\nfields = {a = 'b'}", "rule '../n': a name of letters"),
        ("name = 'n'\nurl = '('\nfields = {a = 'b'}", "rule 'n': url = '(' is no pattern of RE2"),
        ("name = 'n'\nurl = 'x'\nrows = 'li >'\nfields = {a = 'b'}", "rule 'n', rows: invalid CSS selector \"li >\""),
        ("name = 'n'\nurl = 'x'\nfields = {a = 'b::text'}", "rule 'n', field 'a': invalid CSS selector"),
        ("name = 'n'\nurl = 'x'\nfields = {a = ''}", "rule 'n', field 'a': a CSS selector is expected"),
        ("name = 'n'\nurl = 'x'\nfields = {_a = 'b'}", "rule 'n', field '_a': names with an underscore"),
        ("name = 'n'\nurl = 'x'\nfields = {a = {find = '('}}", "rule 'n', field 'a': find = '(' is no pattern"),
        (
            "name = 'n'\nurl = 'x'\nfields = {a = {selct = 'b'}}",
            "rule 'n', field 'a': Object contains unknown field `selct`",
        ),
        ("name = 'n'\nurl = 'x'\nfields = {a = {as = 'price'}}", "rule 'n', field 'a': as: Invalid enum value 'price'"),
        ("name = 'n'\nurl = 'x'\nfields = {a = {form = '%d'}}", "rule 'n', field 'a': `form` belongs to"),
    ],
)
def test_wrong_rules_are_named_with_their_field(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        made(f"[[extract]]\n{text}")
    assert said in str(error.value)


def test_two_rules_of_one_name_and_what_is_no_list() -> None:
    with pytest.raises(ConfigError, match="two rules are named 'n'"):
        made(
            "[[extract]]\nname = 'n'\nurl = 'x'\nfields = {a = 'b'}\n[[extract]]\nname = 'N'\nurl = 'x'\nfields = {a = 'b'}"
        )
    wrong: Any = {"name": "n"}
    with pytest.raises(ConfigError, match="begun by"):
        extract.rules(wrong)
