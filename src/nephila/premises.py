"""The folder of a job before it is opened: whether a crawl may begin or go on in it, and what is put aside for a new one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from nephila import db
from nephila.config import Config
from nephila.errors import Damaged, JobError
from nephila.lock import JobLock
from nephila.url.parse import seed, without_userinfo

STARTED = ("crawl.toml", "crawl.db", "crawl.db.at", "archive", "log.jsonl")
"""What a folder holds in which a crawl was started."""


def make_ready(folder: Path) -> None:
    """The folder is there, ours alone (0700), and is a job or empty. Raises JobError."""
    if folder.exists() and not folder.is_dir():
        raise JobError(f"{folder} is a file, not a folder: choose another place with -o DIR")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise JobError(f"{folder} cannot be used: {error.strerror}") from error
    if names and not names & {"crawl.toml", "crawl.db", "crawl.db.at", "lock", "log.jsonl"}:
        raise JobError(f"{folder} is not empty and holds no crawl: choose another place with -o DIR")


def is_started(folder: Path) -> bool:
    return any((folder / name).exists() for name in STARTED)


def put_aside(folder: Path, lock: JobLock) -> Path:
    """The crawl in it gets another name, which is returned, and an empty folder takes its place; nothing is deleted. `lock` (the
    folder's, held) goes with it, released."""
    kept = folder.with_name(f"{folder.name}.{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}")
    if (folder / "crawl.db.at").exists():  # from now on the old database lies with its pages
        place = db.database(folder)
        for path in place.parent.glob("crawl.db*"):
            shutil.move(path, folder / path.name)
        (folder / "crawl.db.at").unlink()
    lock.release()
    folder.rename(kept)
    folder.mkdir(mode=0o700)
    return kept


def refuse_another_job(folder: Path, old: Config, given: Sequence[str]) -> None:
    """Of the seeds `given` this time at least one has to be the job's own. Raises JobError."""
    known = {seed(text)[0] for text in old.seeds}
    if known and not any(without_userinfo(seed(text)[0]) in known for text in given):
        first = next(iter(old.seeds))
        raise JobError(
            f"{folder} holds another crawl (of {first}): choose another folder with -o DIR;"
            f" to add this address to that crawl, give {first} as well"
        )


def refuse_lost_database(folder: Path, database: Path) -> None:
    """A crawl that was started has a database; without it nothing may begin as if it had not. Raises Damaged."""
    archive = folder / "archive"
    started = (folder / "log.jsonl").exists() or (archive.is_dir() and any(archive.iterdir()))
    if started and (not database.exists() or not database.stat().st_size):
        what = "empty" if database.exists() else "missing"
        raise Damaged(f"{database} is {what}, but {folder} holds a crawl: put it back, or start anew with --fresh")
