"""What the disk and the database say when they fail, in the words of our own errors.

A full disk is `DiskFull`, a place that may not be used is `JobError`, a database that does not read back is `Damaged`.
Everything else that is raised is a bug and stays one.
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nephila import db
from nephila.errors import Damaged, DiskFull, JobError, NephilaError

ROOM_MIN = 256 << 10
"""With less than this free, SQLite cannot make its log and index and says many things, none of them "full"."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
REFUSED = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
)


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Inside the block errors of disk and database come as NephilaErrors that name the place; `folder` is the job's."""
    try:
        yield
    except (JobError, Damaged) as error:
        if _is_full(error.__cause__, folder):
            raise DiskFull(str(error)) from error.__cause__
        raise
    except (OSError, sqlite3.DatabaseError) as error:
        found = _as_ours(error, folder)
        if found is None:
            raise
        raise found from error


def first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that a group of them stands for: of many connections that met the same full disk, one will do."""
    ours, others = group.split(NephilaError)
    found = (ours or others or group).exceptions[0]
    return first(found) if isinstance(found, BaseExceptionGroup) else found


def _as_ours(error: OSError | sqlite3.DatabaseError, folder: Path) -> NephilaError | None:
    place = getattr(error, "filename", None) or folder
    if _is_full(error, folder):
        return DiskFull(f"no space left for {place} ({getattr(error, 'strerror', None) or error})")
    if isinstance(error, OSError):
        return JobError(f"{place} cannot be used: {error.strerror}") if error.errno in REFUSED else None
    if isinstance(error, sqlite3.ProgrammingError):
        return None
    path = db.database(folder)
    if "locked" in str(error):
        return JobError(f"{path} is locked by another program: close it and say the same command again")
    if "readonly" in str(error):
        return JobError(f"{path} cannot be written ({error})")
    return Damaged(f"{path} does not read as a crawl database ({error}); restore it, or start anew with --fresh")


def _is_full(error: BaseException | None, folder: Path) -> bool:
    if isinstance(error, OSError):
        return error.errno in FULL
    if not isinstance(error, sqlite3.OperationalError):
        return False
    return "full" in str(error) or _no_room(db.database(folder).parent)


def _no_room(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < ROOM_MIN
    except OSError:
        return False
