"""What a killed and resumed crawl must have in common with one that nobody disturbed, told as a list of complaints."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from nephila import db
from nephila.testing.server import Hit

PORT = re.compile(r"^(https?://[^/:]+):\d+")


class Left(msgspec.Struct, frozen=True):
    """What a crawl left in its database. URLs are without port, so that two servers compare."""

    outcomes: dict[str, tuple[str, str]]
    """url → (outcome, reason), or (state, rule) where there is no visit."""
    depths: dict[str, int]
    edges: dict[str, frozenset[str]]
    """page → what it links to; a target that has no row is counted as `(3 more)`."""
    groups: list[tuple[str, str, int, int]]
    """(url, file, offset, length) of each visit that was archived."""
    probes: frozenset[str]
    """Names that nobody has, asked for to find soft 404s: each job makes up its own."""


class Stored(msgspec.Struct, frozen=True):
    """What an archive holds: payload digest per URL, and complaints about the files."""

    payloads: dict[str, str]
    complaints: list[str]


def plain(url: str) -> str:
    return PORT.sub(r"\1", url, count=1)


def complaints(resumed: Path, calm: Path, *, depths: bool = False) -> list[str]:
    """Every difference that matters between two finished job folders, and every flaw of the resumed one's archive."""
    mine, theirs = left(resumed), left(calm)
    stored, wanted = archive(resumed, mine.probes), archive(calm, theirs.probes)
    found = _differences("outcome", mine.outcomes, theirs.outcomes) + _differences("links", mine.edges, theirs.edges)
    if depths:
        found += _differences("depth", mine.depths, theirs.depths)
    found += _differences("payload", stored.payloads, wanted.payloads)
    return found + stored.complaints + unread_groups(resumed, mine) + unlisted(resumed)


def _differences(what: str, mine: dict[str, object] | dict, theirs: dict[str, object] | dict) -> list[str]:  # type: ignore[type-arg]
    return [
        f"{what} of {url}: {mine.get(url, 'missing')}, undisturbed: {theirs.get(url, 'missing')}"
        for url in sorted({*mine, *theirs})
        if mine.get(url) != theirs.get(url)
    ]


def left(folder: Path) -> Left:
    """The database of a job."""
    con = db.reader(folder)
    try:
        urls = _Names((row, plain(url)) for row, url in con.execute("SELECT id, url FROM url"))
        by_fp = {fp + 2**63: plain(url) for fp, url in con.execute("SELECT fp, url FROM url")}
        unvisited = con.execute(
            "SELECT u.id, u.state, coalesce(r.text, '') FROM url u LEFT JOIN rule r ON r.id = u.rule WHERE u.id NOT IN (SELECT url FROM visit)"
        )
        outcomes = {urls[row]: (state, rule) for row, state, rule in unvisited}
        outcomes |= {urls[row]: (o, reason) for row, o, reason in con.execute("SELECT url, outcome, reason FROM visit")}
        probes = frozenset(urls[row] for (row,) in con.execute("SELECT id FROM url WHERE kind = 'probe'"))
        outcomes = {url: outcome for url, outcome in outcomes.items() if url not in probes}
        edges = {
            urls[row]: _targets(blob, by_fp)
            for row, blob in con.execute("SELECT v.url, l.targets FROM link l JOIN visit v ON v.id = l.visit")
        }
        depths = {urls[row]: depth for row, depth in con.execute("SELECT id, depth FROM url WHERE kind != 'probe'")}
        groups = con.execute(
            "SELECT v.url, a.file, v.offset, v.length FROM visit v JOIN archive a ON a.id = v.file"
        ).fetchall()
        return Left(outcomes, depths, edges, [(urls[row], *where) for row, *where in groups], probes)
    finally:
        con.close()


class _Names(dict[int, str]):
    """Row → URL; a row that is not there is named by its number."""

    def __missing__(self, row: int) -> str:
        return f"(no row {row})"


def _targets(blob: bytes, by_fp: dict[int, str]) -> frozenset[str]:
    fingerprints = set(np.frombuffer(blob, dtype=np.uint64).tolist())
    known = {by_fp[fp] for fp in fingerprints if fp in by_fp}
    unknown = len(fingerprints) - len(known)
    return frozenset(known | ({f"({unknown} more)"} if unknown else set()))


