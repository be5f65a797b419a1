"""What the map shows of an atlas at a place: a few dozen clusters, and how many links lead from each to each.

The cluster of a place is opened into its folders and pages; then the largest ones in turn, as long as there is room. What finds no room is
one cluster of its own, "others", which can be opened like any other: so a picture of any site stays readable, and every page can be reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nephila.look.atlas import CLASSES, Atlas

CLUSTERS_MAX = 60
AT_FIRST_MAX, LATER_MAX = 40, 10
"""Clusters that the place itself, and one opened after it, may give."""
PAGES_BESIDE = 6
"""Pages of its own that a folder with folders in it shows."""
SHARE_MIN, SHARE_MOST = 0.06, 0.5
"""A cluster is opened when it has so much of what is shown. One that has more than the most is no group: its parts are."""
_OPENED_MAX = 1000


class Place(NamedTuple):
    """Where the map stands: a folder's address ("" is above all sites), without its first `folders` folders and `pages` pages."""

    at: str = ""
    folders: int = 0
    pages: int = 0


class Cluster(NamedTuple):
    """`kind`: folder, page or others. `name`: the address below the place; of others that of what they are in. `place`: where it opens, None of a page, which has its `id` (url.id) instead. `group`: equal for the
    parts of one, and for the pages of one folder. `classes`: pages by `atlas.CLASSES`. Links: inside, to elsewhere, from elsewhere."""

    kind: str
    name: str
    place: Place | None
    id: int
    group: int
    pages: int
    classes: tuple[int, ...]
    within: int
    out: int
    into: int


class Bundle(NamedTuple):
    """Links between two clusters, by their numbers: from `a` to `b`, and back."""

    a: int
    b: int
    there: int
    back: int


class Cut(NamedTuple):
    """`trail`: the places above and this one, with their names. `out`, `into`: links to and from what is not shown."""

    trail: list[tuple[str, Place]]
    clusters: list[Cluster]
    bundles: list[Bundle]
    pages: int
    links: int
    out: int
    into: int


class _Item(NamedTuple):
    kind: str
    folder: int
    page: int
    skip: tuple[int, int]
    group: int
    pages: int


