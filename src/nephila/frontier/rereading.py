"""What was only counted comes back: kept pages are read again when other rules may want what no row was made of.

Beyond `refused_max` a refused address leaves a number and no row. When a rule that has refused such addresses is lifted, the
visits so far are gone through once more, by somebody who can read the archive (`reread`): he hands their links over in
parts, and each goes the way of any other link. How far he is, is committed with the links themselves (`meta.rereading`), so
that a start after a kill goes on there; a part that comes twice finds its links known.

All that was only counted is counted anew meanwhile: what is still not wanted comes by again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from nephila.frontier.batch import Row, Snapshot
from nephila.frontier.books import Books
from nephila.frontier.intake import Intake
from nephila.types import Found
from nephila.url.scope import ScopeSpec
from nephila.url.traps import trap_of

KEY = "rereading"
"""Of table `meta`."""
LASTING = frozenset({"kind.form", "sitemap.depth", "scheme", "url.too_long"})
"""Rules that no setting lifts."""


class Reread(msgspec.Struct):
    """How far it is: visits up to `after` of those up to `until`. `back`: URLs that are queued again; `unread`: pages that did
    not read back."""

    after: int
    until: int
    pages: int = 0
    back: int = 0
    unread: int = 0


class Again(msgspec.Struct, frozen=True, array_like=True):
    """A page that was read again: its row, where it moved to or "", its links."""

    row: tuple[int, int, str, str, int, int, int, int, int, str]
    moved_to: str
    found: Found


class Part(msgspec.Struct, frozen=True, array_like=True):
    """What the visits up to `upto` have brought since the last part."""

    upto: int
    pages: int
    unread: int
    brought: list[Again]


class Rereading:
    """At most one at a time; one that is wanted meanwhile begins at the first visit again."""

    def __init__(self, books: Books, intake: Intake, snapshot: Snapshot) -> None:
        self._books, self._intake = books, intake
        told = snapshot.meta.get(KEY, "")
        self.state = msgspec.json.decode(told, type=Reread) if told else None
        self.on_wanted: Callable[[], None] | None = None
        """Somebody reads pages again, and hears by this that he has to."""

    @property
    def awaited(self) -> bool:
        """It is not over before that is."""
        return self.state is not None and self.on_wanted is not None

    def lifts(self, before: ScopeSpec | None, now: ScopeSpec) -> bool:
        """Something is only counted that may be wanted now. `before` None: nobody knows what the rules were."""
        counted, rules = self._intake.counted, self._books.rules
        return any(counted[id] > 0 and lifted(text, before, now) for text, id in rules.items())

    def begin(self) -> int:
        """Read all visits so far again. Returns how many addresses are only counted."""
        if self.on_wanted is None:
            return 0
        self.state = Reread(0, self._books.visit_id)
        counted = self._intake.count_anew()
        self._save()
        self.on_wanted()
        return counted

    def take(self, part: Part) -> None:
        """Links of pages that were read again; they and the mark are in one batch."""
        assert self.state is not None
        pages = ((Row(*one.row), one.found, one.moved_to) for one in part.brought)
        self.state.back += self._intake.again(pages)
        self.state.after, self.state.pages = part.upto, self.state.pages + part.pages
        self.state.unread += part.unread
        self._save()

    def end(self) -> Reread | None:
        """It is over. Returns what came of it."""
        over, self.state = self.state, None
        self._save()
        return over

    def _save(self) -> None:
        self._books.meta(KEY, msgspec.json.encode(self.state).decode() if self.state else "")


def lifted(rule: str, before: ScopeSpec | None, now: ScopeSpec) -> bool:
    """What this rule has refused may be wanted now."""
    if rule in LASTING:
        return False
    if rule.startswith("exclude:"):
        return rule.removeprefix("exclude:") not in now.exclude
    if rule == "nofollow":
        return now.ignore_nofollow
    if rule == "kind.sitemap":
        return now.sitemaps
    if trap := trap_of(rule):
        return trap not in now.traps
    return before is None or _places(before) != _places(now)


def _places(spec: ScopeSpec) -> Iterable[object]:
    return (spec.mode, spec.seeds, spec.include, spec.embeds, spec.widened, spec.members, spec.sitemaps)