def archive(folder: Path, probes: frozenset[str] = frozenset()) -> Stored:
    """Read every archive file with two readers: digests hold, each response is there once, each revisit has its original."""
    payloads: dict[str, str] = {}
    flaws, originals, revisits = [], set(), []
    for path in sorted((folder / "archive").glob("*.warc.gz")):
        flaws += _unsound(path)
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.raw_stream.read()  # undecoded: digests are of what is stored
                uri, digest = record.rec_headers["WARC-Target-URI"], record.rec_headers["WARC-Payload-Digest"]
                if record.rec_type not in ("response", "revisit"):
                    continue
                if plain(uri) in payloads:
                    flaws.append(f"{path.name}: {plain(uri)} was archived twice")
                payloads[plain(uri)] = digest
                if record.rec_type == "response":
                    originals.add((uri, digest))
                else:
                    revisits.append((path.name, uri, record.rec_headers["WARC-Refers-To-Target-URI"], digest))
    flaws += [
        f"{name}: {uri} refers to {to}, which is not there"
        for name, uri, to, digest in revisits
        if (to, digest) not in originals
    ]
    return Stored({url: digest for url, digest in payloads.items() if url not in probes}, flaws)


def _unsound(path: Path) -> list[str]:
    """What FastWARC has against a file: the count of records that verify must be the count of records. (It refuses HTTP headers
    beyond 32 KiB, so it is not asked to read them.)"""
    with path.open("rb") as file:
        types = [r.record_type for r in FastIterator(file, record_types=WarcRecordType.any_type, parse_http=False)]
    with path.open("rb") as file:
        sound = [
            r.record_type
            for r in FastIterator(file, record_types=WarcRecordType.any_type, parse_http=False, verify_digests=True)
        ]
    return [] if types and types == sound else [f"{path.name}: {len(types)} records, of which {len(sound)} verify"]


def unread_groups(folder: Path, found: Left) -> list[str]:
    """Committed visits whose record group does not read back as one response (or revisit) of that URL."""
    bad = []
    for url, name, offset, length in found.groups:
        with (folder / "archive" / name).open("rb") as file:
            file.seek(offset)
            group = Path(f"{name}@{offset}")
            records = list(_kinds(file.read(length)))
        if (
            Counter(kind for kind, _ in records if kind in ("response", "revisit")).total() != 1
            or ("request", url) not in records
        ):
            bad.append(f"{group}: the group of {url} holds {records}")
    return bad


def unlisted(folder: Path) -> list[str]:
    """Archive files that the database does not know, or knows to be longer, shorter or still open."""
    con = db.reader(folder)
    rows = con.execute("SELECT file, committed, closed FROM archive").fetchall()
    con.close()
    wanted = {name: committed for name, committed, _ in rows if committed}
    there = {path.name: path.stat().st_size for path in (folder / "archive").iterdir()}
    still_open = [f"{name} was not closed" for name, _, closed in rows if not closed]
    return still_open + [f"archive/{line}" for line in _differences("length", dict(there), dict(wanted))]


def _kinds(data: bytes) -> list[tuple[str, str]]:
    import io

    return [(r.rec_type, plain(r.rec_headers["WARC-Target-URI"] or "")) for r in ArchiveIterator(io.BytesIO(data))]


def repeats(log: list[Hit], calm: list[Hit], kills: int, *, in_doubt_max: int) -> list[str]:
    """Requests made once more because of kills: no URL more often than kills allow, all together within what was in doubt."""
    asked, wanted = _counts(log), _counts(calm)
    often = [
        f"{path} was asked {n} times, undisturbed {wanted[path]}, kills {kills}"
        for path, n in asked.items()
        if n > wanted[path] + kills
    ]
    extra = sum((asked - wanted).values())
    return often if extra <= kills * in_doubt_max else [*often, f"{extra} requests were repeated for {kills} kills"]


def _counts(log: list[Hit]) -> Counter[str]:
    return Counter(hit.host.split(":")[0] + hit.path for hit in log)


def strangers(folder: Path, known: set[str]) -> list[str]:
    """What lies beside the job folders that nobody put there."""
    return sorted(p.name for p in folder.iterdir() if p.name not in known)
