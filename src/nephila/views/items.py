"""The view `items`: what pages say of things (offers of jobs, flats, goods …) in markup made for machines, a table per type.

Every thing is a row of its type's table, those inside others, too: `_inside` says where it stood, `_of` in which row. The row
of the outer thing has their values as well, under names with dots (`offers.price`), of several the first one's: who wants
prices finds them beside the names of the goods, who wants all offers finds each in a table of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from nephila.errors import Damaged
from nephila.page import things
from nephila.page.things import Thing
from nephila.views import extraction as extractions
from nephila.views import reading, spool
from nephila.views.extraction import Extraction, origin, remarks
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
    """All tables in one folder, in place of what an earlier export has left there; those of rules in `rules` inside it."""
    form = spool.form(order.chosen)
    safe = bool(order.chosen.get("safe_cells"))
    extraction = Extraction(extractions.rules(source, order.chosen.get("rules")))
    with Spool() as tables, Spool() as ruled:
        pages = _Pages(source, extraction)
        for kept, reading in pages:
            for name, row in extraction.rows(kept, reading):
                ruled.add(name, row)
            for name, row in rows(kept, pages.things(kept, reading)):
                tables.add(name, row)
        with (
            replaced(order.path.absolute(), spool.written(order.path), "export of items") as draft,
            Folder(draft) as folder,
        ):
            counts = ruled.write(folder, form, safe=safe, below="rules/") | tables.write(folder, form, safe=safe)
            spool.write_list(folder, counts)
    said = (
        ", ".join(f"{count:,} {name.removesuffix('.' + form)}" for name, count in Counter(counts).most_common(10))
        or "no things"
    )
    more = f" and {len(counts) - 10:,} tables more" if len(counts) > 10 else ""
    return f"{said}{more} of {pages.count:,} pages in {order.path}{pages.said()}{remarks(extraction.said())}"


class _Pages:
    """The pages that a rule wants or that have such markup. `count`: pages looked at."""

    def __init__(self, source: Source, extraction: Extraction) -> None:
        self._source, self._extraction, self.count = source, extraction, 0
        self._wrong: Counter[str] = Counter()

    def __iter__(self) -> Iterator[tuple[Kept, reading.Reading]]:
        for kept in extractions.pages(self._source):
            try:
                found = reading.read(self._source, kept)
            except Damaged:
                self._wrong["not read back"] += 1
                continue
            self.count += 1
            if self._extraction.wants(kept.url) or things.likely(found.content):
                yield kept, found

    def things(self, kept: Kept, found: reading.Reading) -> list[tuple[str, Thing]]:
        """What a page says of things; after the rules have had its tree."""
        page = found.page
        if page.document is None or not things.likely(found.content):
            return []
        read = things.read(page.document(), page.links.base if page.links else kept.url)
        self._wrong.update(f"with broken {markup}" for markup in dict.fromkeys(read.broken))
        self._wrong["cut"] += read.cut
        return read.things

    def said(self) -> str:
        """What went wrong."""
        return "".join(f"; {count:,} pages {what}" for what, count in sorted((+self._wrong).items()))


def rows(kept: Kept, found: list[tuple[str, Thing]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(table, row) of every thing of a page. Names that begin with an underscore say where a row comes from."""
    n = 0
    for markup, top in found:
        waiting: list[tuple[Thing, int, str]] = [(top, 0, "")]
        while waiting:
            thing, of, inside = waiting.pop()
            n += 1
            table = thing.types[0] if thing.types else ROOT
            row = origin(kept, markup, n) | {"_of": of}
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
