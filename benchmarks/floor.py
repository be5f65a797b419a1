"""The floor: what the pages of a site cost when nothing is done but what cannot be left out. `floor.py URLS REPORT [CONNECTIONS]`.

libcurl alone fetches every URL of the file URLS (one a line), the parser alone makes the tree of each body and drops it,
and each body, compressed as in the archive, is appended to a file with one write. No links are taken, nothing is remembered
or checked, nothing survives a kill: a spider that keeps the same pages with the same libraries costs more. How much more
is the price of its own code, on the same machine in the same minutes.

One process, and one part at a time over some hundred pages: parts that alternate page by page cost 10 % more, since they push
each other out of the caches. REPORT gets a JSON object: `html` pages and CPU seconds (user + system) by part.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pycurl  # type: ignore[import-untyped]
from turbohtml import parse

from nephila.archive.group import member

PARTS = ("fetch", "parse", "append")
CONNECTIONS = 64
"""As many as the spider that it is compared with."""
BATCH = 256
"""Pages that wait in memory for their part: 4 MB of site A, 25 MB of site B."""
BUFFER_BYTES = 128 << 10
WAIT_S = 1.0


def main(urls: Path, report: Path, connections: int = CONNECTIONS) -> None:
    with report.with_name("floor.gz").open("xb", buffering=0) as archive:
        pages, cpu_s = spend(urls.read_text().split(), archive.fileno(), connections)
    report.write_text(json.dumps({"html": pages, "cpu_s": cpu_s}))


def spend(urls: list[str], file: int, connections: int) -> tuple[int, dict[str, float]]:
    """Pages and CPU seconds by part. Raises RuntimeError for a page that cannot be had: a floor with holes is none."""
    pages, spent, mark = 0, dict.fromkeys(PARTS, 0.0), time.process_time()
    for bodies in fetched(urls, connections):
        pages += len(bodies)
        mark = _book(spent, "fetch", mark)
        for body in bodies:
            parse(body, positions=False, detect_encoding=True)  # as nephila.page.charset does
        mark = _book(spent, "parse", mark)
        for body in bodies:
            os.write(file, member(body))
        mark = _book(spent, "append", mark)
    _book(spent, "fetch", mark)
    return pages, spent


def fetched(urls: list[str], connections: int) -> Iterator[list[bytes]]:
    """The bodies of all pages as they come, in batches. Raises RuntimeError as `spend` does."""
    multi, todo, bodies = pycurl.CurlMulti(), iter(urls), list[bytes]()
    multi.setopt(pycurl.M_MAXCONNECTS, 4 * connections)
    pieces: dict[pycurl.Curl, list[bytes]] = {}
    for url in islice(todo, connections):
        arrived: list[bytes] = []
        handle = _handle(arrived)
        pieces[handle] = arrived
        _start(multi, handle, url)
    running = len(pieces)
    while running:
        multi.perform()
        for handle in _ended(multi):
            bodies.append(b"".join(pieces[handle]))
            pieces[handle].clear()
            if url := next(todo, ""):
                _start(multi, handle, url)
            else:
                running -= 1
        if len(bodies) >= BATCH:
            yield bodies
            bodies = []
        if running:
            multi.select(WAIT_S)
    multi.close()
    yield bodies


def _handle(arrived: list[bytes]) -> pycurl.Curl:
    """The options that keep libcurl from doing more than it must (see nephila.fetch.setup); bytes stay as sent."""
    handle = pycurl.Curl()
    handle.setopt(pycurl.NOSIGNAL, 1)
    handle.setopt(pycurl.FOLLOWLOCATION, 0)
    handle.setopt(pycurl.PATH_AS_IS, 1)
    handle.setopt(pycurl.PROXY, "")
    handle.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
    handle.setopt(pycurl.HTTP_TRANSFER_DECODING, 0)
    handle.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
    handle.setopt(pycurl.BUFFERSIZE, BUFFER_BYTES)
    handle.setopt(pycurl.WRITEFUNCTION, arrived.append)
    return handle


def _start(multi: pycurl.CurlMulti, handle: pycurl.Curl, url: str) -> None:
    handle.setopt(pycurl.URL, url)
    multi.add_handle(handle)


def _ended(multi: pycurl.CurlMulti) -> Iterator[pycurl.Curl]:
    """Handles whose page is whole, ready to be used again."""
    more = 1
    while more:
        more, whole, broken = multi.info_read()
        for handle in whole:
            if (status := handle.getinfo(pycurl.RESPONSE_CODE)) != 200:
                raise RuntimeError(f"{handle.getinfo(pycurl.EFFECTIVE_URL)}: status {status}")
            multi.remove_handle(handle)
            yield handle
        if broken:
            raise RuntimeError(f"{broken[0][0].getinfo(pycurl.EFFECTIVE_URL)}: {broken[0][2]}")


def _book(spent: dict[str, float], part: str, since: float) -> float:
    now = time.process_time()
    spent[part] += now - since
    return now


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
