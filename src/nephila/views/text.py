"""The views `text` and `markdown`: what the pages say, without what stands around it.

`text` is one stream, a JSON object per page. `markdown` is a file per page under the names of the mirror, with front matter; to
standard output, or into a file whose name ends in `.jsonl`, it is a stream like `text`. Two passes: the first compares pages of
each host (`repeats`), the second writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

from nephila.clock import iso
from nephila.errors import Damaged
from nephila.types import ERRANDS, Kind
from nephila.url.parse import host_of
from nephila.views import article, whole
from nephila.views.article import HTML_TYPES, TEXT_TYPES, Article
from nephila.views.folder import Folder
from nephila.views.names import Names
from nephila.views.reading import Reading, read
from nephila.views.registry import Order
from nephila.views.repeats import Repeats
from nephila.views.source import Kept, Source

_FORMAT = msgspec.json.Encoder()
_PARTS = ERRANDS | {Kind.EMBED, Kind.SITEMAP, Kind.SCRIPT, Kind.PROBE}
"""Kinds whose text is no page's."""


def export_text(source: Source, order: Order) -> str:
    """The view `text`."""
    with _Articles(source, order) as articles:
        lines = (_FORMAT.encode(_fields(kept, said) | {"text": said.text}) for kept, said in articles)
        count = whole.write_lines(lines, order.target)
        return f"{count:,} pages in {order.target or 'standard output'}{articles.said()}"


def export_markdown(source: Source, order: Order) -> str:
    """The view `markdown`."""
    with _Articles(source, order) as articles:
        if order.target is None or order.target.suffix == ".jsonl":
            lines = (_FORMAT.encode(_fields(kept, said) | {"markdown": said.markdown()}) for kept, said in articles)
            count = whole.write_lines(lines, order.target)
        else:
            count = _write_files(articles, order)
        return f"{count:,} pages in {order.target or 'standard output'}{articles.said()}"


def _write_files(articles: _Articles, order: Order) -> int:
    count = 0
    con = sqlite3.connect("", isolation_level=None)
    try:
        names = Names(con)
        with Folder(order.path) as out:
            for kept, said in articles:
                out.write(f"{names.give(kept.url, kept.media_type)}.md", [_file(kept, said)])
                count += 1
    finally:
        con.close()
    return count


def _file(kept: Kept, said: Article) -> bytes:
    """Front matter (YAML, every value a JSON string, which is YAML too), an empty line, the text."""
    matter = "".join(f"{name}: {_FORMAT.encode(value).decode()}\n" for name, value in _fields(kept, said).items())
    return f"---\n{matter}---\n\n{said.markdown()}\n".encode("utf-8", "replace")


def _fields(kept: Kept, said: Article) -> dict[str, Any]:
    return {
        "url": kept.url,
        "title": said.title,
        "author": said.author,
        "date": said.date,
        "language": said.language,
        "fetched": iso(kept.started),
    }


class _Articles:
    """The articles of a source, one at a time; pages that ask not to be indexed only with `with_noindex`."""

    def __init__(self, source: Source, order: Order) -> None:
        self._source, self._with_noindex = source, bool(order.chosen.get("with_noindex"))
        self._repeats = Repeats()
        self._hidden, self._unreadable = 0, 0

    def __enter__(self) -> _Articles:
        for kept in self._pages():
            compare(self._source, kept, self._repeats)
        return self

    def __exit__(self, *error: object) -> None:
        self._repeats.__exit__()

    def __iter__(self) -> Iterator[tuple[Kept, Article]]:
        for kept in self._pages():
            try:
                reading = read(self._source, kept)
            except Damaged:
                self._unreadable += 1
                continue
            if reading.hidden and not self._with_noindex:
                self._hidden += 1
                continue
            if reading.page.media_type in TEXT_TYPES:
                yield kept, article.of(reading, kept, self._repeats.of(host_of(kept.url)))

    def _pages(self) -> Iterator[Kept]:
        return (kept for kept in self._source.pages() if has_text(kept))

    def said(self) -> str:
        """What is missing, and how to get it."""
        hidden = (
            f"; {self._hidden:,} pages ask not to be indexed and are left out (--with-noindex takes them in)"
            if self._hidden
            else ""
        )
        return hidden + (f"; {self._unreadable:,} pages could not be read back" if self._unreadable else "")


def has_text(kept: Kept) -> bool:
    return kept.media_type in TEXT_TYPES and kept.kind not in _PARTS


def compare(source: Source, kept: Kept, repeats: Repeats) -> None:
    """Let a page count for what comes back on its host, if it is one of those that are compared. Repeated content is not."""
    host = host_of(kept.url)
    if kept.same_as or kept.media_type not in HTML_TYPES or not repeats.wanted(host):
        return
    try:
        tree = _tree(read(source, kept))
    except Damaged:
        return
    if tree is not None:
        repeats.learn(host, (text for _, text in article.blocks(tree)))


def _tree(reading: Reading) -> Any:
    return reading.page.document() if reading.page.document is not None else None
