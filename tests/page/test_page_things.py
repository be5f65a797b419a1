"""What pages say of things, in every kind of markup and as people write it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from turbohtml import parse

from nephila.page import things
from nephila.page.things import Thing

BASE = "https://shop.example/a/p"


def read(text: str) -> things.Found:
    return things.read(parse(text), BASE)


def one(text: str) -> tuple[str, Thing]:
    found = read(text)
    assert (len(found.things), found.broken, found.cut) == (1, [], False)
    return found.things[0]


def ld(text: str) -> str:
    return f"<script type='application/ld+json'>{text}</script>"


def test_the_same_product_in_four_kinds_of_markup() -> None:
    microdata = """<div itemscope itemtype="https://schema.org/Product"><b itemprop=name>Tea</b><a itemprop=url href=/t>x</a>
      <p itemprop=offers itemscope itemtype="http://schema.org/Offer"><i itemprop=price content="12.50">12,50 €</i></p></div>"""
    rdfa = """<div vocab="https://schema.org/" typeof=Product><b property=name>Tea</b><a property=url href=/t>x</a>
      <p property=offers typeof=Offer><i property=price content="12.50">12,50 €</i></p></div>"""
    json_ld = ld(
        '{"@context":"https://schema.org","@type":"Product","name":"Tea","url":"/t","offers":{"@type":"Offer","price":"12.50"}}'
    )
    wanted = Thing(
        ("Product",),
        "",
        {"name": ["Tea"], "url": ["https://shop.example/t"], "offers": [Thing(("Offer",), "", {"price": ["12.50"]})]},
    )
    assert one(microdata) == ("microdata", wanted)
    assert one(rdfa) == ("rdfa", wanted)
    assert one(json_ld) == ("json-ld", wanted)
    opengraph = "<meta property=og:title content=Tea><meta property=og:image content=/1><meta property=og:image content=/2><meta property=product:price:amount content=12.50>"
    images = ["https://shop.example/1", "https://shop.example/2"]
    said = {"title": ["Tea"], "image": images, "product:price:amount": ["12.50"]}
    assert one(opengraph) == ("opengraph", Thing(("OpenGraph",), "", said))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('\ufeff <!-- {"a": 1} -->', [{"a": 1}]),
        ('//<![CDATA[\n{"a": 1}\n//]]>', [{"a": 1}]),
        ('/*<![CDATA[*/{"a": "b -->"}/*]]>*/', [{"a": "b -->"}]),
        ('{"a": 1, /* one */ "b": "http://c, }", // two\n}', [{"a": 1, "b": "http://c, }"}]),
        ("[1,, 2, ]", [[1, 2]]),
        ('{"a": 1}\n{"b": 2};', [{"a": 1}, {"b": 2}]),
        ('{"a": "two\nlines"}', [{"a": "two\nlines"}]),
        ('{"a": NaN}', [{"a": None}]),
        ("", []),
    ],
)
def test_json_as_people_write_it(text: str, values: list[Any]) -> None:
    assert things.lenient(text) == values


@pytest.mark.parametrize("text", ["{", '{"a": }', "not json", '"', "1" * 5000, '{"a":' * 3000])
def test_json_that_nobody_can_read_is_named_and_costs_nothing_else(text: str) -> None:
    found = read(ld(text) + ld('{"@type": "Event", "name": "x"}'))
    assert (found.broken, [thing.types for _, thing in found.things]) == (["json-ld"], [("Event",)])


@pytest.mark.parametrize(
    "text", ["/*" * 50_000, '"' * 100_001, '{"a":1},' * 20_000, ", " * 50_000, "//" * 50_000, " " * 200_000 + "x"]
)
def test_json_that_attacks_takes_no_time(text: str) -> None:
    start = time.process_time()
    try:
        things.lenient(text)
    except (ValueError, RecursionError):
        pass
    assert time.process_time() - start < 2


def test_graphs_types_and_values_of_json_ld() -> None:
    text = """{"@context": "http://schema.org/", "@graph": [
      {"@type": ["Product", "schema:Car"], "@id": "#c", "schema:name": {"@value": "Käfer", "@language": "de"}, "none": null},
      {"@type": "Organization", "employee": {"@id": "#e"}, "tag": {"@list": [1, 2.5, true]}}, "stray", 5]}"""
    found = read(ld(text))
    assert [thing for _, thing in found.things] == [
        Thing(("Product", "Car"), f"{BASE}#c", {"name": ["Käfer"]}),
        Thing(("Organization",), "", {"employee": [f"{BASE}#e"], "tag": [1, 2.5, True]}),
    ]


def test_a_name_cannot_pass_for_one_of_ours() -> None:
    assert [things.short(name) for name in ("_page", "https://schema.org/price/", "schema:name", "#", "a#b")] == [
        "page", "price", "name", "value", "b",
    ]  # fmt: skip


def test_values_have_a_limit() -> None:
    found = read(ld(f'{{"@type": "A", "x": [{"1," * things.VALUES_MAX}1]}}'))
    assert found.cut
    assert len(found.things[0][1].properties["x"]) < things.VALUES_MAX


def test_depth_has_a_limit() -> None:
    _, thing = one(ld('{"a":' * 100 + "1" + "}" * 100))
    depth = 0
    while "a" in thing.properties:
        (thing,) = thing.properties["a"]
        depth += 1
    assert depth == things.DEPTH_MAX - 1  # the list of a script's values is the first


def test_references_that_multiply_are_not_followed() -> None:
    level = "".join(
        f'<p id={x}{i} itemprop=a itemscope itemref="x{i + 1} y{i + 1}"></p>' for i in range(40) for x in "xy"
    )
    start = time.process_time()
    found = read(f"{level}<div itemscope itemref=x0></div>{ld('{}')}")
    assert (found.broken, found.things) == (["microdata"], [])
    assert time.process_time() - start < 1


def test_deep_nesting_is_broken_markup_and_no_crash() -> None:
    found = read("<div itemscope><div itemscope itemprop=a>" + "<div itemscope itemprop=a>" * 600)
    assert found.broken == ["microdata"]


def test_pages_without_such_markup_need_no_tree() -> None:
    assert not things.likely(b"<p>nothing</p>")
    assert things.likely(b"<p ITEMSCOPE>")
    assert things.likely("<p itemscope>".encode("utf-16le"))
