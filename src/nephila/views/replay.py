"""Any kept page at any kept time, rewritten so that all it refers to is looked for in the archive, too.

An address becomes `ROOT/TIME/ADDRESS`: `/token/20260131120000/https://example.com/a?b`. What a page asks for is answered with the
capture that is nearest to that time. Pages and stylesheets are rewritten with the parts that make a mirror; scripts stay as they are
(what they ask for is redirected in the browser, by a script in front of every page).
"""

from __future__ import annotations

import calendar
import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from nephila.db import BIAS
from nephila.page.listing import MEDIA_TYPE
from nephila.url.key import key
from nephila.url.parse import normalise, without_userinfo
from nephila.views import folders, rewrite, style
from nephila.views.cdxj import digits
from nephila.views.source import FILE_MAX, Kept, Source

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_SHOWN = frozenset({"OK", "MOVED", "REFUSED", "SKIPPED", "UNREADABLE", "TOO_LARGE"})


class Shown(NamedTuple):
    """An answer to replay. `location` is an address of the archive, "" when it is no redirect; `content_type` "": not known;
    `led`: it begins with the lead."""

    kept: Kept
    status: int
    content_type: str
    location: str
    blocks: Iterator[bytes]
    led: bool


class Replay:
    """The pages of a source by address. What a running crawl adds is found as it comes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._upto = 0
        self._con = sqlite3.connect("", isolation_level=None)  # on disk: memory does not grow with the crawl
        self._con.executescript(
            "PRAGMA journal_mode = OFF; CREATE TABLE at (hash INTEGER PRIMARY KEY, url INTEGER NOT NULL)"
        )

    def close(self) -> None:
        self._con.close()

    def captures(self, url: str) -> list[Kept]:
        """Every visit of an address, earliest first; of the same address with the other of http and https when it has none."""
        address = normalise(url)
        for spelled in (address, _other_scheme(address)) if address else ():
            if id := self._find(without_userinfo(spelled)):
                return self.source.history(id)
        return []

    def show(self, url: str, moment: float, root: str, lead: str) -> Shown | None:
        """What the address shows at that time, or at the nearest other. `lead` is put in front of every page.
        Raises Damaged when it does not read back."""
        kept = self.nearest(self.captures(url), moment)
        if kept is None:
            return None
        at = f"{root}/{digits(moment)}/"
        location = at + kept.moved_to if kept.outcome == "MOVED" and kept.moved_to else ""
        blocks = iter([b""]) if location else self._blocks(kept, at, lead)
        return Shown(kept, kept.status or 200, _content_type(kept), location, blocks, kept.media_type in _PAGES)

    def nearest(self, captures: Sequence[Kept], moment: float) -> Kept | None:
        """The one that is shown when this time is asked for."""
        good = (kept for kept in captures if kept.outcome in _SHOWN and kept.length and (kept.status or kept.bytes))
        return min(good, key=lambda kept: abs(kept.started - moment), default=None)

    def _find(self, url: str) -> int:
        """url.id of an address that was visited, 0 when none was."""
        hashed = _hash(url)
        for _ in range(2):
            if found := self._con.execute("SELECT url FROM at WHERE hash = ?", (hashed,)).fetchone():
                return int(found[0])
            self._catch_up()
        return 0

    def _catch_up(self) -> None:
        self._con.execute("BEGIN")
        try:
            for visit, id, url in self.source.visited(self._upto):
                self._con.execute("INSERT OR IGNORE INTO at VALUES (?, ?)", (_hash(url), id))
                self._upto = visit
        finally:
            self._con.execute("COMMIT")

    def _blocks(self, kept: Kept, at: str, lead: str) -> Iterator[bytes]:
        """The content. Whether it reads back shows before the first block is asked for."""
        if kept.media_type in _PAGES or kept.media_type in (MEDIA_TYPE, "text/css", "image/svg+xml"):
            return iter([self._rewritten(kept, _Inside(kept, at), lead)])
        with self.source.stored(kept) as found:
            plain = not found.encoding
        return self._streamed(kept) if plain else iter([self.source.decoded(kept, FILE_MAX).content])

    def _rewritten(self, kept: Kept, inside: _Inside, lead: str) -> bytes:
        data = self.source.decoded(kept, FILE_MAX).content
        if kept.media_type == MEDIA_TYPE:
            return folders.page(data, kept, inside).encode("utf-8", "replace")
        data = rewrite.utf8(data, kept.charset)
        if kept.media_type in _PAGES:
            return rewrite.html(data, inside, lead=lead.encode())
        if kept.media_type == "text/css":
            return style.stylesheet(data.decode("utf-8", "replace"), inside).encode("utf-8", "replace")
        return rewrite.svg(data, inside)

    def _streamed(self, kept: Kept) -> Iterator[bytes]:
        with self.source.stored(kept) as found:
            yield from found.blocks()


class _Inside(rewrite.Addresses):
    """Addresses of a page as addresses of the archive at one time."""

    def __init__(self, kept: Kept, at: str) -> None:
        super().__init__(kept.url, "", kept.charset or "utf-8", lambda url: "")
        self._at = at

    def _placed(self, address: str) -> tuple[str, int]:
        new, found = super()._placed(address)
        return (self._at + new if found else new), found


def moment(text: str) -> float:
    """The Unix time of up to 14 digits (YYYYMMDDhhmmss); what is missing is as early as can be. Raises ValueError."""
    return float(calendar.timegm(time.strptime(text + "00000101000000"[len(text) :], "%Y%m%d%H%M%S")))


def _content_type(kept: Kept) -> str:
    if kept.media_type == MEDIA_TYPE:
        return "text/html; charset=utf-8"
    if kept.media_type in _PAGES or kept.media_type in ("text/css", "image/svg+xml"):
        return f"{kept.media_type}; charset=utf-8"
    return f"{kept.media_type}; charset={kept.charset}" if kept.media_type and kept.charset else kept.media_type


def _other_scheme(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{'http' if scheme == 'https' else 'https'}://{rest}"


def _hash(url: str) -> int:
    return xxh3_64_intdigest(key(url).encode()) - BIAS
