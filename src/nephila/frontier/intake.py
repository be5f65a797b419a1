"""Intake: links become rows. What is met for the first time is queued, too deep or refused, and stays so until a page
says otherwise.

A page's links come packed: fingerprints of all, texts of those the front may not know. Pages that were accepted together
wait until the last of them is judged (`links`), then the set of what was met is asked once for all their links, and what
is new is admitted in the order in which it came (`admit`). The ledger calls `admit` too, before it cuts a batch: never the
outcome without the links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from msgspec import structs

from nephila.frontier.batch import BIAS, ROBOTS, Changed, Row, Snapshot
from nephila.frontier.books import Books
from nephila.frontier.met import Met
from nephila.frontier.queues import Queues
from nephila.frontier.seeds import Seeds
from nephila.frontier.templates import Templates
from nephila.types import FLAT_KINDS, Found, Kind, NewLink, Outcome, Request, Settlement
from nephila.url.parse import origin, without_userinfo
from nephila.url.traps import PREFIX

SITEMAP = Kind.SITEMAP.value
FLAT = frozenset(kind.value for kind in FLAT_KINDS)
"""As words: an enumeration's members are slow to look up."""
EXAMPLES_MAX = 3
"""URLs kept per rule and host when refused ones are only counted."""
SITEMAP_DEPTH_MAX = 10
"""Sitemap indexes inside one another. The protocol allows one; a chain that goes on for ever is a trap."""
SEEDS_AT_ONCE = 10_000
"""Seeds in one question to the set of what was met; they may come as a stream of millions."""


class Brought(NamedTuple):
    """A page whose links wait to be admitted. `hops`, `chain` and `seed` are for the target of a redirect; `hops` below zero:
    the sitemaps above what a sitemap names."""

    row: Row
    found: Found
    hops: int
    chain: tuple[int, ...]
    seed: bool
    moved_to: str


