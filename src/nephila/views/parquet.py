"""The view `parquet`: the tables as a folder of Parquet files, typed and packed with zstd, for DuckDB, Spark, pandas and others.
(And `Table`, which other views write with.)

`TABLE/part-N.parquet`; visits, links and items lie in a folder per round (`visit/round=1/…`), as those programs expect of a
partition. Rows are gathered as Arrow batches and written as a file when there are enough of them, so that memory holds one
file's worth. The folder is made beside the target and put into its place when it is whole.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from nephila.errors import ConfigError
from nephila.views import columns
from nephila.views.columns import Column
from nephila.views.folder import Folder
from nephila.views.registry import Order
from nephila.views.replaced import replaced
from nephila.views.rows import Row, Rows
from nephila.views.source import Source

try:
    from arro3 import core as arrow
    from arro3.io import write_parquet
except ImportError as error:
    raise ConfigError("Parquet files need one part more: pip install 'nephila[parquet]'") from error

PART_ROWS = 200_000
"""Rows of one file, and of all that memory holds."""
BATCH_ROWS = 10_000
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_TYPES = {
    "number": arrow.DataType.int64(),
    "real": arrow.DataType.float64(),
    "text": arrow.DataType.string(),
    "flag": arrow.DataType.bool(),
    "time": arrow.DataType.timestamp("us", tz="UTC"),
}


def export(source: Source, order: Order) -> str:
    """All tables, or those of `--table`, in place of what an earlier export has left there."""
    rows = Rows(source)
    ends = rows.ends()
    with replaced(order.path.absolute(), columns.TABLES, "Parquet export") as draft, Folder(draft) as folder:
        counts = {
            name: Table(folder, name, columns.TABLES[name], rounds="round" in columns.KEYS[name]).write(
                rows.table(name, ends)
            )
            for name in columns.wanted(order.chosen)
        }
    return rows.told(counts, order.path)


class Table:
    """One table as files. With `rounds` its column `round` tells partitions apart."""

    def __init__(self, folder: Folder, name: str, shape: Sequence[Column], *, rounds: bool = False) -> None:
        self._folder, self._name = folder, name
        self._round = [column.name for column in shape].index("round") if rounds else None
        shape = [column for n, column in enumerate(shape) if n != self._round]
        self._types = [_TYPES[column.type] for column in shape]
        fields = zip(shape, self._types, strict=True)
        self._schema = arrow.Schema([arrow.Field(column.name, type, nullable=column.empty) for column, type in fields])
        self._open: dict[int, _Part] = {}
        self._written: Counter[int] = Counter()

    def write(self, rows: Iterable[Row]) -> int:
        """All rows; returns how many. A table without any is a file without any."""
        count = held = 0
        at = self._round
        for row in rows:
            key = 0 if at is None else row[at]
            part = self._open.setdefault(key, _Part())
            part.rows.append(row if at is None else row[:at] + row[at + 1 :])
            part.count += 1
            count, held = count + 1, held + 1
            if len(part.rows) == BATCH_ROWS:
                self._pack(part)
            if held >= PART_ROWS:
                held -= self._close(max(self._open, key=lambda key: self._open[key].count))
        for key in [*self._open] or [1]:
            self._close(key)
        return count

    def _pack(self, part: _Part) -> None:
        """Rows become columns, which take a tenth of the memory."""
        if part.rows:
            arrays = [
                _array(values, type) for values, type in zip(zip(*part.rows, strict=True), self._types, strict=True)
            ]
            part.batches.append(arrow.RecordBatch.from_arrays(arrays, schema=self._schema))
            part.rows.clear()

    def _close(self, key: int) -> int:
        """Write the part under way of a partition; returns how many rows it had."""
        part = self._open.pop(key, None) or _Part()
        self._pack(part)
        file = io.BytesIO()
        batches = arrow.RecordBatchReader.from_batches(self._schema, part.batches)
        write_parquet(batches, file, compression="zstd(3)")
        where = self._name if self._round is None else f"{self._name}/round={key}"
        self._folder.write(f"{where}/part-{self._written[key]:05}.parquet", [file.getvalue()])
        self._written[key] += 1
        return part.count


class _Part:
    """A file in the making."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.batches: list[Any] = []
        self.count = 0


def _array(values: tuple[Any, ...], type: Any) -> Any:
    """A column. Instants come as numbers: the library makes no others from Python's."""
    if type == _TYPES["time"]:
        micros = [None if moment is None else (moment - _EPOCH) // _MICROSECOND for moment in values]
        return arrow.Array(micros, type=_TYPES["number"]).cast(type)
    return arrow.Array(values, type=type)
