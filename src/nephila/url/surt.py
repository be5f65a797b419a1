"""The key under which web archives look an address up: a SURT, host parts reversed, in the canonical form of wayback machines.

`https://www.Example.com/A/?b=2&a=1` → `com,example)/a?a=1&b=2`. It throws together what our own `key` keeps apart (case, `www`,
the order of a query), so it only ever finds records and never decides what has been met. The rules are those of the Internet
Archive's DefaultIAURLCanonicalizer, which every index reader applies to the address that it is asked for.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PORTS = {"http": "80", "https": "443"}
_HOST = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$")
_WWW = re.compile(r"^www\d*\.")
_PATH_SESSIONS = (
    re.compile(r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$", re.I),
    re.compile(r"^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$", re.I),
)
_QUERY_SESSIONS = tuple(
    re.compile(rf"^(.*)(?:{name})(?:&(.*))?$", re.I)
    for name in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt(url: str) -> str:
    """The key of a serialised URL (a fragment and userinfo do not count)."""
    scheme, _, rest = url.partition("://")
    rest = rest.partition("#")[0]
    before, _, query = rest.partition("?")
    authority, slash, path = before.partition("/")
    found = _HOST.match(authority.rpartition("@")[2])
    name, port = (found[1] or found[2], found[3]) if found else (authority, "")
    host = ",".join(reversed(_WWW.sub("", name.lower().strip("."), count=1).split(".")))
    at = f":{port}" if port and port != _PORTS.get(scheme) else ""
    asked = _query(query)
    return f"{host}{at}){_path(slash + path)}{'?' + asked if asked else ''}"


def _path(path: str) -> str:
    kept = list[str]()
    *folders, last = _escaped_once(path or "/").split("/")[1:]
    for part in folders:
        if part == ".." and kept:
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    path = "/".join(["", *kept, last]).lower()
    for session in _PATH_SESSIONS:
        path = session.sub(r"\1\2", path)
    return path[:-1] if path.endswith("/") and len(path) > 1 else path


def _query(query: str) -> str:
    query = _escaped_once(query)
    for session in _QUERY_SESSIONS:
        query = session.sub(lambda found: found[1] + (found[2] or ""), query)
    return "&".join(sorted(query.lower().split("&"), key=lambda part: part.split("=", 1)))


def _escaped_once(text: str) -> str:
    """However often it was escaped."""
    data = text.encode()
    while (bare := unquote_to_bytes(data)) != data:
        data = bare
    return quote_from_bytes(data, safe=_SAFE)
