"""What a job has in object storage: which archive files are there, which have to go there, which have to go from there.

The database knows (`archive.store`, `archive.sha256`): a file counts as stored when the store was asked and that was committed; only
then may the local one go. Killed at any moment, a file is on the disk, or in the store, or in both: the next start sends it
again or finds it there, and throws away what was half sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nephila import db, resume, settings
from nephila.config import Config
from nephila.errors import ConfigError, Damaged
from nephila.frontier.sqlite import SqliteStore
from nephila.lock import JobLock

if TYPE_CHECKING:
    from nephila.frontier.scheduler import Scheduler
    from nephila.store.objects import Objects
    from nephila.store.upload import Uploader

MARKER = "nephila-job.json"
"""The object that says whose folder this is: two crawls of one site would give their files the same names."""
DOOMED = "store_doomed"
"""The key of table `meta` with the objects that are still to be removed, as [address, file]."""
Note = Callable[..., None]


class Sent(NamedTuple):
    """What `upload` did: files sent now, and files that could not be."""

    files: int
    left: int
    store: str


def upload(folder: Path, options: dict[str, Any], note: Note) -> Sent:
    """Send what a crawl that has ended left behind. Raises JobError when a crawl runs in the folder, ConfigError without a store."""
    db.reader(folder).close()
    config = settings.load(options, os.environ, None, folder / "crawl.toml")
    settings.check(config)
    if not config.store:
        raise ConfigError(f"{folder} has no store: give --store s3://BUCKET/PREFIX")
    with JobLock(folder):
        store = SqliteStore(db.database(folder))
        try:
            keeping = Keeping(folder, config, store, note)
            for event, fields in resume.repair_archives(store, folder / "archive", store.meta()["name"], keeping.holds):
                note(event, **fields)
            keeping.tidy()
            return keeping.send_rest()
        finally:
            store.close()


class Keeping:
    """The store of a job that is opened. Raises ConfigError when it cannot be used, before anything else is done."""

    def __init__(self, folder: Path, config: Config, store: SqliteStore, note: Note) -> None:
        self._folder, self.archive, self._config, self._store, self.note = (
            folder,
            folder / "archive",
            config,
            store,
            note,
        )
        self._key = next(iter(config.store_key), "")
        self._opened: dict[str, Objects] = {}
        self._sizes: dict[str, dict[str, int]] = {}
        self.away = 0
        """Archive files that are in the store and not on the disk."""
        if config.store:
            self._claim()

    def _claim(self) -> None:
        """The store answers, takes what is written, and is not another crawl's; what a kill left half sent is gone."""
        from nephila.store import leftovers
        from nephila.store.objects import Missing, Trouble

        address = self._config.store
        # The fingerprint key is the crawl's own random number, and a secret: only what it hashes to is shown.
        job = hashlib.sha256(f"store {self._store.meta()['fingerprint_key']}".encode()).hexdigest()[:32]
        try:
            objects = self._at(address)
            try:
                owner = json.loads(objects.get(MARKER)).get("job")
            except Missing:
                objects.put(MARKER, json.dumps({"job": job}).encode())
                owner = job
            if owner != job:
                raise ConfigError(f"store: {address} holds the archive of another crawl: give another prefix")
            if count := leftovers.abort(address, self._key):
                self.note("store.aborted", count=count)
        except (Trouble, ValueError, AttributeError) as error:
            raise ConfigError(
                f"store: {address} cannot be used ({error}): check its name, its region and the key"
            ) from None

    def _at(self, address: str) -> Objects:
        from nephila.store.objects import Objects

        if address not in self._opened:
            self._opened[address] = Objects(address, self._key)
        return self._opened[address]

    def files(self) -> list[str]:
        """The names of all archive files there ever were, while a crawl runs, too."""
        with contextlib.closing(db.reader(self._folder)) as con:
            return [file for (file,) in con.execute("SELECT file FROM archive")]

    def holds(self, address: str, file: str, size: int) -> bool:
        """Whether the store has this file whole. Raises ConfigError when it cannot be asked: not knowing is not losing."""
        from nephila.store.objects import Trouble

        try:
            if address not in self._sizes:
                self._sizes[address] = self._at(address).sizes()
        except Trouble as error:
            raise ConfigError(f"store: archive files are only in {address}, which cannot be asked ({error})") from None
        return self._sizes[address].get(file) == size

    def tidy(self) -> None:
        """After a kill: objects that were to go, go; local files that may go, go."""
        self.bury()
        for file, address, size in self._store.query("SELECT file, store, committed FROM archive WHERE store != ''"):
            path = self.archive / file
            if not self._config.keep_local and path.exists() and self.holds(address, file, size):
                path.unlink()
            self.away += not path.exists()

    def waiting(self) -> list[str]:
        """Closed files that are on the disk alone."""
        rows = self._store.query("SELECT file FROM archive WHERE closed = 1 AND store = '' ORDER BY id")
        return [file for (file,) in rows if (self.archive / file).exists()] if self._config.store else []

    def send_rest(self) -> Sent:
        """Send what waits, one after the other. Blocks."""
        from nephila.store import upload
        from nephila.store.objects import Trouble

        address, sent, left = self._config.store, 0, 0
        for file in self.waiting():
            start, path = time.monotonic(), self.archive / file
            try:
                sha256 = upload.send(self._at(address), path, not self._config.keep_local)
            except (Trouble, OSError) as error:
                self.note("store.failed", file=file, reason=str(error), final=True)
                left += 1
                continue
            self._store.query("UPDATE archive SET sha256 = ?, store = ? WHERE file = ?", (sha256, address, file))
            self.note("store.done", **_told(file, address, path, start))
            if not self._config.keep_local:
                path.unlink()
            sent += 1
        return Sent(sent, left, address)

    def start(self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop) -> Uploads:
        """Send files as they are closed, beside the crawl."""
        address = self._config.store
        return Uploads(self, self._config, self._at(address) if address else None, scheduler, loop)

    # --- taking down ------------------------------------------------------------------------------------------------

    def fetch(self, files: Iterable[str]) -> None:
        """Bring back files that are only in the store. Raises Damaged when one is not what it was."""
        from nephila.store.objects import Trouble

        for file, address, sha256 in self._rows(files):
            path, draft = self.archive / file, self.archive / f".{file}.part"
            if path.exists():
                continue
            found = hashlib.sha256()
            try:
                with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                    for block in self._at(address).blocks(file):
                        found.update(block)
                        out.write(block)
                if found.hexdigest() != sha256:
                    raise Damaged(f"{file} in {address} is not what was sent there (SHA-256 differs)")
                draft.replace(path)
            except Trouble as error:
                raise Damaged(f"{file} is only in {address}, and cannot be read there ({error})") from error
            finally:
                draft.unlink(missing_ok=True)

    def doom(self, con: sqlite3.Connection, files: Iterable[str]) -> None:
        """In a transaction that gives these files up: their objects are to be removed, whatever happens after it."""
        told = [*_doomed(self._store), *([address, file] for file, address, _ in self._rows(files))]
        con.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (DOOMED, json.dumps(told)))

    def bury(self) -> None:
        """Remove the objects that were given up. Raises Damaged when the store will not; they stay noted."""
        from nephila.store.objects import Trouble

        for address, file in (doomed := _doomed(self._store)):
            try:
                self._at(address).delete(file)
            except Trouble as error:
                raise Damaged(
                    f"{file} is to be removed from {address}, and cannot be ({error}): nephila upload tries it again"
                ) from error
        if doomed:
            self._store.query("DELETE FROM meta WHERE key = ?", (DOOMED,))

    def _rows(self, files: Iterable[str]) -> list[tuple[str, str, str]]:
        wanted = set(files)
        rows = self._store.query("SELECT file, store, sha256 FROM archive WHERE store != ''")
        return [(file, address, sha256) for file, address, sha256 in rows if file in wanted]


