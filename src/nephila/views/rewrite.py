"""Making a kept page open from disk: every address in it becomes the relative name of a kept file, or a full live address.

A page goes through as UTF-8 bytes; what is not an address stays byte for byte. Removed is what would break or betray an opened
copy: `base[href]`, integrity and CORS attributes, charsets of linked files (they are UTF-8 now, too), policies in `meta`, pings,
manifests, addresses of local files.

The pages of a site repeat their links: what an address, and a whole tag, became is remembered for the folder that they stand in.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import quote

from nephila.page.charset import decode
from nephila.url.parse import resolve, without_userinfo
from nephila.views import tags
from nephila.views.style import css, srcset
from nephila.views.tags import ADDRESS, Attribute

Lookup = Callable[[str], str]
"""Absolute URL without fragment → path below the mirror, "" when it is not kept."""

_NESTED_MAX = 2
_SETS = frozenset({"srcset", "imagesrcset", "data-srcset"})
_DROPPED = frozenset({"charset", "crossorigin", "integrity", "manifest", "nonce", "ping"})
_ADDRESSES = tags.HOLDERS - _SETS - _DROPPED - {"style", "srcdoc"}
_PARAMETERS = frozenset({"movie", "src", "ref", "filename", "url"})
_BLANK = "\t\n\f\r "
_META = b'<meta charset="utf-8"/>'
_DOCTYPE = re.compile(rb"\s*(?:<\?xml[^>]{0,500}>\s*)?<!doctype[^>]{0,500}>", re.I)
_XML_DECLARATION = re.compile(rb"""(\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*)(["'])[^"']{0,60}\2""")
_REFRESH = re.compile(r"""(\s*[0-9.]+\s*[;,]\s*(?:url\s*=\s*)?)(?:"([^"]*)"?.*|'([^']*)'?.*|(.*))""", re.I | re.S)
_FRAGMENT_SAFE = "!$%&'*+,;=:@/?~"
_PLAIN = re.compile(r"[A-Za-z0-9._\-]*+\Z")
_PLAIN_BYTES = re.compile(_PLAIN.pattern.encode())
_REMEMBERED = 65_536
_REPEATED_MAX = 1000
"""A longer address or tag (pictures are written into some) does not come back on the next page often enough to be remembered."""
_NOTHING: dict[bytes, tuple[bytes, int]] = {}


class Memory(NamedTuple):
    """What addresses became, and what was written for whole tags and for values: each with how many addresses in it lead to what
    is not kept. Good for the pages of one folder."""

    addresses: dict[str, tuple[str, int]]
    tags: dict[bytes, tuple[bytes, int]]
    values: dict[bytes, tuple[bytes, int]]

    @classmethod
    def new(cls) -> Memory:
        return cls({}, {}, {})

    def size(self) -> int:
        return len(self.addresses) + len(self.tags) + len(self.values)


class Memories:
    """Those of the folders that pages were last written into, as many as hold `most` addresses, tags and values together (about 200 bytes
    each). `held`: how many they held when the last page began."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most, self.held, self._under_way = most, 0, 0
        self._folders: OrderedDict[tuple[str, str, str], Memory] = OrderedDict()

    def of(self, base: str, path: str, charset: str) -> Memory:
        """That of a page at `base` that lies at `path`: relative addresses depend on its folders alone."""
        if self._folders:
            newest = self._folders[next(reversed(self._folders))]
            self.held += newest.size() - self._under_way
        while self.held > self._most:
            self.held -= self._folders.popitem(last=False)[1].size()
        folder = base.partition("?")[0].rpartition("/")[0], path.rpartition("/")[0], charset
        found = self._folders.setdefault(folder, Memory.new())
        self._folders.move_to_end(folder)
        self._under_way = found.size()
        return found


class Addresses:
    """What addresses of one file become. `base` is what they resolve against, `path` where the file lies in the mirror, `missing`
    how many of them led to what is not kept."""

    def __init__(self, base: str, path: str, charset: str, lookup: Lookup, memory: Memory | None = None) -> None:
        self.base, self.charset, self._lookup = base, charset, lookup
        self._here = path.split("/")
        self.memory = memory or Memory.new()
        self.moved_base = False
        self.missing = 0
        self.alone = False
        """An address was met that means something else on the next page of this folder."""

    def __call__(self, href: str) -> str:
        """The address as it is to be written. What is no web address (mailto:, data:, `#part`) stays as it is."""
        address, mark, fragment = href.strip(_BLANK).partition("#")
        if not address and not (mark and self.moved_base):
            return href
        found = self.memory.addresses.get(address)
        if found is None:
            found = self._placed(address)
            if address < "!" or address[0] == "?":
                self.alone = True
            elif len(address) <= _REPEATED_MAX:
                self.memory.addresses[address] = found
        new, missing = found
        if not new:
            return href
        self.missing += missing
        if not mark or new == "#":
            return new
        return (
            new
            + "#"
            + (fragment if _PLAIN.match(fragment) else quote(fragment, _FRAGMENT_SAFE, errors="surrogateescape"))
        )

    def move(self, base: str) -> None:
        """What a `base` element says: only the first one counts, for all that follows."""
        self.base = resolve(self.base, base.strip(_BLANK), self.charset) or self.base
        self.memory, self.moved_base = Memory.new(), True

    def _placed(self, address: str) -> tuple[str, int]:
        """(new address, 1 if it is not kept); "" when it is no web address."""
        url = resolve(self.base, address, self.charset)
        if url is None:
            return "#" if re.sub(r"[\x00-\x20]", "", address[:20]).lower().startswith("file:") else "", 0
        path = self._lookup(without_userinfo(url))
        return (self._relative(path), 0) if path else (url, 1)

    def _relative(self, path: str) -> str:
        there, here = path.split("/"), self._here
        same = 0
        while same < min(len(there), len(here)) - 1 and there[same] == here[same]:
            same += 1
        return "/".join([".."] * (len(here) - 1 - same) + [quote(part, safe="!$&+,;=@~") for part in there[same:]])


def utf8(content: bytes, charset: str) -> bytes:
    """The content in UTF-8, without a byte order mark; what is UTF-8 already stays as it is, broken bytes included."""
    if charset == "utf-8" and content[:1] not in (b"\xef", b"\xfe", b"\xff"):
        return content
    return decode(content, charset)[0].encode("utf-8", "replace")


def html(page: bytes, to: Addresses, nested: int = 0, lead: bytes = b"") -> bytes:
    """A page in UTF-8, which it then declares. `lead`: markup of ours that comes before all of its head, and of pages in it."""
    writer = _Page(to, nested, lead)
    done = writer.all(page, tags.records(page))
    if nested:
        return done
    done = _XML_DECLARATION.sub(rb"\1\2utf-8\2", done, count=1) if done.lstrip().startswith(b"<?xml") else done
    if writer.declared:
        return done
    doctype = _DOCTYPE.match(done)
    at = doctype.end() if doctype else 0
    return b"".join((done[:at], _META, lead, done[at:]))


def svg(page: bytes, to: Addresses) -> bytes:
    """A drawing in UTF-8: XML, in which nothing but addresses is touched."""
    return _XML_DECLARATION.sub(rb"\1\2utf-8\2", _Page(to, 1, b"").all(page, tags.drawn(page)), count=1)


class _Page:
    def __init__(self, to: Addresses, nested: int, lead: bytes) -> None:
        self._to, self._nested, self._lead = to, nested, lead
        self.declared = False

    def all(self, page: bytes, records: Iterable[tags.Record]) -> bytes:
        """What addresses became is remembered, unless they depend on more than the page's folder."""
        to, parts, kept = self._to, list[bytes](), 0
        for what, start, stop in records:
            old, memory = page[start:stop], to.memory
            known = memory.values if what == ADDRESS else memory.tags if what == tags.TAG else _NOTHING
            if (found := known.get(old)) is not None:
                new, missing = found
                to.missing += missing
            elif what == ADDRESS:
                new = self._address(old)
            else:
                new = self._remembered(known, what, old)
            if new != old:
                parts += (page[kept:start], new)
                kept = stop
        return b"".join((*parts, page[kept:]))

    def _address(self, old: bytes) -> bytes:
        """Of one with a fragment what is before that is remembered, or an index of words would fill the memory."""
        page, mark, fragment = old.partition(b"#")
        known = self._to.memory.values
        if not mark:
            return self._remembered(known, ADDRESS, old)
        if page <= b"!" or page[-1] <= 0x20 or not _PLAIN_BYTES.match(fragment):
            return self._made(ADDRESS, old)
        if (found := known.get(page)) is None:
            new = self._remembered(known, ADDRESS, page)
        else:
            new, missing = found
            self._to.missing += missing
        return new if new == b"#" else b"%b#%b" % (new, fragment)

    def _remembered(self, known: dict[bytes, tuple[bytes, int]], what: int, old: bytes) -> bytes:
        to = self._to
        to.alone, before = known is _NOTHING, to.missing
        new = self._made(what, old)
        if not to.alone and len(old) <= _REPEATED_MAX:
            known[old] = new, to.missing - before
        return new

    def _made(self, what: int, old: bytes) -> bytes:
        if what == ADDRESS:
            address = _text(old)
            new = self._to(address)
            return old if new == address else tags.quoted(new)
        return self._tag(old) if what == tags.TAG else self._content(what, old)

    def _tag(self, tag: bytes) -> bytes:
        name = tags.name_of(tag)
        special = {"meta": self._meta, "base": self._base, "head": self._head}.get(name)
        return special(tag) if special else self._changed(name, tag)

    def _changed(self, name: str, tag: bytes) -> bytes:
        attributes = tags.attributes(tag)
        if name == "param" and not any(a.name == "name" and a.value.lower() in _PARAMETERS for a in attributes):
            return tag
        changes: list[tuple[Attribute, str | None]] = []
        for attribute in attributes:
            new = self._value(name, attribute)
            if new != attribute.value or attribute.name in _DROPPED:
                changes.append((attribute, new))
        return tags.edited(tag, changes) if changes else tag

    def _value(self, tag: str, attribute: Attribute) -> str | None:
        name, value = attribute.name, attribute.value
        if name in _DROPPED:
            return None
        if not value:
            return value
        if name in _ADDRESSES or (name == "value" and tag == "param"):
            return self._to(value)
        if name in _SETS:
            return srcset(value, self._to)
        if name == "style":
            return css(value, self._to)
        if name == "srcdoc" and self._nested < _NESTED_MAX:
            return _text(self._lead + html(_bytes(value), self._to, self._nested + 1, self._lead))
        return value

    def _content(self, what: int, content: bytes) -> bytes:
        if what == tags.STYLE:
            return _bytes(css(_text(content), self._to))
        return html(content, self._to, self._nested + 1, self._lead) if self._nested < _NESTED_MAX else content

    def _head(self, tag: bytes) -> bytes:
        self._to.alone = True
        if self.declared or self._nested:
            return tag
        self.declared = True
        return tag + _META + self._lead

    def _base(self, tag: bytes) -> bytes:
        """Its target attribute stays."""
        self._to.alone = True
        href = next((each for each in tags.attributes(tag) if each.name == "href"), None)
        if href is None:
            return tag
        if not self._to.moved_base:
            self._to.move(href.value)
        return tags.edited(tag, [(href, None)])

    def _meta(self, tag: bytes) -> bytes:
        found = {attribute.name: attribute for attribute in tags.attributes(tag)}
        kind = found["http-equiv"].value.strip(_BLANK).lower() if "http-equiv" in found else ""
        if kind.startswith("content-security-policy"):
            return b""
        changes: list[tuple[Attribute, str | None]] = [(found["charset"], "utf-8")] if "charset" in found else []
        content = found.get("content")
        if content and kind == "content-type":
            changes.append((content, "text/html; charset=utf-8"))
        elif content and kind == "refresh" and (refresh := _REFRESH.fullmatch(content.value)):
            address = next((part for part in refresh.groups()[1:] if part), "")
            changes += [(content, refresh[1] + self._to(address))] if address else []
        changes = [(attribute, new) for attribute, new in changes if new != attribute.value and attribute.at]
        return tags.edited(tag, sorted(changes, key=lambda change: change[0].start)) if changes else tag


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
