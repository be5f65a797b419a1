"""PageRank and HITS of a link graph, as sparse matrices (scipy): 10⁷ edges in seconds.

PageRank: Page, Brin, Motwani, Winograd 1999, with teleports to every page; a page that leads nowhere leads everywhere.
HITS: Kleinberg 1999. Links of a page to itself count in neither.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nephila.errors import ConfigError

try:
    from scipy import sparse  # type: ignore[import-untyped]
except ImportError as error:
    raise ConfigError("--scores needs one part more: pip install 'nephila[graph]'") from error

DAMPING = 0.85
TOLERANCE = 1e-10
"""Both end when all scores together change by less than this."""
ROUNDS_MAX = 200


class Scores(NamedTuple):
    """Per node; each column sums to 1 (or is 0 where the graph has no edge)."""

    pagerank: Any
    hub: Any
    authority: Any


def scores(nodes: int, sources: Any, targets: Any) -> Scores:
    """Of a graph with `nodes` nodes and an edge from `sources[i]` to `targets[i]`; edges given twice count once."""
    links = _matrix(nodes, sources, targets)
    return Scores(pagerank(links), *hits(links))


def _matrix(nodes: int, sources: Any, targets: Any) -> Any:
    """Row per target, column per source: what flows into a page is one product."""
    other = sources != targets
    sources, targets = sources[other], targets[other]
    links = sparse.csr_array((np.ones(len(sources)), (targets, sources)), shape=(nodes, nodes))
    links.sum_duplicates()
    links.data[:] = 1.0
    return links


def pagerank(links: Any) -> Any:
    """PageRank of a matrix of `_matrix`."""
    nodes = links.shape[0]
    if not nodes:
        return np.zeros(0)
    out = np.asarray(links.sum(axis=0)).ravel()
    share = np.divide(1.0, out, out=np.zeros(nodes), where=out > 0)
    dangling = out == 0
    rank = np.full(nodes, 1.0 / nodes)
    for _ in range(ROUNDS_MAX):
        fresh = DAMPING * (links @ (rank * share) + rank[dangling].sum() / nodes) + (1.0 - DAMPING) / nodes
        moved = np.abs(fresh - rank).sum()
        rank = fresh
        if moved < TOLERANCE:
            break
    return rank / rank.sum()


def hits(links: Any) -> tuple[Any, Any]:
    """(hubs, authorities) of a matrix of `_matrix`."""
    nodes = links.shape[0]
    if not links.nnz:
        return np.zeros(nodes), np.zeros(nodes)
    back = links.T
    hub = np.full(nodes, 1.0 / nodes)
    for _ in range(ROUNDS_MAX):
        authority = links @ hub
        authority /= authority.sum()
        fresh = back @ authority
        fresh /= fresh.sum()
        moved = np.abs(fresh - hub).sum()
        hub = fresh
        if moved < TOLERANCE:
            break
    return hub, authority
