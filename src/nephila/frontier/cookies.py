"""The cookie jar of a job (RFC 6265bis, draft-ietf-httpbis-rfc6265bis): what sites asked to have sent back, and to whom.

One jar, owned by the frontier: a lease carries its Cookie line, a visit brings its Set-Cookie lines. Differences from a
browser, all on purpose: SameSite is read and ignored (a crawler has no user to protect from another site's page), a session
cookie (`expires` 0) lives as long as the job, and a cookie's age for eviction is when it was last set.

A cookie that was given by the user, or set in answer to a request that had a credential, is a secret: it names its credential
(`access`), stays in memory, and is no row.

Cookies lie under their registrable domain, since none can be sent outside it: a host without cookies costs one look-up.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator
from itertools import count

import msgspec

from nephila.credentials import join
from nephila.url.parse import host_of, normalise, path_of
from nephila.url.site import is_address, is_public_suffix, registrable

HOST_MAX = 50
"""Cookies of one domain (RFC 6265bis, 6.1)."""
ALL_MAX = 3_000
"""Cookies in the jar (the same)."""
SIZE_MAX = 4_096
"""Characters of name and value together (5.6)."""
ATTRIBUTE_MAX = 1_024
"""Characters of an attribute's value; a longer one is ignored (5.6)."""
AGE_MAX_S = 400 * 86_400.0
"""A cookie asking to live longer is cut to this (5.5)."""

Row = tuple[str, int, str, str, str, float, int, int]
"""domain, host_only, path, name, value, expires, secure, http_only: the columns of table `cookie`."""
Key = tuple[str, str, str]
"""domain, path, name: its primary key."""


class Cookie(msgspec.Struct, frozen=True):
    """One cookie. `expires` in Unix seconds, 0.0: never by itself. `serial` grows each time a cookie is set."""

    domain: str
    host_only: bool
    path: str
    name: str
    value: str
    expires: float
    secure: bool
    http_only: bool
    serial: int
    access: str = ""
    """Names of the credentials that it came by; "": none, everybody gets such a cookie."""

    @property
    def key(self) -> Key:
        return self.domain, self.path, self.name

    @property
    def row(self) -> Row:
        return (
            self.domain,
            int(self.host_only),
            self.path,
            self.name,
            self.value,
            self.expires,
            int(self.secure),
            int(self.http_only),
        )

    def expired(self, now: float) -> bool:
        return self.expires != 0.0 and self.expires <= now


