"""What the command line asks of a job: crawl, status, steering, export.

Everything heavy is imported when it is needed: a command that only asks a question must not pay for a crawl.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nephila.config import Config
from nephila.errors import JobError
from nephila.views.registry import OPTIONS as VIEW_OPTIONS
from nephila.views.registry import VIEWS

if TYPE_CHECKING:
    from nephila.forget import Forgotten
    from nephila.plan import Ending
    from nephila.storing import Sent
    from nephila.views.source import Source

__all__ = [
    "VIEWS",
    "VIEW_OPTIONS",
    "ask",
    "crawl",
    "dry_run",
    "explain",
    "export",
    "export_from",
    "extract",
    "forget",
    "preview",
    "search",
    "source",
    "source_from",
    "state",
    "status",
    "upload",
]


def crawl(folder: Path, config: Config, **options: Any) -> Ending:
    """Run the job in `folder` until it ends; see `front.crawl`."""
    from nephila import front

    return front.crawl(folder, config, **options)


def dry_run(config: Config) -> Iterator[str]:
    """What a crawl would begin with, as lines; nothing is stored."""
    from nephila import rehearsal

    return rehearsal.lines(config)


def status(folder: Path) -> dict[str, Any]:
    """Where a job stands: asked of its front process, or read from its database when none runs."""
    from nephila import db, stats, trouble

    live = _asked(folder, {"verb": "status"})
    if live is not None:
        return live
    with trouble.told(folder), contextlib.closing(db.reader(folder)) as con:
        return stats.snapshot(con, folder=folder)


def state(folder: Path) -> str:
    """How a job stands, in one word (docs/commands.md). At once, however large it is."""
    from nephila import db, stats, trouble

    live = _asked(folder, {"verb": "status"})
    if live is not None:
        return str(live["state"])
    with trouble.told(folder), contextlib.closing(db.reader(folder)) as con:
        return stats.standing(db.meta(con), running=False)


def ask(folder: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
    """One request to the running crawl in `folder`. Raises JobError when none runs, or when it refuses."""
    from nephila import db

    answer = _asked(folder, request, timeout_s)
    if answer is None:
        db.reader(folder).close()
        raise JobError(f"no crawl is running in {folder}")
    if "error" in answer:
        raise JobError(str(answer["error"]))
    return answer


def preview(folder: Path, values: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What other rules would do to a job's stored URLs; see `explain.preview`. As JSON has it."""
    import msgspec

    from nephila import db, settings, trouble
    from nephila.explain import preview

    with trouble.told(folder), contextlib.closing(db.reader(folder)) as con:
        config = settings.of_job(folder)
        found: dict[str, Any] = msgspec.to_builtins(preview(con, config, values, seconds))
        return found


def _asked(folder: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any] | None:
    from nephila import control

    try:
        return control.ask(folder, request, timeout_s)
    except TimeoutError as error:
        raise JobError(f"the crawl in {folder} does not answer; try again") from error


def explain(
    folder: Path, address: str, given: Iterable[str] = (), access: Iterable[str] = (), *, refused: bool = False
) -> dict[str, Any]:
    """Why an address is there, or what was refused; see `explain.explain` and `explain.refusals`. As JSON has it."""
    import msgspec

    from nephila import lock
    from nephila.explain import explain, parsed, refusals

    with source(folder, access) as found:
        if refused:
            answer: dict[str, Any] = msgspec.to_builtins(refusals(found))
        else:
            answer = msgspec.to_builtins(explain(found, address, parsed(given), running=lock.is_held(folder)))
        return answer


def forget(folder: Path, what: str, reason: str, really: Callable[[Forgotten], bool]) -> Forgotten | None:
    """Take pages down; see `forget.forget`."""
    from nephila import forget, trouble

    with trouble.told(folder):
        return forget.forget(folder, what, reason, really=really)


def upload(folder: Path, options: dict[str, Any], note: Callable[..., None]) -> Sent:
    """Send archive files that are not in the store yet; see `storing.upload`."""
    from nephila import storing, trouble

    with trouble.told(folder):
        return storing.upload(folder, options, note)


def export(
    view: str, folder: Path, to: str = "", access: Iterable[str] = (), chosen: Mapping[str, Any] | None = None
) -> str:
    """Make a view of the job; see `views.registry.export`. Returns one sentence about what was written."""
    from nephila import lock, trouble
    from nephila.fetch.decode import decode
    from nephila.store.objects import check, is_address
    from nephila.views import registry

    def made(to: str) -> str:
        return registry.export(view, folder, to, decode, frozenset(access), chosen, lambda: lock.is_held(folder))

    with trouble.told(folder):
        if not is_address(to):
            return made(to)
        import tempfile

        from nephila.store.ship import ship

        check(to, "--to")
        with tempfile.TemporaryDirectory(prefix="nephila-view-") as place:
            said = made(f"{place}/view")
            count = ship(Path(place) / "view", to)
        return f"{said.replace(f'{place}/view', to)}; {count:,} objects are there"


def extract(folder: Path, rules: Path | None, access: Iterable[str] = ()) -> tuple[list[dict[str, Any]], list[str]]:
    """What rules for items find first; see `views.registry.extract`."""
    from nephila import trouble
    from nephila.fetch.decode import decode
    from nephila.views import registry

    with trouble.told(folder):
        return registry.extract(folder, rules, decode, frozenset(access))


def search(folder: Path, text: str, **options: Any) -> dict[str, Any]:
    """Answer a query from the job; see `views.search.search`. As JSON has it."""
    import msgspec

    from nephila import trouble
    from nephila.fetch.decode import decode
    from nephila.views.search import search

    with trouble.told(folder):
        answer: dict[str, Any] = msgspec.to_builtins(search(folder, text, decode, **options))
        return answer


def export_from(
    view: str, files: Sequence[Path], to: str, chosen: Mapping[str, Any], complain: Callable[[str], object]
) -> str:
    """Make a view of archives of other programs; see `views.registry.export_from`."""
    from nephila.fetch.decode import decode
    from nephila.views import registry

    return registry.export_from(view, files, to, decode, chosen, complain)


@contextlib.contextmanager
def source(folder: Path, access: Iterable[str] = ()) -> Iterator[Source]:
    """What views read of a job; to be opened and closed in one thread. Raises ConfigError for the name of a credential that
    is none of its own."""
    from nephila import trouble
    from nephila.fetch.decode import decode
    from nephila.views.source import Source

    with trouble.told(folder), Source(folder, decode, frozenset(access)) as found:
        found.check_access()
        yield found


def source_from(files: Sequence[Path], complain: Callable[[str], object]) -> AbstractContextManager[Source]:
    """The same of archives of other programs."""
    from nephila.fetch.decode import decode
    from nephila.views.borrowed import borrowed

    return borrowed(files, decode, complain)
