"""How a URL is spelled: resolved and serialised as the WHATWG URL standard says, without its fragment.

Everything that enters the crawl passes `resolve`, `normalise` or `seed` once; from there on a URL is a serialised string,
and `origin`, `host_of` and `path_of` only slice it. The work is ada's; ours is the page's charset in queries (the URL
standard's "query state", which ada leaves to its caller), the refusal of what a crawler cannot fetch, and that nothing a
page may contain raises.
"""

from __future__ import annotations

import codecs
import re
from urllib.parse import parse_qsl

from ada_url import join_url, normalize_url

from nephila.errors import ConfigError

PORTS = {"https": 443, "http": 80, "ftp": 21}
SCHEMES = tuple(f"{scheme}://" for scheme in PORTS)
"""What can be fetched. Everything that enters the crawl begins so: links, redirects, sitemaps, seeds, what programs ask for."""


def resolve(base: str, href: str, charset: str = "utf-8") -> str | None:
    """The absolute URL that `href` means on a page with this base and charset, without fragment; None if broken."""
    if not href.isascii():
        href = _in_charset(_scalars(href), charset)
    try:
        return _fetchable(join_url(base, href))
    except ValueError:
        return None


def normalise(url: str) -> str | None:
    """The serialised form of an absolute URL, without fragment; None if it is broken or of a scheme that is not crawled."""
    try:
        return _fetchable(normalize_url(_scalars(url)))
    except ValueError:
        return None


def from_header(value: str) -> str:
    """An address out of a header, whose bytes are read as latin-1: what is not ASCII is percent-encoded byte for byte, as it
    came. Servers send raw UTF-8 or their page's charset; only the bytes are sure to name the page."""
    return value if value.isascii() else _HIGH.sub(lambda found: f"%{ord(found[0]):02X}", value)


_HIGH = re.compile("[\x80-\xff]")


def _fetchable(url: str) -> str | None:
    url = url.partition("#")[0]
    if not url.startswith(SCHEMES):
        return None
    if url[0] == "f" and _ONE_LETTER.match(url):
        return None  # slicing (below) looks for the path from the eighth character on
    if ":0/" in url and url[: url.find("/", 8)].endswith(":0"):
        return None  # port 0 cannot be connected to; libcurl would read it as "no port given"
    return url


_ONE_LETTER = re.compile(r"ftp://(?:[^/]*@)?[^/]/")
"""FTP on a host of one letter."""


def _scalars(text: str) -> str:
    """Lone surrogates become U+FFFD, as in every string that the URL standard takes (USVString)."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- slicing a serialised URL ---------------------------------------------------------------------------------------


def origin(url: str) -> str:
    """scheme://host[:port] of a serialised URL."""
    return without_userinfo(url[: url.find("/", 8)])


def host_of(url: str) -> str:
    """The host of a serialised URL, without port; an IPv6 address keeps its brackets."""
    host = authority_of(url)
    port = host.rfind(":")
    return host if port < 0 or host.endswith("]") else host[:port]


def authority_of(url: str) -> str:
    """host[:port] of a serialised URL. A default port is never spelled, so http on 80 and https on 443 look the same."""
    authority = url[url.find("//") + 2 : url.find("/", 8)]
    return authority if "@" not in authority else authority[authority.rfind("@") + 1 :]


def path_of(url: str) -> str:
    """Path and query of a serialised URL."""
    slash = url.find("/", 8)
    return url[slash:] if slash >= 0 else "/"


def without_userinfo(url: str) -> str:
    """The URL without user:password@, which is never requested, stored or logged: it is no part of what a page is called
    (RFC 9110 section 4.2.4)."""
    if "@" not in url:
        return url
    scheme, _, rest = url.partition("//")
    authority, slash, path = rest.partition("/")
    return f"{scheme}//{authority[authority.rfind('@') + 1 :]}{slash}{path}"


def same_place(url: str, place: str) -> bool:
    """`url` is the page `place`, whatever else is asked in its query (where to go afterwards, mostly)."""
    path, _, query = path_of(url).partition("?")
    wanted, _, parts = path_of(place).partition("?")
    if origin(url) != origin(place) or path != wanted:
        return False
    return not parts or set(parse_qsl(parts, True)) <= set(parse_qsl(query, True))