class CookieJar:
    """All cookies of a job. Dicts keep the order of creation, which the Cookie line needs."""

    def __init__(self) -> None:
        self._sites: dict[str, dict[Key, Cookie]] = {}
        self._size = 0
        self._serial = count()
        self._changed: dict[Key, None] = {}

    def store(self, url: str, set_cookie_lines: list[str], now: float, access: str = "") -> bool:
        """Take the Set-Cookie lines of an answer to `url` (serialised), which was asked for with `access`. True when the jar
        changed."""
        changed = False
        for line in set_cookie_lines:
            cookie = _parse(line, url, now, next(self._serial), access)
            if cookie is not None and not self._shadows_secure(cookie, url):
                changed |= self._put(cookie, now)
        return changed

    def header(self, url: str, now: float) -> str:
        """The value of the Cookie header for a request to `url` (serialised), or ""."""
        return self.line(url, now)[0]

    def line(self, url: str, now: float) -> tuple[str, str]:
        """The same, and the names of the credentials that the cookies in it came by."""
        if not self._sites:
            return "", ""
        host = host_of(url)
        cookies = self._sites.get(registrable(host))
        if not cookies:
            return "", ""
        path, secure = path_of(url).partition("?")[0], url.startswith("https:")
        fit = [
            cookie
            for cookie in cookies.values()
            if (secure or not cookie.secure)
            and not cookie.expired(now)
            and _domain_fits(cookie, host)
            and _path_fits(cookie.path, path)
        ]
        fit.sort(key=lambda cookie: -len(cookie.path))
        text = "; ".join(f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in fit)
        return text, join(*(cookie.access for cookie in fit if cookie.access))

    def rows(self) -> list[Row]:
        """Every cookie, secret ones too, as a row of table `cookie`, in order of creation within a site."""
        return [cookie.row for cookie in self._all()]

    def load(self, rows: Iterable[Row], access: str = "") -> None:
        """Put stored rows back, or those of a file (then they are secret), in the order given. They do not count as changes."""
        for domain, host_only, path, name, value, expires, secure, http_only in rows:
            serial = next(self._serial)
            self._insert(
                Cookie(
                    domain, bool(host_only), path, name, value, expires, bool(secure), bool(http_only), serial, access
                )
            )

    def drain_changed(self) -> list[Row | Key]:
        """What the database has to be told since the last call: a row for each cookie set, a key for each one deleted or
        secret now."""
        keys = list(self._changed)
        self._changed.clear()
        found = (self._sites.get(registrable(key[0]), {}).get(key) for key in keys)
        return [cookie.row if cookie and not cookie.access else key for cookie, key in zip(found, keys, strict=True)]

    def _all(self) -> Iterator[Cookie]:
        return (cookie for cookies in self._sites.values() for cookie in cookies.values())

    def _put(self, cookie: Cookie, now: float) -> bool:
        known = self._sites.get(registrable(cookie.domain), {}).get(cookie.key)
        if cookie.expired(now):
            return known is not None and self._delete(known)
        self._insert(cookie)
        if known is not None and known.row == cookie.row and known.access == cookie.access:
            return False
        self._changed[cookie.key] = None
        self._make_room(cookie, now)
        return True

    def _insert(self, cookie: Cookie) -> None:
        cookies = self._sites.setdefault(registrable(cookie.domain), {})
        self._size += cookie.key not in cookies
        cookies[cookie.key] = cookie

    def _delete(self, cookie: Cookie) -> bool:
        site = registrable(cookie.domain)
        del self._sites[site][cookie.key]
        if not self._sites[site]:
            del self._sites[site]
        self._size -= 1
        self._changed[cookie.key] = None
        return True

    def _make_room(self, cookie: Cookie, now: float) -> None:
        same = [c for c in self._sites[registrable(cookie.domain)].values() if c.domain == cookie.domain]
        for crowd, limit in ((same, HOST_MAX), (self._all() if self._size > ALL_MAX else (), ALL_MAX)):
            ordered = sorted(crowd, key=lambda c: (not c.expired(now), c.serial))
            for victim in ordered[: max(0, len(ordered) - limit)]:
                self._delete(victim)

    def _shadows_secure(self, cookie: Cookie, url: str) -> bool:
        """An answer without TLS may not replace a cookie that was set over it (5.7, step 15)."""
        if cookie.secure or url.startswith("https:"):
            return False
        return any(
            known.secure
            and known.name == cookie.name
            and (_under(known.domain, cookie.domain) or _under(cookie.domain, known.domain))
            and _path_fits(known.path, cookie.path)
            for known in self._sites.get(registrable(cookie.domain), {}).values()
        )


# --- one Set-Cookie line --------------------------------------------------------------------------------------------

_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def _parse(line: str, url: str, now: float, serial: int, access: str) -> Cookie | None:
    """The cookie that a line sets for `url`, or None when it is to be ignored (5.6 and 5.7)."""
    if _CONTROLS.search(line):
        return None
    pair, *parts = line.split(";")
    name, value = _pair(pair)
    if not (name or value) or len(name) + len(value) > SIZE_MAX:
        return None
    attributes = _attributes(parts)
    host = host_of(url)
    domain = _domain(attributes.get("domain", ""), host)
    cookie = Cookie(
        domain=domain or host,
        host_only=not domain,
        path=_path(attributes.get("path", ""), url),
        name=name,
        value=value,
        expires=_expires(attributes, now),
        secure="secure" in attributes,
        http_only="httponly" in attributes,
        serial=serial,
        access=access,
    )
    return cookie if domain is not None and _allowed(cookie, attributes, url) else None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    return (name.strip(" \t"), value.strip(" \t")) if equals else ("", text.strip(" \t"))


