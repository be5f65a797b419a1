"""The form of an address: what stays of it when numbers, dates, names and values are left out.

`/shop/12/red-shoes.html?sort=price&page=2` is one of the many that `/shop/{n}/*.html?page,sort` stands for. Pages of one form are
mostly made by one program, so what some of them are worth tells what the others are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nephila.types import Kind
from nephila.url.parse import origin
from nephila.url.traps import trap_of

PAGES = frozenset(kind.value for kind in (Kind.PAGE, Kind.REDIRECT, Kind.CANONICAL, Kind.SCRIPT, Kind.FEED))
"""Kinds that a dry form refuses: a picture is a part of a page that is wanted."""

_DIRECTORIES_MAX = 1 << 12
"""Directories remembered: pages of a site share them."""
_SEGMENT = re.compile(
    r"(?<=/)(?:(?P<n>[0-9]{1,9})|(?P<d>(?:19|20)[0-9]{2}-?[0-9]{2}(?:-?[0-9]{2})?)"
    r"|(?P<id>(?=[^/]*[0-9])[0-9A-Fa-f-]{16,}|\([A-Z]\([^/]*\)\)|(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[0-9A-Za-z]{20,}))(?=/)"
)
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}")
_PROGRAM = re.compile(r"[A-Za-z_]{1,24}(?:\.[a-z]{1,5})?/?")
"""A name that takes parameters is that of a program, unless it looks like that of an article."""
_NAME = re.compile(r"(?:^|[&;])([^=&;]+)")
_NAMES_MAX = 12
_NUMBER = re.compile(r"[0-9]+")
_WORD = re.compile(r"(?<=/)[^/*{?]+(?=/)")
_LAST = re.compile(r"(?<=/)[^/*{?.]+(?=[^/]*$)")

_STRONG = frozenset({"year", "month", "date", "day", "week", "cal", "calendar", "tribe-bar-date", "ical"})
_WEAK = frozenset({"y", "m", "d", "yr", "mo", "mon", "w", "yy", "mm", "dd", "yyyy", "month_num", "from", "start", "ts"})
_DATE = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?:[-/]?[01][0-9]|/[0-9])(?:[-/]?[0-3][0-9])?(?![0-9])")


class DryForms(dict[str, dict[str, str]]):
    """Forms whose pages say nothing new: origin → form → the rule that refuses it. `on`: the traps that are switched on."""

    def __init__(self, on: Iterable[str]) -> None:
        super().__init__()
        self._on = frozenset(on) & {"template", "calendar"}

    def remember(self, rule: str) -> None:
        """A rule of a dry form holds from now on: `trap:template ORIGIN/FORM`. Other rules are passed over."""
        if trap_of(rule) in self._on:
            where = rule.partition(" ")[2]
            name = origin(where)
            self.setdefault(name, {})[where[len(name) :]] = rule

    def refusal(self, name: str, url: str, kind: str) -> str:
        """ "" or the rule of the dry form that a URL of the origin `name` has."""
        forms = self.get(name)
        if forms is None or kind not in PAGES:
            return ""
        form = template(url)
        return forms.get(form) or forms.get(coarser(form)) or forms.get(combined(form)) or ""


def template(url: str) -> str:
    """Path and query of a serialised URL, generalised. Names of parameters stand in order, each once: their order means
    nothing here."""
    path, mark, query = url.partition("?")
    end = len(path) - path.endswith("/")
    cut = path.rfind("/", 8, end) + 1
    if not cut:
        return f"/?{_names(query)}" if mark else "/"
    dot = path.rfind(".", cut)
    last = path[end:] if dot < 0 else path[dot:]
    form = _directory(path[:cut]) + (path[cut:] if mark and _PROGRAM.fullmatch(path, cut) else _any(last))
    return f"{form}?{_names(query)}" if mark else form


@lru_cache(_DIRECTORIES_MAX)
def _directory(start: str) -> str:
    """The path of a URL up to its last part, generalised."""
    return _SEGMENT.sub(lambda found: f"{{{found.lastgroup}}}", start[start.find("/", 8) :])


@lru_cache(_DIRECTORIES_MAX)
def _any(last: str) -> str:
    """A star for the last part of a path, of which `last` is the end: its extension or slash."""
    return "*" + (last if last == "/" or _EXTENSION.fullmatch(last) else "/" if last.endswith("/") else "")


def _names(query: str) -> str:
    names = sorted(set(_NAME.findall(query)))
    if len(names) > _NAMES_MAX:
        names = [*names[:_NAMES_MAX], "…"]
    return _NUMBER.sub("{n}", ",".join(names))


def coarser(form: str) -> str:
    """The same without the names of directories, for a site that has too many of them."""
    path, mark, query = form.partition("?")
    path = _WORD.sub("{w}", path)
    return (_LAST.sub("*", path, count=1) if mark else path) + mark + query


def combined(form: str) -> str:
    """The form of all addresses of this path that have two parameters or more, whichever; "" if this has not."""
    path, _, query = form.partition("?")
    return f"{path}?…" if "," in query else ""


def parameters(form: str) -> int:
    """How many names of parameters a form has, at least."""
    query = form.partition("?")[2]
    if query == "…":
        return 2
    return query.count(",") + 1 if query else 0


def dated(form: str, url: str) -> bool:
    """The address `url` of this form is a place in a calendar, by its parameters or its path."""
    if query := form.partition("?")[2]:
        names = {name.lower().strip("[]") for name in query.split(",")}
        if names & _STRONG or len(names & _WEAK) > 1:
            return True
    return bool(_DATE.search(url, url.find("/", 8)))
