"""Tables that grow side by side and whose columns are known at the end only: rows wait in unlinked files, one per table.

Each becomes a file of JSON lines, or a CSV file with a column for every name that any row had.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec

from nephila.errors import ConfigError
from nephila.views import csvfiles
from nephila.views.folder import Folder

TABLES_MAX = 100
"""Each is an open file; what belongs into more goes into `OTHERS`."""
OTHERS = "others"
COLUMNS_MAX = 500
"""Of a CSV file; the cells of others are one JSON object in `MORE`."""
MORE = "_more"
LIST = "tables.json"
"""Names each file and how many rows it has: only what it names is ours to replace."""
FORMS = ("jsonl", "csv")


def form(chosen: Any) -> str:
    """What `--form` asks for. Raises ConfigError."""
    wanted = str(chosen.get("form") or FORMS[0])
    if wanted not in FORMS:
        raise ConfigError(f"--form {wanted}: there are: {', '.join(FORMS)}")
    return wanted


def write_list(folder: Folder, counts: dict[str, int]) -> None:
    """`LIST`, once all files are written."""
    folder.write(LIST, [msgspec.json.encode(counts)])


def written(target: Path) -> frozenset[str]:
    """The names that an earlier export has put into a folder."""
    try:
        names = msgspec.json.decode((target / LIST).read_bytes(), type=dict[str, int])
        return frozenset(name.partition("/")[0] for name in names) | {LIST}
    except (OSError, msgspec.MsgspecError):
        return frozenset()


class Spool:
    """Add rows, then `write` them. Tables whose names differ only in case are one, for the sake of file systems."""

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}
        self._opened = ExitStack()
        self._encode = msgspec.json.Encoder().encode

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def add(self, name: str, row: dict[str, Any]) -> None:
        """One row; nothing in it is None."""
        key = name.casefold()
        if key not in self._tables and len(self._tables) >= TABLES_MAX:
            name = key = OTHERS
        if key not in self._tables:
            file = tempfile.TemporaryFile()  # noqa: SIM115
            self._tables[key] = _Table(name, self._opened.enter_context(file))
        table = self._tables[key]
        table.rows += 1
        table.file.write(self._encode(row) + b"\n")
        if len(table.columns) < COLUMNS_MAX:
            table.columns.update(dict.fromkeys(row))

    def write(self, folder: Folder, form: str, *, safe: bool, below: str = "") -> dict[str, int]:
        """Each table as a file `NAME.FORM`, `below` in front. Returns how many rows each file has."""
        for table in self._tables.values():
            table.file.seek(0)
            folder.write(f"{below}{table.name}.{form}", table.file if form == "jsonl" else _csv(table, safe))
        return {f"{below}{table.name}.{form}": table.rows for table in self._tables.values()}


class _Table:
    def __init__(self, name: str, file: IO[bytes]) -> None:
        self.name, self.file, self.rows = name, file, 0
        self.columns: dict[str, None] = {}


def _csv(table: _Table, safe: bool) -> Iterator[bytes]:
    names = list(table.columns)[:COLUMNS_MAX]
    decode = msgspec.json.Decoder(dict[str, Any]).decode

    def rows() -> Iterator[list[Any]]:
        for line in table.file:
            row = decode(line)
            cells = [_cell(row.pop(name, "")) for name in names]
            yield [*cells, _cell(row) if row else ""]

    yield from csvfiles.records([*names, MORE], rows(), safe)


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return msgspec.json.encode(value).decode()
    return value if not isinstance(value, bool) else str(value).lower()
