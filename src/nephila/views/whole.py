"""One file, or standard output: it appears under its name only when it is whole. And what is said when it cannot become whole."""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from nephila.errors import ConfigError, DiskFull

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FULL_SAID = re.compile(r"disk is full|No space left|\(os error 28\)")
"""By SQLite, by a database elsewhere, by the library of the index: they have words for it and no number."""
_TOGETHER = 500
_BYTES = 1 << 20


def write_lines(lines: Iterable[bytes], target: Path | None) -> int:
    """The lines, each ended by LF; see `write`."""
    return write((line + b"\n" for line in lines), target)


def write(blocks: Iterable[bytes], target: Path | None) -> int:
    """The blocks into `target` at once, or to standard output (None). Returns how many blocks. Raises ConfigError for a target
    that is a symbolic link or a folder."""
    if target is None:
        return _pour(blocks, sys.stdout.buffer)
    with opened(target) as file:
        return _pour(blocks, file)


@contextmanager
def opened(target: Path) -> Iterator[IO[bytes]]:
    """A draft that becomes `target` at the end, and vanishes when something goes wrong."""
    if target.is_symlink():
        raise ConfigError(f"{target} is a symbolic link: give the name of a file")
    if target.is_dir():
        raise ConfigError(f"{target} is a folder: give the name of a file")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w+b") as file:
            yield file
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def room(target: Path | None) -> Iterator[None]:
    """Inside the block a disk without room, whoever noticed it, comes as DiskFull that names the target of the view."""
    try:
        yield
    except DiskFull:
        raise
    except Exception as error:
        if not (_FULL_SAID.search(str(error)) or (isinstance(error, OSError) and error.errno in FULL)):
            raise
        place = target or "standard output"
        raise DiskFull(
            f"no space left for {place}, or for temporary files in {tempfile.gettempdir()}; once there is, the same command carries on"
        ) from error


def _pour(blocks: Iterable[bytes], file: Any) -> int:
    count = 0
    for together in _joined(blocks):
        file.write(b"".join(together))
        count += len(together)
    file.flush()
    return count


def _joined(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    together, size = list[bytes](), 0
    for block in blocks:
        together.append(block)
        size += len(block)
        if len(together) == _TOGETHER or size > _BYTES:
            yield together
            together, size = [], 0
    yield together
