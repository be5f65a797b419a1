"""The view `search`: the full-text index of a job, below `DIR/views/search`.

    state.json     how far the crawl is in it
    repeats.db     what comes back on the pages of each host (`repeats`)
    index/         the documents, tantivy's

A document is a page with its text, or a file of which only the name is known: kept but no text, or an entry of a listing. Documents of one
visit carry its url.id, so that a later visit of the URL takes their place. A build reads the visits behind the last one it knows. Every page is
in it, those of credentials and those that ask not to be searched too, each with a mark: who asks is shown what he may see. When pages were
forgotten since, the documents of all others are copied into an index beside it that takes its place, for an index that deletes keeps what it
deleted for a while. All that a document is made of is stored in it, so no page is read again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from nephila.errors import ConfigError, Damaged
from nephila.page import charset, listing
from nephila.types import ERRANDS, Kind
from nephila.url.parse import host_of, path_of, resolve
from nephila.views import article, text
from nephila.views.article import TEXT_TYPES
from nephila.views.folder import Folder
from nephila.views.reading import file_hidden, read
from nephila.views.registry import Order
from nephila.views.repeats import Repeats
from nephila.views.source import Kept, Source
from nephila.views.words import fold, words

FORM = 2
"""Of the documents: an index of another form is made anew."""
TEXT_CHARS = 1_000_000
"""So much of a page's text can be found."""
ENTRIES_MAX = 1_000_000
"""So many entries of one listing."""
_HEAP_BYTES = 64 << 20
_TOGETHER = 10_000
"""Documents between two commits."""
_ADDRESSES = 500
"""So many at once are looked for in an index that is copied."""


class Shown(msgspec.Struct, frozen=True, array_like=True):
    """What is shown of a document. `day` is YYYY-MM-DD; `size` in bytes, `modified` Unix time, both -1 when they are not known; `text` False:
    only its name is known."""

    url: str
    title: str
    host: str
    day: str
    language: str
    name: str
    size: int
    modified: float
    text: bool


class State(msgspec.Struct):
    """How far the index is: the last visit in it, the last one compared, the last row of `change` seen; `access`: the
    credentials, as visits name them, that it has pages of."""

    form: int = FORM
    visit: int = 0
    compared: int = 0
    change: int = 0
    documents: int = 0
    access: list[str] = []


def export(source: Source, order: Order) -> str:
    """The view `search`."""
    with opened(order.path) as place:
        state = update(source, place)
    return f"{state.documents:,} documents in {order.path}"


def place_of(source: Source) -> Path:
    """Where the index of a job lies."""
    return source.folder / "views" / "search"


def stored(source: Source) -> State | None:
    """The state of a job's index as it lies there; None when it cannot be asked as it is."""
    place = place_of(source)
    state = _state(place)
    sound = state.form == FORM and 0 < state.visit <= last(source, "visit") and (place / "index").is_dir()
    return state if sound and not _forgotten(source, state.change) and _readable(place) else None


@contextmanager
def opened(place: Path) -> Iterator[Path]:
    """The index's folder, held so that nobody else writes there meanwhile."""
    with Folder(place):
        fd = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield place
    finally:
        os.close(fd)


def tantivy() -> Any:
    try:
        import tantivy
    except ImportError as error:
        raise ConfigError("search needs tantivy: pip install 'nephila[search]'") from error
    return tantivy


def schema() -> Any:
    made = tantivy().SchemaBuilder()
    for name in ("title", "body"):
        made.add_text_field(name, stored=name == "title", tokenizer_name="whitespace", index_option="position")
    for name in ("host", "lang", "name", "eman", "access"):
        made.add_text_field(name, stored=name == "access", tokenizer_name="raw", index_option="basic")
    for name in ("url_id", "hidden"):
        made.add_unsigned_field(name, stored=True, indexed=True)
    made.add_integer_field("day", indexed=True, fast=True)
    for name in ("shown", "text"):
        made.add_bytes_field(name, stored=True)
    return made.build()


def update(source: Source, place: Path) -> State:
    """Bring the index in `place` (`opened`) up to the crawl. Returns its state."""
    tantivy()
    state = _state(place)
    newest, change = last(source, "visit"), last(source, "change")
    shutil.rmtree(place / "fresh", ignore_errors=True)
    if state.form != FORM or state.visit > newest or not _readable(place):
        shutil.rmtree(place / "index", ignore_errors=True)
        for name in ("state.json", "repeats.db"):
            (place / name).unlink(missing_ok=True)
        state = State()
    elif (place / "index").is_dir() and _forgotten(source, state.change):
        _without_forgotten(source, place, state)
        state.change = change
        _save(place, state)
    if state.visit == newest and (place / "index").is_dir():
        return state
    (place / "index").mkdir(mode=0o700, exist_ok=True)
    state.change = change
    with source.unlocked() as every, Repeats(place / "repeats.db") as repeats:
        for kept in every.visits(state.compared):
            if _is_page(kept) and text.has_text(kept):
                text.compare(every, kept, repeats)
        repeats.commit()
        state.compared = newest
        _Writer(place, state).add(every, repeats)
    return state


