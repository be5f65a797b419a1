"""The map: folders and links as arrays, what is shown of them at a place, how a crawl grew; all against counting by hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from look.made import Made

from nephila.look import atlas as atlases
from nephila.look import cut as cuts
from nephila.look.atlas import CLASSES, Atlas, Draft
from nephila.look.cut import Cluster, Cut, Place, Shape
from nephila.look.growth import growth
from nephila.look.look import Look

A, B = "https://a.example", "https://b.example"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Made, list[tuple[str, str]]]]:
    """400 addresses in folders of unequal size on three hosts, and the links (from, to) between them."""
    made, chance = Made(tmp_path_factory.mktemp("site") / "out"), random.Random(3)
    folders = ["", "docs/", "docs/api/", "docs/api/v1/", "news/2024/", "news/2025/", "img/", "文档/"]
    urls = [
        f"{chance.choice((A, A, A, B, 'http://c.example:81'))}/{chance.choice(folders)}p{n}.html" for n in range(400)
    ]
    edges = list[tuple[str, str]]()
    made.con.execute("BEGIN")
    ids = [made.add(url, n // 7) for n, url in enumerate(urls)]
    for id, url in zip(ids[:350], urls, strict=False):
        targets = [chance.choice(urls) for _ in range(chance.randrange(12))]
        made.visit(
            id, *targets, f"{A}/never-met", outcome=chance.choice(("OK", "OK", "OK", "MOVED", "REFUSED", "DENIED"))
        )
        edges += [(url, target) for target in targets]
    made.con.execute("COMMIT")
    yield made, edges
    made.con.close()


def read(made: Made) -> Atlas:
    look = Look(made.folder)
    found = Draft(look).step(60)
    look.close()
    assert found.done
    return found


def every(shape: Shape, place: Place) -> Iterator[tuple[Place, Cut]]:
    """All places that can be reached from one."""
    cut = shape.cut(place)
    assert cut is not None
    yield place, cut
    for cluster in cut.clusters:
        if cluster.place:
            yield from every(shape, cluster.place)


def pages_below(shape: Shape, cluster: Cluster) -> int:
    return 1 if cluster.place is None else sum(inner.pages for inner in shape.cut(cluster.place).clusters)  # type: ignore[union-attr]


def test_an_atlas_holds_every_address_and_every_link(site: tuple[Made, list[tuple[str, str]]]) -> None:
    made, edges = site
    atlas = read(made)
    assert len(atlas.urls) == atlas.of == 400
    assert Counter(
        (atlas.urls[a], atlas.urls[b]) for a, b in zip(atlas.sources, atlas.targets, strict=True)
    ) == Counter(edges)
    assert [atlas.urls[n].rpartition("/")[0] == _address(atlas, folder) for n, folder in enumerate(atlas.folders)] == [
        True
    ] * 400
    assert CLASSES[atlas.classes[399]] == "waiting"


def _address(atlas: Atlas, folder: int) -> str:
    return f"{_address(atlas, atlas.parents[folder])}/{atlas.names[folder]}".removeprefix("/") if folder else ""


def test_every_page_can_be_reached_and_no_picture_has_too_much(
    site: tuple[Made, list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts, "CLUSTERS_MAX", 12)
    monkeypatch.setattr(cuts, "AT_FIRST_MAX", 9)
    monkeypatch.setattr(cuts, "LATER_MAX", 4)
    shape = Shape(read(site[0]))
    reached = set[int]()
    for _, cut in every(shape, Place()):
        assert len(cut.clusters) <= 12
        reached |= {cluster.id for cluster in cut.clusters if cluster.id}
        for cluster in cut.clusters:
            assert cluster.pages == sum(cluster.classes) == pages_below(shape, cluster)
    assert reached == set(range(1, 401))


def test_links_between_clusters_add_up(site: tuple[Made, list[tuple[str, str]]]) -> None:
    made, edges = site
    cut = Shape(read(made)).cut(Place())
    assert cut is not None
    assert (cut.pages, cut.links, cut.out, cut.into) == (400, len(edges), 0, 0)
    assert sum(cluster.within for cluster in cut.clusters) + sum(
        bundle.there + bundle.back for bundle in cut.bundles
    ) == len(edges)
    assert sum(cluster.out for cluster in cut.clusters) == sum(cluster.into for cluster in cut.clusters)
    inside = Shape(read(made)).cut(Place(f"{A}/news"))
    assert inside is not None
    news = [(a.startswith(f"{A}/news/"), b.startswith(f"{A}/news/")) for a, b in edges]
    assert (inside.links, inside.out, inside.into) == (
        news.count((True, True)),
        news.count((True, False)),
        news.count((False, True)),
    )
    assert [name for name, _ in inside.trail] == ["", A, "news"]


def test_a_map_is_the_same_each_time(site: tuple[Made, list[tuple[str, str]]]) -> None:
    assert Shape(read(site[0])).cut(Place()) == Shape(read(site[0])).cut(Place())


def test_a_place_that_is_not_there_is_none(site: tuple[Made, list[tuple[str, str]]]) -> None:
    shape = Shape(read(site[0]))
    assert shape.cut(Place("https://elsewhere.example")) is None
    behind = shape.cut(Place(A, 10_000, 10_000))
    assert behind is not None
    assert behind.clusters == []


def test_a_folder_with_nothing_but_a_folder_is_passed_by(made: Made) -> None:
    for n in range(3):
        made.add(f"{A}/deep/deeper/{n}")
    cut = Shape(read(made)).cut(Place())
    assert cut is not None
    assert [name for name, _ in cut.trail] == ["", A, "deep", "deeper"]
    assert [cluster.name for cluster in cut.clusters] == ["0", "1", "2"]


def test_an_empty_job_has_an_empty_map(made: Made) -> None:
    cut = Shape(read(made)).cut(Place())
    assert cut is not None
    assert (cut.clusters, cut.links) == ([], 0)


def test_links_are_those_of_the_last_visit_that_had_some(made: Made) -> None:
    a, b, c = (made.add(f"{A}/{name}") for name in "abc")
    made.visit(a, f"{A}/b")
    made.visit(a, outcome="UNCHANGED")
    made.visit(b, f"{A}/a")
    made.visit(b, f"{A}/c")
    atlas = read(made)
    assert [(atlas.ids[x], atlas.ids[y]) for x, y in zip(atlas.sources, atlas.targets, strict=True)] in (
        [(a, b), (b, c)],
        [(b, c), (a, b)],
    )


def test_members_pages_and_what_was_found_there_are_not_on_the_map(made: Made) -> None:
    seed, member = made.add(f"{A}/"), made.add(f"{A}/member/")
    made.visit(seed, f"{A}/member/")
    made.visit(member, f"{A}/found-there", access="me")
    made.add(f"{A}/found-there", member)
    atlas = read(made)
    assert (atlas.urls, len(atlas.sources)) == ([f"{A}/"], 0)


def test_what_is_too_much_for_the_map_is_told(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [made.add(f"{A}/{n}") for n in range(5)]
    for id in ids:
        made.visit(id, f"{A}/0", f"{A}/1")
    monkeypatch.setattr(atlases, "LINKS_MAX", 7)
    assert (len(read(made).sources), read(made).links_left) == (7, 3)
    monkeypatch.setattr(atlases, "NODES_MAX", 3)
    assert (len(read(made).urls), read(made).of) == (3, 5)


def test_an_atlas_is_read_in_steps(site: tuple[Made, list[tuple[str, str]]]) -> None:
    look = Look(site[0].folder)
    draft, steps = Draft(look), 0
    while not draft.step(0).done:
        steps += 1
    look.close()
    assert steps >= 2


def test_growth_counts_depths_and_what_each_visit_found(made: Made, look: Look) -> None:
    seed = made.add(f"{A}/", depth=0)
    made.visit(seed)
    first = [made.add(f"{A}/{n}", seed) for n in range(10)]
    made.visit(first[0])
    for n in range(10, 20):
        made.add(f"{A}/{n}", first[0], depth=2, state="refused" if n > 16 else "queued")
    made.visit(first[1])
    made.visit(first[0], round=2)  # a later visit changes nothing about when things were found
    made.add(f"{A}/robots.txt", kind="robots", state="done")
    found = growth(look)
    assert found.depths == [(1, 0, 0), (2, 8, 0), (0, 7, 3)]
    assert (found.looked, found.of) == (22, 22)
    assert found.curve[0] == (0, 0)
    assert found.curve[-1] == (4, 18)
    assert dict(found.curve)[1] == 11
    assert found.curve == sorted(found.curve)


def test_growth_of_an_empty_job_is_nothing(look: Look) -> None:
    assert growth(look).depths == []
    assert growth(look).curve == [(0, 0), (0, 0)]
