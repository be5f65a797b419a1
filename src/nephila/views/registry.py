"""What `export VIEW` offers: a name for each view, where it is made, and what it takes.

This page is read by every command that lists the views, so a view's module is imported only when that view is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nephila.errors import ConfigError

if TYPE_CHECKING:
    from nephila.archive.reader import Decode
    from nephila.views.source import Source


class View(NamedTuple):
    """One form of the log. `run` names its function, which takes a source and an order and returns a sentence (remarks, if any,
    follow behind "; "); `default` is its place below `views/`; `stdout`: it may also go to standard output (`--to -`);
    `takes`: names of `OPTIONS`."""

    run: str
    default: str
    doc: str
    stdout: bool = False
    takes: tuple[str, ...] = ()


class Option(NamedTuple):
    """An option of `export` that means something to some views only. Without a `metavar` it is a switch."""

    doc: str
    metavar: str = ""


class Order(NamedTuple):
    """What is wanted of a view. `target` None: standard output. `to`: as it was given, for views that are no files; `chosen`:
    the options that were given, by name; `running`: whether the job is being crawled now."""

    target: Path | None
    to: str
    chosen: Mapping[str, Any]
    running: Callable[[], bool] = lambda: False

    @property
    def path(self) -> Path:
        """The target of a view that never goes to standard output."""
        assert self.target is not None
        return self.target


OPTIONS = {
    "compressed": Option("every record compressed by itself (zlib), for readers that expect it"),
    "safe_cells": Option("an apostrophe before texts that a spreadsheet would run as a formula"),
    "form": Option("what the files are: items jsonl (default) or csv, graph csv (default), graphml or parquet", "FORM"),
    "rules": Option(
        "rows by the rules ([[extract]]) of this TOML file, in place of those of the crawl's settings", "FILE"
    ),
    "anchors": Option("with the text and the kind of every link; the pages are read again"),
    "scores": Option("with PageRank and HITS of every node"),
    "contract": Option("an address that moved is the one it leads to"),
    "table": Option("these tables only: page, visit, link, item, host", "NAME[,…]"),
    "follow": Option("go on while the crawl runs, and end with it"),
    "workers": Option(
        "processes that write (default: one per processor when there is work for them; 0: this one)", "N"
    ),
    "every": Option("every address that was met, with its state and its last outcome"),
    "language": Option("the language in which a report opens: en (default) or zh", "LANGUAGE"),
    "with_noindex": Option("take in pages that ask not to be indexed or kept for others (noindex, noarchive)"),
}

VIEWS = {
    "mirror": View(
        "nephila.views.mirror:export", "mirror", "the site as files that open from disk", takes=("workers",)
    ),
    "jsonl": View("nephila.views.tables:export_jsonl", "visits.jsonl", "one JSON line per visit", stdout=True),
    "csv": View("nephila.views.csvfiles:export", "csv", "the tables as CSV files", True, ("table", "safe_cells")),
    "parquet": View("nephila.views.parquet:export", "parquet", "the tables as Parquet files", takes=("table",)),
    "text": View("nephila.views.text:export_text", "text.jsonl", "what the pages say", True, ("with_noindex",)),
    "markdown": View(
        "nephila.views.text:export_markdown", "markdown", "what the pages say, as Markdown", True, ("with_noindex",)
    ),
    "sql": View(
        "nephila.views.sql:export", "tables.db", "the tables in SQLite, PostgreSQL, MariaDB", takes=("table", "follow")
    ),
    "items": View(
        "nephila.views.items:export",
        "items",
        "what pages say of things (schema.org, OpenGraph), a table per type",
        takes=("form", "rules", "safe_cells"),
    ),
    "graph": View(
        "nephila.views.graph:export",
        "graph",
        "addresses and the links between them",
        takes=("form", "anchors", "scores", "contract", "safe_cells"),
    ),
    "report": View(
        "nephila.views.report.view:export",
        "report",
        "what is wrong with the site, to show and to mend",
        takes=("language",),
    ),
    "search": View("nephila.views.index:export", "search", "the index that nephila search asks"),
    "tianwang": View(
        "nephila.views.tianwang:export", "pages.tianwang", "the pages as a Tianwang page store", True, ("compressed",)
    ),
    "urls": View(
        "nephila.views.tables:export_urls", "urls.txt", "the URLs of the pages kept, one per line", True, ("every",)
    ),
    "warc": View("nephila.views.warc:export", "all.warc.gz", "all records as one WARC file", stdout=True),
    "cdxj": View("nephila.views.cdxj:export", "index.cdxj", "where every record lies, for replay tools", stdout=True),
    "wacz": View("nephila.views.wacz:export", "crawl.wacz", "records, index, pages and their text as one file"),
}


def export(
    name: str,
    folder: Path,
    to: str,
    decode: Decode,
    access: frozenset[str] = frozenset(),
    chosen: Mapping[str, Any] | None = None,
    running: Callable[[], bool] = lambda: False,
) -> str:
    """Make view `name` of the job in `folder`; `to` is a path, `-`, or "" for its usual place. Returns a sentence.

    Raises ConfigError for an unknown name, an option that is not the view's, or a target that will not do; DiskFull.
    """
    view = _view(name, to, chosen)
    from nephila.views.source import Source

    order = _order(view, folder / "views", to, chosen, running)
    with _room(order.target), Source(folder, decode, access) as source:
        source.check_access()
        left_out = source.left_out()
        return _function(view)(source, order) + _said(left_out)


def export_from(
    name: str,
    files: Sequence[Path],
    to: str,
    decode: Decode,
    chosen: Mapping[str, Any] | None = None,
    complain: Callable[[str], object] = lambda sentence: None,
) -> str:
    """The same of archives that other programs have written; the usual place is the present folder."""
    view = _view(name, to, chosen)
    from nephila.views.borrowed import borrowed

    order = _order(view, Path(), to, chosen)
    with _room(order.target), borrowed(files, decode, complain) as source:
        return _function(view)(source, order)


def extract(
    folder: Path, rules: Path | None, decode: Decode, access: frozenset[str] = frozenset()
) -> tuple[list[dict[str, Any]], list[str]]:
    """What rules for items find first, and remarks on what they do not. Raises ConfigError for wrong rules, or none."""
    from nephila.views import extraction
    from nephila.views.source import Source

    with Source(folder, decode, access) as source:
        source.check_access()
        found = extraction.rules(source, rules)
        if not found:
            raise ConfigError(
                f"{folder / 'crawl.toml'} holds no [[extract]]: give --rules FILE (docs/items.md has an example)"
            )
        return extraction.preview(source, found)


def _view(name: str, to: str, chosen: Mapping[str, Any] | None) -> View:
    view = VIEWS.get(name)
    if view is None:
        raise ConfigError(f"there is no view {name!r}: choose one of {', '.join(VIEWS)}")
    if to == "-" and not view.stdout:
        raise ConfigError(f"the view {name!r} is not one stream of bytes: give --to a place, not -")
    for option in chosen or ():
        if option not in view.takes:
            raise ConfigError(f"--{option.replace('_', '-')} is not an option of the view {name!r}")
    return view


def _order(
    view: View,
    usual: Path,
    to: str,
    chosen: Mapping[str, Any] | None,
    running: Callable[[], bool] = lambda: False,
) -> Order:
    return Order(None if to == "-" else Path(to) if to else usual / view.default, to, chosen or {}, running)


def _function(view: View) -> Callable[[Source, Order], str]:
    module, _, function = view.run.partition(":")
    made: Callable[[Source, Order], str] = getattr(import_module(module), function)
    return made


def _room(target: Path | None) -> AbstractContextManager[None]:
    from nephila.views import whole

    return whole.room(target)


def _said(left_out: dict[str, int]) -> str:
    """How to see what was left out."""
    if not left_out:
        return ""
    from nephila import credentials

    asked = " ".join(f"--with {name}" for name in credentials.join(*left_out).split())
    return f"; {sum(left_out.values()):,} visits with a credential are left out ({asked} takes them in)"
