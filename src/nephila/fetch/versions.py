"""Which version of HTTP an origin is asked in: the newest that is wanted, one less where that turned out to be a lie.

A server can agree on HTTP/2 during the handshake and then speak something else, or nothing (a middlebox, a port that was
moved); one that answers QUIC need not know HTTP/3. libcurl gives up there. So such an origin is asked once more in the
version below, at once and uncounted, and from then on in that one. A stream that the server resets is no such case: that
server speaks HTTP/2, and means it.
"""

from __future__ import annotations

from collections import OrderedDict

import pycurl  # type: ignore[import-untyped]

from nephila.config import Config
from nephila.fetch.target import Target

ORIGINS_MAX = 4096
"""Origins remembered; the one learned first is tried anew."""
H1, H2, H3 = pycurl.CURL_HTTP_VERSION_1_1, pycurl.CURL_HTTP_VERSION_2TLS, pycurl.CURL_HTTP_VERSION_3
SPOKEN = {b"[HTTP/2] [": H2, b"[HTTP/3] [": H3}
"""libcurl's words for every stream that it opens."""
RESET_STREAM, HTTP3, QUIC = 92, 95, 96
"""libcurl's errors: a stream was reset, HTTP/3 in general, no QUIC connection."""
BROKEN = frozenset({"http2", "http3", "conn_reset", "empty_reply"})


class Versions:
    """What one client knows."""

    def __init__(self, config: Config) -> None:
        self.newest: int = H3 if config.http3 else H2 if config.http2 else H1
        self._older: OrderedDict[str, int] = OrderedDict()

    def prepare(self, handle: pycurl.Curl) -> None:
        """All that stays the same for every request of a handle."""
        handle.setopt(pycurl.HTTP_VERSION, self.newest)
        if self.newest != H1:
            handle.setopt(pycurl.PIPEWAIT, 1)  # a stream of the connection that is being made, not a second connection

    def of(self, target: Target, *, proxied: bool = False) -> int:
        """libcurl's number of a version. There is no HTTP/3 through a proxy, nor may there be one past it."""
        version = self._older.get(target.origin, self.newest) if self._older else self.newest
        return H2 if proxied and version == H3 else version

    def learn(self, target: Target, spoken: int, code: int, reason: str) -> None:
        """A request ended without an answer. `spoken`: the version that it was sent in; 0: 1.1, or it was not sent."""
        asked = self.of(target)
        if asked == H3 and (code in (HTTP3, QUIC) or (spoken == H3 and reason in BROKEN)):
            older = H2
        elif asked != H1 and spoken == H2 and code != RESET_STREAM and reason in BROKEN:
            older = H1
        else:
            return
        self._older[target.origin] = older
        if len(self._older) > ORIGINS_MAX:
            self._older.popitem(last=False)
