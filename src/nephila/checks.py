"""Whether a configuration can work: every value is held against its form, its choices and its bounds, before any socket."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from nephila import credentials
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.values import FIELDS, TYPES, expected, nearest

SEEN = ("keytree", "hash", "md5", "file", "kv", "bloom", "lru", "keytree-naive", "keytree-naive-32")
"""The ways of remembering URLs, as `nephila.frontier.seen.ways` has them."""
SEEDS_CHECKED_MAX = 1_000
"""Of a million addresses only the first ones are read twice."""


def check(config: Config) -> None:
    """Raises ConfigError for the first value that cannot work, naming the key and what would be right."""
    for key in FIELDS:
        value = getattr(config, key)
        if key == "extract":
            _check_rules(value)
        elif isinstance(value, str | list):
            _check_text(key, [value] if isinstance(value, str) else value)
        elif not isinstance(value, bool):
            _check_number(key, value)
    if config.delay_min_s > config.delay_max_s:
        raise ConfigError(f"delay_min_s = {config.delay_min_s:g} is more than delay_max_s = {config.delay_max_s:g}")
    _check_seen(config)
    if config.site_pages_max and not 0 < config.site_pages <= config.site_pages_max:
        raise ConfigError(
            f"site_pages_max = {config.site_pages_max}: site_pages must be given, and be no more than this"
        )
    _check_addresses(config)
    _check_store(config)
    if config.ca:
        _check_authorities(config.ca)
    if config.http3:
        _check_http3(config)


def _check_rules(written: list[Any]) -> None:
    """A wrong rule is told now and not after the crawl."""
    if written:
        from nephila.page import extract

        extract.rules(written)


def _check_text(key: str, texts: list[str]) -> None:
    """A line end in a header or an address is an attack, and crawl.toml is UTF-8. A pattern may hold what it likes."""
    wrong = "[\0\ud800-\udfff]" if key in ("include", "exclude") else "[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]"
    form, right = _FORMS.get(key, (bool, ""))
    for text in texts:
        if re.search(wrong, text):
            raise ConfigError(f"{key}: a value holds a control character or is not UTF-8 text; remove it")
        if key in CHOICES and text not in CHOICES[key]:
            near = nearest(text, CHOICES[key])
            hint = f"; did you mean {near}?" if near else ""
            raise ConfigError(f"{key} = {text!r}: one of {', '.join(CHOICES[key])} is expected{hint}")
        if text and not form(text):
            shown = "a value" if FIELDS[key][1]["secret"] else repr(text)
            raise ConfigError(f"{key}: {shown} is not of the right form; {right}")


CHOICES = {
    "scope": ("host", "site", "name", "prefix", "any"),
    "order": ("bfs", "dfs"),
    "durability": ("process", "power"),
    "seen": SEEN,
}
_RANGES = {
    "max_depth": (-1, 250),
    "workers": (-1, 64),
    "connections": (1, 1000),
    "per_host": (1, 1000),
    "per_address": (-1, 100_000),
    "dns_lookups": (1, 10_000),
    "store_uploads": (1, 64),
    "store_tries": (1, 100),
    "tries": (1, 100),
    "robots_tries": (1, 100),
    "login_tries": (1, 100),
    "links_max": (1, 10_000_000),
    "pending_max": (1, 1_000_000),
    "read_percent": (1, 100),
    "commit_ms": (1, 10_000),
    "commit_visits": (1, 100_000),
    "decode_ratio_max": (1, 100_000),
}


def _check_number(key: str, value: float) -> None:
    low: float
    low, high = _RANGES.get(key, (0, 1 << 62))
    if TYPES[key] is float and key.endswith(("timeout_s", "seconds_max")):
        low = 1e-3
    if not low <= value <= high:
        bounds = f"at least {low:g}" if high == 1 << 62 else f"{low} to {high}"
        raise ConfigError(f"{key} = {value:g}: {bounds} is expected")


def _check_seen(config: Config) -> None:
    """Depths stand in the key tree alone, and two ways need a package that is not always there."""
    if config.max_depth >= 0 and config.seen != "keytree":
        raise ConfigError(f"seen = {config.seen} cannot keep depths, as max_depth needs: use --seen keytree")
    if config.seen in ("kv", "lru") and find_spec("lmdb") is None:
        raise ConfigError(f"seen = {config.seen} needs the package lmdb: pip install 'nephila[seen]'")


def _check_store(config: Config) -> None:
    if config.store:
        from nephila.store import objects

        objects.check(config.store)
    elif not config.keep_local:
        raise ConfigError("keep_local = false without a store would keep nothing: give --store s3://BUCKET/PREFIX, too")


def _check_addresses(config: Config) -> None:
    """Regular expressions, ways out, and the first seeds: reading a million of them twice would only cost time."""
    from nephila.url.parse import seed
    from nephila.url.scope import check_patterns
    from nephila.url.traps import switched
    from nephila.url.ways import Ways

    check_patterns(config.include, "include")
    check_patterns(config.exclude, "exclude")
    switched(config.traps)
    Ways(config.proxy)
    for text in config.seeds[:SEEDS_CHECKED_MAX]:
        seed(text)
    credentials.check(config)


def _check_authorities(path: str) -> None:
    """The certificates must be there and be certificates."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except OSError as error:  # an SSLError is one
        why = "no certificates in it" if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigError(
            f"ca: {path} cannot be used ({why}); a file of certificates in PEM form is expected"
        ) from error


def _check_http3(config: Config) -> None:
    import pycurl  # type: ignore[import-untyped]

    if not config.http2:
        raise ConfigError("http3 goes with http2, which it falls back to; leave out --no-http2")
    if not pycurl.version_info()[4] & pycurl.VERSION_HTTP3:
        raise ConfigError(f"http3: {pycurl.version} was built without it; the wheel of pycurl has it")


def _is_delay(text: str) -> bool:
    return text == "auto" or bool(re.fullmatch(r"\d+(\.\d+)?([eE][+-]?\d+)?", text))


def _is_resolve(text: str) -> bool:
    match = re.fullmatch(r"([^:\s]+):(\d{1,5}):(\S+)", text)
    return bool(match) and 0 < int(match[2]) < 65536 and all(_is_address(a) for a in match[3].split(","))  # type: ignore[index]


def _is_name_server(text: str) -> bool:
    match = re.fullmatch(r"(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?|(\S+)", text)
    return bool(match) and _is_address(match[1] or match[3]) and 0 < int(match[2] or 53) < 65536  # type: ignore[index]


def _is_address(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text.removeprefix("[").removesuffix("]")))
    except ValueError:
        return False


# Keys whose texts have a form: what tells whether a text has it, and the sentence that says what is right.
_FORMS: dict[str, tuple[Callable[[str], Any], str]] = {
    "delay": (_is_delay, expected("delay")),
    "header": (re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:.*").fullmatch, "'Name: value' is expected"),
    "resolve": (_is_resolve, "HOST:PORT:ADDRESS is expected, such as example.com:443:192.0.2.1"),
    "name_servers": (_is_name_server, "ADDRESS or ADDRESS:PORT is expected, such as 9.9.9.9 or [2620:fe::fe]:53"),
    "types": (re.compile(r"\*/\*|[\w.+\-]+/(\*|[\w.+\-]+)").fullmatch, "TYPE/SUBTYPE or TYPE/* is expected"),
    "insecure": (re.compile(r"[^\s/@]+").fullmatch, "a host name is expected, without scheme and path"),
}
