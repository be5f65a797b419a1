"""From the links of a page to what crosses to the front: fingerprints of all, text of those it may not know.

A page's links are nearly all known: the same navigation on every page. So the usual link costs one look-up in a memo from
(directory of the page, href as written) to an entry, done for the whole page by `map` and without a loop of ours. An entry
is nine bytes, the fingerprint and the group of the kind it was judged as; joined, the entries of a page show in one
comparison whether the groups agree, and are its edges when each ninth byte is taken out. Only what the memo does not hold is
resolved, judged by the scope and looked up in the filter of what was already sent.

The memo is two generations of dicts: a new entry goes into the young one, a hit in the old one is copied over, and when the
young one holds half of `memo_max` it becomes the old one. That forgets what was not used for a while, as an LRU does, but a
hit moves nothing: an ordered dict would cost more than the look-up itself.

The filter is a table of `sent_max` slots in which a fingerprint may lie in one of two places. It never says "sent" of what
was not; what it forgets is sent once more, and the front knows it. A set of as many Python integers takes ten times its 8 MiB.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress

from nephila.types import FLAT_KINDS, Found, Kind, Links, NewLink
from nephila.url.key import Fingerprints
from nephila.url.parse import SCHEMES, normalise, resolve, without_userinfo
from nephila.url.scope import URL_LENGTH_MAX, Scope
from nephila.url.sessions import Sessions

_GROUPS: dict[Kind, int] = dict.fromkeys(Kind, 0) | {
    Kind.EMBED: 1,
    Kind.REDIRECT: 2,
    Kind.SITEMAP: 3,
    Kind.ROBOTS: 4,
    Kind.FORM: 5,
    Kind.LOGIN: 5,
}
"""Kinds of one group are judged alike, so that an entry of the memo holds for all of them. 0: like a page."""
_FLAT_GROUPS = {_GROUPS[kind] for kind in FLAT_KINDS}
_IS_FLAT = bytes(group in _FLAT_GROUPS for group in range(256))
_IS_REST = bytes(group not in _FLAT_GROUPS for group in range(256))
"""Tables for `bytes.translate`: groups of a page's links → selectors of the flat ones and of the others."""
_BROKEN = [bytes((0, 0, 0, 0, 0, 0, 0, 0, group)) for group in range(6)]
"""Entries of hrefs that are no URL to fetch, by group."""

_ABSOLUTE_MAX = 1 << 16
_HREF_LENGTH_MAX = 1_024
"""A longer href is not worth its place in the memo."""

_PLAIN = re.compile(
    r"[A-Za-z0-9_~\-][A-Za-z0-9_.~%\-+=,&@!$*]*(?:/[A-Za-z0-9_~\-][A-Za-z0-9_.~%\-+=,&@!$*]*)*/?"
    r"(?:\?[A-Za-z0-9_.~%\-+=,&:@!$*();/?]*)?"
)
"""A path (after its first slash) and query that resolution leaves as they are: no dot segment, no scheme, nothing to encode."""
_BY_DIRECTORY = re.compile(r"(?!(?:https?|ftp):(?!/))[^\x00- ?#][^\t\n\r]*", re.IGNORECASE)
"""Hrefs that resolve against the base's directory alone. `?q` and `https:?q` do not; white space (ignored by resolution) may
hide either."""
_ODD_FILE = re.compile(r"[.%\x00- ]|.*\\")
"""A last segment that may not be a file's name: `..`, or with a backslash, in a base that was not serialised."""


