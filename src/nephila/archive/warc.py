"""The log of a crawl: visits become WARC 1.1 record groups, and a torn file is cut back to its last whole group.

A group is what one visit leaves: `response` (or `revisit`) + `request` + `metadata`, each record one gzip member, all handed to
one write(2), so that a kill leaves whole groups and at most one torn one, which `repair` cuts away. A body that waits
in a file is compressed in blocks: its group takes more than one write, and is still whole before `Record` is returned.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from nephila.archive import index, record
from nephila.archive.group import Digests, First, Group, member, repeatable
from nephila.archive.metadata import Evidence, Outlinks
from nephila.errors import Damaged, DiskFull, JobError
from nephila.types import Kind, Record, Visit

REMEMBERED_MAX = 16_384
"""Payloads remembered per file for `revisit` records; past it the oldest is forgotten (about 8 MB)."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})


class Writer:
    """One worker's archive, a `ports.Keep`. Files are `NAME-worker-serial.warc.gz`, made when first needed.

    `on_open(file, pid)` is called before a file exists, `on_close(file, length)` after it was closed. `serial_min` lets the
    caller skip numbers whose files are gone. `step` is called before and after each durable step: `archive.open`, `.opened`,
    `.write`, `.written`, `.sync`, `.synced`, `.roll`, `.close`, `.closed`.
    Raises DiskFull when the group could not be stored; the file then ends where it did before.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        worker: int,
        *,
        bytes_max: int,
        fsync: bool,
        software: str,
        info: dict[str, str],
        on_open: Callable[[str, int], None],
        on_close: Callable[[str, int], None],
        serial_min: int = 0,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._folder, self._name, self._worker, self._serial = folder, name, worker, serial_min
        self._bytes_max, self._fsync = bytes_max, fsync
        self._info = {"software": software, "format": "WARC File Format 1.1", "conformsTo": record.STANDARD, **info}
        self._on_open, self._on_close, self._step = on_open, on_close, step
        self._fd, self._file, self._end = -1, "", 0
        self._seen: dict[str, First] = {}
        self._outlinks, self._evidence = Outlinks(), Evidence()

    def __call__(self, visit: Visit) -> Record | None:
        """Store one visit. None when there is no response, when the visit will be tried again, and for a login: what is said
        there is nobody's business."""
        response = visit.response
        if response is None or visit.retryable or visit.lease.request.kind is Kind.LOGIN:
            return None
        if self._fd >= 0 and self._end >= self._bytes_max:
            self._step("archive.roll")
            self.close()
        if self._fd < 0:
            self._open()
        digests = Digests(response)
        first = self._seen.get(digests.visit) if repeatable(response) else None
        group = Group(visit, response, digests, first, self._outlinks, self._evidence)
        kept = self._append(group, digests.visit, first)
        if first is None and repeatable(response):
            self._remember(digests.visit, group.as_first(visit))
        return kept

    def close(self) -> None:
        """Close the file, if one is open (and remove it, if its first group failed); the next visit opens another."""
        if self._fd < 0:
            return
        self._step("archive.close")
        file, length = self._file, self._end
        if not length:
            os.unlink(self._folder / file)
        os.close(self._fd)
        self._fd = -1
        self._seen.clear()
        self._evidence.next_file()
        self._on_close(file, length)
        self._step("archive.closed")

    def _open(self) -> None:
        """Register a name that no file has, then make the file; it is never one that somebody else opened."""
        while os.path.lexists(path := self._folder / self._next_name()):
            self._serial += 1
        self._file, self._end = path.name, 0
        self._on_open(path.name, os.getpid())
        self._step("archive.open")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(path, flags, 0o600)
        except FileExistsError:
            raise JobError(f"{path}: another process writes into this archive") from None
        except OSError as error:
            _raise_if_full(error, path)
            raise
        fcntl.flock(fd, fcntl.LOCK_EX)
        self._serial, self._fd = self._serial + 1, fd
        if self._fsync:
            _sync_folder(self._folder)
        self._step("archive.opened")

    def _next_name(self) -> str:
        return f"{self._name}-{self._worker}-{self._serial:05d}.warc.gz"

    def _remember(self, digest: str, first: First) -> None:
        if len(self._seen) >= REMEMBERED_MAX:
            del self._seen[next(iter(self._seen))]
        self._seen[digest] = first

    def _append(self, group: Group, digest: str, first: First | None) -> Record:
        start = self._end
        lead = b"" if start else member(record.warcinfo(self._file, self._info))
        try:
            self._step("archive.write")
            length = self._write(group.parts(lead)) - len(lead)
            self._step("archive.written")
            if self._fsync:
                self._step("archive.sync")
                os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)
                self._step("archive.synced")
        except BaseException as error:
            self._roll_back(start)
            _raise_if_full(error, self._folder / self._file)
            raise
        self._end = start + len(lead) + length
        return Record(self._file, start + len(lead), length, digest, first.visit if first else 0)

    def _write(self, parts: Iterator[bytes]) -> int:
        total = 0
        for part in parts:
            done = 0
            while done < len(part):
                done += os.write(self._fd, memoryview(part)[done:] if done else part)
            total += done
        return total

    def _roll_back(self, start: int) -> None:
        """Back to the end of the group before. Should even this fail, the file is left for the next start to cut."""
        try:
            os.ftruncate(self._fd, start)
            os.lseek(self._fd, start, os.SEEK_SET)
        except OSError:
            os.close(self._fd)
            self._fd = -1
            self._seen.clear()
            self._evidence.next_file()


def _raise_if_full(error: BaseException, path: Path) -> None:
    if isinstance(error, OSError) and error.errno in _FULL:
        raise DiskFull(f"{path} cannot be written: {error.strerror}") from error


def _sync_folder(folder: Path) -> None:
    """A new name is durable only when its folder is."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def repair(path: Path, committed: int, last: tuple[int, int] | None) -> int:
    """Cut a file that its writer left to the last whole committed group; returns where it ends now (0: deleted).

    `committed` is the length that the database vouches for, `last` (offset, length) of the last group before it. A
    result below `committed` means damage: visits beyond it are to be fetched again. The file's writer must be dead.
    Raises Damaged when `path` is a symbolic link or no ordinary file.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise Damaged(f"{path} is not an archive file of this job: {error.strerror}") from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Damaged(f"{path} is not an archive file of this job: not an ordinary file")
        end = _sound_end(fd, status.st_size, committed, last)
        if end < status.st_size:
            os.ftruncate(fd, end)
            os.fsync(fd)
        if end == 0:
            os.unlink(path)
        return end
    finally:
        os.close(fd)


def _sound_end(fd: int, size: int, committed: int, last: tuple[int, int] | None) -> int:
    if committed <= 0:
        return 0
    if size >= committed and (last is None or index.reads_back(fd, *last)):
        return committed
    return index.sound_groups(fd, min(size, committed))