def _doomed(store: SqliteStore) -> list[list[str]]:
    found: list[list[str]] = json.loads(store.meta().get(DOOMED, "[]"))
    return found


def _told(file: str, address: str, path: Path, start: float) -> dict[str, Any]:
    seconds = round(time.monotonic() - start, 3)
    return {"file": file, "store": address, "bytes": path.stat().st_size, "seconds": seconds}


class Uploads:
    """Files on their way while a crawl runs. Lives in the event loop; the threads of its uploader only send."""

    def __init__(
        self,
        keeping: Keeping,
        config: Config,
        objects: Objects | None,
        scheduler: Scheduler,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._keeping, self._config, self._scheduler = keeping, config, scheduler
        self._pending: dict[str, float] = {}
        self._idle, self._stopped, self._ended = asyncio.Event(), asyncio.Event(), False
        self._idle.set()
        self._uploader: Uploader | None = None
        if objects is not None:
            from nephila.store.upload import Uploader

            self._uploader = Uploader(
                objects,
                keeping.archive,
                at_once=config.store_uploads,
                tries=config.store_tries,
                reread=not config.keep_local,
                done=lambda *said: _tell(loop, self._done, *said),
                failed=lambda *said: _tell(loop, self._failed, *said),
            )
            scheduler.on_files = self._committed
            self._offer(keeping.waiting())

    async def over(self) -> None:
        """Returns when all that was closed is stored, has failed for good, or somebody wants to stop: then what is under way gets
        `drain_s` like everything else."""
        stop = asyncio.ensure_future(self._stopped.wait())
        idle = asyncio.ensure_future(self._idle.wait())
        try:
            await asyncio.wait((stop, idle), return_when=asyncio.FIRST_COMPLETED)
            if not idle.done():
                await asyncio.wait((idle,), timeout=self._config.drain_s)
        finally:
            stop.cancel()
            idle.cancel()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped.set()
        if self._uploader is not None:
            self._uploader.stop()

    def close(self) -> None:
        """Hear nothing more, either: the database is about to be closed."""
        self.stop()
        self._ended = True

    def _offer(self, files: Iterable[str]) -> None:
        for file in files:
            if self._uploader is not None and (self._keeping.archive / file).exists():
                self._pending[file] = time.monotonic()
                self._idle.clear()
                self._uploader.offer(file)

    def _committed(self, closed: list[str], stored: list[str]) -> None:
        """A commit has closed files, and says of others that they are stored: from now on these may go."""
        self._offer(closed)
        for file in stored:
            self._keeping.note(
                "store.done", **_told(file, self._config.store, self._keeping.archive / file, self._pending[file])
            )
            if not self._config.keep_local:
                (self._keeping.archive / file).unlink()
                self._keeping.away += 1
            self._settled(file)

    def _done(self, file: str, sha256: str) -> None:
        if not self._ended:
            self._scheduler.stored(file, sha256, self._config.store)

    def _failed(self, file: str, why: str, final: bool) -> None:
        self._keeping.note("store.failed", file=file, reason=why, final=final)
        if final:
            self._settled(file)

    def _settled(self, file: str) -> None:
        self._pending.pop(file, None)
        if not self._pending:
            self._idle.set()


def _tell(loop: asyncio.AbstractEventLoop, heard: Callable[..., None], *said: Any) -> None:
    loop.call_soon_threadsafe(heard, *said)
