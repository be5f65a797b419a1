"""What `export VIEW` offers: a name for each view, and what it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from nephila.archive.reader import Decode
from nephila.errors import ConfigError
from nephila.views import tables
from nephila.views.mirror import export_mirror
from nephila.views.source import Source


class View(NamedTuple):
    """One form of the log. `default` is its place below `views/`; `stdout`: it may also go to standard output (`--to -`)."""

    run: Callable[[Path, Path | None, Decode, frozenset[str]], str]
    default: str
    stdout: bool
    doc: str


def export(name: str, folder: Path, to: str, decode: Decode, access: frozenset[str] = frozenset()) -> str:
    """Make view `name` of the job in `folder`; `to` is a path, `-`, or "" for its usual place. Returns a sentence.

    Raises ConfigError for an unknown name or a target that will not do.
    """
    view = VIEWS.get(name)
    if view is None:
        raise ConfigError(f"there is no view {name!r}: choose one of {', '.join(VIEWS)}")
    if to == "-" and not view.stdout:
        raise ConfigError(f"the view {name!r} is a folder of files: give --to a folder, not -")
    target = None if to == "-" else Path(to) if to else folder / "views" / view.default
    return view.run(folder, target, decode, access)


def _mirror(folder: Path, target: Path | None, decode: Decode, access: frozenset[str]) -> str:
    assert target is not None
    done = export_mirror(folder, target, decode, access)
    lost = f"; {len(done.unreadable)} pages could not be read back" if done.unreadable else ""
    return f"{done.files:,} files, {done.bytes:,} bytes: open {target / 'index.html'}{lost}"


def _jsonl(folder: Path, target: Path | None, decode: Decode, access: frozenset[str]) -> str:
    with Source(folder, decode, access) as source:
        return f"{tables.jsonl(source, target):,} visits in {target or 'standard output'}"


def _urls(folder: Path, target: Path | None, decode: Decode, access: frozenset[str]) -> str:
    with Source(folder, decode, access) as source:
        return f"{tables.urls(source, target):,} URLs in {target or 'standard output'}"


VIEWS = {
    "mirror": View(_mirror, "mirror", False, "the site as files that open from disk"),
    "jsonl": View(_jsonl, "visits.jsonl", True, "one JSON line per visit"),
    "urls": View(_urls, "urls.txt", True, "the URLs of the pages kept, one per line"),
}