class Intake:
    """The only door by which a URL comes into the frontier (requests for robots.txt aside)."""

    def __init__(
        self,
        books: Books,
        queues: Queues,
        seeds: Seeds,
        met: Met,
        templates: Templates,
        fingerprint: Callable[[str], int],
        snapshot: Snapshot,
    ) -> None:
        self._books, self._queues, self._seeds, self._met, self._fingerprint = books, queues, seeds, met, fingerprint
        self._deep, self._templates = met.deep, templates
        self._refused, self._refused_count = snapshot.refused, snapshot.refused_count
        self._rules = books.rules
        self.counted = Counter(snapshot.only_counted)
        """Rule → addresses that it refused and no row was made of."""
        self._waiting: list[Brought] = []
        self._only_counted: dict[int, str] = {}
        """Fingerprints (with texts) of this question that left no row: they are new when they come again."""

    def seeds(self, requests: Iterable[Request]) -> int:
        """Admit seeds, whatever the scope. Returns how many were not known before."""
        self.admit()
        requests, added = iter(requests), 0
        while some := list(islice(requests, SEEDS_AT_ONCE)):
            fps = [self._fingerprint(request.url) for request in some]
            new = self._met.first_many(fps, [request.url for request in some], [request.depth for request in some])
            for fp, request, is_new in zip(fps, some, new, strict=True):
                if is_new:
                    self._admit_seed(fp, request)
                    added += 1
        return added

    def _admit_seed(self, fp: int, request: Request) -> None:
        id = self._admit(fp, without_userinfo(request.url), request.kind, request.depth, 0, 0, 0, "")
        self._seeds.ids.add(id)
        if request.guessed:
            self._seeds.guess(id)

    def probe(self, url: str, row: Row) -> int:
        """Ask for a URL that nobody has, because of the page of this row, before anything else that its host waits for. Returns
        its id (0: it is known)."""
        fp = self._fingerprint(url)
        return self._admit(fp, url, Kind.PROBE, 0, 0, row.id, 0, "") if self._met.first(fp, url) else 0

    def links(self, row: Row, s: Settlement) -> None:
        """Links of a page, or the one target of a redirect, in the batch of the visit that brought them: the latest."""
        found, books = s.found, self._books
        if not found.edges and not found.new:
            return
        books.batch.links.append((books.visit_id, found.flat, found.edges))
        books.batch.weight += len(found.edges)
        moved = s.outcome == Outcome.MOVED
        if found.new or self._deep or moved:
            self._wait(row, found, moved, s.moved_to)

    def again(self, pages: Iterable[tuple[Row, Found, str]]) -> int:
        """Links of pages that were visited before, each with where it moved to or "". Returns how many URLs are queued by them."""
        self.admit()
        before = self._books.batch.found
        for row, found, moved_to in pages:
            self._wait(row, found, bool(moved_to), moved_to)
        self.admit()
        return self._books.batch.found - before

    def _wait(self, row: Row, found: Found, moved: bool, moved_to: str) -> None:
        if not moved:
            above = min(row.hops, 0) - 1 if row.kind == SITEMAP else 0
            self._waiting.append(Brought(row, found, above, (), False, ""))
        elif row.kind != ROBOTS:  # that is followed as a request of its own kind
            chain = (*self._books.chains.get(row.id, ()), row.fp)
            hops, seed = max(row.hops, 0) + 1, row.id in self._seeds.ids
            self._waiting.append(Brought(row, found, hops, chain, seed, moved_to))

    def admit(self) -> None:
        """What the pages so far have brought becomes rows, in order."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        fresh = self._new_or_shallower(waiting) if self._deep else self._new(waiting)
        for brought, new in zip(waiting, fresh, strict=True):
            self._take_in(brought, new)
        if self._only_counted:
            self._met.forget(self._only_counted)
            self._only_counted = {}

    def _take_in(self, brought: Brought, new: list[NewLink]) -> None:
        row, found, hops, chain, seed, moved_to = brought
        books, refusal = self._books, self._seeds.refusal
        if seed:
            self._seeds.widen(row, moved_to)
        known, current = found.new, found.epoch == self._seeds.scope.epoch
        if hops < -SITEMAP_DEPTH_MAX:
            new, known = _too_deep(new), _too_deep(known)
        elif hops < 0 and not any(link.kind is Kind.SITEMAP for link in new):
            hops = 0
        deeper, id = row.depth + 1, row.id
        for link in new:
            depth = row.depth if link.kind._value_ in FLAT else deeper
            rule = link.rule if current else refusal(link, found.epoch)
            added = self._admit(link.fp, link.url, link.kind, depth, hops, id, link.score, rule)
            if added and chain:
                books.chains[added] = chain
                if seed:
                    self._seeds.ids.add(added)
        if self._refused and len(new) != len(known):
            self._readmit(known, new, row, found.epoch)

    # --- what is new ------------------------------------------------------------------------------------------------

    def _new(self, waiting: list[Brought]) -> Iterator[list[NewLink]]:
        """Of each page the links that nobody has met before."""
        links = [link for brought in waiting for link in brought.found.new]
        new = self._met.first_many([link.fp for link in links], [link.url for link in links])
        at = 0
        for brought in waiting:
            some = brought.found.new
            first, at = new[at : at + len(some)], at + len(some)
            yield [link for link, is_new in zip(some, first, strict=True) if is_new or self._counted_before(link.fp)]

    def _counted_before(self, fp: int) -> bool:
        """A page of the same question brought it and it was only counted: it is as new as it was then."""
        return bool(self._only_counted) and self._only_counted.pop(fp, None) is not None

    def _new_or_shallower(self, waiting: list[Brought]) -> Iterator[list[NewLink]]:
        """With a depth limit every edge counts: a URL met again at a smaller depth is relaxed by the store."""
        books, edges, depths = self._books, list[np.ndarray[tuple[int], np.dtype[np.uint64]]](), list[int]()
        for row, found, *_ in waiting:
            edges.append(np.frombuffer(found.edges, np.uint64))
            depths += [row.depth] * found.flat + [row.depth + 1] * (len(edges[-1]) - found.flat)
        fps, at = np.concatenate(edges), np.array(depths, np.int64)
        order = np.lexsort((at, fps))
        starts = np.flatnonzero(np.diff(fps[order], prepend=fps[order][:1] ^ np.uint64(1)))
        keys, least = fps[order[starts]], at[order[starts]]
        new, shallower = self._met.lower(keys, least)
        signed = (keys[shallower] ^ np.uint64(BIAS)).view(np.int64)
        books.batch.relax += zip(signed.tolist(), least[shallower].tolist(), strict=True)
        nearest = dict(zip(keys[new].tolist(), least[new].tolist(), strict=True))
        is_new = np.zeros(len(fps), np.bool_)
        is_new[order] = np.repeat(new, np.diff(starts, append=len(fps)))
        taken, begin = set[int](), 0
        for brought, some in zip(waiting, edges, strict=True):
            end = begin + len(some)
            books.batch.settled.append((brought.row.id, brought.row.depth))
            yield self._with_text(brought, some[is_new[begin:end]].tolist(), nearest, taken)
            begin = end
        self._only_counted |= dict.fromkeys(
            nearest.keys() - taken, ""
        )  # their texts were dropped when they were counted

    def _with_text(self, brought: Brought, fps: list[int], nearest: dict[int, int], taken: set[int]) -> list[NewLink]:
        """New links of one page, in the order of its edges; those that a later page has at a smaller depth are relaxed."""
        texts = {link.fp: link for link in brought.found.new} if fps else {}
        new = []
        for fp in fps:
            if (link := texts.get(fp)) is not None and (fp not in taken or self._counted_before(fp)):
                taken.add(fp)
                new.append(link)
                if nearest[fp] < brought.row.depth + (link.kind not in FLAT_KINDS):
                    self._books.batch.relax.append((fp - BIAS, nearest[fp]))
        return new

    # --- a link becomes a row ---------------------------------------------------------------------------------------

    def _admit(self, fp: int, url: str, kind: Kind, depth: int, hops: int, parent: int, score: int, rule: str) -> int:
        """A URL met for the first time becomes a row: queued, too deep or refused. Returns its id (0: only counted)."""
        books = self._books
        batch, name = books.batch, origin(url)
        host = books.ids.get(name) or books.id_of(name)
        batch.empty = False
        if not rule and parent and name in self._templates.dry:
            rule = self._templates.refusal(name, url, kind._value_)
        rule_id = self._rule(rule) if rule else 0
        if rule.startswith(PREFIX):
            self._trapped(rule, rule_id, url, parent)
        if rule and self._refused_count >= books.config.refused_max:
            self._count_refused(fp, rule_id, name, url)
            return 0
        books.url_id = id = books.url_id + 1
        state, why = "queued", kind._value_  # `value` is a call
        if rule:
            state = "refused"
            self._refused[fp] = id
            self._refused_count += 1
            batch.rule_counts[rule_id] += 1
        elif self._deep and depth > books.depth_max:
            state, rule_id = "too_deep", self._rule("max_depth")
        elif url.endswith("/robots.txt") and url == name + "/robots.txt" and not books.config.no_robots:
            why = ROBOTS
        batch.weight += len(url)
        batch.urls.append((id, fp - BIAS, host, url, why, depth, hops, parent, score, state, rule_id, 0.0))
        if state == "queued":
            batch.found += why != ROBOTS
            self._queues.put(host, name, (id, fp, url, why, depth, hops, parent, score, 0, ""))
        return id

    def _rule(self, text: str) -> int:
        id = self._rules.get(text)
        if id is None:
            id = self._rules[text] = len(self._rules) + 1
            self._books.batch.rules.append((id, text, self._books.clock.wall()))
        return id

    def set_aside(self, row: Row, state: str, rule: str) -> None:
        """A row that was queued is refused, or too deep."""
        self._books.chains.pop(row.id, None)
        self._books.batch.found -= 1
        self.name(row, state, rule)

    def name(self, row: Row, state: str, rule: str) -> None:
        """The rule by which a row is refused, or too deep, is written down."""
        batch, id = self._books.batch, self._rule(rule)
        batch.aside[row.id] = (state, id)
        batch.empty = False
        if state == "refused":
            batch.rule_counts[id] += 1
            self._refused_count += row.fp not in self._refused
            self._refused[row.fp] = row.id
        if rule.startswith(PREFIX):
            self._trapped(rule, id, row.url, row.parent)

    def _trapped(self, rule: str, id: int, url: str, page: int) -> None:
        """A trap is said when it is met first, and shown with examples."""
        examples = self._books.trapped.setdefault(id, [])
        if not examples:
            self._books.note("trap.met", rule=rule, url=url, page=page)
        if len(examples) < EXAMPLES_MAX:
            examples.append(url)

    def _count_refused(self, fp: int, rule: int, name: str, url: str) -> None:
        """Too many are stored one by one: count it, keep a few examples per rule and host."""
        batch = self._books.batch
        batch.rule_counts[rule] += 1
        count, examples = batch.refused_counts.get((rule, name), (0, []))
        batch.refused_counts[rule, name] = (count + 1, [*examples, url][:EXAMPLES_MAX])
        self.counted[rule] += 1
        self._only_counted[fp] = url

    def count_anew(self) -> int:
        """What was only counted is counted from nothing again. Returns how many addresses that were."""
        self.admit()
        batch, counted = self._books.batch, self.counted
        batch.rule_counts.subtract(counted)
        batch.refused_counts.clear()
        batch.count_anew, batch.empty, self.counted = True, False, Counter()
        return counted.total()

    # --- refused before, wanted now ---------------------------------------------------------------------------------

    def _readmit(self, links: list[NewLink], taken: list[NewLink], row: Row, epoch: int) -> None:
        """A URL refused before is wanted now (as a part of a page, or by a page that does not say nofollow)."""
        fresh = {link.fp for link in taken}
        for link in links:
            if link.fp in fresh or link.fp not in self._refused or self._seeds.refusal(link, epoch):
                continue
            if self._templates.refusal(origin(link.url), link.url, link.kind):
                continue
            depth = row.depth + (link.kind not in FLAT_KINDS)
            self._queue_again(self._refused.pop(link.fp), link.fp, link.url, link.kind.value, depth, row.id)

    def wanted_again(self, changed: Changed) -> bool:
        """The rules of today want what is stored as refused. False: it was queued meanwhile."""
        row = changed.row
        if self._refused.pop(row.fp, 0) != row.id:
            return False
        if changed.was:
            self._books.batch.rule_counts[changed.was] -= 1
        self._queue_again(row.id, row.fp, row.url, row.kind, row.depth, row.parent)
        return True

    def _queue_again(self, id: int, fp: int, url: str, kind: str, depth: int, parent: int) -> None:
        books = self._books
        batch, deep = books.batch, self._deep and depth > books.depth_max
        batch.aside.pop(id, None)  # what was refused in this batch and is wanted in it
        batch.readmitted.append((kind, depth, parent, "queued", id))
        batch.empty = False
        self._refused_count -= 1
        if deep:
            batch.aside[id] = ("too_deep", self._rule("max_depth"))
        else:
            batch.found += 1
            name = origin(url)
            self._queues.put(books.id_of(name), name, (id, fp, url, kind, depth, 0, parent, 0, 0, ""))


def _too_deep(links: list[NewLink]) -> list[NewLink]:
    """Sitemaps that too many others lie above are refused; the pages that such a sitemap names are as good as any."""
    deep = {"rule": "sitemap.depth"}
    return [link if link.rule or link.kind is not Kind.SITEMAP else structs.replace(link, **deep) for link in links]
