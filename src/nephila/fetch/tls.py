"""Whom to believe: trusted certificates, what a failed handshake means, and hosts that are read although theirs failed.

Every certificate is verified. `--insecure HOST` does not change that: such a host is verified like any other, and only when
that fails is it asked again without, for an hour at most. So what failed is known exactly, and the chain that the host
showed is kept as evidence. Without verification old protocols and weak keys are taken too: they are why it is asked for.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import ssl
import tempfile
import weakref
from pathlib import Path
from shutil import rmtree

import msgspec
import pycurl  # type: ignore[import-untyped]

from nephila.clock import Clock
from nephila.config import Config
from nephila.fetch.target import Target
from nephila.types import Doubt

DOUBT_S = 3600.0
"""A host that failed is verified anew after this: certificates get renewed."""
ISSUERS_MAX = 10
"""Certificates of a chain that are kept."""
SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
)
LEGACY_CIPHERS = "DEFAULT:@SECLEVEL=0"

HANDSHAKE, CERTIFICATE = 35, 60
"""libcurl: the handshake did not come to an end; the certificate does not hold."""
VERIFY = {
    1: "tls.wrong_host",
    9: "tls.not_yet_valid",
    10: "tls.expired",
    18: "tls.self_signed",
    19: "tls.unknown_ca",
    20: "tls.unknown_ca",
    21: "tls.unknown_ca",
    2: "tls.unknown_ca",
    23: "tls.revoked",
    62: "tls.wrong_host",
    64: "tls.wrong_host",
    66: "tls.weak",
    67: "tls.weak",
    68: "tls.weak",
}
"""OpenSSL's X509_V_ERR_… (openssl-verification-options(1)). libcurl compares names by itself; then there is none, and it
tells 0 or 1."""
SSL_REASONS = {
    191: "tls.protocol",  # no protocols available
    258: "tls.protocol",  # unsupported protocol
    266: "tls.protocol",  # wrong SSL version
    267: "tls.plain",  # wrong version number: what came is no TLS record
    294: "tls.closed",  # unexpected end of file
    338: "tls.protocol",  # only the renegotiation of before RFC 5746
    370: "tls.weak",  # wrong signature type
    394: "tls.weak",  # DH key too small
    396: "tls.protocol",  # version too low
    398: "tls.weak",  # digest of an authority too weak
    399: "tls.weak",  # key too small
    1070: "tls.protocol",  # alert: protocol version
    1071: "tls.weak",  # alert: insufficient security
    1112: "tls.wrong_host",  # alert: unrecognized name
}
"""OpenSSL's SSL_R_… numbers; an alert (RFC 8446 section 6) is 1000 and its number."""
GONE = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})
BEARABLE = frozenset({*VERIFY.values(), "tls.certificate", "tls.protocol", "tls.handshake"})
"""Faults that going on without verification, or with old protocols, may get past."""

_NUMBER = re.compile(r"error:0A([0-9A-F]{6})")


def fault(code: int, number: int, message: str, verified: int) -> str:
    """The reason for a failed handshake. `code` and `message` are libcurl's, `number` is OS_ERRNO, `verified` is
    SSL_VERIFYRESULT."""
    if code == CERTIFICATE:
        return VERIFY.get(verified or 1, "tls.certificate")
    if found := _NUMBER.search(message):
        return SSL_REASONS.get(int(found[1], 16) & 0x7FFFFF, "tls.handshake")
    return "tls.closed" if number in GONE else "tls.handshake"


class Trust:
    """The certificates and the doubts of one client.

    `folder`: the job's, where the system's certificates and those of `ca` are put together.
    """

    def __init__(self, config: Config, folder: Path | None, clock: Clock) -> None:
        self.insecure = frozenset(host.lower().strip("[]") for host in config.insecure)
        self._clock = clock
        self._file = system_file()
        if config.ca:
            self._file = self._together(Path(config.ca).read_bytes(), folder)
        self._doubts: dict[tuple[str, int], Doubt] = {}

    def prepare(self, handle: pycurl.Curl) -> None:
        """All that stays the same for every request of a handle."""
        if self._file:
            handle.setopt(pycurl.CAINFO, self._file)
            handle.setopt(pycurl.PROXY_CAINFO, self._file)
        if self.insecure:
            handle.setopt(pycurl.OPT_CERTINFO, 1)

    def doubt(self, target: Target) -> Doubt | None:
        """Why the host is not verified; None: it is."""
        if not self._doubts:
            return None
        doubt = self._doubts.get((target.host, target.port))
        if doubt is not None and self._clock.wall() - doubt.since > DOUBT_S:
            del self._doubts[target.host, target.port]
            return None
        return doubt

    def learn(self, target: Target, reason: str, detail: str, handle: pycurl.Curl) -> None:
        """A request failed. If the host was verified and need not be, it is doubted from here on."""
        if target.host in self.insecure and reason in BEARABLE and self.doubt(target) is None:
            self._doubts[target.host, target.port] = Doubt(reason, detail, self._clock.wall(), chain(handle))

    def seen(self, target: Target, doubt: Doubt, handle: pycurl.Curl) -> Doubt:
        """A doubted host has answered: its certificates, if the handshake that failed did not come so far."""
        if not doubt.chain and (found := chain(handle)):
            doubt = self._doubts[target.host, target.port] = msgspec.structs.replace(doubt, chain=found)
        return doubt

    def _together(self, more: bytes, folder: Path | None) -> str:
        """One file for libcurl, which keeps what it read from a file and parses anything else for each connection (11 ms).
        Named by its content: every worker and every run has the same."""
        if folder is None:
            place = Path(tempfile.mkdtemp(prefix="nephila-"))
            weakref.finalize(self, rmtree, place, ignore_errors=True)
        else:
            place = folder / "tmp"
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = (Path(self._file).read_bytes() if self._file else b"") + b"\n" + more
        path = place / f"ca-{hashlib.sha256(content).hexdigest()[:16]}.pem"
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(content)
        draft.replace(path)
        return str(path)


def set_verified(handle: pycurl.Curl, verified: bool) -> None:
    """Switch a handle between the two ways of asking."""
    handle.setopt(pycurl.SSL_VERIFYPEER, int(verified))
    handle.setopt(pycurl.SSL_VERIFYHOST, 2 if verified else 0)
    handle.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_DEFAULT if verified else pycurl.SSLVERSION_TLSv1_0)
    if verified:
        handle.unsetopt(pycurl.SSL_CIPHER_LIST)
    else:
        handle.setopt(pycurl.SSL_CIPHER_LIST, LEGACY_CIPHERS)


def chain(handle: pycurl.Curl) -> tuple[bytes, ...]:
    """The certificates that the host showed, its own first, as DER."""
    found = handle.getinfo(pycurl.INFO_CERTINFO)[:ISSUERS_MAX]
    return tuple(ssl.PEM_cert_to_DER_cert(text) for one in found for name, text in one if name == "Cert")


def system_file() -> str:
    """The file of trusted certificates: SSL_CERT_FILE, the system's, or "" (libcurl's own idea)."""
    given = os.environ.get("SSL_CERT_FILE", "")
    paths = (given, *SYSTEM_FILES, ssl.get_default_verify_paths().openssl_cafile)
    return next((path for path in paths if path and Path(path).is_file()), "")
