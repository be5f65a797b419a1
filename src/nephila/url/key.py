"""The identity of a URL: `key` says when two spellings are one page, `Fingerprints` packs it into 64 bits.

A false "same" loses a page, a false "different" costs one request: so only what is safe everywhere is folded. Spelling
(scheme, host, port, dot segments) was folded by serialisation; here the case of percent-escapes, and parameters that by
their name can only be tracking or a session. Never: the case of a path, the order of parameters, `www`, an empty `?`.
A key is never fetched.
"""

from __future__ import annotations

import re

from xxhash import xxh3_64_intdigest

IGNORED_PARAMETERS = {
    "gclid": "Google Ads click",
    "gclsrc": "Google Ads click",
    "dclid": "Google Display click",
    "gbraid": "Google Ads click (iOS app)",
    "wbraid": "Google Ads click (iOS web)",
    "_ga": "Google Analytics, cross-domain visitor",
    "_gl": "Google Analytics, cross-domain linker",
    "fbclid": "Facebook click",
    "msclkid": "Microsoft Advertising click",
    "yclid": "Yandex Direct click",
    "twclid": "Twitter click",
    "ttclid": "TikTok click",
    "igshid": "Instagram share",
    "mc_cid": "Mailchimp campaign",
    "mc_eid": "Mailchimp recipient",
    "mkt_tok": "Marketo recipient",
    "_hsenc": "HubSpot recipient",
    "_hsmi": "HubSpot message",
    "vero_id": "Vero recipient",
    "oly_anon_id": "Omeda visitor",
    "oly_enc_id": "Omeda visitor",
    "jsessionid": "Java servlet session",
    "phpsessid": "PHP session",
}
"""Query parameters (lower case) that do not choose what is shown, and whose they are. `sid`, `s`, `ref`, `spm` and the
like are absent: somewhere each of them chooses the page."""

IGNORED_PREFIXES = {
    "utm_": "Urchin and Google Analytics campaign",
    "aspsessionid": "classic ASP session (the name carries a random tail)",
}
"""The same, by the beginning of the name."""

_CFM_SESSION = frozenset({"cfid", "cftoken"})
"""ColdFusion's session: only both together are unambiguous."""

_PREFIXES = tuple(IGNORED_PREFIXES)
_SUSPECT = re.compile(f"(?:^|&)(?:{'|'.join([*IGNORED_PARAMETERS, *IGNORED_PREFIXES, *_CFM_SESSION])})", re.IGNORECASE)
"""A query in which this is not found has nothing to ignore: that is nearly every one, and a search is cheaper than a split."""
_PATH_SESSION = re.compile(r";jsessionid=[^/?;]*", re.IGNORECASE)
_FTP_TYPE = re.compile(r";type=[ai]\Z", re.IGNORECASE)
"""RFC 1738 section 3.2.2: how a file is to be sent, which does not choose the file."""
_ESCAPE = re.compile(r"%(?:[a-f][0-9A-Fa-f]|[0-9A-F][a-f])")
"""An escape with a lower-case digit."""


def key(url: str) -> str:
    """The identity of a serialised URL. Idempotent."""
    if "%" in url:
        url = _ESCAPE.sub(lambda found: found[0].upper(), url)
    if "?" not in url:
        return _plain(url) if ";" in url else url
    path, _, query = url.partition("?")
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    if not _SUSPECT.search(query):
        return f"{path}?{query}"
    kept = _chosen(query)
    return f"{path}?{kept}" if kept else path


def _plain(url: str) -> str:
    """A URL without a query, without the parameters of its path that choose nothing."""
    return _FTP_TYPE.sub("", url) if url.startswith("ftp:") else _PATH_SESSION.sub("", url)


def _chosen(query: str) -> str:
    """The query without ignored parameters; "" when nothing else is in it."""
    parameters = query.split("&")
    names = [parameter.partition("=")[0].lower() for parameter in parameters]
    session = _CFM_SESSION if _CFM_SESSION.issubset(names) else frozenset()
    return "&".join(
        parameter
        for parameter, name in zip(parameters, names, strict=True)
        if not (name in IGNORED_PARAMETERS or name in session or name.startswith(_PREFIXES))
    )


class Fingerprints:
    """URL → 64-bit number of its key, keyed by the job's secret seed, so that no site can construct a collision.

    Unsigned; never 0, which is thus free to mean "none".
    """

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        self.seed = seed & 0xFFFF_FFFF_FFFF_FFFF

    def __call__(self, url: str) -> int:
        return xxh3_64_intdigest(key(url).encode(), self.seed) or 1