class Admission:
    """One worker's way from links to what the front is sent. Not thread-safe; all memory is bounded."""

    def __init__(
        self,
        scope: Scope,
        fingerprints: Fingerprints,
        *,
        memo_max: int = 1 << 16,
        sent_max: int = 1 << 20,
    ) -> None:
        self._fingerprints, self._half = fingerprints, memo_max // 2
        self._slots = 1 << max(1, sent_max.bit_length() - 1)
        self.reset(scope)

    def reset(self, scope: Scope) -> None:
        """Begin anew with another scope (a new epoch): memo and filter are dropped."""
        self.scope = scope
        self._sessions = Sessions() if "session_id" in scope.spec.traps else None
        self._young: dict[str, dict[str, bytes]] = {}
        self._old: dict[str, dict[str, bytes]] = {}
        self._held = 0
        self._absolute: dict[tuple[str, str, Kind], bytes] = {}
        self._sent = array("Q", (0,)) * self._slots

    def admit(self, links: Links, rule: str = "") -> Found:
        """The links of one page, whose base is a serialised URL. `rule`: why the page's links are listed, and none of them is
        wanted for it (the page said nofollow)."""
        hrefs, path = links.hrefs, links.base.partition("?")[0]
        groups = bytes(map(_GROUPS.__getitem__, links.kinds))
        place = f"{links.charset} {path[: path.rfind('/') + 1]}"
        memo = self._young.get(place)
        entries: list[bytes | None] = list(map(memo.get, hrefs)) if memo else [None] * len(hrefs)
        new: list[NewLink] = []
        if not all(entries) or b"".join(entries)[8::9] != groups:  # type: ignore[arg-type]
            self._complete(entries, links, groups, place, rule, new)
        return _found(entries, groups, new, self.scope.spec.epoch)  # type: ignore[arg-type]

    def admit_urls(self, pairs: Sequence[tuple[str, Kind]]) -> Found:
        """Absolute URLs that were not found as links of a page, such as the target of a redirect. Broken ones are dropped."""
        new: list[NewLink] = []
        groups = bytes(_GROUPS[kind] for _, kind in pairs)
        entries = [self._judge(normalise(url), kind, "", new) for url, kind in pairs]
        return _found(entries, groups, new, self.scope.spec.epoch)

    def _complete(
        self, entries: list[bytes | None], links: Links, groups: bytes, place: str, rule: str, new: list[NewLink]
    ) -> None:
        """Fill in what the memo does not hold, or holds for another group; what the front may not know goes to `new`."""
        page = _Base(links.base, links.charset)
        young, old = self._young.get(place, {}), self._old.get(place, {})
        for i, (href, group) in enumerate(zip(links.hrefs, groups, strict=True)):
            entry, name = entries[i], href
            if entry is not None and entry[8] != group:
                name = _second_name(href, group)
                entry = young.get(name)
            if entry is None:
                entry = old.get(name)
                if entry is None or entry[8] != group:
                    if not rule and href.startswith(SCHEMES):
                        entry = self._absolute_entry(page, href, links.kinds[i], new)
                    else:
                        entry = self._judge(page.resolve(href), links.kinds[i], rule, new)
                if not rule and page.directory and len(href) <= _HREF_LENGTH_MAX and _BY_DIRECTORY.fullmatch(href):
                    self._remember(place, href, entry)
            entries[i] = entry

    def _absolute_entry(self, page: _Base, href: str, kind: Kind, new: list[NewLink]) -> bytes:
        """For an href that means the same on every page: the directories of a site repeat their links to elsewhere."""
        key = (page.charset, href, kind)
        known = self._absolute.get(key)
        if known is None:
            if len(self._absolute) >= _ABSOLUTE_MAX:
                self._absolute.clear()
            known = self._absolute[key] = self._judge(page.resolve(href), kind, "", new)
        return known

    def _judge(self, url: str | None, kind: Kind, rule: str, new: list[NewLink]) -> bytes:
        """The entry of `url`; `new` gets it when the front has not been told of it, or only that it was refused."""
        if url is None:
            return _BROKEN[_GROUPS[kind]]
        url = without_userinfo(url)
        fp = self._fingerprints(url)
        rule = self._refusal(url, kind) or rule
        if not rule and not self._in_table(fp, mark=False):
            rule = self._trap(url, kind)
        if not self._known(fp, wanted=not rule):
            new.append(NewLink(fp, url[:URL_LENGTH_MAX], kind, rule))
        return fp.to_bytes(8, sys.byteorder) + _GROUP_BYTES[_GROUPS[kind]]

    def _refusal(self, url: str, kind: Kind) -> str:
        if kind in (Kind.FORM, Kind.LOGIN):
            return "kind.form"
        if kind == Kind.SITEMAP and not self.scope.spec.sitemaps:
            return "kind.sitemap"
        return self.scope.outside(url, kind)

    def _trap(self, url: str, kind: Kind) -> str:
        """Asked only for what the front has not been told of as wanted: once per URL, not once per link."""
        rule = self.scope.trap(url, kind)
        return rule if rule or self._sessions is None else self._sessions.refusal(url)

    def _known(self, fp: int, wanted: bool) -> bool:
        """Whether the front has been told; from now on it has. A refusal tells nothing to those who find it wanted."""
        if self._in_table(fp, mark=wanted):
            return True
        return not wanted and self._in_table(fp ^ _REFUSED, mark=True)

    def _in_table(self, number: int, mark: bool) -> bool:
        table, i = self._sent, number & (self._slots - 1)
        if table[i] == number or table[i ^ 1] == number:
            return True
        if mark:
            table[i ^ 1], table[i] = table[i], number  # the newer of two stays longer
        return False

    def _remember(self, place: str, href: str, entry: bytes) -> None:
        if self._held >= self._half:
            self._old, self._young, self._held = self._young, {}, 0
        memo = self._young.setdefault(place, {})
        if memo.setdefault(href, entry)[8] != entry[8]:
            memo[_second_name(href, entry[8])] = entry
        self._held += 1


