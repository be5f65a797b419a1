"""Tables of addresses: what a filter lets through, every order page by page, what a bounded look says of itself, whose pages are left out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from look.made import Made
from msgspec import structs

from nephila.errors import ConfigError
from nephila.look import look as looking
from nephila.look import urls
from nephila.look.look import Look
from nephila.look.urls import SORTS, Question, Row, table

A, B = "https://a.example", "http://b.example:8080"
OUTCOMES = (
    ("OK", 200, "text/html"),
    ("OK", 200, "image/png"),
    ("REFUSED", 404, "text/html"),
    ("MOVED", 301, ""),
    ("UNREACHABLE", 0, ""),
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """300 addresses of every sort, the same each time."""
    made, chance = Made(tmp_path_factory.mktemp("many") / "out"), random.Random(5)
    made.con.execute("BEGIN")
    rule = made.con.execute("INSERT INTO rule (text, since) VALUES ('scope.host', 0)").lastrowid
    for n in range(300):
        state = chance.choice(["done"] * 6 + ["queued", "refused", "too_deep", "parked"])
        folder = chance.choice(("news", "Docs", "img"))
        id = made.add(
            f"{chance.choice((A, A, B))}/{folder}/{n}.html",
            state=state,
            depth=chance.randrange(6),
            rule=rule * (state == "refused"),
        )
        if state == "done":
            outcome, status, media_type = chance.choice(OUTCOMES)
            made.visit(id, outcome=outcome, status=status, media_type=media_type, bytes=chance.randrange(9), title=f"Title {n % 10}",
                       started=1e9 + chance.randrange(50), ms=chance.randrange(5))  # fmt: skip
    made.con.execute("COMMIT")
    yield made
    made.con.close()


@pytest.fixture
def wide(many: Made) -> Iterator[Look]:
    found = Look(many.folder)
    yield found
    found.close()


def every(look: Look, asked: Question) -> list[Row]:
    """All rows, page after page, part after part."""
    found: list[Row] = []
    while True:
        answer = table(look, asked)
        found += answer.rows
        following = answer.next or answer.on
        if following is None:
            return found
        asked = following


def visited(row: Row) -> bool:
    return row.started > 0


FILTERS: list[tuple[dict[str, Any], Callable[[Row], bool]]] = [
    ({}, lambda row: True),
    ({"outcome": "REFUSED"}, lambda row: row.outcome == "REFUSED"),
    ({"state": "queued"}, lambda row: row.state == "queued"),
    ({"state": "done"}, lambda row: row.state == "done"),
    ({"state": "refused"}, lambda row: row.state == "refused"),
    ({"status": "404"}, lambda row: row.status == 404),
    ({"status": "3xx"}, lambda row: row.status == 301),
    ({"media_type": "image/*"}, lambda row: row.media_type == "image/png"),
    ({"media_type": "text/html"}, lambda row: row.media_type == "text/html"),
    ({"depth": 0}, lambda row: row.depth == 0),
    ({"host": "b.example"}, lambda row: row.url.startswith(B)),
    ({"host": A}, lambda row: row.url.startswith(A)),
    ({"host": "example"}, lambda row: False),
    ({"text": "docs/1"}, lambda row: "/Docs/1" in row.url),
    ({"text": "title 3"}, lambda row: row.title == "Title 3"),
    ({"text": "%"}, lambda row: False),
    ({"regex": r"/news/\d\.html$"}, lambda row: "/news/" in row.url and len(row.url.rpartition("/")[2]) == 6),
    ({"regex": "^http:"}, lambda row: row.url.startswith("http:")),
    ({"regex": "(?i)docs"}, lambda row: "/Docs/" in row.url),
    ({"outcome": "OK", "depth": 2, "regex": "a.example"}, lambda row: row.outcome == "OK" and row.depth == 2 and A in row.url),
]  # fmt: skip


@pytest.mark.parametrize(("words", "right"), FILTERS, ids=lambda words: str(words) if isinstance(words, dict) else "")
def test_a_filter_lets_exactly_the_right_rows_through(
    many: Made, wide: Look, words: dict[str, Any], right: Any
) -> None:
    wanted = [row.id for row in every(wide, Question(rows=500)) if right(row)]
    assert [row.id for row in every(wide, Question(**words, rows=7))] == wanted
    assert [row.id for row in every(wide, Question(**words, rows=7, falling=True))] == wanted[::-1]


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("sort", SORTS)
def test_every_order_is_the_same_in_pages_of_any_size(many: Made, wide: Look, sort: str, falling: bool) -> None:
    def value(row: Row) -> Any:
        if sort in ("found", "depth", "url"):
            return {"found": row.id, "depth": row.depth, "url": row.url}[sort]
        return (
            {"visited": row.started, "status": row.status, "bytes": row.bytes, "ms": row.ms}[sort]
            if visited(row)
            else -1
        )

    wanted = sorted(every(wide, Question(rows=500)), key=lambda row: (value(row), row.id), reverse=falling)
    for rows in (7, 50):
        assert [row.id for row in every(wide, Question(sort=sort, falling=falling, rows=rows))] == [
            row.id for row in wanted
        ]


def test_a_look_that_runs_out_of_time_says_how_far_it_got_and_goes_on_there(
    many: Made, wide: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "PART_ROWS", 50)
    monkeypatch.setattr(urls, "LOOK_S", 0.0)
    wanted = [row.id for row in every(wide, Question(rows=500, regex="Docs/.*[05]"))]
    first = table(wide, Question(regex="Docs/.*[05]"))
    assert (first.looked, first.of, first.on and first.on.first, first.total) == (50, 300, 51, None)
    assert [row.id for row in every(wide, Question(regex="Docs/.*[05]", rows=3))] == wanted
    largest = table(wide, Question(sort="bytes", falling=True, rows=10))
    assert largest.on is not None
    assert (largest.on.first, max(row.id for row in largest.rows) <= 50) == (51, True)
    assert largest.next is not None
    assert (largest.next.first, largest.next.last) == (1, 50)


def test_totals_are_told_where_they_are_known(many: Made, wide: Look) -> None:
    def count(state: str) -> int:
        return int(many.con.execute("SELECT count(*) FROM url WHERE state = ?", (state,)).fetchone()[0])

    assert table(wide, Question()).total == 300
    assert table(wide, Question(state="queued", rows=5)).total == count("queued")
    assert table(wide, Question(state="refused", rows=5)).total == count("refused")
    assert table(wide, Question(outcome="OK", rows=5)).total is None
    assert table(wide, Question(text="Docs/1.html")).total in (0, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"outcome": "FINE"}, "outcome 'FINE': there are OK, UNCHANGED"),
        ({"state": "'; DROP TABLE url"}, "state"),
        ({"sort": "u.id"}, "sort 'u.id'"),
        ({"status": "4x4"}, "give a code such as 404"),
        ({"status": "٤٠٤"}, "give a code such as 404"),
        ({"regex": "("}, "is not a regular expression of RE2"),
        ({"regex": r"(a)\1"}, "is not a regular expression of RE2"),
        ({"regex": "a" * 501}, "at most 500"),
        ({"rows": 501}, "from 1 to 500"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused_with_a_sentence(
    look: Look, words: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        table(look, Question(**words))


def test_pages_of_members_are_there_for_who_was_given_the_credential(made: Made) -> None:
    open_, closed = made.add(f"{A}/"), made.add(f"{A}/member")
    made.visit(open_)
    made.visit(closed, access="me", title="secret")
    found_there = made.add(f"{A}/found-there", closed)
    both = made.add(f"{A}/both")
    made.visit(both, access="me you")

    def ids(*access: str) -> list[int]:
        look = Look(made.folder, frozenset(access))
        plain, sorted_ = (every(look, Question(sort=sort, rows=1)) for sort in ("found", "bytes"))
        assert {row.id for row in plain} == {row.id for row in sorted_}
        look.close()
        return [row.id for row in plain]

    assert (ids(), ids("me"), ids("me", "you")) == (
        [open_],
        [open_, closed, found_there],
        [open_, closed, found_there, both],
    )


def test_a_credential_that_comes_while_somebody_looks_is_closed_too(made: Made, look: Look) -> None:
    made.visit(made.add(f"{A}/"))
    assert len(table(look, Question()).rows) == 1
    made.visit(made.add(f"{A}/member"), access="new")
    assert len(table(look, Question()).rows) == 1


def test_what_was_forgotten_is_in_no_table(made: Made, look: Look) -> None:
    made.con.execute("UPDATE url SET url = '' WHERE id = ?", (made.add(f"{A}/gone"),))
    assert structs.asdict(table(look, Question()))["rows"] == []
