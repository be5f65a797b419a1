"""The view `wacz`: one file with everything, records, index, list of pages and their text, that replay tools open.

WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/) is a zip file. Records and index are stored in it and not compressed once
more, so that a reader, also one over HTTP, fetches a page with a few ranges. The index is cut into gzip members of 300 lines, with
a list of their first keys beside it. `pages.jsonl` lists what the crawl began with, `extraPages.jsonl` every other page.
"""

from __future__ import annotations

import hashlib
import struct
import time
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from nephila.archive.group import member
from nephila.errors import Damaged
from nephila.views import cdxj, reading, warc, whole
from nephila.views.registry import Order
from nephila.views.source import Kept, Source

VERSION = "1.1.1"
LINES_PER_BLOCK = 300
_UNIX_TIME = 0x5455
"""An extra field of every file (APPNOTE 4.6, Info-ZIP). ReplayWeb.page takes a file that has none in the directory to have none before
its data either, and misses the data by the 20 bytes of the field for sizes, which are not known when it is begun."""
_WARC = "data.warc.gz"
_INDEX = "index.cdx.gz"
_PAGES = frozenset({"text/html", "application/xhtml+xml", "application/pdf", "text/plain", "text/x-ftp-listing"})


class Listed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a list of pages."""

    id: str
    url: str
    ts: str
    title: str
    text: str = ""


def export(source: Source, order: Order) -> str:
    """The view `wacz`."""
    with whole.opened(order.path) as file, zipfile.ZipFile(file, "w") as zipped, cdxj.Lines() as lines:
        package, visits = _Package(zipped), [0]

        def begins(kept: Kept, at: int) -> None:
            visits[0] += 1
            lines.add(kept, cdxj.first(source.place(kept)), _WARC, at)

        package.add(f"archive/{_WARC}", warc.members(source, _WARC, begins), packed=False)
        blocks = list[bytes]()
        package.add(f"indexes/{_INDEX}", _index(lines.sorted(), blocks), packed=False)
        package.add("indexes/index.idx", blocks)
        seeds = _Pages(source, seeds=True)
        package.add("pages/pages.jsonl", seeds)
        others = _Pages(source, seeds=False)
        package.add("pages/extraPages.jsonl", others)
        package.close(seeds.main)
    return f"{visits[0]:,} visits, {seeds.count + others.count:,} pages in {order.path}"


class _Package:
    """The zip file, and the digest of every file in it."""

    def __init__(self, zipped: zipfile.ZipFile) -> None:
        self._zip, self._now = zipped, time.time()
        self._resources = list[dict[str, str | int]]()

    def add(self, path: str, blocks: Iterable[bytes], *, packed: bool = True) -> None:
        """A file. `packed`: compressed by the zip file."""
        digest, size = hashlib.sha256(), 0
        info = zipfile.ZipInfo(path, time.gmtime(self._now)[:6])
        info.external_attr = 0o644 << 16
        info.extra = struct.pack("<HHBI", _UNIX_TIME, 5, 1, int(self._now))
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        with self._zip.open(info, "w", force_zip64=True) as out:
            for block in blocks:
                out.write(block)
                digest.update(block)
                size += len(block)
        name = path.rpartition("/")[2].lower()
        self._resources.append({"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size})

    def close(self, main: Listed | None) -> None:
        """What is in it, and the digest of that."""
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "software": warc.SOFTWARE,
            "created": _utc(self._now),
            **({"mainPageUrl": main.url, "mainPageDate": main.ts} if main else {}),
            "resources": self._resources,
        }
        text = msgspec.json.format(msgspec.json.encode(package), indent=2)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        self.add("datapackage.json", [text])
        self.add("datapackage-digest.json", [msgspec.json.encode(digest)])


def _index(lines: Iterator[bytes], blocks: list[bytes]) -> Iterator[bytes]:
    """The lines as gzip members; `blocks` gets a line about each (300 captures cost about 100 bytes of memory)."""
    blocks.append(b"!meta 0 %s\n" % msgspec.json.encode({"format": "cdxj-gzip-1.0", "filename": _INDEX}))
    at = 0
    while block := list(islice(lines, LINES_PER_BLOCK)):
        data = member(b"".join(line + b"\n" for line in block))
        about = {
            "offset": at,
            "length": len(data),
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            "filename": _INDEX,
        }
        blocks.append(b"%s %s\n" % (block[0].partition(b" {")[0], msgspec.json.encode(about)))
        at += len(data)
        yield data


class _Pages:
    """The lines of a list of pages. Afterwards `main` is the first of them, and `count` says how many there were."""

    def __init__(self, source: Source, *, seeds: bool) -> None:
        self._source, self._seeds = source, seeds
        self.main: Listed | None = None
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        title = "Seeds" if self._seeds else "Other pages"
        yield _line({"format": "json-pages-1.0", "id": "pages", "title": title, "hasText": True})
        for kept in self._source.pages():
            if (kept.depth == 0) is self._seeds and kept.media_type in _PAGES:
                listed = self._listed(kept)
                self.main = self.main or listed
                self.count += 1
                yield _line(listed)

    def _listed(self, kept: Kept) -> Listed:
        try:
            text = reading.text(self._source, kept)
        except Damaged:
            text = ""
        return Listed(str(kept.id), kept.url, _utc(kept.started), kept.title or kept.url, text)


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _utc(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
