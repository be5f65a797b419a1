"""What a page says, without what stands around it: main text, title, author, date, language.

Two means together. Blocks that come back on the site's other pages are taken out of the tree (`repeats`); the densest part of
what is left is the text (turbohtml's `article`). Where no part is dense, as on lists of short entries, everything that is left is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from turbohtml import Document, Element, extract
from turbohtml.detect import detect_language

from nephila.page import charset
from nephila.views.reading import Reading
from nephila.views.repeats import hashed
from nephila.views.source import Kept

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = HTML_TYPES | {"text/plain", "text/markdown"}
"""Media types that have a text."""

BLOCKS_MAX = 20_000
_BLOCK = (
    "p,li,td,th,dt,dd,h1,h2,h3,h4,h5,h6,div,section,article,nav,footer,header,aside,ul,ol,dl,table,form,pre,blockquote,"
    "figure,figcaption,main,address,a,label,button"
)
_NEVER = "script,style,noscript,template,iframe,svg,form button,form input,form select"
_SHARE_MIN = 0.25
"""An article of less than this share of a page's own text is one entry of a list."""
_LANGUAGE_CHARS = 2000
_CONFIDENT = 0.6
_CODES = {
    "cmn": "zh", "jpn": "ja", "kor": "ko", "eng": "en", "deu": "de", "fra": "fr", "spa": "es", "rus": "ru", "por": "pt",
    "ita": "it", "nld": "nl", "pol": "pl", "ukr": "uk", "ara": "ar", "vie": "vi", "tha": "th", "tur": "tr", "heb": "he",
    "ell": "el", "ces": "cs", "swe": "sv", "hun": "hu", "fin": "fi", "dan": "da", "nob": "no", "hin": "hi", "pes": "fa",
}  # fmt: skip
"""ISO 639-3, as it is guessed, → 639-1, as pages say it. What is not here keeps its three letters."""
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d) ?[-/.年] ?(\d{1,2}) ?[-/.月] ?(\d{1,2})(?!\d)")
_DATE_CHARS = 3000
_UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Article(NamedTuple):
    """`date` is YYYY-MM-DD; what is not known is "". `body` renders Markdown, on demand."""

    title: str
    author: str
    date: str
    language: str
    text: str
    body: Element | Document | None

    def markdown(self) -> str:
        return _plain(self.body.to_markdown()) if self.body is not None else self.text


def blocks(tree: Document) -> Iterator[tuple[Element, str]]:
    """The innermost blocks of a page with text in them: (element, its text, white space made even)."""
    for element in tree.select(_BLOCK)[:BLOCKS_MAX]:
        if element.select_one(_BLOCK) is None and (text := " ".join(element.text.split())):
            yield element, text


def of(reading: Reading, kept: Kept, furniture: frozenset[int] = frozenset(), *, whole: bool = False) -> Article:
    """The article of a page that has a media type of `TEXT_TYPES`. `furniture`: `Repeats.of` its host; `whole`: all that is the
    page's own, not only its densest part. The tree is used up."""
    page = reading.page
    if page.media_type not in HTML_TYPES or page.document is None:
        text = _plain(charset.decode(reading.content, kept.charset)[0])
        return Article(page.title or kept.title, "", "", page.language or language_of(text), text, None)
    tree = page.document()
    said = tree.article()
    author, published = _author(tree, said.byline or ""), _structured_date(tree, kept)
    body = own(tree, furniture)
    text, main = _plain(body.to_text()), body
    head = text[:_DATE_CHARS]
    if not whole and (dense := body.main_content()) is not None:
        inner = _plain(dense.to_text())
        if len(inner) >= _SHARE_MIN * len(text):
            text, main = inner, dense
    main.resolve_links(page.links.base if page.links is not None else kept.url)
    return Article(
        page.title or " ".join((said.title or "").split()),
        author,
        published or _date_in(head, kept),
        page.language or language_of(text),
        text,
        main,
    )


def own(tree: Document, furniture: frozenset[int]) -> Element | Document:
    """The part of the page that is its own: without blocks that are furniture and without what never shows. If that leaves
    nothing, this is a page that was kept under many addresses, and nothing is taken out."""
    for element in tree.select(_NEVER):
        element.decompose()
    found = list(blocks(tree)) if furniture else []
    if any(hashed(text) not in furniture for _, text in found):
        for element, text in found:
            if hashed(text) in furniture:
                element.decompose()
    for element in tree.select('a[href^="javascript:" i], a[href^="data:" i], img[src^="data:" i]'):
        element.unwrap()
    return tree.select_one("body") or tree


def language_of(text: str) -> str:
    """A guess, "" when nothing is sure."""
    found = detect_language(text[:_LANGUAGE_CHARS])
    if not found or not found.language or found.confidence < _CONFIDENT:
        return ""
    return _CODES.get(found.language, found.language)


def _plain(text: str) -> str:
    """Without control characters, no blanks at line ends, at most one empty line between two."""
    text = _UNSAFE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()


def _structured_date(tree: Document, kept: Kept) -> str:
    """What the page declares: address, meta, JSON-LD, <time>."""
    try:
        options = extract.DateExtraction(original=True, extensive_search=False, max_date=_fetched(kept))
        found = extract.dates(tree.serialize(), options)
    except (ValueError, OverflowError):
        return ""
    return found.date if found else ""


def _date_in(text: str, kept: Kept) -> str:
    """The first date in running text, as `2024-03-05` or `2024年3月5日`."""
    for year, month, day in _DATE.findall(text):
        try:
            when = date(int(year), int(month), int(day))
        except ValueError:
            continue
        if when <= _fetched(kept):
            return when.isoformat()
    return ""


def _fetched(kept: Kept) -> date:
    return datetime.fromtimestamp(kept.started, UTC).date()


def _author(tree: Document, byline: str) -> str:
    if not byline:
        byline = next((name for value in tree.json_ld() for name in _names(value)), "")
    return " ".join(_UNSAFE.sub("", byline).split())[:200]


def _names(value: Any) -> Iterator[str]:
    """The authors that a JSON-LD value names."""
    things = value if isinstance(value, list) else value.get("@graph", [value]) if isinstance(value, dict) else []
    for thing in things if isinstance(things, list) else []:
        author = thing.get("author") if isinstance(thing, dict) else None
        for one in author if isinstance(author, list) else [author]:
            name = one.get("name") if isinstance(one, dict) else one
            if isinstance(name, str) and name.strip():
                yield name
