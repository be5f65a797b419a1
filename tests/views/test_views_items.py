"""Items: a table for each type of thing that pages speak of."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nephila import cli, settings, stored
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.views import items, registry, spool

H = "http://shop.example"
OFFER = '{"@type": "Offer", "price": %s, "priceCurrency": "EUR"}'


def product(name: str, *prices: float) -> str:
    offers = ", ".join(OFFER % price for price in prices)
    return (
        f'<script type="application/ld+json">{{"@type": "Product", "name": "{name}", "offers": [{offers}],}}</script>'
    )


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in (folder / name).read_bytes().splitlines()]


def export(job: Any, to: Path | str = "", **chosen: Any) -> str:
    return registry.export("items", job.folder, str(to), job.decode, chosen=chosen)


def test_a_table_per_type_with_where_each_row_comes_from(job: Any) -> None:
    job.page(f"{H}/tea", product("Tea", 3.5, 4), charset="utf-8")
    job.page(f"{H}/none", "<p>nothing</p>")
    job.page(f"{H}/bad", "<script type='application/ld+json'>{</script>")
    assert export(job) == (
        f"2 Offer, 1 Product of 3 pages in {job.folder / 'views' / 'items'}; 1 pages with broken json-ld"
    )
    folder = job.folder / "views" / "items"
    assert sorted(path.name for path in folder.iterdir()) == ["Offer.jsonl", "Product.jsonl", "tables.json"]
    base = {"_page": f"{H}/tea", "_fetched": "2023-11-14T22:13:20Z", "_markup": "json-ld"}
    assert table(folder, "Product.jsonl") == [
        base | {"_row": 1, "_of": 0, "_inside": "", "_type": "Product", "_id": "", "name": "Tea"}
        | {"offers.price": 3.5, "offers.priceCurrency": "EUR"}
    ]  # fmt: skip
    assert [(row["_row"], row["_of"], row["_inside"], row["price"]) for row in table(folder, "Offer.jsonl")] == [
        (2, 1, "Product.offers", 3.5),
        (3, 1, "Product.offers", 4),
    ]
    assert msgspec.json.decode((folder / "tables.json").read_bytes()) == {"Product.jsonl": 1, "Offer.jsonl": 2}


def test_goods_inside_a_list_have_rows(job: Any) -> None:
    inner = '{"@type": "ListItem", "item": {"@type": "Product", "name": "%s"}}'
    text = f'{{"@type": "ItemList", "itemListElement": [{inner % "a"}, {inner % "b"}]}}'
    job.page(f"{H}/", f'<script type="application/ld+json">{text}</script>')
    export(job)
    rows = table(job.folder / "views" / "items", "Product.jsonl")
    assert [(row["name"], row["_inside"]) for row in rows] == [(n, "ItemList.itemListElement.item") for n in "ab"]


def test_csv_has_every_name_as_a_column_and_runs_no_formula(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/1", '<p itemscope itemtype="http://schema.org/Product"><b itemprop=name>=1+1</b>')
    job.page(
        f"{H}/2", '<p itemscope itemtype="http://schema.org/Product"><b itemprop=color>a</b><b itemprop=color>b, c</b>'
    )
    export(job, tmp_path / "t", form="csv", safe_cells=True)
    with (tmp_path / "t" / "Product.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["_page"], row["name"], row["color"]) for row in rows] == [
        (f"{H}/1", "'=1+1", ""),
        (f"{H}/2", "", '["a","b, c"]'),
    ]


def test_columns_beyond_the_limit_are_kept_in_one_cell(job: Any, tmp_path: Path) -> None:
    many = ", ".join(f'"p{n}": {n}' for n in range(spool.COLUMNS_MAX + 5))
    job.page(f"{H}/", f'<script type="application/ld+json">{{"@type": "Thing", {many}}}</script>')
    export(job, tmp_path / "t", form="csv")
    with (tmp_path / "t" / "Thing.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert len(row) == spool.COLUMNS_MAX + 1
    last = spool.COLUMNS_MAX + 4
    assert msgspec.json.decode(row["_more"])[f"p{last}"] == last


def test_types_beyond_the_limit_share_a_table(job: Any) -> None:
    many = ", ".join(f'{{"@type": "T{n}", "a": {n}}}' for n in range(spool.TABLES_MAX + 3))
    job.page(f"{H}/", f'<script type="application/ld+json">[{many}]</script>')
    export(job)
    rows = table(job.folder / "views" / "items", "others.jsonl")
    assert [row["_type"] for row in rows] == [f"T{n}" for n in range(spool.TABLES_MAX, spool.TABLES_MAX + 3)]


def test_a_type_cannot_name_a_file_elsewhere(job: Any) -> None:
    types = ["../../evil", "Product", "product", "商品", "a\\u0000b"]
    things = ", ".join(f'{{"@type": "{name}", "x": 1}}' for name in types)
    job.page(f"{H}/", f'<script type="application/ld+json">[{things}]</script>')
    export(job)
    names = sorted(path.name for path in (job.folder / "views" / "items").iterdir())
    assert names == ["Product.jsonl", "ab.jsonl", "evil.jsonl", "others.jsonl", "tables.json"]


@pytest.mark.parametrize(
    ("charset", "name"), [("gb18030", "龙井茶"), ("big5", "龍井茶"), ("shift_jis", "緑茶"), ("euc-kr", "녹차")]
)
def test_goods_in_every_script(job: Any, charset: str, name: str) -> None:
    text = f'<meta charset={charset}><p itemscope itemtype="http://schema.org/Product"><b itemprop=name>{name}</b>'
    job.page(f"{H}/", text.encode(charset))
    export(job)
    assert [row["name"] for row in table(job.folder / "views" / "items", "Product.jsonl")] == [name]


def test_a_second_export_takes_the_place_of_the_first_and_of_nothing_else(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/", '<p itemscope itemtype="http://schema.org/Event"><b itemprop=name>x</b>')
    export(job, tmp_path / "t")
    job.page(f"{H}/", '<p itemscope itemtype="http://schema.org/Recipe"><b itemprop=name>x</b>', round=2)
    export(job, tmp_path / "t")
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == ["Recipe.jsonl", "tables.json"]
    (tmp_path / "t" / "mine.jsonl").write_text("{}")
    with pytest.raises(ConfigError, match=r"holds what is no export of items \(mine.jsonl\)"):
        export(job, tmp_path / "t")


RULES = """
[[extract]]
name = "job"
url = '/jobs/'
rows = "li"
fields = {title = "b", pay = {select = "i", as = "number"}}
[[extract]]
name = "none"
url = '/nowhere'
fields = {a = "b"}
"""


@pytest.fixture
def ruled(job: Any, tmp_path: Path) -> Path:
    """A job site of two designs, one of which the rules do not fit, in GB18030; and the file of rules."""
    new = "<meta charset=gb18030><li><b>工程师</b><i>月薪 1.5万元</i><li><b>厨师</b><i>面议</i><li>"
    for n in range(3):
        job.page(f"{H}/jobs/new/{n}", new.encode("gb18030"))
    job.page(f"{H}/jobs/old/x.html", "<li><p>old</p>" + product("Tea", 1))
    job.page(f"{H}/jobs/gone/x.html", "<p>gone</p>")
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path / "rules.toml"


def test_rules_fill_tables_beside_those_of_types(job: Any, ruled: Path) -> None:
    said = export(job, rules=ruled)
    folder = job.folder / "views" / "items"
    assert said == (
        f"6 rules/job, 1 Product, 1 Offer of 5 pages in {folder}; rule none: no page has such an address"
        "; rule job, field title: matches on none of 1 pages /jobs/old/*.html"
        "; rule job, field pay: matches on none of 1 pages /jobs/old/*.html"
        "; rule job: its rows match on none of 1 pages /jobs/gone/*.html"
    )
    rows = table(folder, "rules/job.jsonl")
    origin = {"_page": f"{H}/jobs/new/0", "_fetched": "2023-11-14T22:13:20Z", "_markup": "rule"}
    assert rows[:2] == [
        origin | {"_row": 1, "title": "工程师", "pay": 15000},
        origin | {"_row": 2, "title": "厨师"},
    ]
    assert len(rows) == 6
    export(job)
    assert not (folder / "rules").exists()


def test_extract_shows_what_rules_find(job: Any, ruled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["extract", str(job.folder), "--rules", str(ruled)]) == 0
    said = capsys.readouterr()
    rows = [msgspec.json.decode(line) for line in said.out.splitlines()]
    assert [(row["_rule"], row["title"]) for row in rows] == [("job", "工程师"), ("job", "厨师")] * 3
    assert "rule none: no page has such an address" in said.err


def test_a_preview_ends_after_ten_rows(job: Any, ruled: Path) -> None:
    for n in range(20):
        job.page(f"{H}/jobs/{n}", "<li><b>x</b>")
    rows, _ = registry.extract(job.folder, ruled, job.decode)
    assert len(rows) == 10


def test_rules_of_the_settings_are_the_usual_ones(job: Any, ruled: Path) -> None:
    stored.write(Config(extract=tomllib.loads(RULES)["extract"]), job.folder / "crawl.toml")
    assert settings.load({}, {}, None, job.folder / "crawl.toml").extract == tomllib.loads(RULES)["extract"]
    assert export(job).startswith("6 rules/job, ")


def test_wrong_rules_end_with_2_and_are_named(job: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.toml"
    file.write_text("[[extract]]\nname = 'job'\nurl = '.'\nfields = {title = 'b >'}")
    assert cli.main(["extract", str(job.folder), "--rules", str(file)]) == 2
    assert "rule 'job', field 'title': invalid CSS selector" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="rule 'job', field 'title'"):
        settings.check(settings.load({}, {}, file))
    file.write_text("")
    assert cli.main(["export", "items", str(job.folder), "--rules", str(file)]) == 2
    assert "holds no [[extract]]" in capsys.readouterr().err
    assert cli.main(["extract", str(job.folder)]) == 2
    assert "give --rules FILE" in capsys.readouterr().err


def test_mistakes_are_told(job: Any) -> None:
    with pytest.raises(ConfigError, match="--form xml: there are: jsonl, csv"):
        export(job, form="xml")


def test_names_with_dots_end_somewhere() -> None:
    thing = items.Thing(("A",), "", {"a": [1]})
    for _ in range(10):
        thing = items.Thing(("A",), "", {"a": [thing]})
    assert items.flat(thing) == {}
    assert items.flat(items.Thing((), "", {"x": [items.Thing((), "", {"y": [1, 2]})]})) == {"x.y": [1, 2]}
