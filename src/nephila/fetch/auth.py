"""What is sent to whom: the credentials of an origin, as header lines or as libcurl's options.

Basic and Bearer are a header line of every request to exactly that origin; a tunnel's CONNECT never has it. Digest,
Negotiate and NTLM answer a challenge, and a certificate belongs to a connection: for these an origin has libcurl handles of
its own, which no other origin's request ever passes through.
"""

from __future__ import annotations

from base64 import b64encode

import pycurl  # type: ignore[import-untyped]

from nephila import credentials
from nephila.config import Config
from nephila.credentials import Credential
from nephila.errors import ConfigError
from nephila.url.parse import origin

_CHALLENGED = {
    "digest": pycurl.HTTPAUTH_DIGEST,
    "negotiate": pycurl.HTTPAUTH_NEGOTIATE,
    "ntlm": pycurl.HTTPAUTH_NTLM,
}
_FEATURES = {"negotiate": ("Negotiate", pycurl.VERSION_SPNEGO), "ntlm": ("NTLM", pycurl.VERSION_NTLM)}


def check(config: Config) -> None:
    """Raises ConfigError for a way that this libcurl was built without."""
    built_with = pycurl.version_info()[4]
    for some in credentials.by_origin(config).values():
        for one in some:
            name, feature = _FEATURES.get(one.kind, ("", built_with))
            if not built_with & feature:
                raise ConfigError(f"auth: {one.origin}: this libcurl ({pycurl.version.split()[1]}) cannot do {name}")


class Auth:
    """The credentials of one client; false when there are none."""

    def __init__(self, config: Config) -> None:
        self._of = credentials.by_origin(config)
        self._lines = {place: [*filter(None, map(_line, some))] for place, some in self._of.items()}
        self._own = {place for place, some in self._of.items() if any(map(_needs_handle, some))}

    def __bool__(self) -> bool:
        return bool(self._of)

    def lines(self, url: str) -> list[str]:
        """Header lines of a request for `url`."""
        return self._lines.get(origin(url), [])

    def member(self, url: str) -> str:
        """The origin of `url` if it has handles of its own, else ""."""
        return place if (place := origin(url)) in self._own else ""

    def challenged(self, member: str) -> bool:
        """A 401 of this origin may be a question that libcurl answers by itself."""
        return any(one.kind in _CHALLENGED for one in self._of.get(member, ()))

    def prepare(self, handle: pycurl.Curl, member: str) -> None:
        """Give a handle the credentials of the one origin that it is for."""
        for one in self._of.get(member, ()):
            if one.kind == "cert":
                handle.setopt(pycurl.SSLCERT, one.cert)
                handle.setopt(pycurl.SSLKEY, one.key)
            elif one.kind in _CHALLENGED:
                handle.setopt(pycurl.HTTPAUTH, _CHALLENGED[one.kind])
                handle.setopt(pycurl.USERNAME, one.user.encode())
                handle.setopt(pycurl.PASSWORD, one.secret.encode())


def _needs_handle(one: Credential) -> bool:
    return one.kind == "cert" or one.kind in _CHALLENGED


def _line(one: Credential) -> str:
    """RFC 7617 section 2 (UTF-8), RFC 6750 section 2.1."""
    if one.kind == "basic":
        return f"Authorization: Basic {b64encode(f'{one.user}:{one.secret}'.encode()).decode()}"
    return f"Authorization: Bearer {one.secret}" if one.kind == "bearer" else ""
