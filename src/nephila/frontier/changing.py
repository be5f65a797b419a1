"""Changing the rules of a crawl that goes on: what is stored is held against the new ones, some at a time.

From the moment of the change on, whatever is met is judged by the new rules: workers get them with their next leases (a new
epoch), and what they had judged by the old ones is judged again. What is stored is looked at by the store's writer in
steps between the commits, in the order of its ids, up to those of that moment. What that brings to light is changed here,
in batches like any other, because only memory knows what has been asked for meanwhile.

What no row was made of comes back from the pages that link to it (`rereading`), when the rows have been looked at.

A resume does the same before its first lease, and so does a seed's redirect that widens the scope. While it is under way
`meta.changing` says so: a start that finds it begins anew at the first row, and what is right already stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nephila.frontier.batch import Changed, Looked, Row, Snapshot, Store
from nephila.frontier.books import Books
from nephila.frontier.intake import Intake
from nephila.frontier.ledger import Ledger
from nephila.frontier.queues import Queues
from nephila.frontier.rereading import Rereading
from nephila.frontier.seeds import Seeds
from nephila.frontier.templates import Templates
from nephila.url.scope import Rules, ScopeSpec


@dataclass
class Effect:
    """What a change of the rules has done to stored URLs so far."""

    back: int = 0
    """were refused and are queued now"""
    gone: int = 0
    """were queued and are refused now"""
    near: int = 0
    """were too deep and are queued now"""
    far: int = 0
    """were queued and are too deep now"""
    counted: int = 0
    """were refused without a row: kept pages are read again for them"""
    looked_at: int = 0
    of: int = 0
    """ids of URLs, those that were visited among them"""

    def sentences(self) -> list[str]:
        """For people. What has not happened is not said, but that nothing has."""
        found = []
        if self.back or self.gone or not (self.near or self.far):
            found.append(
                f"the rules changed: {self.back} refused URLs are queued now, {self.gone} queued ones are refused now"
            )
        if self.near or self.far:
            found.append(
                f"max_depth changed: {self.near} URLs are near enough now, {self.far} queued ones are too deep now"
            )
        if self.counted:
            found.append(
                f"{self.counted} more refused URLs were only counted: kept pages are read again for them, no request is sent"
            )
        return found


class Changing:
    """One change at a time; another one that comes meanwhile begins anew, and both have ended when it has."""

    def __init__(
        self,
        books: Books,
        store: Store,
        ledger: Ledger,
        queues: Queues,
        intake: Intake,
        seeds: Seeds,
        templates: Templates,
        rereading: Rereading,
        snapshot: Snapshot,
    ) -> None:
        self._books, self._store, self._ledger = books, store, ledger
        self._queues, self._intake, self._seeds, self._templates = queues, intake, seeds, templates
        self._rereading, self._lifts = rereading, False
        self.unfinished = snapshot.meta.get("changing") == "1"
        """A change was under way when the last run ended."""
        self.effect: Effect | None = None
        """Of the change that is under way."""
        self._marked = self.unfinished
        self._announced = False
        """The change that is marked has not begun."""
        self._rules = Rules(seeds.check, books.depth_max)
        self._told: list[Callable[[Effect], None]] = []
        self._go_on = self._going = False

    def begin(self, done: Callable[[Effect], None] = lambda effect: None, before: ScopeSpec | None = None) -> None:
        """The rules (`books.config` and the seeds' scope) are others than `before`, if that is known. `done` hears what that did,
        in the end."""
        books = self._books
        self._lifts |= self._rereading.lifts(before, self._seeds.scope)
        self._templates.follow()
        self._rules = Rules(self._seeds.check, books.depth_max)
        self._told.append(done)
        self.announce()
        self._announced = False
        self.effect = self.effect or Effect()
        self.effect.looked_at, self.effect.of = 0, books.url_id
        books.left = set()
        books.on_change()
        self._step()

    def announce(self) -> None:
        """What is stored is, or will be, judged by other rules than it was."""
        self._books.meta("changing", "1")
        self._marked = self._announced = True

    def tidy(self) -> None:
        """Nothing is left of the change: a later start need not look again."""
        if self._marked and not self._announced and self.effect is None and not self._books.unwanted:
            self._marked = False
            self._books.meta("changing", "0")

    def _step(self) -> None:
        """Ask the store for what comes next. Its answer may come at once: a loop, so that steps do not nest."""
        self._go_on = True
        if self._going:
            return
        self._going = True
        while self._go_on and (effect := self.effect) is not None:
            self._go_on = False
            self._ledger.cut()  # everything accepted is in the store before it is asked
            self._books.left = set()
            self._store.look(self._rules, effect.looked_at, effect.of, partial(self._looked, self._rules))
        self._going = False

    def _looked(self, rules: Rules, found: Looked | BaseException) -> None:
        if isinstance(found, BaseException):
            self._ledger.fail(found)
            return
        if self._books.ended or self.effect is None:
            return
        self._queues.requeue(found.near)
        for one in found.named:
            self._intake.name(one.row, one.state, one.rule)
        self.effect.near += len(found.near)
        if rules is self._rules:
            self.effect.looked_at = found.upto
            self._take_out(found.queued)
            self._take_back(found.refused)
        self._queues.stir()
        if self.effect.looked_at < self.effect.of:
            self._step()
        else:
            self._finish(self.effect)
        self._ledger.tend()
        self._books.on_change()

    def _take_out(self, changed: list[Changed]) -> None:
        """What was queued and is not to be, unless it has been asked for meanwhile; if it is being asked for, it is not to come
        back."""
        books, effect = self._books, self.effect
        assert effect is not None
        assert books.left is not None
        hosts: defaultdict[int, list[Row]] = defaultdict(list)
        for one in changed:
            if one.row.id in books.left:
                continue
            if one.row.id in books.leases or one.row.id in books.alone:
                books.unwanted[one.row.id] = (one.state, one.rule)
                continue
            hosts[one.host].append(one.row)
            self._intake.set_aside(one.row, one.state, one.rule)
            effect.gone += one.state == "refused"
            effect.far += one.state == "too_deep"
        for host, rows in hosts.items():
            self._queues.withdraw(host, rows)

    def _take_back(self, changed: list[Changed]) -> None:
        assert self.effect is not None
        for one in changed:
            if self._intake.wanted_again(one):
                self.effect.back += one.state == "queued"

    def _finish(self, effect: Effect) -> None:
        self.effect = self._books.left = None
        if self._lifts:
            self._lifts, effect.counted = False, self._rereading.begin()
        self.tidy()
        told, self._told = self._told, []
        for done in told:
            done(effect)
