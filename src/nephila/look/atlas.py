"""The site as arrays: addresses in their folders, and the links between them. What the map is drawn from.

Read in steps, so that a page that shows it never waits long: 10,000 pages of a hundred links are there in a third of a second, and what is
larger is read on when it is asked for again. Memory is bounded: some 200 bytes an address, 8 a link.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nephila.look.look import Look, parts
from nephila.look.urls import OPENNESS
from nephila.packed import unpacked
from nephila.url.parse import origin, path_of

NODES_MAX = 100_000
"""Addresses on the map: the first that were found."""
LINKS_MAX = 10_000_000
CLASSES = ("kept", "moved", "failed", "denied", "waiting")
_CLASS_OF = {"OK": 0, "UNCHANGED": 0, "MOVED": 1, "DENIED": 3, "SKIPPED": 3, "BLOCKED": 3}


class Atlas:
    """`ids`, `classes`, `depths`, `folders` of each address, in the order of discovery; `sources` and `targets` of each link are places in
    these. Folders have a `names` and a `parents` entry each, and in `places` their address; a parent stands before its children, 0 is above all sites.
    `of`: addresses of the job, `links_left`: links that were too many; `visit`: how far the crawl was."""

    def __init__(self) -> None:
        self.ids = self.sources = self.targets = np.zeros(0, np.int32)
        self.classes: npt.NDArray[np.int8] = np.zeros(0, np.int8)
        self.depths = self.folders = self.ids
        self.urls: list[str] = []
        self.names, self.parents, self.places = [""], [0], {"": 0}
        self.of = self.visit = self.links_left = 0
        self.taken = 0.0
        self.done = False


class Draft:
    """An atlas that is being read. `step` until it is `done`."""

    def __init__(self, look: Look) -> None:
        self.atlas = Atlas()
        self._steps = _read(look, self.atlas)

    def step(self, seconds: float) -> Atlas:
        """Read on for about so long."""
        until = time.monotonic() + seconds
        for _ in self._steps:
            if time.monotonic() > until:
                break
        return self.atlas


def _read(look: Look, atlas: Atlas) -> Iterator[None]:
    # What is committed after this is of the next atlas: a link may only lead to addresses that are read.
    atlas.visit = look.one("SELECT max(id) FROM visit") or 0
    atlas.of = last = look.one("SELECT max(id) FROM url") or 0
    atlas.taken = time.time()
    fps = list[Any]()
    columns: tuple[list[int], ...] = ([], [], [], [])
    for begin, end in parts(1, last, float("inf")):
        for row in look.rows(_NODES, begin, end, NODES_MAX - len(atlas.urls)):
            if look.may_see(row["access"]):
                fps.append(row["fp"])
                atlas.urls.append(row["url"])
                values = (row["id"], _class(row["state"], row["outcome"]), row["depth"], _folder(atlas, row["url"]))
                for column, value in zip(columns, values, strict=True):
                    column.append(value)
        yield
        if len(atlas.urls) >= NODES_MAX:
            break
    atlas.ids, atlas.depths, atlas.folders = (np.array(columns[n], np.int32) for n in (0, 2, 3))
    atlas.classes = np.array(columns[1], np.int8)
    yield from _links(look, atlas, np.array(fps, np.int64))
    atlas.done = True


def _links(look: Look, atlas: Atlas, fps: npt.NDArray[np.int64]) -> Iterator[None]:
    """The links of the last visit of each address that has some."""
    order = np.argsort(fps).astype(np.int32)
    ordered = fps[order]
    sources, targets, count = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], 0
    for begin, end in parts(1, len(atlas.ids), float("inf")):
        rows = [row for row in _linking(look, atlas, begin, end) if look.may_see(row["access"])]
        sizes = np.array([len(row["targets"]) // 8 for row in rows], np.int64)
        packed = unpacked(b"".join(row["targets"] for row in rows))
        places = np.minimum(np.searchsorted(ordered, packed), len(ordered) - 1)
        ids = np.array([row["id"] for row in rows], np.int32)
        here = np.minimum(np.searchsorted(atlas.ids, ids), len(atlas.ids) - 1).astype(np.int32)
        there = (ordered[places] == packed) & np.repeat(atlas.ids[here] == ids, sizes)
        room = LINKS_MAX - count
        targets.append(order[places[there]][:room])
        sources.append(np.repeat(here, sizes)[there][:room])
        found = int(np.count_nonzero(there))
        atlas.links_left += max(found - room, 0)
        count += min(found, room)
        yield
    atlas.sources, atlas.targets = np.concatenate(sources), np.concatenate(targets)


def _linking(look: Look, atlas: Atlas, begin: int, end: int) -> list[Any]:
    """The rows with links of these addresses (places, from 1). A last visit without any goes back to the one before."""
    rows = look.rows(_LINKS, int(atlas.ids[begin - 1]), int(atlas.ids[end - 1]), atlas.visit)
    again = [row["last"] for row in rows if row["targets"] is None and row["before"]]
    older = [found for last in again for found in look.rows(_OLDER, last)]
    return [row for row in rows if row["targets"] is not None] + older


_NODES = f"""SELECT u.id, u.fp, u.url, u.depth, u.state, coalesce(v.outcome, '') AS outcome, {OPENNESS} AS access
  FROM url u LEFT JOIN visit v ON v.id = u.visit WHERE u.id BETWEEN ? AND ? AND u.url != '' AND u.state IN ('queued', 'done', 'parked')
  AND u.kind NOT IN ('robots', 'login', 'probe') ORDER BY u.id LIMIT ?"""
_LINKS = """SELECT u.id, v.access, l.targets, v.id AS last, v.before FROM url u JOIN visit v ON v.id = u.visit
  LEFT JOIN link l ON l.visit = v.id WHERE u.id BETWEEN ? AND ? AND u.state IN ('queued', 'done', 'parked') AND u.url != ''
  AND u.kind NOT IN ('robots', 'login', 'probe') AND v.id <= ? AND (v.before > 0 OR l.visit NOT NULL)"""
_OLDER = """WITH RECURSIVE back (id) AS (SELECT ? UNION ALL SELECT v.before FROM back JOIN visit v ON v.id = back.id
    WHERE v.before > 0 AND NOT EXISTS (SELECT 1 FROM link WHERE visit = v.id))
  SELECT v.url AS id, v.access, l.targets FROM back JOIN link l ON l.visit = back.id JOIN visit v ON v.id = l.visit"""


def _class(state: str, outcome: str) -> int:
    return 4 if state != "done" else _CLASS_OF.get(outcome, 2)


def _folder(atlas: Atlas, url: str) -> int:
    """A folder for each address: its site, and below that what its path says."""
    directory = url.partition("?")[0].rpartition("/")[0]
    found = atlas.places.get(directory)
    return found if found is not None else _made(atlas, url)


def _made(atlas: Atlas, url: str) -> int:
    whole = origin(url)
    place = _under(atlas, 0, whole, whole)
    for segment in path_of(url).partition("?")[0].split("/")[1:-1]:
        whole = f"{whole}/{segment}"
        place = _under(atlas, place, whole, segment)
    return place


def _under(atlas: Atlas, parent: int, whole: str, name: str) -> int:
    if whole not in atlas.places:
        atlas.places[whole] = len(atlas.names)
        atlas.names.append(name)
        atlas.parents.append(parent)
    return atlas.places[whole]
