"""One address: its visits, who links to it, what it links to; and from what somebody wrote to its row."""

from __future__ import annotations

import pytest
from look.made import HALF, Made, print_of

from nephila.look import address as addresses
from nephila.look import known
from nephila.look import look as looking
from nephila.look.address import address, linkers, links
from nephila.look.look import Look

A = "https://a.example"


def test_visits_and_attempts_are_told_latest_first_with_their_place_in_the_archive(made: Made, look: Look) -> None:
    seed = made.add(f"{A}/")
    made.visit(seed, f"{A}/x")
    id = made.add(f"{A}/x", seed)
    made.con.execute("INSERT INTO archive (id, file, worker) VALUES (3, 'job-1-00000.warc.gz', 1)")
    made.visit(id, outcome="UNREACHABLE", reason="dns.nxdomain", round=1)
    made.visit(id, file=3, offset=10, length=20, round=2, title="X")
    made.con.execute(
        "INSERT INTO attempt VALUES (?, 1, 1, 5, 0, 'timeout.connect', 9, 0, 6), (?, 1, 2, 7, 0, 'timeout.connect', 9, 0, 8)",
        (id, id),
    )
    found = address(look, id)
    assert found is not None
    assert found.parent is not None
    assert (found.row.title, found.row.attempts, found.parent.url, found.fp) == (
        "X",
        0,
        f"{A}/",
        print_of(f"{A}/x") - HALF,
    )
    assert [(seen.round, seen.outcome, seen.file, seen.offset, seen.length) for seen in found.visits] == [
        (2, "OK", "job-1-00000.warc.gz", 10, 20), (1, "UNREACHABLE", "", 0, 0),
    ]  # fmt: skip
    assert [(attempt.n, attempt.retry_due) for attempt in found.attempts] == [(2, 8.0), (1, 6.0)]
    assert address(look, 99) is None


def test_linkers_are_the_pages_that_link_there_now(made: Made, look: Look) -> None:
    target, flat, moved, before, again, other = (
        made.add(f"{A}/{name}") for name in ("t", "flat", "moved", "before", "again", "other")
    )
    to = f"{A}/t"
    made.visit(flat, to, f"{A}/y", flat=1)
    made.visit(moved, to, outcome="MOVED")
    made.visit(before, to)
    made.visit(before, f"{A}/y")
    made.visit(again, to)
    made.visit(again, outcome="UNCHANGED")
    made.visit(other, f"{A}/y", f"{A}/z")
    found = linkers(look, print_of(to) - HALF)
    assert [(page.id, page.kind) for page in found.pages] == [(flat, "flat"), (moved, "redirect"), (again, "link")]
    assert found.looked == found.of
    assert target


def test_bytes_that_stand_across_two_links_are_no_link(made: Made, look: Look) -> None:
    id = made.add(f"{A}/")
    wanted = print_of(f"{A}/t").to_bytes(8, "little")
    visit = made.visit(id, f"{A}/y")
    made.con.execute("UPDATE link SET targets = ? WHERE visit = ?", (b"1234" + wanted + b"5678", visit))
    assert linkers(look, print_of(f"{A}/t") - HALF).pages == []
    made.con.execute("UPDATE link SET targets = ? WHERE visit = ?", (b"1234" + wanted + b"5678" + wanted, visit))
    assert [page.id for page in linkers(look, print_of(f"{A}/t") - HALF).pages] == [id]


def test_many_linkers_come_in_parts_and_none_twice(made: Made, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "LINKERS_MAX", 3)
    monkeypatch.setattr(looking, "PART_ROWS", 4)
    wanted = [made.add(f"{A}/{n}") for n in range(10)]
    for id in wanted:
        made.visit(id, f"{A}/t")
    found, after = list[int](), 0
    while True:
        some = linkers(look, print_of(f"{A}/t") - HALF, after)
        found += [page.id for page in some.pages]
        if some.looked >= some.of:
            break
        after = some.looked
    assert found == wanted


def test_links_are_told_in_the_order_of_the_page(made: Made, look: Look) -> None:
    id, y, x = made.add(f"{A}/"), made.add(f"{A}/y"), made.add(f"{A}/x")
    visit = made.visit(id, f"{A}/x", f"{A}/never-met", f"{A}/y", f"{A}/x", flat=1)
    assert [(page.id, page.kind) for page in links(look, visit)] == [(x, "flat"), (y, "link")]
    assert links(look, visit + 1) == []


def test_a_members_page_is_no_address_and_no_linker_of_others(made: Made, look: Look) -> None:
    seed, member = made.add(f"{A}/"), made.add(f"{A}/member")
    made.visit(seed, f"{A}/member")
    made.visit(member, f"{A}/t", access="me")
    found_there = made.add(f"{A}/t", member)
    assert (address(look, member), address(look, found_there)) == (None, None)
    assert linkers(look, print_of(f"{A}/t") - HALF).pages == []
    assert links(look, made.con.execute("SELECT visit FROM url WHERE id = ?", (seed,)).fetchone()[0]) == []
    given = Look(made.folder, frozenset({"me"}))
    assert [page.id for page in linkers(given, print_of(f"{A}/t") - HALF).pages] == [member]
    given.close()


@pytest.mark.parametrize(
    "written",
    [
        "https://a.example/x",
        " https://A.example/x#part ",
        "a.example/x",
        "https://user:pw@a.example/x",
        "https://a.example/x?utm_source=b",
    ],
)
def test_an_address_is_found_as_people_write_it(made: Made, look: Look, written: str) -> None:
    made.add(f"{A}/")
    id = made.add(f"{A}/x")
    assert known.find(look, written) == id


@pytest.mark.parametrize(
    "written", ["", "https://", "a.example/y", "javascript:alert(1)", "\x00", "https://[", "x" * 20_000]
)
def test_what_is_not_there_is_not_found(made: Made, look: Look, written: str) -> None:
    made.add(f"{A}/x")
    assert known.find(look, written) == 0