def _second_name(href: str, group: int) -> str:
    """Where the memo has an href that stands there for another group already, as a picture both linked and embedded does.
    No remembered href holds a line break."""
    return f"{href}\n{group}"


_GROUP_BYTES = [bytes((group,)) for group in range(6)]
_REFUSED = 0x9E37_79B9_7F4A_7C15
"""Tells "sent as refused" from "sent as wanted" in one table (a random odd number)."""


def _found(entries: list[bytes], groups: bytes, new: list[NewLink], epoch: int) -> Found:
    """Entries → edges: the flat ones first, each once in its part, without broken ones and without the group byte."""
    flat = dict.fromkeys(compress(entries, groups.translate(_IS_FLAT))) if groups.strip(b"\0") else {}
    rest = dict.fromkeys(compress(entries, groups.translate(_IS_REST)) if flat else entries)
    for broken in _BROKEN:
        flat.pop(broken, None)
        rest.pop(broken, None)
    edges = bytearray().join((*flat, *rest))
    del edges[8::9]
    if len(new) > 1:  # refused as one kind and wanted as another on one page: the later one is the wanted one
        new = list({link.fp: link for link in new}.values())
    return Found(bytes(edges), len(flat), new, epoch=epoch)


class _Base:
    """What the links of a page resolve against. `directory` is "" where an href cannot simply be appended to it."""

    __slots__ = ("_same", "base", "charset", "directory", "root")

    def __init__(self, base: str, charset: str) -> None:
        self.base, self.charset = base, charset
        self.directory = _directory(base)
        self.root = self.directory[: self.directory.find("/", 8)]
        self._same = ""

    def resolve(self, href: str) -> str | None:
        """As `parse.resolve`, with short cuts for the commonest hrefs (10 times as fast)."""
        text = href.partition("#")[0] if "#" in href else href
        if not text:
            self._same = self._same or resolve(self.base, "", self.charset) or ""
            return self._same or None
        if self.directory:
            if text[0] == "/":
                if _PLAIN.fullmatch(text, 1) or text == "/":
                    return self.root + text
            elif _PLAIN.fullmatch(text):
                return self.directory + text
            elif text.startswith(f"{self.root}/") and _PLAIN.fullmatch(text, len(self.root) + 1):
                return text
        return resolve(self.base, href, self.charset)


def _directory(base: str) -> str:
    path = base.partition("?")[0].partition("#")[0]
    directory, file = path[: path.rfind("/") + 1], path[path.rfind("/") + 1 :]
    return directory if not _ODD_FILE.match(file) and _serialised(directory) else ""


@lru_cache(4096)
def _serialised(directory: str) -> bool:
    """The directory is spelled as ada would, so that an href may simply be appended."""
    return normalise(directory) == directory
