"""The front process of a crawl: opens a job folder, runs it to its end, leaves it sound.

Order at the start: lock, crawl.toml, archive files cut to what is committed, database, scheduler, workers. Order at the end:
workers gone, last commit, lock released. Whatever happens in between, the folder can be opened again.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import secrets
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from nephila import __version__, control, db, events, notices, premises, resume, settings, storing, trouble
from nephila.changes import are_rules, changed, differences
from nephila.clock import SystemClock
from nephila.config import Config
from nephila.crew import Crew
from nephila.errors import ConfigError, Damaged, DiskFull
from nephila.fetch.directory import Directory
from nephila.frontier import cookies_txt
from nephila.frontier.changing import Effect
from nephila.frontier.local import LocalFrontier
from nephila.frontier.rereading import Reread
from nephila.frontier.scheduler import Scheduler
from nephila.frontier.seen import ways
from nephila.frontier.sqlite import SqliteStore
from nephila.gauges import Gauges
from nephila.hand import Hand, launch
from nephila.lock import JobLock
from nephila.plan import CODES, Ending, Note, Step, WorkerSpec, archive_name, connections_of, workers_of
from nephila.reread import Order, Rereads
from nephila.url.key import Fingerprints
from nephila.wanted import allowed_of, members_of, requests_of, scope_of
from nephila.worker import new_loop

if TYPE_CHECKING:
    from nephila.engine import Hooks

GAUGE_S = 1.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def crawl(
    folder: Path,
    config: Config,
    *,
    given: Sequence[str] = (),
    fresh: bool = False,
    retry: Iterable[str] = (),
    observe: Callable[[dict[str, Any]], None] | None = None,
    observe_s: float = 1.0,
    note: Note = lambda sentence: None,
    step: Step = lambda name: None,
    engine: str = "",
    beside: Callable[[Path], AbstractContextManager[object]] | None = None,
) -> Ending:
    """Run the job in `folder` until it ends. Blocks. Raises ConfigError, JobError or Damaged before anything is fetched.

    `given` are the seeds named this time (`config.seeds` has those of before, too): at least one has to be the job's own.
    `observe(status)` is called about every `observe_s` seconds; `note` hears sentences for the user; `engine` names another
    builder of the workers' engines (`module:function`), `step(name)` is called around every durable step (tests). `beside(folder)`
    is entered when the job is open and left when it has ended: the window.
    """
    requests_of(config)  # a wrong address is said before a folder is made
    front = Front(folder, config, note=note, step=step)
    with front.locked(fresh=fresh):
        over = front.open(list(retry), given)
        if over is not None:
            return over
        hired = front.hire(engine)
        gc.freeze()  # what was loaded stays; and rows by the thousand, each free of cycles, are looked through less often
        gc.set_threshold(50_000, 20, 100)
        with beside(folder) if beside else contextlib.nullcontext(), asyncio.Runner(loop_factory=new_loop) as runner:
            ending = runner.run(front.run(hired, observe, observe_s, engine))
        if config.mirror and ending.reason != "disk":
            note(_mirror(folder))
        return ending


def _mirror(folder: Path) -> str:
    from nephila.fetch.decode import decode
    from nephila.views import registry

    return registry.export("mirror", folder, "", decode)


class Front:
    """One job folder, open. `locked` around everything, then `open`, then `run`."""

    def __init__(self, folder: Path, config: Config, *, note: Note, step: Step) -> None:
        self.folder, self.config = folder, config
        self._say, self._step = note, step
        self._seeds = requests_of(config)
        self._connections = connections_of(config)
        if config.auth:
            from nephila.fetch.auth import check  # loads libcurl, which is otherwise the workers' business

            check(config)
        self._cookies = cookies_txt.given(config, time.time())
        self._log: events.Log | None = None
        self._gauges = Gauges(
            folder,
            lambda: self._scheduler.gauge(),
            lambda: self.config,
            lambda: max(workers_of(self.config), 1) * self._connections,
            lambda: [*self._crew.pids().values()] if self._crew else [],
        )
        self._stops = 0
        self._crew: Crew | None = None
        self._local: asyncio.Task[None] | None = None
        self._uploads: storing.Uploads | None = None
        self._setting = asyncio.Lock()
        self.hooks = ""
        """`module:Class` for the workers."""

    # --- opening ----------------------------------------------------------------------------------------------------

    @contextmanager
    def locked(self, *, fresh: bool) -> Iterator[None]:
        """The folder is ours (0700), and is a job or empty. `fresh` renames what is there; nothing is deleted."""
        with trouble.told(self.folder):
            yield from self._locked(fresh)

    def _locked(self, fresh: bool) -> Iterator[None]:
        premises.make_ready(self.folder)
        lock = JobLock(self.folder)
        lock.acquire()
        try:
            if fresh and premises.is_started(self.folder):
                self._say(f"the former crawl was renamed to {premises.put_aside(self.folder, lock)}")
                lock = JobLock(self.folder)
                lock.acquire()
            self._lock = lock
            yield
        finally:
            lock.release()
            if self._log is not None:
                self._log.close()

    def open(self, retry: list[str], given: Sequence[str] = ()) -> Ending | None:
        """Everything up to the first request. An Ending when there is nothing to do."""
        toml = self.folder / "crawl.toml"
        old = settings.of_job(self.folder) if toml.exists() else None
        if old is not None and given:
            premises.refuse_another_job(self.folder, old, given)
        others = settings.changes(old, self.config) if old else []
        settings.refuse_fixed(others)
        self._store = self._open_store()
        (self.folder / "archive").mkdir(mode=0o700, exist_ok=True)
        self._log = events.Log(self.folder / "log.jsonl")
        meta = self._store.meta()
        known = "fingerprint_key" in meta
        if not known:
            first = {"fingerprint_key": str(secrets.randbits(64)), "name": archive_name(self._seeds)}
            with self._store.transaction():  # all or nothing: the disk may be full
                self._store.set_meta(first)
        elif old is None and self._store.query("SELECT 1 FROM url LIMIT 1"):
            raise Damaged(
                f"{toml} is missing, but {self.folder} holds a crawl: put it back, or start anew with --fresh"
            )
        self._meta = meta = self._store.meta()
        self._keeping = storing.Keeping(self.folder, self.config, self._store, self._note)
        self._recover()
        widened = tuple(msgspec.json.decode(meta.get("widened", "[]"), type=list[str]))
        hosts = {domain for domain, *_ in self._cookies}
        self._scope = scope_of(self.config, self._seeds, widened, hosts)
        if (members := members_of(self.config, hosts)) or "members" in meta:
            self._store.set_meta({"members": msgspec.json.encode(members).decode()})  # what asked for them is secret
        if known:
            self._carry_on(old, others, retry)
        self._scheduler = self._make_scheduler()
        self._rereads = Rereads(self._scheduler, self._order, self._note, self._step)
        if known and (self._scheduler.unfinished or are_rules(old or self.config, self.config)):
            before = None
            if old is not None and not self._scheduler.unfinished:
                before = scope_of(old, requests_of(old), widened, hosts)
            self._scheduler.change(self.config, self._scope, self._say_effect, before)
        settings.write(self.config, toml)  # after their effect, so that a kill between the two costs nothing
        added = self._scheduler.put(self._seeds)
        if known and added:
            self._say(f"{added} new seeds were added")
        if sentence := notices.contact(self.config, self._seeds):
            self._say(sentence)
        if self._connections < self.config.connections:
            self._say(
                f"only so many files may be open that {self._connections} connections per worker are used (ulimit -n)"
            )
        if self._scheduler.ended is not None:
            self._keeping.send_rest()
        over = self._already_over(meta, known)
        if over is None and self._scheduler.paused:
            self._say(f"the crawl is paused, as it was: `nephila resume {self.folder}` lets it go on")
        return over

    def _open_store(self) -> SqliteStore:
        if self.config.state_dir:
            place = Path(self.config.state_dir).absolute()
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / "crawl.db.at").write_text(f"{place}\n")
        path = db.database(self.folder)
        premises.refuse_lost_database(self.folder, path)
        c = self.config
        return SqliteStore(
            path,
            order_name=c.order,
            max_depth=c.max_depth,
            durable=c.durability == "power",
            min_free=c.min_free,
            step=self._step,
        )

    def _recover(self) -> None:
        """Archive files of a process that died are cut to what is committed, before anybody writes again."""
        archive, name = self.folder / "archive", self._meta["name"]
        for event, fields in resume.repair_archives(self._store, archive, name, self._keeping.holds):
            self._note(event, **fields)
        self._keeping.tidy()

    def _carry_on(self, old: Config | None, others: list[settings.Change], retry: list[str]) -> None:
        for change in others:
            if change.key != "seeds":
                self._note("config.changed", key=change.key, old=str(change.old), new=str(change.new))
        for sentence in resume.apply(self._store, self.config, old or self.config, retry):
            self._say(sentence)

    def _say_effect(self, effect: Effect) -> None:
        self._note("rules.changed", back=effect.back, gone=effect.gone, near=effect.near, far=effect.far)
        for sentence in effect.sentences():
            self._say(sentence)

    def _make_scheduler(self) -> Scheduler:
        c = self.config
        ((known,),) = self._store.query("SELECT coalesce(max(id), 0) FROM url")
        self._seen = seen = ways.make(
            c.seen, payload=c.max_depth >= 0, folder=self.folder / "tmp", expected=known, say=self._say
        )
        snapshot = self._store.load(seen)
        self._directory = Directory(c, SystemClock())
        scheduler = Scheduler(
            c,
            self._store,
            snapshot,
            seen=seen,
            scope=self._scope,
            fingerprint=Fingerprints(int(snapshot.meta["fingerprint_key"])),
            clock=SystemClock(),
            rng=random.Random(secrets.randbits(64)),
            note=self._note,
            directory=self._directory,
        )
        scheduler.give_cookies(self._cookies)
        queued = scheduler.status()["queued"]
        if snapshot.visit_id:
            self._note("crawl.resume", queued=queued, done=sum(snapshot.outcomes.values()))
            if queued:
                self._say(f"carrying on: {sum(snapshot.outcomes.values())} URLs are done, {queued} are queued")
        else:
            self._note("crawl.start", version=__version__, seeds=len(self._seeds), workers=workers_of(c))
        return scheduler

    def _already_over(self, meta: dict[str, str], known: bool) -> Ending | None:
        ended = self._scheduler.ended
        if ended is None:
            return None
        text = ""
        if known and ended.reason == "finished" and meta.get("state") == "finished":
            text = f"finished on {meta.get('ended', '?')}; `revisit` fetches what changed, `--fresh` starts anew"
        ending = self._ending(text)
        self._scheduler.close(ending.reason, meta.get("ended", "") if known else "")
        return ending

    # --- running ----------------------------------------------------------------------------------------------------

    def hire(self, engine: str) -> list[Hand]:
        """Workers start before the event loop does, so that they import while we get ready."""
        return [launch(n, engine=engine) for n in range(1, workers_of(self.config) + 1)]

    async def run(
        self,
        hired: list[Hand],
        observe: Callable[[dict[str, Any]], None] | None,
        observe_s: float,
        engine: str = "",
        hooks: Hooks | None = None,
        signals: bool = True,
    ) -> Ending:
        """The crawl itself. Returns when it ended and all is committed."""
        loop = asyncio.get_running_loop()
        self._store.start(loop.call_soon_threadsafe)
        self._scheduler.attach(loop.call_later)
        failure: BaseException | None = None
        try:
            async with control.control_socket(self) as path:
                self._lock.publish(path)
                with self._signals(loop) if signals else contextlib.nullcontext():
                    watcher = loop.create_task(self._observe(observe, observe_s))
                    gauger = loop.create_task(self._gauge())
                    rereader = loop.create_task(self._rereads.run())
                    try:
                        self._uploads = self._keeping.start(self._scheduler, loop)
                        await self._work(hired, engine, hooks)
                        await self._scheduler.flush()
                        await self._uploads.over()
                    finally:
                        if self._uploads is not None:
                            self._uploads.close()
                        watcher.cancel()
                        gauger.cancel()
                        rereader.cancel()
                        with contextlib.suppress(asyncio.CancelledError):
                            await rereader
                        self._directory.close()
        except DiskFull as error:
            failure = error
        except BaseException:
            await self._scheduler.flush()
            self._close()
            raise
        await self._scheduler.flush()
        ending = self._ending("") if failure is None else self._end(Ending(CODES["disk"], "disk", str(failure)))
        self._close(ending.reason)
        if self.config.save_cookies:
            self._say(cookies_txt.saved(self._scheduler.cookies(), Path(self.config.save_cookies)))
        if observe is not None:
            observe(self.status() | {"state": ending.reason})
        return ending

    def _close(self, state: str = "") -> None:
        """Without room the database's log cannot be folded into it; all that is committed is in the two, and the next start
        does it."""
        try:
            self._scheduler.close(state)
        except sqlite3.OperationalError as error:
            self._note("disk.low", text=str(error))
        self._seen.close()

    def on_commit(self, committed: Callable[[list[int]], None], slow: Callable[[], bool]) -> None:
        """Tell `committed` the url ids of each commit; while `slow()` is true no new lease is given out."""
        self._scheduler.on_commit, self._scheduler.hold = committed, slow

    def poke(self) -> None:
        """What `slow()` says may have changed."""
        self._scheduler.on_change()

    async def _work(self, hired: list[Hand], engine: str, hooks: Hooks | None) -> None:
        c = self.config
        if not hired:
            await self._work_alone(hooks)
            return
        self._crew = Crew(
            self._scheduler,
            self._spec,
            len(hired),
            connections=self._connections,
            read_seconds_max=c.read_seconds_max,
            memory_max=c.worker_memory_max,
            repair=self._cut,
            note=self._note,
            engine=engine,
            hired=hired,
        )
        if self._stops:
            self._crew.stop(c.drain_s)
        await self._crew.run()

    async def _work_alone(self, hooks: Hooks | None) -> None:
        """workers=0: the same corridor in this process, without watchdog."""
        frontier = LocalFrontier(self._scheduler)
        from nephila.corridor import build_engine  # the workers' business when there are any

        engine = build_engine(self._spec(0), frontier, step=self._step, hooks=hooks)
        self._local = asyncio.get_running_loop().create_task(engine.run(self._connections))
        try:
            await self._local
        except asyncio.CancelledError:
            if not self._stops:
                raise
        except BaseExceptionGroup as group:
            raise trouble.first(group) from None
        finally:
            await engine.close()

    def _spec(self, worker: int) -> WorkerSpec:
        return WorkerSpec(
            str(self.folder.absolute()),
            self._meta["name"],
            worker,
            max(workers_of(self.config), 1),
            msgspec.structs.replace(self.config, connections=self._connections),
            self._scheduler.scope,
            int(self._meta["fingerprint_key"]),
            allowed_of(self._seeds),
            resume.next_serial(self.folder / "archive", self._meta["name"], worker, self._keeping.files()),
            self.hooks,
        )

    def _order(self, state: Reread, careful: bool, skip: bool) -> Order:
        """For who reads kept pages again."""
        return Order(
            str(self.folder.absolute()),
            self.config,
            self._scheduler.scope,
            int(self._meta["fingerprint_key"]),
            state.after,
            state.until,
            careful,
            skip,
            os.getpid(),
        )

    def _cut(self, file: str) -> None:
        """A worker died: its file ends where its last committed group ends."""
        from nephila.archive.warc import repair

        committed, last = self._scheduler.committed(file)
        path = self.folder / "archive" / file
        size = path.stat().st_size if path.exists() else 0
        sound = repair(path, committed, last)
        if sound < committed:
            self._note("archive.damaged", file=file, visits=0)
            return  # the file stays open in the database: the next start queues what is lost
        if size != sound:
            self._note("archive.cut", file=file, **{"from": size, "to": sound})
        self._scheduler.closed(file)

    async def _observe(self, observe: Callable[[dict[str, Any]], None] | None, observe_s: float) -> None:
        while observe is not None:
            observe(self.status())
            await asyncio.sleep(observe_s)

    async def _gauge(self) -> None:
        while True:
            self._gauges.sample()
            await asyncio.sleep(GAUGE_S)

    # --- steering (the control socket and the terminal) --------------------------------------------------------------

    @contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Ctrl-C once drains and saves, twice stops now; SIGTERM and SIGHUP are like once."""
        for number in SIGNALS:
            loop.add_signal_handler(number, self._interrupt)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        if self._stops == 0:
            self._say(f"stopping: running requests get {self.config.drain_s:g} s (once more: stop now)")
        self.stop(now=self._stops > 0)

    def stop(self, now: bool) -> None:
        self._stops += 1
        self._scheduler.drain()
        if self._uploads is not None:
            self._uploads.stop()
        if self._crew is not None:
            self._crew.kill() if now else self._crew.stop(self.config.drain_s)
        elif self._local is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(0.0 if now else self.config.drain_s, self._local.cancel)

    def status(self) -> dict[str, Any]:
        archives = sum(1 for _ in (self.folder / "archive").iterdir()) + self._keeping.away
        workers = len(self._crew.pids()) if self._crew else 0
        return (
            self._scheduler.status()
            | {"workers": workers, "folder": str(self.folder), "archive_files": archives}
            | self._gauges.status()
        )

    def pause(self) -> None:
        self._scheduler.pause()

    def resume(self) -> None:
        self._scheduler.resume()

    def host(self, host: str, action: str, value: float | None) -> str:
        return self._scheduler.host_command(host, action, value)

    def hosts(self, origins: list[str]) -> list[dict[str, Any]]:
        return self._scheduler.hosts(origins)

    async def set(self, values: dict[str, Any]) -> dict[str, Any]:
        """Go on with other settings. Answers when stored URLs have been held against them: `ok` is a sentence, `effect` numbers."""
        async with self._setting:  # one after the other
            old = self.config
            try:
                new = changed(old, values)
            except ConfigError as error:
                raise ValueError(str(error)) from error
            found = differences(old, new)
            if not found:
                return {"ok": "nothing changes", "effect": msgspec.to_builtins(Effect())}
            effect = await self._change(old, new)
            for key, (was, now) in found.items():
                self._note("config.changed", key=key, old=str(was), new=str(now))
            said = [f"{key} = {now}" for key, (_, now) in found.items()]
            if are_rules(old, new):
                self._say_effect(effect)
                said += effect.sentences()
            return {"ok": "; ".join(said), "effect": msgspec.to_builtins(effect)}

    async def _change(self, old: Config, new: Config) -> Effect:
        """First the word that a change is under way, then crawl.toml, then the change: whatever a kill leaves of it, the next
        start holds every stored URL against what crawl.toml says."""
        scope = None
        if are_rules(old, new):
            self._scheduler.announce()
            await self._scheduler.flush()
            now = self._scheduler.scope
            members = {domain for domain, *_ in self._cookies}
            scope = scope_of(new, self._seeds, now.widened, members, now.epoch + 1)
        self._step("toml.before")
        await asyncio.to_thread(settings.write, new, self.folder / "crawl.toml")
        self._step("toml.after")
        self.config = new
        done: asyncio.Future[Effect] = asyncio.get_running_loop().create_future()
        self._scheduler.change(new, scope, done.set_result, self._scheduler.scope)
        return await done

    # --- what happened ----------------------------------------------------------------------------------------------

    def _note(self, event: str, **fields: Any) -> None:
        """Into the log; and to the user, in a sentence, when it changes what they should expect."""
        name = {"worker_started": "worker.start", "worker_died": "worker.died"}.get(event, event)
        if self._log is not None:
            self._log.emit(name, **fields)
        self._gauges.heard(name, fields)
        if sentence := notices.of(name, fields):
            self._say(sentence)

    def _ending(self, text: str) -> Ending:
        ended = self._scheduler.ended
        if ended is None:  # stopped at once, with requests under way: they are queued, as in the database
            return self._end(Ending(CODES["interrupted"], "interrupted", "stopped by the user"))
        reason, text = ended.reason, text or ended.text
        if reason == "parked":
            text = f"{text}; the same command carries on"
        if reason == "finished" and not self._scheduler.outcomes["OK"]:
            why = resume.seed_reasons(self.folder)
            reason, text = "no_seed", f"no seed could be fetched: {why}"
        if self.config.scope == "name":
            self._say(notices.domains(resume.domains_met(self.folder)))
        return self._end(Ending(CODES[reason], reason, text))

    def _end(self, ending: Ending) -> Ending:
        self._note("crawl.end", code=ending.code, reason=ending.reason, text=ending.text)
        if ending.code == CODES["disk"]:
            self._note("disk.low", text=ending.text)
        return ending
