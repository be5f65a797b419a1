"""Search in what was crawled: the answer to a query, best first, with the places where its words stand.

The one function behind `nephila search` and every window that has a box for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from nephila.archive.reader import Decode
from nephila.errors import ConfigError
from nephila.views import index, query, words
from nephila.views.query import Part
from nephila.views.source import Source

LIMIT_MAX = 1000
_MORE = 3
"""So many times the answers that are wanted are looked at: a file that is kept and listed is one answer."""
_SNIPPET_CHARS = 160
_BEFORE_CHARS = 40
_MARKS_MAX = 2000


class Hit(msgspec.Struct, frozen=True):
    """One answer. `date` is YYYY-MM-DD; `size` in bytes, `modified` Unix time, -1: not known. `marks`: (start, end) of the words that were
    asked for in `snippet`, in characters. `snippet` is "" of a file of which only the name is known."""

    url: str
    title: str
    host: str
    date: str
    language: str
    name: str
    size: int
    modified: float
    snippet: str
    marks: list[tuple[int, int]]
    score: float


class Answer(msgspec.Struct, frozen=True):
    """`count`: documents that match, of which `hits` are the best; `ms`: time that finding them took, building the index left out."""

    query: str
    count: int
    hits: list[Hit]
    ms: float


def search(
    folder: Path,
    text: str,
    decode: Decode,
    *,
    limit: int = 10,
    access: Iterable[str] = (),
    with_noindex: bool = False,
) -> Answer:
    """Answer `text` (docs/search.md) from the job in `folder`; its index is brought up to the crawl first. `access`: names of credentials
    whose pages may be shown. Raises ConfigError for a query that cannot be meant."""
    parts = query.parse(text)
    if not 1 <= limit <= LIMIT_MAX:
        raise ConfigError(f"--limit {limit}: give a number from 1 to {LIMIT_MAX:,}")
    with Source(folder, decode, frozenset(access)) as source, index.opened(index.place_of(source)) as place:
        source.check_access()
        state = index.update(source, place)
        closed = [("access", names) for names in state.access if not source.may_see(names)]
        return _answer(place, text, parts, limit, closed + ([] if with_noindex else [("hidden", 1)]))


class Standing(msgspec.Struct, frozen=True):
    """How an index is without anybody touching it. `ready`: it can be asked; `behind`: visits of the crawl that it does not know."""

    ready: bool
    behind: int


def standing(source: Source) -> Standing:
    """Of the index below the folder of `source`. One that still has what was forgotten since is not ready. Raises ConfigError without tantivy."""
    index.tantivy()
    state = index.stored(source)
    return Standing(False, 0) if state is None else Standing(True, index.last(source, "visit") - state.visit)


def search_standing(
    source: Source, text: str, closed: Iterable[str], *, limit: int = 10, with_noindex: bool = False
) -> Answer:
    """Answer `text` from the index as it is. `closed`: values of `visit.access` whose pages are left out. Raises ConfigError like `search`,
    and when the index is not ready."""
    parts, state = query.parse(text), index.stored(source)
    if state is None:
        raise ConfigError(f"there is no index of {source.folder} that can be asked")
    left_out = {names for names in (*closed, *state.access) if not source.may_see(names)}
    there = [("access", names) for names in sorted(left_out)]
    return _answer(index.place_of(source), text, parts, limit, there + ([] if with_noindex else [("hidden", 1)]))


def _answer(place: Path, text: str, parts: list[Part], limit: int, closed: list[tuple[str, Any]]) -> Answer:
    started = time.perf_counter()
    found = index.tantivy().Index.open(str(place / "index"))
    searcher = found.searcher()
    # Without anything to leave out, tantivy may pass over documents that cannot be among the best.
    there = [(field, value) for field, value in closed if searcher.doc_freq(field, value)]
    asked = query.compile(parts, found.schema, there)
    try:
        result = searcher.search(asked, limit * _MORE)
    except ValueError as error:
        raise ConfigError(f"{text}: the index cannot answer that ({error})") from error
    needles = _needles(parts)
    hits = list(_hits(searcher, result.hits, limit, needles))
    return Answer(text, int(result.count), hits, (time.perf_counter() - started) * 1000)


def _hits(searcher: Any, found: list[tuple[float, Any]], limit: int, needles: list[str]) -> Iterator[Hit]:
    """A file that is both kept and listed is told once: with the listing's size and date, and the page's text."""
    shown: dict[str, tuple[float, index.Shown, str]] = {}
    for score, address in found:
        document = searcher.doc(address)
        told = msgspec.json.decode(bytes(document.get_first("shown")), type=index.Shown)
        text = bytes(document.get_first("text") or b"").decode()
        if told.url in shown:
            first, before, old = shown[told.url]
            newer = told if told.modified >= 0 else before
            shown[told.url] = first, msgspec.structs.replace(newer, title=before.title or told.title), old or text
        elif len(shown) < limit:
            shown[told.url] = score, told, text
    for score, told, text in shown.values():
        snippet, marks = excerpt(text, needles)
        yield Hit(
            told.url, told.title, told.host, told.day, told.language, told.name, told.size, told.modified, snippet, marks, score
        )  # fmt: skip


def _needles(parts: list[Part]) -> list[str]:
    """What is marked: the words as they stand in a folded text."""
    texts = (part.value for part in parts if part.field in ("", "title") and not part.without)
    return sorted({run for text in texts for run in words.runs(words.fold(text))}, key=len, reverse=True)


def excerpt(text: str, needles: list[str]) -> tuple[str, list[tuple[int, int]]]:
    """The part of a text where most different needles stand, and where they stand in it."""
    text = " ".join(text.split())
    folded, at = _folded(text)
    pattern = "|".join(
        re.escape(needle) if words.paired(needle) else rf"(?<![^\W_]){re.escape(needle)}" for needle in needles
    )
    places = (
        [match for match, _ in zip(re.finditer(pattern, folded), range(_MARKS_MAX), strict=False)] if needles else []
    )
    spans = [(at(match.start()), at(match.end()), match[0]) for match in places]
    start = max(_best(spans) - _BEFORE_CHARS, 0)
    if start:
        blank = text.find(" ", start, start + _BEFORE_CHARS // 2)
        start = blank + 1 if blank >= 0 else start
    end = start + _SNIPPET_CHARS
    before, after = ("… " if start else ""), (" …" if end < len(text) else "")
    shift = len(before) - start
    marks = [(low + shift, high + shift) for low, high, _ in spans if start <= low < high <= end]
    return before + text[start:end] + after, marks


def _best(spans: list[tuple[int, int, str]]) -> int:
    """Where a window begins that holds most different needles; the first of them."""
    best, most = 0, 0
    for i, (low, _, _) in enumerate(spans):
        inside = {needle for at, _, needle in spans[i : i + 50] if at < low + _SNIPPET_CHARS - _BEFORE_CHARS}
        if len(inside) > most:
            best, most = low, len(inside)
    return best


def _folded(text: str) -> tuple[str, Any]:
    """The folded text, and a function from places in it to places in `text`."""
    folded = words.fold(text)
    if len(folded) == len(text):
        return folded, lambda place: place
    pieces = [words.fold(character) for character in text]
    places = [i for i, piece in enumerate(pieces) for _ in piece]
    return "".join(pieces), lambda place: places[place] if place < len(places) else len(text)