def _attributes(parts: list[str]) -> dict[str, str]:
    """Attribute name → value, the last one of a name winning."""
    pairs = (part.partition("=") for part in parts)
    return {
        name.strip(" \t").lower(): value.strip(" \t")
        for name, _, value in pairs
        if len(value.strip(" \t")) <= ATTRIBUTE_MAX
    }


def _domain(attribute: str, host: str) -> str | None:
    """The domain a cookie is for, "" when only for this very host, None when it may not be set."""
    attribute = attribute.removeprefix(".")
    if not attribute:
        return ""
    spelled = normalise(f"http://{attribute}/")
    domain = host_of(spelled) if spelled else ""
    if spelled != f"http://{domain}/":
        return None  # not a host name and nothing else
    if domain == host and (is_address(host) or is_public_suffix(host)):
        return ""
    return domain if _under(host, domain) and not is_public_suffix(domain) else None


def _path(attribute: str, url: str) -> str:
    if attribute.startswith("/"):
        return attribute
    return path_of(url).partition("?")[0].rpartition("/")[0] or "/"


def _expires(attributes: dict[str, str], now: float) -> float:
    """Unix time, at most 400 days ahead; 0.0 without a limit. Max-Age goes before Expires."""
    age = attributes.get("max-age", "")
    if re.fullmatch(r"-?[0-9]+", age):
        seconds = float(age[:20])
        return min(now + seconds, now + AGE_MAX_S) if seconds > 0 else _PAST
    date = cookie_date(attributes.get("expires", ""))
    if date is None:
        return 0.0
    return min(date, now + AGE_MAX_S) if date > 0 else _PAST


_PAST = -1.0
"""An expiry that is over; the commonest one, the epoch itself, would read as "without limit"."""


def _allowed(cookie: Cookie, attributes: dict[str, str], url: str) -> bool:
    prefix = (cookie.name or cookie.value).lower()
    if not cookie.name and prefix.startswith(("__secure-", "__host-")):
        return False
    if cookie.secure and not url.startswith("https:"):
        return False
    if prefix.startswith("__secure-"):
        return cookie.secure
    if prefix.startswith("__host-"):
        return cookie.secure and cookie.host_only and attributes.get("path") == "/" and not attributes.get("domain")
    return True


def _domain_fits(cookie: Cookie, host: str) -> bool:
    return cookie.domain == host or (not cookie.host_only and _under(host, cookie.domain))


def _under(host: str, domain: str) -> bool:
    """RFC 6265, 5.1.3: the same, or a name below it; an address only matches itself."""
    return host == domain or (host.endswith(f".{domain}") and not is_address(host))


def _path_fits(cookie_path: str, path: str) -> bool:
    """RFC 6265, 5.1.4."""
    return path == cookie_path or (
        path.startswith(cookie_path) and (cookie_path.endswith("/") or path[len(cookie_path)] == "/")
    )


# --- dates ----------------------------------------------------------------------------------------------------------

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D.*)?", re.ASCII)
_DAY = re.compile(r"(\d{1,2})(?:\D.*)?", re.ASCII)
_YEAR = re.compile(r"(\d{2,4})(?:\D.*)?", re.ASCII)
_DELIMITERS = re.compile(r"[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")


def cookie_date(text: str) -> float | None:
    """Unix time of the dates that sites write, in whatever order; None when it is none (RFC 6265, 5.1.1)."""
    time: tuple[int, ...] | None = None
    day = month = year = None
    for token in _DELIMITERS.split(text):
        if time is None and (found := _TIME.fullmatch(token)):
            time = tuple(map(int, found.groups()))
        elif day is None and (found := _DAY.fullmatch(token)):
            day = int(found[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (found := _YEAR.fullmatch(token)):
            year = int(found[1])
    if time is None or day is None or month is None or year is None:
        return None
    return _timestamp(year + (1900 if 70 <= year <= 99 else 2000 if year <= 69 else 0), month, day, time)


def _timestamp(year: int, month: int, day: int, time: tuple[int, ...]) -> float | None:
    hour, minute, second = time
    if year < 1601 or hour > 23 or minute > 59 or second > 59:
        return None
    if not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return float(calendar.timegm((year, month, day, hour, minute, second)))