class Shape:
    """An atlas that is read to its end, with what a cut needs counted once."""

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas
        count, kinds = len(atlas.names), len(CLASSES)
        own = np.bincount(atlas.folders.astype(np.int64) * kinds + atlas.classes, minlength=count * kinds)
        self._totals = own.reshape(count, kinds)
        self._below: list[list[int]] = [[] for _ in range(count)]
        for folder in range(count - 1, 0, -1):
            self._totals[atlas.parents[folder]] += self._totals[folder]
            self._below[atlas.parents[folder]].append(folder)
        self._sizes = self._totals.sum(1)
        for folders in self._below:
            folders.sort(key=lambda folder: (-self._sizes[folder], atlas.names[folder]))
        self._linked = np.bincount(atlas.targets, minlength=len(atlas.ids))
        order = np.lexsort((atlas.ids, -self._linked, atlas.folders))
        ends = np.searchsorted(atlas.folders[order], np.arange(count + 1))
        self._order, self._ends = order.astype(np.int64), ends.tolist()

    def cut(self, place: Place) -> Cut | None:
        """None when there is no such place. One with nothing in it but a folder is left for that."""
        folder = self.atlas.places.get(place.at)
        if folder is None:
            return None
        while not place.folders and not place.pages and len(self._below[folder]) == 1 and not len(self._pages(folder)):
            (folder,) = self._below[folder]
        items = self._opened(folder, (place.folders, place.pages))
        clusters_of = self._clusters_of(items)
        count = len(items)
        atlas = self.atlas
        codes = clusters_of[atlas.sources] * (count + 1) + clusters_of[atlas.targets]
        links = np.bincount(codes, minlength=(count + 1) ** 2).reshape(count + 1, count + 1)
        classes = np.bincount(clusters_of * len(CLASSES) + atlas.classes, minlength=(count + 1) * len(CLASSES))
        clusters = [
            self._cluster(item, folder, tuple(row), int(links[n, n]), int(links[n].sum()), int(links[:, n].sum()))
            for n, (item, row) in enumerate(zip(items, classes.reshape(-1, len(CLASSES)).tolist(), strict=False))
        ]
        pairs = [
            Bundle(int(a), int(b), int(links[a, b]), int(links[b, a]))
            for a, b in zip(*np.nonzero(np.triu(links[:count, :count] + links[:count, :count].T, 1)), strict=True)
        ]
        pairs.sort(key=lambda pair: (-(pair.there + pair.back), pair))
        shown = links[:count, :count]
        return Cut(
            self._trail(folder, place), clusters, pairs, sum(item.pages for item in items),
            int(shown.sum()), int(links[:count, count].sum()), int(links[count, :count].sum()),
        )  # fmt: skip

    def _pages(self, folder: int) -> npt.NDArray[np.int64]:
        """The places of its own pages, those that are linked to most first."""
        return self._order[self._ends[folder] : self._ends[folder + 1]]

    def _opened(self, folder: int, skip: tuple[int, int]) -> list[_Item]:
        """The clusters, in the order in which they are shown: parts of one stay beside each other."""
        shown = list(self._children(folder, skip, AT_FIRST_MAX, -1))
        pages = sum(item.pages for item in shown)
        for _ in range(_OPENED_MAX):
            room = CLUSTERS_MAX - len(shown) + 1
            large = [item for item in shown if item.kind == "folder" and item.pages > max(SHARE_MIN * pages, 1)]
            if room < 4 or not large:
                break
            item = max(large, key=lambda item: item.pages)
            whole = item.pages > SHARE_MOST * pages and len(self._below[item.folder]) > 1
            at = shown.index(item)
            shown[at : at + 1] = self._children(
                item.folder, (0, 0), min(room, AT_FIRST_MAX if whole else LATER_MAX), -1 if whole else item.group
            )
        return shown

    def _children(self, folder: int, skip: tuple[int, int], most: int, group: int) -> Iterator[_Item]:
        """Folders by size, pages by how often they are linked to; at most `most` in all, with one for the others. `group` -1: each
        folder is one of its own, and its own pages are one."""
        folders, pages = self._below[folder][skip[0] :], self._pages(folder)[skip[1] :]
        taken = len(folders), len(pages)
        if sum(taken) > most or (folders and taken[1] > PAGES_BESIDE):
            for_pages = min(taken[1], min(PAGES_BESIDE, most // 2) if folders else most - 1)
            taken = min(taken[0], most - 1 - for_pages), for_pages
        for below in folders[: taken[0]]:
            yield _Item("folder", below, -1, (0, 0), below if group < 0 else group, int(self._sizes[below]))
        group = folder if group < 0 else group
        for page in pages[: taken[1]].tolist():
            yield _Item("page", folder, page, (0, 0), group, 1)
        left = sum(int(self._sizes[below]) for below in folders[taken[0] :]) + len(pages) - taken[1]
        if left:
            yield _Item("others", folder, -1, (skip[0] + taken[0], skip[1] + taken[1]), group, left)

    def _clusters_of(self, items: list[_Item]) -> npt.NDArray[np.int64]:
        """The number of the cluster of each page; as many as there are clusters: it is not shown."""
        outside = len(items)
        of_folder = np.full(len(self.atlas.names), -1, np.int64)
        of_folder[0] = outside
        of_page: dict[int, int] = {}
        for n, item in enumerate(items):
            if item.kind == "folder":
                of_folder[item.folder] = n
            elif item.kind == "page":
                of_page[item.page] = n
            else:
                of_folder[self._below[item.folder][item.skip[0] :]] = n
        numbers = of_folder.tolist()
        for folder, parent in enumerate(self.atlas.parents):
            if numbers[folder] < 0:
                numbers[folder] = numbers[parent]
        found = np.array(numbers, np.int64)[self.atlas.folders]
        for n, item in enumerate(items):
            if item.kind == "others":
                found[self._pages(item.folder)[item.skip[1] :]] = n
        if of_page:
            found[list(of_page)] = list(of_page.values())
        return found

    def _cluster(self, item: _Item, shown: int, classes: tuple[int, ...], within: int, out: int, into: int) -> Cluster:
        address, above = self._address(item.folder), self._address(shown)
        place: Place | None = Place(address, *item.skip)
        id = 0
        if item.kind == "page":
            address, place, id = self.atlas.urls[item.page], None, int(self.atlas.ids[item.page])
        name = address[len(above) :].removeprefix("/" if above else "")
        return Cluster(item.kind, name, place, id, item.group, item.pages, classes, within, out - within, into - within)

    def _address(self, folder: int) -> str:
        names: list[str] = []
        while folder:
            names.append(self.atlas.names[folder])
            folder = self.atlas.parents[folder]
        return "/".join(reversed(names))

    def _trail(self, folder: int, place: Place) -> list[tuple[str, Place]]:
        above: list[tuple[str, Place]] = []
        if place.folders or place.pages:
            above.append(("…", place))
        while folder:
            above.append((self.atlas.names[folder], Place(self._address(folder))))
            folder = self.atlas.parents[folder]
        return [("", Place()), *reversed(above)]
