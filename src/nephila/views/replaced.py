"""A folder that is made anew as a whole: parts of two exports in one place would be rows counted twice, or pages taken down.

It is made beside the target and put into its place when it is whole.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from nephila.errors import ConfigError


@contextmanager
def replaced(target: Path, ours: Container[str], what: str) -> Iterator[Path]:
    """A folder to fill, which then takes the place of `target`. Raises ConfigError when that is none, or holds a name that is not
    among `ours`, so that it is no `what`."""
    _refuse_others(target, ours, what)
    for left in _drafts(target):
        shutil.rmtree(left, ignore_errors=True)
    draft, old = (target.with_name(f".{target.name}.{os.getpid()}.{end}") for end in ("part", "old"))
    try:
        yield draft
        if target.exists():
            target.rename(old)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _refuse_others(target: Path, ours: Container[str], what: str) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ConfigError(f"{target} is not a folder of its own: give another --to")
    if target.is_dir() and (others := [path.name for path in target.iterdir() if path.name not in ours]):
        raise ConfigError(f"{target} holds what is no {what} ({min(others)}): give another --to")


def _drafts(target: Path) -> Iterator[Path]:
    """What killed exports have left beside the target."""
    if target.parent.is_dir():
        for path in target.parent.iterdir():
            found = re.fullmatch(rf"\.{re.escape(target.name)}\.(\d+)\.(?:part|old)", path.name)
            if found and not _runs(int(found[1])):
                yield path


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return pid != os.getpid()
