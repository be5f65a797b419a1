"""Intake: links become rows. What is met for the first time is queued, too deep or refused, and stays so until a page
says otherwise.

A page's links come packed: fingerprints of all, texts of those the front may not know. So most links cost one look into
the set of what was met, and only new ones become objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

from nephila.frontier.batch import BIAS, ROBOTS, Refused, Row, Snapshot, Store
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.frontier.ledger import Ledger
from nephila.frontier.queues import Queues
from nephila.frontier.seeds import Seeds
from nephila.frontier.seen.exact import ExactSeen
from nephila.types import FLAT_KINDS, Found, Kind, NewLink, Outcome, Request, Settlement
from nephila.url.parse import origin, without_userinfo

EXAMPLES_MAX = 3
"""URLs kept per rule and host when refused ones are only counted."""
DEPTH_TOP = 255
"""Depths beyond are one to the set of what was met: it keeps a byte for each."""


class Intake:
    """The only door by which a URL comes into the frontier (requests for robots.txt aside)."""

    def __init__(
        self,
        books: Books,
        queues: Queues,
        seeds: Seeds,
        seen: ExactSeen,
        fingerprint: Callable[[str], int],
        snapshot: Snapshot,
    ) -> None:
        self._books, self._queues, self._seeds, self._seen, self._fingerprint = books, queues, seeds, seen, fingerprint
        self._deep = books.config.max_depth >= 0
        self._refused, self._refused_count = snapshot.refused, snapshot.refused_count
        self._rules = snapshot.rules

    def seeds(self, requests: Iterable[Request]) -> int:
        """Admit seeds, whatever the scope. Returns how many were not known before."""
        added = 0
        for request in requests:
            fp = self._fingerprint(request.url)
            if not self._seen.first(fp, request.depth):
                continue
            id = self._admit(fp, without_userinfo(request.url), request.kind, request.depth, 0, 0, 0, "")
            self._seeds.ids.add(id)
            if request.guessed:
                self._seeds.guess(id)
            added += 1
        return added

    def links(self, row: Row, s: Settlement) -> None:
        """Links of a page, or the one target of a redirect, in the batch of the visit that brought them."""
        found, books = s.found, self._books
        if not found.edges and not found.new:
            return
        books.batch.links.append((row.id, 1, found.flat, found.edges))
        hops, chain = 0, ()  # type: tuple[int, tuple[int, ...]]
        is_seed = row.id in self._seeds.ids
        if s.outcome == Outcome.MOVED:
            if row.kind == ROBOTS:
                return  # followed as a request of its own kind
            hops, chain = row.hops + 1, (*books.chains.get(row.id, ()), row.fp)
            if is_seed:
                self._seeds.widen(row, s.moved_to)
        new = self._new_links(found, row)
        for link in new:
            depth = row.depth + (link.kind not in FLAT_KINDS)
            id = self._admit(
                link.fp, link.url, link.kind, depth, hops, row.id, link.score, link.rule and self._seeds.refusal(link)
            )
            if id and chain:
                books.chains[id] = chain
                if is_seed:
                    self._seeds.ids.add(id)
        if self._refused and len(new) != len(found.new):
            self._readmit(found.new, new, row)

    def _new_links(self, found: Found, row: Row) -> list[NewLink]:
        """Links that nobody has met before."""
        if self._deep:
            self._books.batch.settled.append((row.id, row.depth))
            return self._new_or_shallower(found, row.depth)
        first = self._seen.add_many([link.fp for link in found.new])
        return [link for link, is_first in zip(found.new, first, strict=True) if is_first]

    def _new_or_shallower(self, found: Found, depth: int) -> list[NewLink]:
        """With a depth limit every edge counts: a URL met again at a smaller depth is relaxed by the store."""
        edges = array("Q", found.edges)
        texts = {link.fp: link for link in found.new}
        first: list[NewLink] = []
        for part, at in ((edges[: found.flat], depth), (edges[found.flat :], depth + 1)):
            new, shallower = self._seen.lower_many(part, min(at, DEPTH_TOP))
            self._books.batch.relax += [(fp - BIAS, at) for fp in shallower]
            for fp in new:
                if fp in texts:
                    first.append(texts[fp])
                else:
                    self._seen.discard(fp)  # only counted so far (too many refused): its text was dropped
        return first

    # --- a link becomes a row ---------------------------------------------------------------------------------------

    def _admit(self, fp: int, url: str, kind: Kind, depth: int, hops: int, parent: int, score: int, rule: str) -> int:
        """A URL met for the first time becomes a row: queued, too deep or refused. Returns its id (0: only counted)."""
        books = self._books
        batch, host = books.batch, books.host(origin(url))
        batch.empty = False
        rule_id = self._rule(rule) if rule else 0
        if rule and self._refused_count >= books.config.refused_max:
            self._count_refused(fp, rule_id, host, url)
            return 0
        books.url_id = id = books.url_id + 1
        state, name = "queued", kind.value
        if rule:
            state = "refused"
            self._refused[fp] = id
            self._refused_count += 1
            batch.rule_counts[rule_id] += 1
        elif self._deep and depth > books.config.max_depth:
            state, rule_id = "too_deep", self._rule("max_depth")
        elif url.endswith("/robots.txt") and url == host.origin + "/robots.txt" and not books.config.no_robots:
            name = ROBOTS
        batch.urls.append((id, fp - BIAS, host.id, url, name, depth, hops, parent, score, state, rule_id, 0.0))
        if state == "queued":
            batch.found += name != ROBOTS
            self._queues.put(host, Row(id, fp, url, name, depth, hops, parent, score, 0, ""))
        return id

    def _rule(self, text: str) -> int:
        id = self._rules.get(text)
        if id is None:
            id = self._rules[text] = len(self._rules) + 1
            self._books.batch.rules.append((id, text, self._books.clock.wall()))
        return id

    def _count_refused(self, fp: int, rule: int, host: Host, url: str) -> None:
        """Too many are stored one by one: count it, keep a few examples per rule and host."""
        batch = self._books.batch
        batch.rule_counts[rule] += 1
        count, examples = batch.refused_counts.get((rule, host.origin), (0, []))
        batch.refused_counts[rule, host.origin] = (count + 1, [*examples, url][:EXAMPLES_MAX])
        self._seen.discard(fp)

    # --- refused before, wanted now ---------------------------------------------------------------------------------

    def _readmit(self, links: list[NewLink], taken: list[NewLink], row: Row) -> None:
        """A URL refused before is wanted now (as a part of a page, or by a page that does not say nofollow)."""
        fresh = {link.fp for link in taken}
        for link in links:
            if link.fp in fresh or link.fp not in self._refused or self._seeds.refusal(link):
                continue
            depth = row.depth + (link.kind not in FLAT_KINDS)
            self._queue_again(self._refused.pop(link.fp), link.fp, link.url, link.kind.value, depth, row.id)

    def look_again(self, store: Store, ledger: Ledger, done: Callable[[], None]) -> None:
        """The scope is wider now: look at every URL that the old one refused, those refused a moment ago too."""
        self._seeds.widened = False
        ledger.cut()

        def reconsider(rows: list[Refused] | BaseException) -> None:
            if isinstance(rows, BaseException):
                ledger.fail(rows)
            else:
                self._reconsider(rows)
                done()

        store.stored("refused", reconsider)

    def _reconsider(self, rows: list[Refused]) -> None:
        """URLs that the scope refused and that the scope of today wants are queued; other rules stand."""
        ours = {id for text, id in self._rules.items() if text.startswith("scope")}
        for id, fp, url, kind, depth, parent, rule in rows:
            if fp in self._refused and rule in ours and not self._seeds.check.refusal(url, kind):
                del self._refused[fp]
                self._queue_again(id, fp, url, kind, depth, parent)

    def _queue_again(self, id: int, fp: int, url: str, kind: str, depth: int, parent: int) -> None:
        books = self._books
        state = "too_deep" if self._deep and depth > books.config.max_depth else "queued"
        books.batch.readmitted.append((kind, depth, parent, state, id))
        books.batch.empty = False
        self._refused_count -= 1
        if state == "queued":
            books.batch.found += 1
            self._queues.put(books.host(origin(url)), Row(id, fp, url, kind, depth, 0, parent, 0, 0, ""))
