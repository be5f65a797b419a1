"""The view `graph`: addresses as nodes, links as edges, for programs that draw and measure networks.

Nodes are known by their fingerprints, as in the tables. Edges come from table `link`, where they are packed; only their texts
(`--anchors`) need the pages read again. What is held in memory is 8 bytes per address, and with `--scores` 8 bytes per edge
and a matrix of them (`ranks`).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np

from nephila.db import BIAS
from nephila.errors import ConfigError, Damaged
from nephila.url.key import Fingerprints
from nephila.views import csvfiles, reading, spool
from nephila.views.columns import shaped
from nephila.views.edges import linking
from nephila.views.folder import Folder
from nephila.views.registry import Order
from nephila.views.replaced import replaced
from nephila.views.source import BATCH, Source

FORMS = ("csv", "graphml", "parquet")
HOPS_MAX = 10
"""Redirects in a row that `--contract` follows."""
ANCHOR_CHARS = 500
_UNFIT_IS = "\ufffd"
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_NODES = f"""SELECT u.id, u.fp, u.url, u.state, u.depth, coalesce(v.outcome, '') AS outcome, coalesce(v.status, 0) AS status,
  coalesce(v.title, '') AS title, coalesce(v.access, w.access, '') AS access
  FROM url u LEFT JOIN visit v ON v.id = u.visit LEFT JOIN url p ON p.id = u.parent LEFT JOIN visit w ON w.id = p.visit
  WHERE u.id > ? AND u.url != '' AND u.kind NOT IN ('robots', 'login') ORDER BY u.id LIMIT {BATCH}"""


class Edge(NamedTuple):
    """`kind`: `redirect`, `flat` (adds no depth: canonical, meta refresh), `link`; with `--anchors` the link's own kind, which has
    `anchor` and `nofollow` then."""

    source: int
    target: int
    kind: str
    anchor: str = ""
    nofollow: bool = False


def export(source: Source, order: Order) -> str:
    """Nodes and edges: two CSV files in a folder, two folders of Parquet files, or one GraphML file."""
    form = str(order.chosen.get("form") or FORMS[0])
    if form not in FORMS:
        raise ConfigError(f"--form {form}: of a graph there are: {', '.join(FORMS)}")
    safe = bool(order.chosen.get("safe_cells"))
    if safe and form != "csv":
        raise ConfigError(f"--safe-cells is for --form csv: nothing runs a formula out of {form}")
    write = _parquet if form == "parquet" else _graphml if form == "graphml" else partial(_csv, safe=safe)
    with replaced(order.path.absolute(), spool.written(order.path), "export of a graph") as draft, Folder(draft) as out:
        graph = _Graph(source, contract=bool(order.chosen.get("contract")))
        scores = graph.scores() if order.chosen.get("scores") else None
        counts = write(out, graph, scores, anchors=bool(order.chosen.get("anchors")))
        spool.write_list(out, counts)
    nodes, edges = graph.written
    beyond = f"; {graph.beyond:,} links to addresses that are no rows of the job" if graph.beyond else ""
    return f"{nodes:,} nodes, {edges:,} edges in {order.path}{beyond}"


class _Graph:
    """The addresses of a job that may be seen, and the links between them. `beyond`: links that lead elsewhere."""

    def __init__(self, source: Source, *, contract: bool) -> None:
        self._source = source
        self._fps = np.fromiter((row["fp"] for row in self._rows()), np.int64)
        self._fps.sort()
        self.beyond, self.written = 0, [0, 0]
        self._moved = self._contracted() if contract else {}

    def _rows(self) -> Iterator[Any]:
        at = 0
        while rows := self._source.rows(_NODES, at):
            yield from (row for row in rows if self._source.may_see(row["access"]))
            at = rows[-1]["id"]

    def _linking(self) -> Iterator[tuple[Any, Any]]:
        """(row, its targets as fingerprints of the database) of every page that may be seen."""
        return ((row, targets) for row, targets in linking(self._source) if self._known(row["fp"]))

    def _contracted(self) -> dict[int, int]:
        """Fingerprint of what moved → that of where it leads in the end; a ring of redirects stays as it is."""
        moved = {
            row["fp"]: int(targets[0])
            for row, targets in self._linking()
            if row["outcome"] == "MOVED" and len(targets) and self._known(int(targets[0]))
        }
        ends = {}
        for fp in moved:
            end = fp
            for _ in range(HOPS_MAX):
                end = moved.get(end, end)
            if end not in moved:
                ends[fp] = end
        return ends

    def _known(self, fp: int) -> bool:
        at = int(np.searchsorted(self._fps, fp))
        return at < len(self._fps) and bool(self._fps[at] == fp)

    def nodes(self) -> Iterator[tuple[Any, ...]]:
        """(fp, url, state, outcome, status, depth, title)."""
        for row in self._rows():
            if row["fp"] not in self._moved and self._known(row["fp"]):
                yield tuple(row[name] for name in ("fp", "url", "state", "outcome", "status", "depth", "title"))

    def edges(self) -> Iterator[Edge]:
        """Every link of the last good answer of every page, in the order of the pages; each target of a page once."""
        self.beyond = 0
        for row, targets in self._linking():
            if row["fp"] in self._moved:
                continue
            moved, seen = row["outcome"] == "MOVED", set[int]()
            for n, target in enumerate(targets.tolist()):
                end = self._moved.get(target, target)
                if not self._known(end):
                    self.beyond += 1
                elif end not in seen:
                    seen.add(end)
                    yield Edge(row["fp"], end, "redirect" if moved else "flat" if n < row["flat"] else "link")

    def anchored(self) -> Iterator[Edge]:
        """The same from the pages themselves, with what the links say; redirects come from the table."""
        (key,) = (row["value"] for row in self._source.rows("SELECT value FROM meta WHERE key = 'fingerprint_key'"))
        print_of = Fingerprints(int(key))
        self.beyond = 0
        yield from (edge for edge in self.edges() if edge.kind == "redirect")
        self.beyond = 0
        for kept in self._source.pages():
            fp = print_of(kept.url) - BIAS
            if fp in self._moved or not self._known(fp):
                continue
            try:
                links = reading.read(self._source, kept).page.links or ()
            except Damaged:
                continue
            for link in links:
                target = print_of(link.url) - BIAS if link.url else 0
                end = self._moved.get(target, target)
                if not link.url or not self._known(end):
                    self.beyond += 1
                else:
                    anchor = " ".join(link.anchor[:ANCHOR_CHARS].split())
                    yield Edge(fp, end, str(link.kind), anchor, link.nofollow)

    def scores(self) -> Callable[[int], tuple[float, float, float]]:
        """PageRank, hub, authority by fingerprint."""
        from nephila.views import ranks

        fps = np.setdiff1d(self._fps, np.fromiter(self._moved, np.int64, len(self._moved)))
        sources, targets = array("i"), array("i")
        old, new = self._arrows()
        for row, packed in self._linking():
            if row["fp"] in self._moved or not len(packed):
                continue
            if len(old):
                at = np.minimum(np.searchsorted(old, packed), len(old) - 1)
                packed = np.where(old[at] == packed, new[at], packed)
            places = np.minimum(np.searchsorted(fps, packed), len(fps) - 1)
            there = places[fps[places] == packed].astype(np.int32)
            sources.frombytes(np.full(len(there), np.searchsorted(fps, row["fp"]), np.int32).tobytes())
            targets.frombytes(there.tobytes())
        found = ranks.scores(len(fps), np.frombuffer(sources, np.int32), np.frombuffer(targets, np.int32))
        columns = np.stack(found, axis=1)
        return lambda fp: tuple(columns[np.searchsorted(fps, fp)].tolist())

    def _arrows(self) -> tuple[Any, Any]:
        """What moved, sorted, and where to."""
        pairs = np.array(sorted(self._moved.items()), np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


_NODE = shaped("fp number, url text, state text, outcome text, status number, depth number, title text")
_SCORES = shaped("pagerank real, hub real, authority real")
_EDGE = shaped("source number, target number, kind text")
_ANCHOR = shaped("anchor text, nofollow flag")


def _nodes(graph: _Graph, scores: Any) -> Iterator[tuple[Any, ...]]:
    graph.written[0] = 0
    for node in graph.nodes():
        graph.written[0] += 1
        yield (*node, *scores(node[0])) if scores else node


def _edges(graph: _Graph, anchors: bool) -> Iterator[Edge]:
    graph.written[1] = 0
    for edge in graph.anchored() if anchors else graph.edges():
        graph.written[1] += 1
        yield edge


def _csv(out: Folder, graph: _Graph, scores: Any, *, anchors: bool, safe: bool) -> dict[str, int]:
    names = [column.name for column in (*_NODE, *(_SCORES if scores else ()))]
    flag = ("false", "true")
    rows = ((*e[:4], flag[e.nofollow]) if anchors else e[:3] for e in _edges(graph, anchors))
    out.write("nodes.csv", csvfiles.records(names, _nodes(graph, scores), safe))
    out.write("edges.csv", csvfiles.records(Edge._fields if anchors else Edge._fields[:3], rows, safe))
    return {"nodes.csv": graph.written[0], "edges.csv": graph.written[1]}


def _parquet(out: Folder, graph: _Graph, scores: Any, *, anchors: bool) -> dict[str, int]:
    from nephila.views.parquet import Table

    rows = (edge if anchors else edge[:3] for edge in _edges(graph, anchors))
    Table(out, "nodes", (*_NODE, *(_SCORES if scores else ()))).write(_nodes(graph, scores))
    Table(out, "edges", (*_EDGE, *(_ANCHOR if anchors else ()))).write(rows)
    return {"nodes": graph.written[0], "edges": graph.written[1]}


def _graphml(out: Folder, graph: _Graph, scores: Any, *, anchors: bool) -> dict[str, int]:
    types = {"number": "int", "real": "double", "text": "string"}
    of_nodes = (*_NODE[1:], *(_SCORES if scores else ()))
    of_edges = (*_EDGE[2:], *(_ANCHOR[:1] if anchors else ()))
    names, words = ([column.name for column in shape] for shape in (of_nodes, of_edges))

    def lines() -> Iterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        for what, shape in (("node", of_nodes), ("edge", of_edges)):
            for name, type, _ in shape:
                yield f'<key id="{name}" for="{what}" attr.name="{name}" attr.type="{types[type]}"/>\n'
        yield '<graph edgedefault="directed">\n'
        for node in _nodes(graph, scores):
            yield f'<node id="{node[0]}">{_data(names, node[1:])}</node>\n'
        for edge in _edges(graph, anchors):
            yield f'<edge source="{edge.source}" target="{edge.target}">{_data(words, edge[2:])}</edge>\n'
        yield "</graph>\n</graphml>\n"

    out.write("graph.graphml", (line.encode() for line in lines()))
    return {"graph.graphml": sum(graph.written)}


def _data(names: Any, values: Any) -> str:
    pairs = zip(names, values, strict=False)
    return "".join(f'<data key="{name}">{escape(_UNFIT.sub(_UNFIT_IS, str(value)))}</data>' for name, value in pairs)
