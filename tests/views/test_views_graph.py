"""The link graph as nodes and edges, and the scores of its nodes."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import duckdb
import networkx
import numpy as np
import pytest

from nephila.errors import ConfigError
from nephila.types import Outcome
from nephila.url.key import Fingerprints
from nephila.views import ranks, registry

H = "http://a.example"
PRINT = Fingerprints(7)


def fp(path: str) -> int:
    return PRINT(H + path) - (1 << 63)


def packed(*paths: str) -> bytes:
    return np.array([PRINT(H + path) for path in paths], np.uint64).tobytes()


@pytest.fixture
def web(job: Any) -> Any:
    """/ → /b, /old, itself, /out (no row); /old moved to /b; /b → /; /c leads nowhere; /r1 and /r2 move to each other."""
    job.con.execute("INSERT INTO meta VALUES ('fingerprint_key', '7')")
    job.page(
        f"{H}/",
        "<a href=/b>to <b>b</b></a><a href=/old rel=nofollow>旧</a><a href=/>me</a><a href=/out>o</a>",
        title="é<&",
    )
    job.page(f"{H}/b", "<a href=/>home</a><a href=/c><img alt=c></a>")
    job.page(f"{H}/c", "")
    for path, target in (("/old", "/b"), ("/r1", "/r2"), ("/r2", "/r1")):
        job.page(f"{H}{path}", outcome=Outcome.MOVED, moved_to=f"{H}{target}")
    targets = {"/": ("/b", "/old", "/", "/out"), "/b": ("/", "/c"), "/old": ("/b",), "/r1": ("/r2",), "/r2": ("/r1",)}
    for id, url, visit in job.con.execute("SELECT id, url, visit FROM url").fetchall():
        path = url.removeprefix(H)
        job.con.execute("UPDATE url SET fp = ? WHERE id = ?", (fp(path), id))
        if path in targets:
            job.con.execute("INSERT INTO link VALUES (?, 0, ?)", (visit, packed(*targets[path])))
    return job


def export(job: Any, to: Path, **chosen: Any) -> str:
    return registry.export("graph", job.folder, str(to), job.decode, chosen=chosen)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def edges(folder: Path) -> set[tuple[str, str, str]]:
    paths = {row["fp"]: row["url"].removeprefix(H) for row in rows(folder / "nodes.csv")}
    return {(paths[row["source"]], paths[row["target"]], row["kind"]) for row in rows(folder / "edges.csv")}


def test_nodes_and_edges(web: Any, tmp_path: Path) -> None:
    said = export(web, tmp_path / "g")
    assert said == f"6 nodes, 8 edges in {tmp_path / 'g'}; 1 links to addresses that are no rows of the job"
    first = rows(tmp_path / "g" / "nodes.csv")[0]
    assert first == {
        "fp": str(fp("/")), "url": f"{H}/", "state": "done", "outcome": "OK", "status": "200", "depth": "1", "title": "é<&",
    }  # fmt: skip
    assert edges(tmp_path / "g") == {
        ("/", "/b", "link"),
        ("/", "/old", "link"),
        ("/", "/", "link"),
        ("/b", "/", "link"),
        ("/b", "/c", "link"),
        ("/old", "/b", "redirect"),
        ("/r1", "/r2", "redirect"),
        ("/r2", "/r1", "redirect"),
    }


def test_redirects_contracted(web: Any, tmp_path: Path) -> None:
    """What moved is where it leads; two links that become one are one; a ring stays."""
    export(web, tmp_path / "g", contract=True, scores=True)
    assert edges(tmp_path / "g") == {
        ("/", "/b", "link"),
        ("/", "/", "link"),
        ("/b", "/", "link"),
        ("/b", "/c", "link"),
        ("/r1", "/r2", "redirect"),
        ("/r2", "/r1", "redirect"),
    }


def test_texts_of_links(web: Any, tmp_path: Path) -> None:
    export(web, tmp_path / "g", anchors=True, form="csv")
    said = {(row["source"], row["target"]): row for row in rows(tmp_path / "g" / "edges.csv")}
    one = said[str(fp("/")), str(fp("/b"))]
    assert (one["kind"], one["anchor"], one["nofollow"]) == ("page", "to b", "false")
    two = said[str(fp("/")), str(fp("/old"))]
    assert (two["anchor"], two["nofollow"]) == ("旧", "true")
    assert said[str(fp("/old")), str(fp("/b"))]["kind"] == "redirect"
    assert len(said) == 8


def test_scores_are_those_of_networkx(web: Any, tmp_path: Path) -> None:
    export(web, tmp_path / "g", scores=True)
    nodes = rows(tmp_path / "g" / "nodes.csv")
    graph = networkx.DiGraph()
    graph.add_nodes_from(row["fp"] for row in nodes)
    links = [(row["source"], row["target"]) for row in rows(tmp_path / "g" / "edges.csv")]
    graph.add_edges_from((a, b) for a, b in links if a != b)
    wanted = networkx.pagerank(graph, tol=1e-12, max_iter=500)
    assert {row["fp"]: float(row["pagerank"]) for row in nodes} == pytest.approx(wanted, abs=1e-8)


def test_graphml_is_read_by_networkx(web: Any, tmp_path: Path) -> None:
    web.con.execute("UPDATE visit SET title = ? WHERE url = 1", ("a\x01<&>\ufffe",))
    export(web, tmp_path / "g", form="graphml", scores=True)
    graph = networkx.read_graphml(tmp_path / "g" / "graph.graphml")
    assert (len(graph), graph.number_of_edges()) == (6, 8)
    assert graph.nodes[str(fp("/"))]["title"] == "a\ufffd<&>\ufffd"
    assert sum(data["pagerank"] for _, data in graph.nodes(data=True)) == pytest.approx(1)


def test_pages_with_a_credential_are_no_nodes(web: Any, tmp_path: Path) -> None:
    web.con.execute("UPDATE visit SET access = 'me' WHERE url = 2")
    export(web, tmp_path / "g")
    assert edges(tmp_path / "g") == {
        ("/", "/old", "link"), ("/", "/", "link"), ("/r1", "/r2", "redirect"), ("/r2", "/r1", "redirect"),
    }  # fmt: skip


def test_the_links_of_the_last_good_answer_count(web: Any, tmp_path: Path) -> None:
    web.page(f"{H}/b", "", outcome=Outcome.REFUSED, status=404, round=2)
    export(web, tmp_path / "g")
    assert ("/b", "/c", "link") in edges(tmp_path / "g")


def test_a_form_that_is_none(web: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--form jsonl: of a graph there are: csv, graphml, parquet"):
        export(web, tmp_path / "g", form="jsonl")
    with pytest.raises(ConfigError, match="--safe-cells is for --form csv"):
        export(web, tmp_path / "g", form="graphml", safe_cells=True)
    assert not (tmp_path / "g").exists()


def test_parquet_holds_what_csv_holds(web: Any, tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        export(web, tmp_path / form, form=form, scores=True, anchors=True)
    for table in ("nodes", "edges"):
        found = duckdb.sql(f"SELECT * FROM '{tmp_path}/parquet/{table}/*.parquet'")
        ours = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        assert [{name: _cell(value) for name, value in row.items()} for row in ours] == rows(
            tmp_path / f"csv/{table}.csv"
        )
    types = duckdb.sql(f"SELECT fp, depth, pagerank FROM '{tmp_path}/parquet/nodes/*.parquet'").types
    assert [str(type) for type in types] == ["BIGINT", "BIGINT", "DOUBLE"]
    export(web, tmp_path / "parquet", form="csv")
    assert not (tmp_path / "parquet" / "nodes").exists(), "another form takes the place of the first"


def _cell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_texts_that_a_spreadsheet_would_run(web: Any, tmp_path: Path) -> None:
    web.page(f"{H}/f", '<a href="/b">=cmd|x</a>', title="+1")
    web.con.execute("UPDATE url SET fp = ? WHERE url = ?", (fp("/f"), f"{H}/f"))
    for safe, mark in ((False, ""), (True, "'")):
        export(web, tmp_path / "g", anchors=True, safe_cells=safe)
        assert f"{mark}+1" in [row["title"] for row in rows(tmp_path / "g" / "nodes.csv")]
        assert f"{mark}=cmd|x" in [row["anchor"] for row in rows(tmp_path / "g" / "edges.csv")]
        assert fp("/") in [int(row["fp"]) for row in rows(tmp_path / "g" / "nodes.csv")], "numbers stay numbers"


def test_known_values_of_pagerank() -> None:
    """A ring is even; of a star whose centre leads nowhere the centre has (1 + 0.85 n) / (n + 1 + 0.85 n) …"""
    ring = np.arange(5)
    assert ranks.scores(5, ring, (ring + 1) % 5).pagerank == pytest.approx(np.full(5, 0.2))
    found = ranks.scores(4, np.array([1, 2, 3]), np.array([0, 0, 0])).pagerank
    leaf = 1 / (4 + 0.85 * 3)  # every node gets the same share of teleports and of the dangling centre
    assert found == pytest.approx(np.array([leaf * (1 + 0.85 * 3), leaf, leaf, leaf]))


def test_hits_of_random_graphs_are_those_of_networkx() -> None:
    for seed in range(5):
        graph = networkx.gnp_random_graph(40, 0.1, seed=seed, directed=True)
        arrows = np.array(graph.edges)
        found = ranks.scores(40, arrows[:, 0], arrows[:, 1])
        hubs, authorities = networkx.hits(graph, max_iter=1000, tol=1e-12)
        assert found.hub == pytest.approx(np.array([hubs[n] for n in range(40)]), abs=1e-6)
        assert found.authority == pytest.approx(np.array([authorities[n] for n in range(40)]), abs=1e-6)
        wanted = networkx.pagerank(graph, tol=1e-12, max_iter=500)
        assert found.pagerank == pytest.approx(np.array([wanted[n] for n in range(40)]), abs=1e-8)


def test_graphs_without_edges_or_nodes_and_edges_given_twice() -> None:
    none = np.zeros(0, np.int32)
    assert ranks.scores(0, none, none).pagerank.tolist() == []
    assert ranks.scores(2, np.array([0]), np.array([0])).pagerank == pytest.approx([0.5, 0.5])
    once, twice = (ranks.scores(3, np.array([0] * n + [1]), np.array([1] * n + [2])) for n in (1, 2))
    assert once.pagerank == pytest.approx(twice.pagerank)


@pytest.mark.long
def test_ten_million_edges_are_scored_within_a_minute() -> None:
    random = np.random.default_rng(1)
    sources = random.integers(0, 10**6, 10**7, dtype=np.int32)
    targets = (10**6 * random.random(10**7) ** 3).astype(np.int32)  # few pages have most of the links
    started = time.perf_counter()
    found = ranks.scores(10**6, sources, targets)
    assert time.perf_counter() - started < 60
    assert [column.sum() for column in found] == pytest.approx([1, 1, 1])
