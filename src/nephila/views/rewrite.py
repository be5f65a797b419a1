"""Making a kept page open from disk: every address in it becomes the relative name of a kept file, or a full live address.

HTML goes through a streaming tokenizer: what is not an address stays byte for byte. Removed is what would break or betray
an opened copy: `base[href]`, integrity and CORS attributes, policies in `meta`, pings, addresses of local files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape
from urllib.parse import quote

from turbohtml.rewrite import Element, rewrite

from nephila.url.parse import resolve, without_userinfo
from nephila.views.style import css, srcset

Lookup = Callable[[str], str]
"""Absolute URL without fragment → path below the mirror, "" when it is not kept."""

_NESTED_MAX = 2
_ADDRESSES = frozenset(
    [
        "href",
        "src",
        "poster",
        "background",
        "data",
        "action",
        "formaction",
        "cite",
        "longdesc",
        "manifest",
        "data-src",
        "data-original",
        "data-href",
        "xlink:href",
    ]
)
_SETS = frozenset({"srcset", "imagesrcset", "data-srcset"})
_DROPPED = frozenset({"integrity", "crossorigin", "ping", "nonce"})
_TOUCHED = ",".join(
    f"[{name.replace(':', chr(92) + ':')}]" for name in sorted(_ADDRESSES | _SETS | _DROPPED | {"style", "srcdoc"})
)
_BLANK = "\t\n\f\r "
_META = '<meta charset="utf-8"/>'
_DOCTYPE = re.compile(r"\s*(?:<\?xml[^>]{0,500}>\s*)?<!doctype[^>]{0,500}>", re.I)
_XML_DECLARATION = re.compile(r"""(\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*)(["'])[^"']{0,60}\2""")
_REFRESH = re.compile(r"""(\s*[0-9.]+\s*[;,]\s*(?:url\s*=\s*)?)(?:"([^"]*)"?.*|'([^']*)'?.*|(.*))""", re.I | re.S)
_XML_LINK = re.compile(r"""(\s(?:xlink:href|href)\s*=\s*)("[^"<]*"|'[^'<]*')""")


class Addresses:
    """What addresses of one file become. `base` is what they resolve against, `path` where the file lies in the mirror."""

    def __init__(self, base: str, path: str, charset: str, lookup: Lookup) -> None:
        self.base, self.charset, self._lookup = base, charset, lookup
        self._here = path.split("/")
        self.moved_base = False
        self.missing = 0

    def __call__(self, href: str) -> str:
        """The address as it is to be written. What is no web address (mailto:, data:, `#part`) stays as it is."""
        address = href.strip(_BLANK)
        if not address or (address[0] == "#" and not self.moved_base):
            return href
        url = resolve(self.base, address, self.charset)
        if url is None:
            return "#" if re.sub(r"[\x00-\x20]", "", address[:20]).lower().startswith("file:") else href
        _, mark, fragment = address.partition("#")
        path = self._lookup(without_userinfo(url))
        if not path:
            self.missing += 1
        return (self._relative(path) if path else url) + (f"#{quote(fragment, safe=_FRAGMENT_SAFE)}" if mark else "")

    def _relative(self, path: str) -> str:
        there, here = path.split("/"), self._here
        same = 0
        while same < min(len(there), len(here)) - 1 and there[same] == here[same]:
            same += 1
        return "/".join([".."] * (len(here) - 1 - same) + [quote(part, safe="!$&+,;=@~") for part in there[same:]])


_FRAGMENT_SAFE = "!$%&'*+,;=:@/?~"


def html(text: str, addresses: Addresses, nested: int = 0) -> str:
    """A page, its charset declared as UTF-8."""
    page = _Page(addresses, nested)
    done = rewrite(
        text,
        elements=[
            (_TOUCHED, page.addresses),
            ("style,noscript", page.opens),
            ("meta", page.meta),
            ("base", page.base),
            ("head", page.head),
        ],
        text=page.text,
    )
    done = _XML_DECLARATION.sub(r"\1\2utf-8\2", done, count=1) if done.lstrip().startswith("<?xml") else done
    if page.declared or nested:
        return done
    doctype = _DOCTYPE.match(done)
    at = doctype.end() if doctype else 0
    return f"{done[:at]}{_META}{done[at:]}"


class _Page:
    def __init__(self, addresses: Addresses, nested: int) -> None:
        self._to, self._nested = addresses, nested
        self._inside = ""
        self.declared = False

    def addresses(self, element: Element) -> None:
        self._inside = ""
        for name, value in element.attrs:
            if name in _DROPPED:
                element.remove_attribute(name)
            elif not value or (name == "href" and element.tag == "base"):
                continue
            elif name in _ADDRESSES:
                _set(element, name, value, self._to(value))
            elif name in _SETS:
                _set(element, name, value, srcset(value, self._to))
            elif name == "style":
                _set(element, name, value, css(value, self._to))
            elif name == "srcdoc" and self._nested < _NESTED_MAX:
                _set(element, name, value, html(value, self._to, self._nested + 1))

    def opens(self, element: Element) -> None:
        """The next run of text is a stylesheet, or markup for those without scripts."""
        self._inside = element.tag

    def text(self, run: Element) -> None:
        inside, self._inside = self._inside, ""
        if inside == "style":
            _set_text(run, css(run.text, self._to))
        elif inside == "noscript" and self._nested < _NESTED_MAX:
            _set_text(run, html(run.text, self._to, self._nested + 1))

    def head(self, element: Element) -> None:
        if not self.declared and not self._nested:
            element.prepend(_META, html=True)
            self.declared = True

    def base(self, element: Element) -> None:
        """Only the first one counts, for all that follows; its target attribute stays."""
        href = element.get("href")
        if href is not None:
            element.remove_attribute("href")
            if not self._to.moved_base:
                self._to.base = resolve(self._to.base, href.strip(_BLANK), self._to.charset) or self._to.base
                self._to.moved_base = True

    def meta(self, element: Element) -> None:
        if element.has_attribute("charset"):
            element.set_attribute("charset", "utf-8")
        kind = (element.get("http-equiv") or "").strip(_BLANK).lower()
        content = element.get("content") or ""
        if kind == "content-type":
            element.set_attribute("content", "text/html; charset=utf-8")
        elif kind.startswith("content-security-policy"):
            element.remove()
        elif kind == "refresh" and (found := _REFRESH.fullmatch(content)):
            address = next((part for part in found.groups()[1:] if part), "")
            if address:
                element.set_attribute("content", found[1] + self._to(address))


def _set(element: Element, name: str, old: str, new: str) -> None:
    if new != old:
        element.set_attribute(name, new)


def _set_text(run: Element, new: str) -> None:
    if new != run.text:
        run.set_text(new)


def svg(text: str, to: Callable[[str], str]) -> str:
    """A drawing: XML, so nothing but the values of its links is touched."""
    text = _XML_DECLARATION.sub(r"\1\2utf-8\2", text, count=1)
    return _XML_LINK.sub(lambda found: f'{found[1]}"{escape(to(unescape(found[2][1:-1])))}"', text)
