"""From the configuration to libcurl's options: once per client, once per handle, and what differs per request."""

from __future__ import annotations

import re
from pathlib import Path

import pycurl  # type: ignore[import-untyped]

from nephila import __version__
from nephila.clock import Clock
from nephila.config import SECRET_HEADER, Config
from nephila.errors import ConfigError
from nephila.fetch.auth import Auth
from nephila.fetch.heads import Sent
from nephila.fetch.target import UNSAFE, Target, split
from nephila.fetch.tls import Trust
from nephila.fetch.versions import Versions
from nephila.types import Lease

CONNECT_SLACK_S = 5.0
"""libcurl's own connect deadline stands behind ours by this much."""
BUFFER_BYTES = 128 << 10
HAPPY_EYEBALLS_TIMEOUT_MS = 271
SUPPRESS_CONNECT_HEADERS = 265
HEADERS = {
    "accept": "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "accept-encoding": "Accept-Encoding: gzip, deflate, br, zstd",
    "expect": "Expect:",
}
"""Sent unless the user says otherwise. No `Expect: 100-continue`: a login would wait a second for it."""
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


class Setup:
    """Raises ConfigError for settings that cannot be sent. `folder`: the job's, if there is one."""

    def __init__(self, config: Config, folder: Path | None, clock: Clock) -> None:
        self.config = config
        self.sent = Sent()
        self.user_agent = config.user_agent or f"nephila/{__version__}" + (
            f" (+{config.contact})" if config.contact else ""
        )
        if UNSAFE.search(self.user_agent):
            raise ConfigError("user_agent: must be one line")
        given = dict(map(_header, config.header))
        self._secret = [line for name, line in given.items() if SECRET_HEADER.fullmatch(name)]
        plain = {name: line for name, line in given.items() if not SECRET_HEADER.fullmatch(name)}
        self._plain = list({**HEADERS, **plain}.values())
        self._uncoded = list({**HEADERS, **plain, "accept-encoding": "Accept-Encoding: identity"}.values())
        self._origins = _origins(config.seeds) if self._secret else frozenset[str]()
        self.trust, self.versions = Trust(config, folder, clock), Versions(config)
        self.auth = Auth(config)

    def prepare(self, handle: pycurl.Curl) -> None:
        """All that stays the same for every request of a handle."""
        config, put = self.config, handle.setopt
        put(pycurl.NOSIGNAL, 1)
        put(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        put(pycurl.FOLLOWLOCATION, 0)
        put(pycurl.HTTP09_ALLOWED, 0)
        put(pycurl.PATH_AS_IS, 1)
        put(pycurl.NETRC, pycurl.NETRC_IGNORED)
        put(pycurl.PROXY, "")
        put(pycurl.NOPROXY, "")
        put(SUPPRESS_CONNECT_HEADERS, 1)
        put(pycurl.HEADEROPT, pycurl.HEADER_SEPARATE)
        put(pycurl.HTTP_TRANSFER_DECODING, 0)
        put(pycurl.HTTP_CONTENT_DECODING, 0)
        put(pycurl.USERAGENT, self.user_agent)
        put(pycurl.BUFFERSIZE, BUFFER_BYTES)
        put(pycurl.CONNECTTIMEOUT_MS, int(1000 * (config.connect_timeout_s + config.tls_timeout_s + CONNECT_SLACK_S)))
        put(HAPPY_EYEBALLS_TIMEOUT_MS, 300)
        put(pycurl.TCP_KEEPALIVE, 1)
        self.versions.prepare(handle)
        self.trust.prepare(handle)

    def headers(self, lease: Lease, target: Target) -> list[str]:
        """The header lines of a request. Raises ValueError for a line end in a value."""
        lines = self._uncoded if lease.plain else self._plain
        etag, modified = lease.request.validators
        extra = [f"Cookie: {lease.cookie}"] if lease.cookie else []
        if etag:
            extra.append(f"If-None-Match: {etag}")
        if modified:
            extra.append(f"If-Modified-Since: {modified}")
        if self._secret and target.origin in self._origins:
            extra += self._secret
        if self.auth:
            extra += self.auth.lines(lease.request.url)
        if lease.request.body:  # a form is taken only from a page of the site (RFC 6454 section 7)
            extra += [f"Origin: {lease.origin}", f"Referer: {lease.origin}/"]
        if any(map(UNSAFE.search, extra)):
            raise ValueError("a line end in a header value")
        return lines + extra if extra else lines

    def way(self, target: Target) -> object:
        """How the target is asked; it changes by what is learned from a failure."""
        return self.trust.doubt(target), self.versions.of(target)


def _header(text: str) -> tuple[str, str]:
    """(lower-case name, line) of a `Name: value` from the configuration."""
    name, colon, value = text.partition(":")
    if not colon or not NAME.match(name) or not value.strip() or UNSAFE.search(text):
        raise ConfigError("header: each must be one line 'Name: value'")
    return name.lower(), f"{name}: {value.strip()}"


def _origins(seeds: list[str]) -> frozenset[str]:
    """The origins of the seeds: a secret header goes there and nowhere else."""
    found = set()
    for seed in seeds:
        for url in (seed,) if "://" in seed else (f"https://{seed}", f"http://{seed}"):
            try:
                found.add(split(url).origin)
            except ValueError:
                continue
    return frozenset(found)
