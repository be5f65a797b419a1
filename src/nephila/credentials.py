"""Who we are on which origin: the texts of `--auth` and `--login` and the user and password of a seed, as values.

A credential belongs to one exact origin (scheme, host and port) and is named without its secret: `basic@members.example`.
The name is what `visit.access` holds and what `--with` takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

import msgspec

from nephila.config import SECRET_HEADER, Config
from nephila.errors import ConfigError
from nephila.url.parse import authority_of, host_of, normalise, origin, seed, without_userinfo
from nephila.url.site import registrable

HEADER = "header"
"""Name of what such headers give access to."""
COOKIES = "cookies"
"""Name of what the cookies of a file give access to."""
FORMS = "basic:USER:PASSWORD, digest:USER:PASSWORD, bearer:TOKEN, negotiate or cert:FILE[:KEYFILE]"
_KINDS = frozenset({"basic", "digest", "ntlm", "bearer", "negotiate", "cert"})
_OPEN = frozenset({"negotiate", "cert"})
"""Kinds whose text holds no secret: the ticket lies in the system's cache, the key in its file."""
_REFERENCE = re.compile(r"([^=\s]+=(?:(?:basic|digest|ntlm|bearer):(?:[^:]*:)?)?)(@.+|env:.+)", re.IGNORECASE)

_PAGE = r"https?://[^/?=\s]+(?:[/?][^:\s]*)?"
_LOGIN = re.compile(rf"({_PAGE})=([^=:\s][^=:]*):(.+)", re.IGNORECASE)
_LOGIN_REFERENCE = re.compile(rf"({_PAGE}=(?:(?!env:|@)[^=:\s][^=:]*:)?)(@.+|env:.+)", re.IGNORECASE)


class Credential(msgspec.Struct, frozen=True):
    """`origin` is spelled as `url.parse.origin` does. `secret`: password or token; `cert`, `key`: paths of PEM files."""

    origin: str
    kind: str
    user: str = ""
    secret: str = ""
    cert: str = ""
    key: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind}@{authority_of(self.origin + '/')}"


class Login(msgspec.Struct, frozen=True):
    """A form to fill in: `url` is the page that has it."""

    url: str
    user: str
    password: str

    @property
    def origin(self) -> str:
        return origin(self.url)

    @property
    def name(self) -> str:
        return f"login@{authority_of(self.url)}"


def logins(config: Config) -> list[Login]:
    """The logins, one for each site. Raises ConfigError."""
    found: dict[str, Login] = {}
    for login in map(parse_login, config.login):
        site = registrable(host_of(login.url))
        if found.setdefault(site, login) != login:
            raise ConfigError(f"login: {site} has two logins: leave one out")
    return list(found.values())


def by_origin(config: Config) -> dict[str, tuple[Credential, ...]]:
    """Origin → its credentials: one that HTTP asks for, or a certificate, or both. Raises ConfigError."""
    found: dict[str, tuple[Credential, ...]] = {}
    for credential in (*map(parse, config.auth), *_of_seeds(config.seeds, config.auth)):
        known = found.get(credential.origin, ())
        if credential in known:
            continue
        if any((credential.kind == "cert") == (other.kind == "cert") for other in known):
            raise ConfigError(f"auth: {credential.origin} has two credentials: leave one out")
        found[credential.origin] = (*known, credential)
    return found


def names(config: Config) -> dict[str, str]:
    """Origin → the names of all that is sent to it, with a blank between."""
    found = {place: " ".join(one.name for one in some) for place, some in by_origin(config).items()}
    if any(SECRET_HEADER.fullmatch(text.partition(":")[0].strip()) for text in config.header):
        for place in origins_of(config.seeds):
            found[place] = join(HEADER, found.get(place, ""))
    return found


def held(config: Config) -> frozenset[str]:
    """The names of everything that was given."""
    given = [COOKIES] if config.cookies else []
    return frozenset(join(*names(config).values(), *given, *(login.name for login in logins(config))).split())


def origins_of(seeds: Iterable[str]) -> set[str]:
    """The origins that the seeds may mean; without a scheme it is https or http."""
    found = set()
    for text in seeds:
        url, guessed = seed(text)
        place = origin(url)
        found |= {place, place.replace("https:", "http:", 1)} if guessed else {place}
    return found


def join(*access: str) -> str:
    """Names of credentials as one text: each once, sorted."""
    return " ".join(sorted({name for text in access for name in text.split()}))


