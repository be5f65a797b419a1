"""A folder to export into: files appear whole, inside it, and never through a symbolic link.

All work goes through descriptors of folders opened with O_NOFOLLOW, so a link put into the target, before or meanwhile,
is refused and not followed. A file that would not change is not touched.
"""

from __future__ import annotations

import os
import re
import stat
from collections import OrderedDict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from nephila.errors import ConfigError, DiskFull
from nephila.views.whole import FULL

_OPEN_MAX = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DRAFT = re.compile(r"\.[0-9]+\.part\Z")
"""No name of ours begins with a dot, so a draft is none of them."""


class Put(NamedTuple):
    """A file as it now is: bytes, time of its last change in nanoseconds, and whether it changed just now."""

    size: int
    modified_ns: int
    changed: bool


class Folder:
    """The target of an export. Raises ConfigError when it is a symbolic link, no folder, or holds one on the way."""

    def __init__(self, target: Path) -> None:
        self._target = target
        if target.is_symlink():
            raise ConfigError(f"{target} is a symbolic link: give the folder itself")
        try:
            target.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._root = os.open(target, _FOLDER)
        except OSError as error:
            raise ConfigError(f"{target} cannot be written to ({error.strerror}): give another folder") from error
        self._draft_name = f".{os.getpid()}.part"
        self._open: OrderedDict[str, int] = OrderedDict()

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for fd in (*self._open.values(), self._root):
            os.close(fd)

    def write(self, path: str, blocks: Iterable[bytes], *, fresh: bool = False) -> Put:
        """Have the file `path` (`/` between names) hold `blocks`, whatever was there. `fresh`: nothing is known to be there, and what
        somebody has put there meanwhile is replaced without a look (a folder is refused)."""
        above, _, name = path.rpartition("/")
        fd = self._folder(above)
        try:
            old = None if fresh else self._file(name, fd, path)
            if old is None:
                return self._draft(name, fd, blocks)
            with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd), "rb") as was:
                same, rest = _compared(was, iter(blocks))
                if rest is None and same == old.st_size:
                    return Put(old.st_size, old.st_mtime_ns, False)
                was.seek(0)
                return self._draft(name, fd, chain(_first(was, same), rest or ()))
        except OSError as error:
            kind = DiskFull if error.errno in FULL else ConfigError
            raise kind(f"{self._target / path} cannot be written: {error.strerror}") from error

    def _draft(self, name: str, fd: int, blocks: Iterable[bytes]) -> Put:
        """Written beside everything else, then put in its place."""
        draft = self._draft_name
        out = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._root
        )
        try:
            try:
                for block in blocks:
                    _write(out, block)
                made = os.fstat(out)
            finally:
                os.close(out)
            os.rename(draft, name, src_dir_fd=self._root, dst_dir_fd=fd)
        except BaseException:
            os.unlink(draft, dir_fd=self._root)
            raise
        return Put(made.st_size, made.st_mtime_ns, True)

    def find(self, path: str) -> os.stat_result | None:
        """An ordinary file, None when there is nothing of that name. Raises ConfigError when it is something else."""
        above, _, name = path.rpartition("/")
        try:
            return self._file(name, self._folder(above, make=False), path)
        except FileNotFoundError:
            return None

    def remove(self, path: str) -> bool:
        """Remove a file, and the folders above that are then empty. False when it was not there."""
        try:
            above, _, name = path.rpartition("/")
            os.unlink(name, dir_fd=self._folder(above, make=False))
            while above:
                self._forget(above)
                over, _, name = above.rpartition("/")
                os.rmdir(name, dir_fd=self._folder(over, make=False))
                above = over
        except FileNotFoundError:
            return False
        except OSError:
            pass  # a folder with something else in it
        return True

    def is_empty(self) -> bool:
        return not os.listdir(self._root)

    def sweep(self) -> None:
        """Remove drafts that a kill has left."""
        for name in os.listdir(self._root):
            if _DRAFT.match(name):
                os.unlink(name, dir_fd=self._root)

    def _file(self, name: str, fd: int, path: str) -> os.stat_result | None:
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"{self._target / path} is not an ordinary file: remove it or give another folder")
        return found

    def _folder(self, path: str, *, make: bool = True) -> int:
        """Raises FileNotFoundError when it is not there and not to be made."""
        if not path:
            return self._root
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        above, _, name = path.rpartition("/")
        parent = self._folder(above, make=make)
        if name in {"", ".", ".."}:
            raise ValueError(f"{path!r} leads out of the folder")
        try:
            if make:
                os.mkdir(name, 0o700, dir_fd=parent)
        except OSError:
            pass  # it is there already, or opening it says what is wrong
        try:
            fd = os.open(name, _FOLDER, dir_fd=parent)
        except FileNotFoundError:
            if not make:
                raise
            raise ConfigError(f"{self._target / path} cannot be made: give another folder") from None
        except OSError as error:
            raise ConfigError(
                f"{self._target / path} is not a folder ({error.strerror}): remove it or give another"
            ) from error
        self._open[path] = fd
        if len(self._open) > _OPEN_MAX:
            os.close(self._open.popitem(last=False)[1])
        return fd

    def _forget(self, path: str) -> None:
        if path in self._open:
            os.close(self._open.pop(path))


def _compared(was: IO[bytes], blocks: Iterable[bytes]) -> tuple[int, Iterable[bytes] | None]:
    """(bytes that are the same from the beginning, the blocks that are left; None: all are the same)."""
    same, rest = 0, iter(blocks)
    for block in rest:
        if was.read(len(block)) != block:
            return same, chain((block,), rest)
        same += len(block)
    return same, None


def _first(was: IO[bytes], size: int) -> Iterable[bytes]:
    while size and (block := was.read(min(size, 1 << 20))):
        size -= len(block)
        yield block


def _write(fd: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(fd, view) :]