class _Writer:
    """Adds visits to the index and commits it with its state, now and then."""

    def __init__(self, place: Path, state: State) -> None:
        self._place, self._state, self._schema = place, state, schema()
        self._index = tantivy().Index(self._schema, path=str(place / "index"))
        self._fresh = self._index.searcher().num_docs == 0
        self._writer = self._index.writer(_HEAP_BYTES, 1)

    def add(self, source: Source, repeats: Repeats) -> None:
        access, waiting = set(self._state.access), 0
        for kept in source.visits(self._state.visit):
            self._state.visit = kept.id
            if not _is_page(kept):
                continue
            if not self._fresh or kept.round > 1:
                self._writer.delete_documents_by_query(self._of(kept.url_id))
            if kept.access:
                access.add(kept.access)
            for document in _documents(source, kept, repeats):
                self._writer.add_document(document)
                waiting += 1
            if waiting >= _TOGETHER:
                self._commit(access)
                self._fresh, waiting = False, 0
        self._state.visit = max(self._state.visit, self._state.compared)
        self._commit(access)
        self._writer.wait_merging_threads()

    def _of(self, url_id: int) -> Any:
        """The documents of a URL. (Deleting by term misses unsigned numbers, without a word: tantivy 0.27.)"""
        return tantivy().Query.term_query(self._schema, "url_id", url_id)

    def _commit(self, access: set[str]) -> None:
        self._writer.commit()
        self._index.reload()
        self._state.documents, self._state.access = self._index.searcher().num_docs, sorted(access)
        _save(self._place, self._state)


def _save(place: Path, state: State) -> None:
    draft = place / ".state.part"
    draft.write_bytes(msgspec.json.encode(state))
    draft.replace(place / "state.json")


def _without_forgotten(source: Source, place: Path, state: State) -> None:
    """Put in the place of the index one with the documents of every address that there still is. A kill in between leaves the old one, or
    none, which is made anew then."""
    (place / "fresh").mkdir(mode=0o700)
    old, new = tantivy().Index.open(str(place / "index")), tantivy().Index(schema(), path=str(place / "fresh"))
    writer, hosts, access = new.writer(_HEAP_BYTES, 1), set[str](), set[str]()
    for stored, gone in _stored_documents(source, old):
        if gone:
            hosts.add(stored.shown.host)
        else:
            access.update([stored.access] if stored.access else [])
            writer.add_document(stored.document())
    writer.commit()
    writer.wait_merging_threads()
    new.reload()
    left = new.searcher()
    with Repeats(place / "repeats.db") as repeats:
        for host in hosts:
            repeats.forget(host, all=not left.doc_freq("host", host))
    shutil.rmtree(place / "index")
    (place / "fresh").rename(place / "index")
    state.documents, state.access = left.num_docs, sorted(access)


def _stored_documents(source: Source, index: Any) -> Iterator[tuple[_Stored, bool]]:
    """Those of an index, address by address, each with whether its address was forgotten."""
    searcher, at, end = index.searcher(), 0, last(source, "url")
    number = tantivy().FieldType.Unsigned
    while at < end:
        to = at + _ADDRESSES
        gone = {row["id"] for row in source.rows("SELECT id FROM url WHERE id > ? AND id <= ? AND url = ''", at, to)}
        those, met = tantivy().Query.range_query(index.schema, "url_id", number, at + 1, to), 0
        while found := searcher.search(those, _TOGETHER, count=False, offset=met).hits:
            for _, address in found:
                stored = _Stored.read(searcher.doc(address))
                yield stored, stored.url_id in gone
            met += len(found)
        at = to


def _documents(source: Source, kept: Kept, repeats: Repeats) -> Iterator[Any]:
    try:
        if kept.media_type == listing.MEDIA_TYPE:
            yield from _listed(source, kept)
        elif text.has_text(kept):
            yield _page(source, kept, repeats)
        else:
            yield _file(kept, hidden=file_hidden(source, kept))
    except Damaged:
        return  # an export says how many there are; here the others can be found


def _page(source: Source, kept: Kept, repeats: Repeats) -> Any:
    """Everything that is the page's own can be found, not only its main text: people search for what they have seen."""
    reading = read(source, kept)
    if reading.page.media_type not in TEXT_TYPES:
        return _file(kept, hidden=reading.hidden)
    said = article.of(reading, kept, repeats.of(host_of(kept.url)), whole=True)
    body = said.text[:TEXT_CHARS]
    day = said.date or _day(kept.started)
    name = name_of(kept.url, reading.page.charset)
    shown = Shown(kept.url, said.title, host_of(kept.url), day, said.language, name, kept.bytes, -1, True)
    return _document(kept, shown, said.title, body, hidden=reading.hidden)