def parse(text: str) -> Credential:
    """`ORIGIN=SPEC` as a credential. Raises ConfigError, which never shows the secret."""
    place, _, spec = text.partition("=")
    url = normalise(place if place.endswith("/") else f"{place}/")
    if url is None or "@" in place or url != f"{origin(url)}/":
        raise ConfigError(
            "auth: ORIGIN=SPEC is expected, ORIGIN with scheme and without user or path, such as"
            f" https://example.com=basic:USER:PASSWORD; SPEC is {FORMS}"
        )
    kind, colon, rest = spec.partition(":")
    kind, where = kind.lower(), origin(url)
    if kind not in _KINDS:
        raise ConfigError(f"auth: {where}: one of {FORMS} is expected")
    user, divided, password = rest.partition(":")
    if where.startswith("ftp:") and kind != "basic":
        raise ConfigError(f"auth: {where}: FTP takes basic:USER:PASSWORD only")
    if kind == "negotiate":
        if colon:
            raise ConfigError(f"auth: {where}: negotiate takes nothing: the ticket is the system's (kinit)")
        return Credential(where, kind)
    if kind == "bearer":
        if not rest or re.search(r"[^\x21-\x7e]", rest):
            raise ConfigError(f"auth: {where}: bearer:TOKEN is expected, a token of printable characters")
        return Credential(where, kind, secret=rest)
    if kind == "cert":
        if not user:
            raise ConfigError(f"auth: {where}: cert:FILE[:KEYFILE] is expected")
        if not where.startswith("https:"):
            raise ConfigError(f"auth: {where}: a certificate is shown over https only")
        return Credential(where, kind, cert=user, key=password or user)
    if not divided:
        raise ConfigError(f"auth: {where}: {kind}:USER:PASSWORD is expected")
    return Credential(where, kind, user, password)


def parse_login(text: str) -> Login:
    """`URL=USER:PASSWORD` as a login; the URL may hold `=`, but no `:` behind its host. Raises ConfigError."""
    found = _LOGIN.fullmatch(text)
    url = normalise(found[1]) if found else None
    if found is None or url is None or "@" in url[: url.find("/", 8)]:
        raise ConfigError(
            "login: URL=USER:PASSWORD is expected, URL being the page with the form, such as"
            " https://example.com/login=me:PASSWORD (write %3A for a colon in its path)"
        )
    return Login(url, found[2], found[3])


def holds_secret(text: str) -> bool:
    """Whether this text of `--auth` must not be written down."""
    return text.partition("=")[2].partition(":")[0].lower() not in _OPEN


def reference(text: str) -> tuple[str, str] | None:
    """(what stands before it, `@FILE` or `env:NAME`) of a text whose secret lies elsewhere."""
    found = _REFERENCE.fullmatch(text) or _LOGIN_REFERENCE.fullmatch(text)
    return (found[1], found[2]) if found else None


def rooted(text: str, base: Path) -> str:
    """The same with absolute paths: another start may be made from another folder."""
    place, _, spec = text.partition("=")
    kind, _, files = spec.partition(":")
    if kind.lower() != "cert" or not files:
        return text
    paths = [str((base / Path(file).expanduser()).absolute()) for file in files.split(":") if file]
    return f"{place}=cert:{':'.join(paths)}"


def check(config: Config) -> None:
    """Raises ConfigError for a credential that cannot be used, before anything is sent."""
    logins(config)
    found = by_origin(config)
    headers = {text.partition(":")[0].strip().lower() for text in config.header}
    for place, some in found.items():
        for one in some:
            if one.kind == "cert":
                _check_files(one)
            elif "authorization" in headers and place in origins_of(config.seeds):
                raise ConfigError(f"auth: {place} is also sent the header Authorization: leave one out")


def _of_seeds(seeds: list[str], given: list[str]) -> Iterable[Credential]:
    """A user and password written into an address count as Basic for its origin, unless `--auth` says otherwise."""
    said = {one.origin for one in map(parse, given) if one.kind != "cert"}
    for text in seeds:
        if "@" not in text or without_userinfo(url := seed(text)[0]) == url or (place := origin(url)) in said:
            continue
        authority = url[url.find("//") + 2 : url.find("/", 8)]
        user, _, password = authority.rpartition("@")[0].partition(":")
        yield Credential(place, "basic", unquote(user), unquote(password))


def _check_files(one: Credential) -> None:
    """A key that asks for a password would wait for somebody at a keyboard."""

    import ssl

    def no_password() -> str:
        raise ConfigError(f"auth: {one.origin}: {one.key} asks for a password: store the key without one, mode 0600")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(one.cert, one.key, no_password)
    except OSError as error:
        raise ConfigError(
            f"auth: {one.origin}: {one.cert} and {one.key} are no certificate with its key in PEM form ({error.strerror or error})"
        ) from error
