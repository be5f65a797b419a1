"""The view `csv`: the tables as files for programs and spreadsheets (RFC 4180, UTF-8, a line of names first).

Cells are written as they are, because programs read them back. A spreadsheet would run a cell that begins with `=` as a
formula: `--safe-cells` puts an apostrophe before such texts
(https://owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from nephila.errors import ConfigError
from nephila.views import columns, whole
from nephila.views.folder import Folder
from nephila.views.registry import Order
from nephila.views.rows import Row, Rows
from nephila.views.source import Source

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet takes for more than a text."""


def export(source: Source, order: Order) -> str:
    """A file `TABLE.csv` for each table into a folder; one table that was asked for, into a file or to standard output."""
    names = columns.wanted(order.chosen)
    single = len(names) == 1 and (order.target is None or order.to != "")
    if order.target is None and not single:
        raise ConfigError("--to - takes one table: say which, such as --table visit")
    rows = Rows(source)
    ends = rows.ends()
    safe = bool(order.chosen.get("safe_cells"))
    tables = ((name, _lines(name, rows.table(name, ends), safe)) for name in names)
    if single:
        counts = {name: whole.write(lines, order.target) for name, lines in tables}
    else:
        with Folder(order.path) as folder:
            counts = {name: _write(folder, name, lines) for name, lines in tables}
    return rows.told({name: count - 1 for name, count in counts.items()}, order.target or "standard output")


def _write(folder: Folder, name: str, lines: Iterable[bytes]) -> int:
    numbers = itertools.count()
    folder.write(f"{name}.csv", (line for line, _ in zip(lines, numbers, strict=False)))
    return next(numbers)


def _lines(name: str, rows: Iterable[Row], safe: bool) -> Iterator[bytes]:
    """The table as lines."""
    shape = columns.TABLES[name]
    odd = [(n, cell) for n, column in enumerate(shape) if (cell := _CELLS.get(column.type))]

    def cells() -> Iterator[list[Any]]:
        for row in rows:
            written = list(row)
            for n, cell in odd:
                written[n] = cell(row[n])
            yield written

    return records([column.name for column in shape], cells(), safe)


def records(names: Sequence[str], rows: Iterable[Sequence[Any]], safe: bool) -> Iterator[bytes]:
    """A CSV file: the line of names, then the rows, each ended by CRLF. `safe`: texts cannot be taken for formulas."""
    line = _Line()
    writer = csv.writer(line)
    for row in itertools.chain([names], rows):
        writer.writerow([_inert(cell) if isinstance(cell, str) else cell for cell in row] if safe else row)
        yield line.taken()


class _Line:
    """What csv.writer writes to: one record at a time."""

    def __init__(self) -> None:
        self._text = ""

    def write(self, text: str) -> None:
        self._text = text

    def taken(self) -> bytes:
        return self._text.encode()


def _time(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else ""


def _inert(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


_CELLS: dict[str, Callable[[Any], Any]] = {"time": _time, "flag": lambda flag: "true" if flag else "false"}
