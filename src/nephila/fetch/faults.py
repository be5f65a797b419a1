"""What libcurl's error numbers mean to a crawl: one table from (code, errno, phase) to a reason.

The numbers are curl's own (libcurl-errors(3)); not all have a name in pycurl.
"""

from __future__ import annotations

import errno

from nephila.fetch import tls

OK, UNSUPPORTED, BAD_URL, CONNECT, BAD_REPLY, TIMED_OUT, PARTIAL, RECEIVE = 0, 1, 3, 7, 8, 28, 18, 56

REASONS = {
    UNSUPPORTED: "bad_status_line",
    BAD_URL: "bad_url",
    6: "dns.temporary",
    CONNECT: "connect.failed",
    BAD_REPLY: "bad_header",
    16: "http2",
    PARTIAL: "short_body",
    tls.HANDSHAKE: "tls.handshake",
    51: "tls.certificate",
    52: "empty_reply",
    55: "conn_reset",
    RECEIVE: "conn_reset",
    58: "tls.handshake",
    59: "tls.handshake",
    tls.CERTIFICATE: "tls.certificate",
    80: "tls.handshake",
    83: "tls.certificate",
    90: "tls.certificate",
    91: "tls.certificate",
    92: "http2",
    95: "http3",
    96: "http3",
    98: "tls.handshake",
    100: "header_too_large",
}
CONNECT_ERRNO = {
    errno.ECONNREFUSED: "connect.refused",
    errno.ENETUNREACH: "connect.unreachable",
    errno.EHOSTUNREACH: "connect.unreachable",
    errno.ENETDOWN: "connect.unreachable",
    errno.ETIMEDOUT: "timeout.connect",
}
MENDABLE = frozenset({"short_body", "bad_chunk", "conn_reset", "http2", "http3"})
"""Faults that can strike in the middle of a body: what came before is worth keeping when no try is left."""


def reason(code: int, number: int, message: str, verified: int, *, phase: str) -> str:
    """The reason for libcurl's error `code`; `number` is OS_ERRNO, `verified` SSL_VERIFYRESULT, `phase`
    where the transfer stood."""
    if code == CONNECT:
        return CONNECT_ERRNO.get(number, "connect.failed")
    if code == TIMED_OUT:
        return f"timeout.{phase}"
    if code == BAD_REPLY and "Multiple Location" in message:
        return "redirect_ambiguous"
    if code == BAD_REPLY and "status line" in message:
        return "bad_status_line"  # what libcurl says of a kept connection; on a new one the same is HTTP/0.9 to it
    if code == RECEIVE and "chunk" in message:
        return "bad_chunk"
    if code == RECEIVE and ("nghttp2" in message or "HTTP/2" in message):
        return "http2"
    if code in (tls.HANDSHAKE, tls.CERTIFICATE):
        return tls.fault(code, number, message, verified)
    if code == UNSUPPORTED and phase == "connect":
        return "bad_url"
    return REASONS.get(code, "connect.failed" if phase in ("connect", "tls") else "conn_reset")
