"""A process that reads kept pages again: `python -m nephila.rereader`, started by `reread` and never by hand.

Its order comes on standard input, parts go to standard output, each with its length in four bytes. It reads what the crawl
read, in the order in which it was committed: pages of members, redirects and robots.txt too; only what left links, whatever
its round. Nothing is requested, no hook is called, nothing is written.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nephila.corridor import TOKEN, reader_of
from nephila.engine import unfollowed
from nephila.errors import Damaged
from nephila.fetch.decode import decode
from nephila.frontier.batch import BIAS
from nephila.frontier.rereading import Again, Part
from nephila.page.reader import Reader
from nephila.page.sitemap import SITEMAP_BYTES_MAX
from nephila.reread import Order
from nephila.robots.reader import read_robots
from nephila.types import Body, Found, Kind, Lease, Page, Request, Response, Timings
from nephila.url.admission import Admission
from nephila.url.key import Fingerprints
from nephila.url.scope import Scope
from nephila.views.source import Kept, Source
from nephila.worker import belong_to

LINKS_MAX, VISITS_MAX = 500, 2_000
"""In one part: the front takes it in at once, and a kill costs no more than that."""
NICE = 5
"""The crawl itself comes first."""


def main() -> None:
    order = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Order)
    belong_to(order.front)
    os.nice(NICE)
    for part in parts(order):
        packed = msgspec.msgpack.encode(part)
        sys.stdout.buffer.write(len(packed).to_bytes(4) + packed)
        sys.stdout.buffer.flush()


def parts(order: Order) -> Iterator[Part]:
    """The links of all visits of an order; the last part ends where the order does."""
    again = Pages(order)
    brought, links, pages, unread, at = list[Again](), 0, 0, 0, order.after
    skip = order.skip
    with Source(Path(order.folder), decode) as some, some.unlocked() as source:
        for n, kept in enumerate(source.visits(order.after)):
            if kept.id > order.until:
                break
            if order.careful or links >= LINKS_MAX or n % VISITS_MAX == VISITS_MAX - 1:
                yield Part(at, pages, unread, brought)
                brought, links, pages, unread = [], 0, 0, 0
            at = kept.id
            if not again.has_links(kept):
                continue
            try:
                found = None if skip else again.read(source, kept)
            except Damaged:
                found = None
            skip = False
            pages += found is not None
            unread += found is None
            if found is not None and (found.new or again.deep):
                brought.append(again.packed(source, kept, found))
                links += len(found.new)
    yield Part(order.until, pages, unread, brought)


class Pages:
    """How this job reads a page: as its workers do under the rules of today."""

    def __init__(self, order: Order) -> None:
        c = msgspec.structs.replace(order.config, sitemaps=order.scope.sitemaps)
        self._config, self._scope = c, order.scope
        self._read: Reader = reader_of(c)
        self._admission = Admission(Scope(order.scope), Fingerprints(order.fingerprint_seed))
        self.deep = c.max_depth >= 0
        """Every edge counts, because it may bring a URL nearer."""

    def has_links(self, kept: Kept) -> bool:
        """It left links, or would have under other rules."""
        if kept.outcome == "MOVED":
            return kept.kind not in (Kind.ROBOTS.value, Kind.LOGIN.value)
        if kept.kind == Kind.ROBOTS.value:
            return kept.length > 0 and self._scope.sitemaps
        return kept.outcome == "OK" and kept.length > 0 and kept.links > 0

    def read(self, source: Source, kept: Kept) -> Found:
        """The links of a visit, judged. Raises Damaged when it does not read back."""
        if kept.outcome == "MOVED":
            return self._admission.admit_urls([(kept.moved_to, Kind.REDIRECT)])
        faulthandler.dump_traceback_later(self._config.read_seconds_max, exit=True)
        try:
            page = self._page(source, kept)
            rule = unfollowed(page, kept.reason, self._scope.ignore_nofollow)
            return self._admission.admit(page.links, rule) if page.links is not None else Found()
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _page(self, source: Source, kept: Kept) -> Page:
        kind, most = Kind(kept.kind), self._config.page_bytes_max
        content = source.content(kept, (max(most, SITEMAP_BYTES_MAX) if kind is Kind.SITEMAP else most) + 1)
        if kind is Kind.ROBOTS:
            guess = self._scope.sitemaps
            return read_robots(kept.url, kept.status, content.content, TOKEN, guess_sitemap=guess)
        headers = [("content-type", kept.media_type)] if kept.protocol == "ftp" else content.headers
        lease = Lease(kept.url_id, Request(kept.url, kind), 0)
        response = Response(
            kept.url,
            kept.status,
            kept.protocol,
            content.head,
            headers,
            Body(),
            Body(),
            b"",
            kept.started,
            Timings(),
            truncated=kept.truncated,
        )
        return self._read(lease, response, content.content)

    def packed(self, source: Source, kept: Kept, found: Found) -> Again:
        """For the front: without the edges where they decide nothing."""
        ((fp, hops),) = source.rows("SELECT fp, hops FROM url WHERE id = ?", kept.url_id)
        row = (kept.url_id, fp + BIAS, kept.url, kept.kind, kept.depth, hops, kept.parent, 0, 0, "")
        if not self.deep:
            found = msgspec.structs.replace(found, edges=b"", flat=0)
        return Again(row, kept.moved_to if kept.outcome == "MOVED" else "", found)


if __name__ == "__main__":
    main()
