"""The records of one visit, and their compression.

Digests are `sha1:BASE32`: FastWARC and warcio both verify it, replay tools look revisits up by it, and on today's
processors it is as fast as SHA-256 (1.3 GB/s); nobody's safety hangs on it. `WARC-Payload-Digest` is over the bytes
stored after the HTTP header (what those tools verify); `Record.digest` is over the payload after transfer decoding, so the
same page is recognised whether it came chunked or not. Compression: isal level 2 (about 40 µs per 14 KB page).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from isal import igzip_lib, isal_zlib

from nephila.archive import metadata, record
from nephila.types import Body, Outcome, Response, Visit

_BLOCK = 1 << 20
_LEVEL = 2
_SMALL = 2048
"""Below this a record is Huffman-coded only (level 0): setting up the higher levels costs more than they save there."""
CONVERSATION = "text/x-ftp-control-conversation"
"""What was said on an FTP control connection, kept as Heritrix keeps it: in a metadata record beside the resource."""
_RESOURCE = b"WARC/1.1\r\nWARC-Type: resource\r\n"
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"


class First(NamedTuple):
    """The earlier record that a revisit refers to."""

    visit: int
    record_id: str
    uri: str
    date: str
    payload_digest: str


class Digests:
    """The digests of one response. `payload` is over the stored body, `visit` over the body without its chunks; that of the
    whole block is made only where it is written, since a page met before is stored without its body."""

    __slots__ = ("payload", "visit")

    def __init__(self, response: Response) -> None:
        self.payload = _text(_hashed(response.body))
        self.visit = self.payload if response.payload is response.body else _text(_hashed(response.payload))


class Group:
    """The records of one visit, ready to be compressed."""

    __slots__ = ("_body", "_date", "_id", "_main", "_others", "_payload_digest", "_uri")

    def __init__(
        self,
        visit: Visit,
        response: Response,
        digests: Digests,
        first: First | None,
        outlinks: metadata.Outlinks,
        evidence: metadata.Evidence,
    ) -> None:
        self._uri, self._date, self._id = record.target(response.url), record.date(response.started), record.new_id()
        self._payload_digest = digests.payload
        unchanged = visit.outcome is Outcome.UNCHANGED
        self._body = Body() if first or unchanged else response.body
        common = f"WARC-Target-URI: {self._uri}\r\nWARC-Date: {self._date}\r\n"
        if response.ip:
            common += f"WARC-IP-Address: {response.ip}\r\n"
        if response.protocol:
            common += f"WARC-Protocol: {response.protocol}\r\n"
        if first is not None:
            self._main = self._revisit(common + _repeats(first), response)
        elif unchanged and _is_http(response):
            self._main = self._revisit(common + _unchanged(self._uri), response)
        elif _is_http(response):
            self._main = self._response(common, response, digests)
        elif response.body.size or visit.outcome is Outcome.OK or not response.head:
            self._main = self._resource(common, visit, response)
        else:
            self._main = self._conversation(common, response)
        common += f"WARC-Concurrent-To: {self._id}\r\n"
        self._others = [_request(common, response)] if response.request_head else []
        if self._main.startswith(_RESOURCE) and response.head:
            self._others.append(record.whole("metadata", common, CONVERSATION, response.head))
        fields = metadata.fields(visit, response, outlinks, evidence)
        self._others.append(record.whole("metadata", common, "application/warc-fields", fields))

    def parts(self, lead: bytes) -> Iterator[bytes]:
        """`lead` and the group as bytes: one piece, unless the body waits in a file."""
        others = [member(other) for other in self._others]
        if self._body.spooled:
            yield from _streamed(lead, self._main, self._body)
            yield b"".join(others)
        else:
            main = member(b"".join((self._main, *self._body.blocks(), record.END)))
            yield b"".join((lead, main, *others))

    def as_first(self, visit: Visit) -> First:
        return First(visit.lease.id, self._id, self._uri, self._date, self._payload_digest)

    def _response(self, common: str, response: Response, digests: Digests) -> bytes:
        head, block = response.head, _text(_hashed(response.body, response.head))
        return (
            f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: {self._id}\r\n{common}{_cut(response)}"
            f"WARC-Payload-Digest: {digests.payload}\r\nWARC-Block-Digest: {block}\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(head) + response.body.size}\r\n\r\n"
        ).encode() + head

    def _resource(self, common: str, visit: Visit, response: Response) -> bytes:
        """WARC 1.1 section 6.4: a body that came without a header of its own, as over FTP. Its block is its payload."""
        page = visit.page
        kind = (page.media_type if page else "") or response.header("content-type") or "application/octet-stream"
        return (
            _RESOURCE
            + (
                f"WARC-Record-ID: {self._id}\r\n{common}{_cut(response)}"
                f"WARC-Payload-Digest: {self._payload_digest}\r\nWARC-Block-Digest: {self._payload_digest}\r\n"
                f"Content-Type: {kind}\r\nContent-Length: {response.body.size}\r\n\r\n"
            ).encode()
        )

    def _conversation(self, common: str, response: Response) -> bytes:
        """Nothing came: what was said is all there is to keep."""
        return (
            f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {self._id}\r\n{common}"
            f"WARC-Block-Digest: {_text(hashlib.sha1(response.head))}\r\n"
            f"Content-Type: {CONVERSATION}\r\nContent-Length: {len(response.head)}\r\n\r\n"
        ).encode() + response.head

    def _revisit(self, common: str, response: Response) -> bytes:
        """WARC 1.1 section 6.7: only the header is stored; the payload is the one of the record referred to."""
        return (
            f"WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Record-ID: {self._id}\r\n{common}WARC-Block-Digest: {_text(hashlib.sha1(response.head))}\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(response.head)}\r\n\r\n"
        ).encode() + response.head


def _cut(response: Response) -> str:
    return f"WARC-Truncated: {response.truncated}\r\n" if response.truncated else ""


def _is_http(response: Response) -> bool:
    return response.head.startswith(b"HTTP/")


def _repeats(first: First) -> str:
    return (
        f"WARC-Profile: {_PROFILE}identical-payload-digest\r\nWARC-Refers-To: {first.record_id}\r\n"
        f"WARC-Refers-To-Target-URI: {first.uri}\r\nWARC-Refers-To-Date: {first.date}\r\n"
        f"WARC-Payload-Digest: {first.payload_digest}\r\n"
    )


def _unchanged(uri: str) -> str:
    """A 304 is replayed as what was there before; when that was, the lease does not say."""
    return f"WARC-Profile: {_PROFILE}server-not-modified\r\nWARC-Refers-To-Target-URI: {uri}\r\n"


def _request(common: str, response: Response) -> bytes:
    return record.whole("request", common, "application/http; msgtype=request", response.request_head)


def repeatable(response: Response) -> bool:
    """A later equal payload may be stored as a reference to this one (and this one as a reference to an earlier)."""
    return response.status == 200 and response.payload.size > 0 and not response.truncated and _is_http(response)


def member(data: bytes) -> bytes:
    """One whole gzip member."""
    return igzip_lib.compress(data, _LEVEL if len(data) > _SMALL else 0, igzip_lib.COMP_GZIP)


def _streamed(lead: bytes, head: bytes, body: Body) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(_LEVEL, wbits=31)
    yield lead + packer.compress(head)
    for block in body.blocks(_BLOCK):
        yield packer.compress(block)
    yield packer.compress(record.END) + packer.flush()


def _hashed(body: Body, lead: bytes = b"") -> Any:
    found = hashlib.sha1(lead)
    for block in body.blocks():
        found.update(block)
    return found


def _text(digest: Any) -> str:
    return record.sha1_text(digest.digest())
