"""The view `items`: what pages say of things (offers of jobs, flats, goods …) in markup made for machines, a table per type.

Every thing is a row of its type's table, those inside others, too: `_inside` says where it stood, `_of` in which row. The row
of the outer thing has their values as well, under names with dots (`offers.price`), of several the first one's: who wants
prices finds them beside the names of the goods, who wants all offers finds each in a table of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from nephila.errors import Damaged
from nephila.page import things
from nephila.page.things import Thing
from nephila.types import ERRANDS
from nephila.views import reading, spool
from nephila.views.article import HTML_TYPES
from nephila.views.folder import Folder
from nephila.views.registry import Order
from nephila.views.replaced import replaced
from nephila.views.source import Kept, Source
from nephila.views.spool import Spool

ROOT = "Thing"
"""The table of things without a type: the root of schema.org's types."""
FLAT_DEPTH = 4
"""So many names are joined with dots; what lies deeper has rows of its own only."""


def export(source: Source, order: Order) -> str:
    """All tables in one folder, in place of what an earlier export has left there."""
    form = spool.form(order.chosen)
    with Spool() as tables:
        pages = _Pages(source)
        for kept, found in pages:
            for table, row in rows(kept, found.things):
                tables.add(table, row)
        with (
            replaced(order.path.absolute(), spool.written(order.path), "export of items") as draft,
            Folder(draft) as folder,
        ):
            counts = tables.write(folder, form, safe=bool(order.chosen.get("safe_cells")))
    said = ", ".join(f"{count:,} {name}" for name, count in Counter(counts).most_common(10)) or "no things"
    more = f" and {len(counts) - 10:,} tables more" if len(counts) > 10 else ""
    return f"{said}{more} of {pages.count:,} pages in {order.path}{pages.said()}"


class _Pages:
    """The pages that have such markup, with what they say. `count`: pages looked at."""

    def __init__(self, source: Source) -> None:
        self._source, self.count = source, 0
        self._wrong: Counter[str] = Counter()

    def __iter__(self) -> Iterator[tuple[Kept, things.Found]]:
        for kept in self._source.pages():
            if kept.media_type not in HTML_TYPES or kept.kind in ERRANDS:
                continue
            try:
                page, content = reading.read(self._source, kept)
            except Damaged:
                self._wrong["not read back"] += 1
                continue
            self.count += 1
            if page.document is None or not things.likely(content):
                continue
            found = things.read(page.document(), page.links.base if page.links else kept.url)
            self._wrong.update(f"with broken {markup}" for markup in dict.fromkeys(found.broken))
            self._wrong["cut"] += found.cut
            yield kept, found

    def said(self) -> str:
        """What went wrong."""
        return "".join(f"; {count:,} pages {what}" for what, count in sorted((+self._wrong).items()))


def rows(kept: Kept, found: list[tuple[str, Thing]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(table, row) of every thing of a page. Names that begin with an underscore say where a row comes from."""
    fetched = datetime.fromtimestamp(kept.started, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    n = 0
    for markup, top in found:
        waiting: list[tuple[Thing, int, str]] = [(top, 0, "")]
        while waiting:
            thing, of, inside = waiting.pop()
            n += 1
            table = thing.types[0] if thing.types else ROOT
            row: dict[str, Any] = {"_page": kept.url, "_fetched": fetched, "_markup": markup, "_row": n, "_of": of}
            yield (
                file_name(table),
                row | {"_inside": inside, "_type": " ".join(thing.types), "_id": thing.id} | flat(thing),
            )
            waiting += [
                (inner, n, f"{inside or table}.{name}")
                for name, values in reversed(thing.properties.items())
                for inner in reversed(values)
                if isinstance(inner, Thing)
            ]


def flat(thing: Thing, before: str = "", depth: int = 1) -> dict[str, Any]:
    """A thing's values by name: one as it is, several as a list; things inside it under names with dots."""
    row: dict[str, Any] = {}
    for name, values in thing.properties.items():
        plain = [value for value in values if not isinstance(value, Thing)]
        if plain:
            row[before + name] = plain[0] if len(plain) == 1 else plain
        inner = next((value for value in values if isinstance(value, Thing)), None)
        if inner is not None and depth < FLAT_DEPTH:
            row |= flat(inner, f"{before}{name}.", depth + 1)
    return row


def file_name(table: str) -> str:
    """A type as the name of a file: what is no letter, digit, dash or underscore falls away."""
    kept = "".join(char for char in table if char.isascii() and (char.isalnum() or char in "-_"))[:60]
    return kept or spool.OTHERS