def _file(kept: Kept, *, hidden: bool) -> Any:
    """Parts of pages are found by their names alone, or every word would find a hundred pictures."""
    name = name_of(kept.url, kept.charset)
    shown = Shown(
        kept.url, kept.title, host_of(kept.url), _day(kept.started), kept.language, name, kept.bytes, -1, False
    )
    return _document(kept, shown, "" if kept.kind == Kind.EMBED else kept.title or name, "", hidden=hidden)


def _listed(source: Source, kept: Kept) -> Iterator[Any]:
    """The listing by its path, and a document for each thing in it."""
    yield _file(kept, hidden=False)
    path = path_of(kept.url).partition(";type=")[0]
    content = read(source, kept).content
    for count, entry in enumerate(listing.entries(content, kept.started)):
        place = listing.href(entry, path)
        if count == ENTRIES_MAX or entry.kind == listing.FOLDER or not place:
            continue
        name = charset.decode(entry.name, kept.charset)[0]
        url = resolve(kept.url, place) or kept.url
        day = _day(entry.modified if entry.modified >= 0 else kept.started)
        shown = Shown(url, name, host_of(url), day, "", name, entry.size, entry.modified, False)
        yield _document(kept, shown, name, "")


def _document(kept: Kept, shown: Shown, title: str, body: str, *, hidden: bool = False) -> Any:
    return _Stored(kept.url_id, kept.access, hidden, words(title), body, shown).document()


class _Stored(msgspec.Struct, frozen=True):
    """What a document is made of, all of it stored in it. `title`: its words, as they can be found."""

    url_id: int
    access: str
    hidden: bool
    title: str
    body: str
    shown: Shown

    @classmethod
    def read(cls, document: Any) -> _Stored:
        first = document.get_first
        shown = msgspec.json.decode(bytes(first("shown")), type=Shown)
        body = bytes(first("text") or b"").decode()
        return cls(first("url_id"), first("access") or "", bool(first("hidden")), first("title") or "", body, shown)

    def document(self) -> Any:
        made = tantivy().Document()
        made.add_unsigned("url_id", self.url_id)
        made.add_unsigned("hidden", int(self.hidden))
        made.add_integer("day", int(self.shown.day.replace("-", "")))
        made.add_text("title", self.title)
        if self.body:
            made.add_text("body", words(self.body))
            made.add_bytes("text", self.body.encode("utf-8", "replace"))
        for part in _domains(self.shown.host):
            made.add_text("host", part)
        for tag in _tags(self.shown.language):
            made.add_text("lang", tag)
        if self.shown.name:
            made.add_text("name", fold(self.shown.name))
            made.add_text("eman", fold(self.shown.name)[::-1])
        if self.access:
            made.add_text("access", self.access)
        made.add_bytes("shown", msgspec.json.encode(self.shown))
        return made


def name_of(url: str, encoding: str) -> str:
    """The last segment of a URL's path, decoded; "" of a folder."""
    last = path_of(url).partition("?")[0].partition(";type=")[0].rpartition("/")[2]
    try:
        return unquote(last, errors="strict")
    except UnicodeDecodeError:
        return unquote(last, encoding or "utf-8", "replace") if charset.canonical(encoding) else unquote(last)


def _domains(host: str) -> Iterator[str]:
    """`www.example.com` → itself, `example.com`, `com`: who asks for a domain gets its hosts. An address is itself."""
    yield host
    while not host.startswith("[") and not host.replace(".", "").isdigit() and "." in host:
        host = host.partition(".")[2]
        yield host


def _tags(language: str) -> Iterator[str]:
    tag = language.lower().replace("_", "-")
    if tag:
        yield tag
    if "-" in tag:
        yield tag.partition("-")[0]


def _is_page(kept: Kept) -> bool:
    return kept.outcome == "OK" and kept.length > 0 and kept.kind not in ERRANDS and kept.kind != Kind.PROBE


def _day(when: float) -> str:
    return datetime.fromtimestamp(max(when, 0), UTC).date().isoformat()


def _state(place: Path) -> State:
    try:
        return msgspec.json.decode((place / "state.json").read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return State()


def _readable(place: Path) -> bool:
    if not (place / "state.json").exists():
        return not (place / "index").exists()
    try:
        tantivy().Index.open(str(place / "index"))
    except ValueError:
        return False
    return True


def last(source: Source, table: str) -> int:
    there = source.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", table)
    return int(source.rows(f"SELECT coalesce(max(id), 0) AS last FROM {table}")[0]["last"]) if there else 0


def _forgotten(source: Source, change: int) -> bool:
    """Was an address taken down since?"""
    if last(source, "change") <= change:
        return False
    rows = source.rows(
        "SELECT EXISTS (SELECT 1 FROM change c JOIN url u ON u.id = c.url WHERE c.id > ? AND u.url = '') AS gone",
        change,
    )
    return bool(rows[0]["gone"])
