"""A folder to export into: files appear whole, inside it, and never through a symbolic link.

All work goes through descriptors of folders opened with O_NOFOLLOW, so a link put into the target, before or meanwhile,
is refused and not followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from nephila.errors import ConfigError, DiskFull

_OPEN_MAX = 64
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
        self._open: OrderedDict[str, int] = OrderedDict()

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *error: object) -> None:
        for fd in (*self._open.values(), self._root):
            os.close(fd)

    def write(self, path: str, blocks: Iterable[bytes]) -> int:
        """Put `blocks` into the file `path` (`/` between names), replacing what was there. Returns its size."""
        above, _, name = path.rpartition("/")
        fd = self._folder(above)
        draft = f".{os.getpid()}.part"  # no name of ours begins with a dot
        try:
            _forget(draft, fd)
            out = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=fd)
            with open(out, "wb") as file:
                size = sum(file.write(block) for block in blocks)
            self._refuse_odd(name, fd, path)
            os.rename(draft, name, src_dir_fd=fd, dst_dir_fd=fd)
        except OSError as error:
            kind = DiskFull if error.errno in _FULL else ConfigError
            raise kind(f"{self._target / path} cannot be written: {error.strerror}") from error
        finally:
            _forget(draft, fd)
        return size

    def _refuse_odd(self, name: str, fd: int, path: str) -> None:
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"{self._target / path} is not an ordinary file: remove it or give another folder")

    def _folder(self, path: str) -> int:
        if not path:
            return self._root
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        above, _, name = path.rpartition("/")
        parent = self._folder(above)
        if name in {"", ".", ".."}:
            raise ValueError(f"{path!r} leads out of the folder")
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
        except OSError:
            pass  # it is there already, or opening it says what is wrong
        try:
            fd = os.open(name, _FOLDER, dir_fd=parent)
        except OSError as error:
            raise ConfigError(
                f"{self._target / path} is not a folder ({error.strerror}): remove it or give another"
            ) from error
        self._open[path] = fd
        if len(self._open) > _OPEN_MAX:
            os.close(self._open.popitem(last=False)[1])
        return fd


def _forget(name: str, fd: int) -> None:
    try:
        os.unlink(name, dir_fd=fd)
    except OSError:
        pass