# --- an address as a person types it --------------------------------------------------------------------------------

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?!\d+(?:[/?#]|$))")
"""A scheme is followed by anything but a port: `localhost:8000/x` has none."""


def seed(text: str) -> tuple[str, bool]:
    """(url, guessed) of an address as a person types it; `guessed`: no scheme was given and https is tried first.

    Raises ConfigError with a sentence that names what is wrong and what would be right.
    """
    address = text.strip()
    if not address:
        raise ConfigError("an address is empty: give one such as https://example.com/")
    if re.search(r"[\s\x00-\x1f\x7f]", address):
        raise ConfigError(f"the address {text!r} contains a space or a control character: write %20 for a space")
    scheme = _SCHEME.match(address)
    if scheme and scheme[1].lower() not in PORTS:
        raise ConfigError(_wrong_scheme(address, scheme[1]))
    bare = address.removeprefix("//")
    full = address if scheme else "https://" + ("" if bare.startswith(("/", "?", "#", "\\")) else bare)
    url = normalise(full)
    if url is None or not re.search(r"[a-z0-9]", host_of(url)):
        raise ConfigError(_wrong_address(text, full))
    return url, scheme is None


def _wrong_scheme(address: str, scheme: str) -> str:
    if "://" not in address and "@" in address and scheme.lower() != "mailto":
        return f"the address {address!r} has no scheme and a user name: write https:// in front of it"
    return f"the address {address!r} starts with {scheme}: which is not supported: only http://, https:// and ftp:// are crawled"


def _wrong_address(text: str, full: str) -> str:
    authority = re.split(r"[/?#\\]", full.partition("://")[2] or full.partition(":")[2].lstrip("/\\"), maxsplit=1)[0]
    host, colon, port = authority.rpartition(":")
    if colon and host and not port.endswith("]") and not (port.isdecimal() and 0 < int(port[:9]) < 65536):
        return f"the address {text!r} has the port {port!r}: a port is a number from 1 to 65535"
    if not authority.rpartition("@")[2]:
        return f"the address {text!r} has no host: write it as https://example.com/path"
    return f"the address {text!r} has no valid host name ({authority!r}): write it as https://example.com/path"


# --- queries in the page's charset ----------------------------------------------------------------------------------

_CODECS = {
    "gbk": "gbk",
    "gb2312": "gbk",
    "gb18030": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
    "euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp",
    "euc-kr": "cp949",
    "iso-8859-1": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-8-i": "iso8859_8",
    "windows-874": "cp874",
    "ibm866": "cp866",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    **{f"windows-{n}": f"cp{n}" for n in range(1250, 1259)},
    **{f"iso-8859-{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
}
"""Encoding name (WHATWG, lower case) → the Python codec that encodes the same. Absent, UTF-16 included: UTF-8 is used."""

_BEFORE = {
    "cp932": str.maketrans({"\u2212": "\uff0d", "\u00a5": "\\", "\u203e": "~"}),
    "euc_jp": str.maketrans({"\u2212": "\uff0d", "\u00a5": "\\", "\u203e": "~"}),
    "gb18030": str.maketrans({"\ue5e5": "%26%2358853%3B"}),
}
"""Where the standard's encoder differs from the codec (Encoding standard, 10.2.2, 12.2.2, 12.3.2)."""

_UNSAFE = re.compile(r"[^!$-&(-;=?-~]")
"""What is percent-encoded in the query of a special URL: controls, space, " # < > ' and everything above ~."""


def codec_of(charset: str) -> str:
    """The Python codec that encodes as this charset (its WHATWG name) does in what a browser sends."""
    return _CODECS.get(charset.lower(), "utf-8")


def _in_charset(href: str, charset: str) -> str:
    """`href` with its query percent-encoded in the page's charset, if that is not UTF-8."""
    codec = _CODECS.get(charset.lower())
    if codec is None or "?" not in href:
        return href
    before, _, query = href.partition("#")[0].strip("".join(map(chr, range(33)))).partition("?")
    text = re.sub(r"[\t\n\r]", "", query).translate(_BEFORE.get(codec, {}))
    coded = text.encode(codec, "nephila.query").decode("latin-1")
    return f"{before}?{_UNSAFE.sub(lambda found: f'%{ord(found[0]):02X}', coded)}"


def _unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    if error.encoding == "gbk" and text == "\u20ac":
        return b"\x80", error.end
    return "".join(f"%26%23{ord(char)}%3B" for char in text), error.end


codecs.register_error("nephila.query", _unencodable)
