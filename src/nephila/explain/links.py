"""Who links to an address, and how one gets to it from where the crawl began.

Links are packed (table `link`), and there is no index of their targets: the pages are looked through in the order in which they
were committed, as far as the time goes. The way of discovery is a chain of rows and always known; the shortest way needs all
links at once, and is looked for only where they are few.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nephila.db import BIAS
from nephila.errors import Damaged
from nephila.explain.record import Record, Row
from nephila.look.look import parts
from nephila.packed import needle, place, unpacked
from nephila.views import reading
from nephila.views.source import Kept

LINKERS_MAX = 5
READ_MAX = 3
"""Of those, pages that are read for the text of their link."""
SCAN_S = 0.8
EDGES_MAX = 2_000_000
"""Links of a job in which the shortest way is looked for: 16 MB, a few tenths of a second."""
CHAIN_MAX = 200


class Linkers(NamedTuple):
    """`first`: pages that link here, with the text of the link; `total` of them were met until `whole` (all pages were looked at)
    or the time was over. `hidden`: pages of members."""

    first: list[dict[str, Any]]
    total: int
    whole: bool
    hidden: int


class Way(NamedTuple):
    """Addresses from where the crawl began to this one. `shortest`: by all links; else the way it was found."""

    urls: list[str]
    shortest: bool


def linkers(record: Record, url: str, row: Row) -> Linkers:
    """`row` is {} for an address that was never met: links to it may still have been."""
    fp = record.fingerprint(url)
    visits, count, whole = _scan(record, fp, row.get("parent_visit", 0))
    kept = list(record.source.those(visits))
    first = [_linked(record, one, fp, read=n < READ_MAX) for n, one in enumerate(kept)]
    return Linkers(first, count, whole, len(visits) - len(kept))


def _scan(record: Record, fp: int, first: int) -> tuple[list[int], int, bool]:
    """(ids of the first visits that link there, how many do, whether all were looked at)."""
    packed = needle(fp - BIAS)
    (last,) = record.ask("links", "SELECT coalesce(max(visit), 0) AS id FROM link") or ({"id": 0},)
    found, count, looked = ([first] if first and _links(record, first, packed) else []), 0, 0
    query = "SELECT visit, targets FROM link WHERE visit BETWEEN ? AND ? AND instr(targets, ?) > 0"
    for begin, end in parts(1, last["id"], time.monotonic() + min(SCAN_S, record.left_s())):
        rows = record.source.within(record.left_s(), query, begin, end, packed)
        if rows is None:
            break
        there = [row["visit"] for row in rows if place(row["targets"], packed) >= 0]
        count += len(there)
        found += [visit for visit in there if visit != first][: LINKERS_MAX - len(found)]
        looked = end
    return found, max(count, len(found)), looked >= last["id"]


def _links(record: Record, visit: int, packed: bytes) -> bool:
    rows = record.ask("links", "SELECT targets FROM link WHERE visit = ?", visit)
    return any(place(row["targets"], packed) >= 0 for row in rows)


def _linked(record: Record, kept: Kept, fp: int, read: bool) -> dict[str, Any]:
    """A page that links here: how the address is written there, and the text of the link."""
    said: dict[str, Any] = {"url": kept.url, "outcome": kept.outcome}
    if not read or kept.outcome != "OK" or not kept.length or record.left_s() < 0.1:
        return said
    try:
        links = reading.read(record.source, kept).page.links
    except Damaged:
        return said
    for n in range(len(links or ())):
        assert links is not None
        there = links.resolve(links.base, links.hrefs[n], links.charset)
        if there and record.fingerprint(there) == fp:
            link = links[n]
            anchor = " ".join(link.anchor.split())[:200]
            return said | {"href": link.href, "kind": link.kind.value, "text": anchor, "nofollow": link.nofollow}
    return said


def way(record: Record, row: Row, graph: Graph | None) -> Way | None:
    """None when a page of the way may not be seen."""
    found = graph.way(row["id"]) if graph else None
    if not found:
        found = [one["id"] for one in record.ask("path", _CHAIN, row["id"], CHAIN_MAX)][::-1]
    chain = [record.row(id) for id in found]
    if not all(one and record.may_see(one) for one in chain):
        return None
    return Way([one["url"] for one in chain], graph is not None or not row["parent"])


_CHAIN = """WITH RECURSIVE up (id, n) AS (SELECT ?, 0
  UNION ALL SELECT u.parent, n + 1 FROM up JOIN url u ON u.id = up.id WHERE u.parent > 0 AND n < ?) SELECT id FROM up ORDER BY n"""


class Graph:
    """All links of a small job, and the depth of every row: breadth first, where some links add no depth."""

    def __init__(self, ids: npt.NDArray[np.int64], sources: Any, targets: Any, flat: Any, seeds: Any) -> None:
        self._ids = ids
        order = np.argsort(sources, kind="stable")
        self._sources, self._targets, self._flat = sources[order], targets[order], flat[order]
        self._starts = np.searchsorted(self._sources, np.arange(len(ids) + 1))
        self._depth = np.full(len(ids), -1, np.int64)
        self._from = np.full(len(ids), -1, np.int64)
        level, depth = np.unique(seeds), 0
        self._depth[level] = 0
        while len(level):
            reached, fresh = level, level
            while len(fresh := self._step(fresh, depth, flat=True)):
                reached = np.concatenate([reached, fresh])
            depth += 1
            level = self._step(reached, depth, flat=False)

    def _step(self, nodes: Any, depth: int, *, flat: bool) -> Any:
        """Nodes not met before that one link of these leads to."""
        counts = self._starts[nodes + 1] - self._starts[nodes]
        edges = np.repeat(self._starts[nodes] - np.concatenate([[0], counts.cumsum()[:-1]]), counts) + np.arange(
            counts.sum()
        )
        edges = edges[self._flat[edges] == flat]
        targets, first = np.unique(self._targets[edges], return_index=True)
        new = self._depth[targets] < 0
        self._depth[targets[new]] = depth
        self._from[targets[new]] = self._sources[edges[first[new]]]
        return targets[new]

    def depth(self, id: int) -> int:
        at = int(np.searchsorted(self._ids, id))
        return int(self._depth[at]) if at < len(self._ids) and self._ids[at] == id else -1

    def way(self, id: int) -> list[int] | None:
        if self.depth(id) < 0:
            return None
        at, found = int(np.searchsorted(self._ids, id)), list[int]()
        while at >= 0:
            found.append(int(self._ids[at]))
            at = int(self._from[at])
        return found[::-1]


def graph_of(record: Record) -> Graph | None:
    """The links of the job; None where they are too many, or there are none."""
    last = record.ask("path", "SELECT coalesce(max(visit), 0) AS last FROM link")
    if not last or not 0 < last[0]["last"] <= EDGES_MAX // 10:
        return None
    total = record.ask("path", "SELECT coalesce(sum(length(targets)), 0) AS size FROM link")
    if not total or not 0 < total[0]["size"] <= 8 * EDGES_MAX:
        return None
    rows = record.ask("path", "SELECT id, fp, parent, kind FROM url ORDER BY id")
    pages = record.ask(
        "path", "SELECT u.id, l.flat, l.targets FROM url u JOIN link l ON l.visit = u.visit ORDER BY u.id"
    )
    if not rows or not pages:
        return None
    ids = np.array([row["id"] for row in rows], np.int64)
    fps = np.array([row["fp"] for row in rows], np.int64)
    seeds = np.flatnonzero([row["parent"] == 0 for row in rows])
    sizes = [len(page["targets"]) // 8 for page in pages]
    sources = np.repeat(np.searchsorted(ids, [page["id"] for page in pages]), sizes)
    targets = unpacked(b"".join(page["targets"] for page in pages))
    flat = np.concatenate([np.arange(size) < page["flat"] for size, page in zip(sizes, pages, strict=True)])
    order = np.argsort(fps)
    at = np.minimum(np.searchsorted(fps[order], targets), len(fps) - 1)
    met = fps[order[at]] == targets
    return Graph(ids, sources[met], order[at][met], flat[met], seeds)
